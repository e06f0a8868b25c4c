"""The results of an evaluation, written for TensorBoard.

Source: tensorflow/python/estimator/estimator.py.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from google.protobuf import message
from tensorboard.compat.proto import summary_pb2

from capstan.api import logging, tensor_messages
from capstan.core import dtypes
from capstan.framework import collections
from capstan.train import summary_writer


def write(output_dir: str, results: Mapping[str, Any], checkpoint_path: str | None) -> None:
    """Write the results of an evaluation, and the path of its checkpoint, to event files.

    A number becomes a simple value, bytes are a serialized Summary, and an array becomes a tensor.
    Other values are skipped with a warning. Blocks until the events are in the file.
    """
    step = int(results[collections.GraphKeys.GLOBAL_STEP])
    shown = ", ".join(
        f"{name} = {value!s}"
        for name, value in sorted(results.items())
        if not isinstance(value, bytes)
    )
    logging.info("Saving dict for global step %d: %s", step, shown)
    summary = summary_pb2.Summary()
    for name, value in results.items():
        if value is not None and name != collections.GraphKeys.GLOBAL_STEP:
            _add(summary, name, value)
    writer = summary_writer.FileWriterCache.get(output_dir)
    writer.add_summary(summary, step)
    if checkpoint_path:
        logging.info(
            "Saving 'checkpoint_path' summary for global step %d: %s", step, checkpoint_path
        )
        path = tensor_messages.make_tensor_proto(checkpoint_path, dtype=dtypes.string)
        found = summary_pb2.Summary()
        found.value.add(tag="checkpoint_path", tensor=path)
        writer.add_summary(found, step)
    writer.flush()


def _add(summary: Any, name: str, value: Any) -> None:
    if isinstance(value, float | int | np.float32 | np.float64 | np.int32 | np.int64):
        summary.value.add(tag=name, simple_value=float(value))
    elif isinstance(value, bytes):
        try:
            inner = summary_pb2.Summary.FromString(value)
        except message.DecodeError:
            logging.warning("Skipping summary for %s, cannot parse string to Summary.", name)
            return
        for index, each in enumerate(inner.value):
            each.tag = f"{name}/{index}"
        summary.value.extend(inner.value)
    elif isinstance(value, np.ndarray):
        summary.value.add(tag=name, node_name=name, tensor=tensor_messages.make_tensor_proto(value))
        logging.info("Summary for np.ndarray is not visible in Tensorboard by default.")
    else:
        logging.warning(
            "Skipping summary for %s, must be a float, np.float32, np.int64, np.int32 or int or "
            "np.ndarray or a serialized string of Summary.",
            name,
        )
