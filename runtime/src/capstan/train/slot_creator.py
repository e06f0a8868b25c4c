"""Slots: variables that an optimizer keeps for each trained variable.

A slot is called `<variable>/<name>` and is placed on the task of its variable.
Source: tensorflow/python/training/slot_creator.py.
"""

from typing import Any

from capstan.api import init_ops, scope_block, variable_scope
from capstan.core import dtypes
from capstan.framework import graph as graphs


def create_slot(primary: Any, val: Any, name: str, colocate_with_primary: bool = True) -> Any:
    """Return a new slot of `primary`. `val`, a tensor or an array, is its initial value."""
    return _create(primary, name, colocate_with_primary, initializer=val)


def create_zeros_slot(
    primary: Any, name: str, dtype: dtypes.DType | None = None, colocate_with_primary: bool = True
) -> Any:
    """Return a new slot of `primary` with the same shape. Its initial value is zeros."""
    return _create(
        primary,
        name,
        colocate_with_primary,
        initializer=init_ops.Zeros(),
        shape=primary.get_shape(),
        dtype=dtype or primary.dtype.base_dtype,
    )


def _create(primary: Any, name: str, is_colocated: bool, **arguments: Any) -> Any:
    graph = graphs.get_default_graph()
    # The name within the scope is empty, so the unique name of the scope is the slot's name.
    with scope_block.variable_scope(None, f"{primary.op.name}/{name}"):
        if not is_colocated:
            return variable_scope.get_variable("", trainable=False, **arguments)
        with graph.colocate_with(primary.op):
            return variable_scope.get_variable("", trainable=False, **arguments)
