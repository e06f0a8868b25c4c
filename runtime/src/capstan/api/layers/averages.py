"""Moving averages of the moments of batches."""

from collections.abc import Sequence
from typing import Any

from capstan.api import math_ops, state_ops
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework import graph as graphs


def is_python(training: Any) -> bool:
    """Return whether `training` is known now, and no tensor."""
    return isinstance(training, bool | int)


def moved(variable: Any, value: Any, momentum: Any) -> Any:
    """Return the operation that moves an average by `1 - momentum` of the way to a value."""
    graph = graphs.get_default_graph()
    # A custom getter may return an object that is no variable, but becomes a tensor.
    owner = getattr(variable, "op", None) or convert.convert_to_tensor(variable, as_ref=True).op
    with graph.name_scope("AssignMovingAvg") as scope, graph.colocate_with(owner):
        kind = variable.dtype.base_dtype
        if isinstance(momentum, float):
            share = convert.constant(1.0 - momentum, kind, name="decay")
        else:
            share = math_ops.cast(1.0 - momentum, kind)
        delta = (variable - math_ops.cast(value, kind)) * share
        return state_ops.assign_sub(variable, delta, name=scope)


def choices(training: Any, *values: float) -> Sequence[Any]:
    """Return a function for each value. If `training` is a tensor, the functions return tensors."""
    if is_python(training):
        return [lambda value=value: value for value in values]
    return [lambda value=value: convert.constant(value, dtypes.float32) for value in values]
