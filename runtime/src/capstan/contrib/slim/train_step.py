"""One step of `slim.learning.train` (contrib/slim/python/slim/learning.py)."""

import time
from collections.abc import Mapping
from typing import Any

from capstan.api import file_io, logging


def train_step(
    sess: Any, train_op: Any, global_step: Any, train_step_kwargs: Mapping[str, Any]
) -> tuple[Any, Any]:
    """Run one step. Return the loss, and whether the training should stop.

    `train_step_kwargs` may hold the tensors `should_stop`, `should_log` and `should_trace`, the
    folder `logdir` for traces, and a `summary_writer`.
    """
    start, options, metadata = time.monotonic(), None, None
    if "should_trace" in train_step_kwargs:
        if "logdir" not in train_step_kwargs:
            raise ValueError("logdir must be present in train_step_kwargs when should_trace is")
        if sess.run(train_step_kwargs["should_trace"]):
            from tensorboard.compat.proto import config_pb2

            options = config_pb2.RunOptions(trace_level=config_pb2.RunOptions.FULL_TRACE)
            metadata = config_pb2.RunMetadata()
    loss, step = sess.run([train_op, global_step], options=options, run_metadata=metadata)
    seconds = time.monotonic() - start
    if metadata is not None:
        _write_trace(metadata, int(step), train_step_kwargs)
    if "should_log" in train_step_kwargs and sess.run(train_step_kwargs["should_log"]):
        logging.info("global step %d: loss = %.4f (%.3f sec/step)", step, loss, seconds)
    if "should_stop" not in train_step_kwargs:
        return loss, False
    return loss, sess.run(train_step_kwargs["should_stop"])


def _write_trace(metadata: Any, step: int, kwargs: Mapping[str, Any]) -> None:
    from capstan.client import timeline

    path = f"{kwargs['logdir']}/tf_trace-{step}.json"
    logging.info("Writing trace to %s", path)
    trace = timeline.Timeline(metadata.step_stats).generate_chrome_trace_format()
    with file_io.GFile(path, "w") as file:
        file.write(trace)
    if kwargs.get("summary_writer") is not None:
        kwargs["summary_writer"].add_run_metadata(metadata, f"run_metadata-{step}")
