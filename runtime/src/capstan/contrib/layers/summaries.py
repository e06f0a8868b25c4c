"""Summaries of tensors (contrib/layers/python/layers/summaries.py)."""

import functools
import re
from collections.abc import Callable, Iterable
from typing import Any

from capstan.api import math_ops, reduce_ops
from capstan.core import dtypes
from capstan.framework import collections
from capstan.framework import graph as graphs
from capstan.train import summary

_KEYS = collections.GraphKeys


def summarize_tensor(tensor: Any, tag: str | None = None) -> Any:
    """Add a scalar or a histogram of a tensor. Strings and booleans get None."""
    if tensor.dtype.base_dtype in (dtypes.string, dtypes.bool_):
        return None
    make = summary.scalar if tensor.shape.ndims == 0 else summary.histogram
    return make(tag or f"{tensor.op.name}_summary", tensor)


def summarize_activation(op: Any) -> Any:
    """Add a histogram of an activation, and the fractions that a relu cuts off."""
    name, kind = op.op.name, op.op.type
    if kind in ("Relu", "Softplus", "Relu6"):
        _fraction(op.op.inputs[0] < 0, f"{name}/zeros")
    if kind == "Relu6":
        _fraction(op.op.inputs[0] > 6, f"{name}/sixes")
    return summary.histogram(f"{name}/activation", op)


def _fraction(condition: Any, tag: str) -> None:
    summary.scalar(tag, reduce_ops.reduce_mean(math_ops.cast(condition, dtypes.float32)))


def summarize_tensors(
    tensors: Iterable[Any], summarizer: Callable[[Any], Any] = summarize_tensor
) -> list[Any]:
    return [summarizer(tensor) for tensor in tensors]


def summarize_collection(
    collection: str,
    name_filter: str | None = None,
    summarizer: Callable[[Any], Any] = summarize_tensor,
) -> list[Any]:
    """Summarize the tensors of a collection whose names begin with a match of `name_filter`."""
    members = graphs.get_default_graph().get_collection(collection)
    return summarize_tensors(
        [m for m in members if name_filter is None or re.match(name_filter, m.op.name)], summarizer
    )


summarize_variables = functools.partial(summarize_collection, _KEYS.GLOBAL_VARIABLES)
summarize_weights = functools.partial(summarize_collection, _KEYS.WEIGHTS)
summarize_biases = functools.partial(summarize_collection, _KEYS.BIASES)
summarize_activations = functools.partial(
    summarize_collection, _KEYS.ACTIVATIONS, summarizer=summarize_activation
)
