"""Slots: variables that an optimizer keeps for each trained variable.

A slot is called `<variable>/<name>` and is placed on the task of its variable.
Source: tensorflow/python/training/slot_creator.py.
"""

import contextlib
from typing import Any

from capstan.api import (
    array_ops,
    creation_ops,
    init_ops,
    partitions,
    resource_variables,
    scope_block,
    variable_scope,
)
from capstan.api import variables as variables_
from capstan.core import dtypes, tensor_shape
from capstan.framework import convert
from capstan.framework import graph as graphs


def create_slot(primary: Any, val: Any, name: str, colocate_with_primary: bool = True) -> Any:
    """Return a new slot of `primary`. `val`, a tensor or an array, is its initial value."""
    value = val if isinstance(val, graphs.Tensor) else convert.convert_to_tensor(val)
    return _create(
        primary,
        name,
        colocate_with_primary,
        initializer=value,
        validate_shape=value.get_shape().is_fully_defined(),
    )


def create_slot_with_initializer(
    primary: Any,
    initializer: Any,
    shape: tensor_shape.TensorShape,
    dtype: dtypes.DType,
    name: str,
    colocate_with_primary: bool = True,
) -> Any:
    """Return a new slot of `primary`. `initializer` is a function of a shape, or a tensor."""
    return _create(
        primary,
        name,
        colocate_with_primary,
        initializer=initializer,
        # A tensor has a shape of its own.
        shape=shape if callable(initializer) else None,
        dtype=dtype,
        validate_shape=shape.is_fully_defined(),
    )


def create_zeros_slot(
    primary: Any, name: str, dtype: dtypes.DType | None = None, colocate_with_primary: bool = True
) -> Any:
    """Return a new slot of `primary` with the same shape. Its initial value is zeros."""
    dtype = (dtype or primary.dtype).base_dtype
    shape = primary.get_shape()
    if shape.is_fully_defined():
        return create_slot_with_initializer(
            primary, init_ops.Zeros(), shape, dtype, name, colocate_with_primary
        )
    is_variable = isinstance(primary, variables_.Variable)
    sizes = array_ops.shape(primary.initialized_value() if is_variable else primary)
    return create_slot(primary, creation_ops.zeros(sizes, dtype), name, colocate_with_primary)


def _create(primary: Any, name: str, is_colocated: bool, **arguments: Any) -> Any:
    graph = graphs.get_default_graph()
    arguments["use_resource"] = resource_variables.is_resource_variable(primary)
    # The name within the scope is empty, so the unique name of the scope is the slot's name.
    with scope_block.variable_scope(None, f"{primary.op.name}/{name}") as scope:
        # The slot of a part has the size of the part, so it must not be cut again.
        scope.set_partitioner(None)
        where = graph.colocate_with(primary.op) if is_colocated else contextlib.nullcontext()
        with where:
            slot = variable_scope.get_variable("", trainable=False, **arguments)
    if isinstance(primary, variables_.Variable):
        slot._set_save_slice_info(_slice_of(slot, primary))
    return slot


def _slice_of(slot: Any, primary: variables_.Variable) -> partitions.SaveSliceInfo | None:
    """Return the place of the slot of a part in the slot of the full variable.

    A saver then saves the slots of all parts as one tensor. A slot may lack the last axes of its
    variable. Return None if the variable is not a part, or the slot is a scalar.
    """
    info = primary._get_save_slice_info()
    rank = slot.shape.ndims
    if info is None or rank == 0:
        return None
    # The name of a scope may stand before the name of the part.
    scope, _, slot_name = slot.op.name.rpartition(f"{primary.op.name}/")
    return partitions.SaveSliceInfo(
        f"{scope}{info.full_name}/{slot_name}",
        info.full_shape[:rank],
        info.var_offset[:rank],
        info.var_shape[:rank],
    )
