"""The operations that optimizers put into a graph: updates of variables, and their inputs."""

from collections.abc import Sequence
from typing import Any

from capstan.api import array_ops, math_ops, resource_variables, state_ops
from capstan.framework import convert
from capstan.framework import graph as graphs
from capstan.framework.ops import indexing
from capstan.framework.raw import raw


def update(
    prefix: str, algorithm: str, targets: Sequence[Any], *inputs: Any, **attrs: Any
) -> graphs.Operation:
    """Return an operation that updates variables.

    The op is named `prefix` + `algorithm`, with `Resource` in front for resource variables. The
    module `framework.ops.training` defines these ops. `prefix` is "Apply", or "SparseApply" for
    rows. `targets` are the variables that the operation changes.
    """
    if resource_variables.is_resource_variable(targets[0]):
        handles = [var.handle for var in targets]
        updated: graphs.Operation = getattr(raw, f"Resource{prefix}{algorithm}")(
            *handles, *inputs, **attrs
        )
        return updated
    output: graphs.Tensor = getattr(raw, f"{prefix}{algorithm}")(
        *(var._ref() for var in targets), *inputs, **attrs
    )
    return output.op


def hyperparameter(value: Any, name: str) -> graphs.Tensor:
    """Return a hyperparameter as a tensor.

    `value` is a number, a tensor, or a function without arguments that returns either.
    """
    return convert.convert_to_tensor(value() if callable(value) else value, name=name)


def like(value: Any, var: Any) -> Any:
    """Cast a hyperparameter (a tensor or a variable) to the dtype of the variable `var`."""
    dtype = var.dtype.base_dtype
    if resource_variables.is_resource_variable(value) and value.dtype == dtype:
        return value
    return math_ops.cast(value, dtype)


def averaged(slot: Any, beta: Any, values: Any, indices: Any, use_locking: bool) -> Any:
    """Return `slot` after it was multiplied by `beta`, and `values` were added to rows."""
    graph = graphs.get_default_graph()
    faded = state_ops.assign(slot, slot * beta, use_locking=use_locking)
    with graph.control_dependencies([faded]):
        if not resource_variables.is_resource_variable(slot):
            return state_ops.scatter_add(slot, indices, values, use_locking=use_locking)
        added = raw.ResourceScatterAdd(slot.handle, indices, values)
    with graph.control_dependencies([added]):
        return slot.value()


def without_repeats(values: Any, indices: Any) -> tuple[graphs.Tensor, graphs.Tensor]:
    """Sum the slices of each row. Return the sums and their indices, which name a row once."""
    if indexing.is_distinct(indices):
        return values, indices
    rows, positions = raw.Unique(indices)
    count = array_ops.shape(rows)[0]
    return raw.UnsortedSegmentSum(values, positions, count), rows
