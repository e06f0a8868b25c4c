"""Kernels that make the Summary protocol buffers that TensorBoard reads.

Source: core/kernels/summary_op.cc.
"""

import contextlib
import math
from typing import Any

import numpy as np

from capstan.core import histogram as histograms
from capstan.core import tensor_proto
from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.kernels.arithmetic import constantly
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid
from capstan.resources import elements


def of_scalars(tags: Array, values: Array) -> Array:
    """Return the summary of numbers: a tag and a value for each."""
    tags, values = np.asarray(tags), np.asarray(values)
    if tags.shape != values.shape:
        tag = f" (tag '{_tag(tags, 'tags')}')" if tags.size == 1 else ""
        raise invalid(
            f"tags and values are not the same shape: {show(tags.shape)} != {show(values.shape)}"
            f"{tag}"
        )
    summary = empty()
    for tag, value in zip(tags.flat, values.flat, strict=True):
        summary.value.add(tag=tag.decode(errors="replace"), simple_value=float(value))
    return serialized(summary)


def histogram(node: NodeContext) -> Function:
    """Return the function that makes the summary of a histogram: of a tag and the values."""

    def run(tag: Array, values: Array) -> Array:
        name = _tag(tag, "tags")
        flat = np.asarray(values).ravel().astype(np.float64)
        finite = np.isfinite(flat)
        if not finite.all():
            first = flat[int(np.argmin(finite))]
            kind = "Nan" if math.isnan(first) else "Infinity"
            raise invalid(f"{kind} in summary histogram for: {node.name}")
        summary = empty()
        counted = histograms.Histogram()
        counted.add(flat)
        counted.encode(summary.value.add(tag=name).histo)
        return serialized(summary)

    return run


def of_tensor(tag: Array, tensor: Array, metadata: Array) -> Array:
    """Return the summary of a tensor. `metadata` is a serialized SummaryMetadata."""
    name = _tag(tag, "tag")
    summary = empty()
    value = summary.value.add(tag=name, tensor=tensor_proto.make(tensor))
    text = _single(metadata)
    if text is None:
        raise invalid("serialized_summary_metadata must be scalar")
    with contextlib.suppress(_decode_error()):
        value.metadata.ParseFromString(text)
    return serialized(summary)


def _untagged_tensor(node: NodeContext) -> Function:
    def run(tensor: Array) -> Array:
        summary = empty()
        summary.value.add(node_name=node.name, tensor=tensor_proto.make(tensor))
        return serialized(summary)

    return run


def _merge(*inputs: Array) -> Array:
    merged, seen = empty(), set()
    for text in (text for texts in inputs for text in np.asarray(texts, object).flat):
        part = empty()
        try:
            part.ParseFromString(text)
        except _decode_error():
            raise invalid("Could not parse one of the summary inputs") from None
        for value in part.value:
            # The values of TensorSummary have no tag.
            if value.tag and value.tag in seen:
                raise invalid(f"Duplicate tag {value.tag} found in summary inputs")
            seen.add(value.tag)
        merged.MergeFrom(part)
    return serialized(merged)


def empty() -> Any:
    """Return a Summary without values."""
    from tensorboard.compat.proto import summary_pb2

    return summary_pb2.Summary()


def serialized(summary: Any) -> Array:
    """Return a Summary as a scalar string tensor."""
    return elements.scalar(summary.SerializeToString())


def _decode_error() -> type[Exception]:
    from google.protobuf import message

    return message.DecodeError


def _tag(value: Array, name: str) -> str:
    """Return the only string of the argument `name`."""
    text = _single(value)
    if text is None:
        raise invalid(f"{name} must be scalar")
    return text.decode(errors="replace")


def _single(value: Array) -> bytes | None:
    """Return the only string of an array, or None if the array does not have one element."""
    array = np.asarray(value, object)
    text: bytes | None = array.item() if array.size == 1 else None
    return text


register(Kernel("ScalarSummary", constantly(of_scalars)))
register(Kernel("HistogramSummary", histogram))
register(Kernel("TensorSummary", _untagged_tensor))
register(Kernel("TensorSummaryV2", constantly(of_tensor)))
register(Kernel("MergeSummary", constantly(_merge)))
