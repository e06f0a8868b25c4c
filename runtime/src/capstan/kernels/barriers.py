"""Kernels of barriers."""

from typing import Any

import numpy as np

from capstan.core import dtypes, shapes
from capstan.core.arrays import Array
from capstan.kernels import resources
from capstan.kernels.arithmetic import constantly
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid
from capstan.resources import barrier


def _barrier(node: NodeContext) -> Function:
    types = tuple(node.attrs["component_types"])
    known = tuple(shape.internal for shape in node.attrs["shapes"])
    if len(known) != len(types):
        raise invalid("All of the component shapes must be specified")
    if node.attrs["capacity"] != -1:
        raise invalid(
            "Barrier only accepts capacity=-1.  Feed the inputs to your Barrier through a queue to "
            "enforce a limited capacity."
        )

    def verify(held: barrier.Barrier) -> None:
        if held.types != types:
            raise invalid(
                f"Shared barrier '{held.name}' has component types "
                f"{resources.type_names(held.types)} but requested component types were "
                f"{resources.type_names(types)}"
            )
        if held.shapes != known:
            raise invalid(
                f"Shared barrier '{held.name}' has component shapes "
                f"{resources.shape_list(held.shapes)} but requested component shapes were "
                f"{resources.shape_list(known)}"
            )

    found = resources.named(
        node, "barrier", lambda name: barrier.Barrier(name, types, known), verify
    )
    return lambda: found


def _insert_many(node: NodeContext) -> Function:
    component = int(node.attrs["component_index"])

    def insert(handle: Any, keys: Array, values: Array, *, done: Any, cancellation: Any) -> None:
        target = resources.behind(handle)
        count = len(target.types)
        if not 0 <= component < count:
            raise invalid(
                f"The component ID is out of range {component} > num_components (= {count})"
            )
        resources.check_signature(node, (dtypes.string, target.types[component]), ())
        if keys.ndim != 1 or not values.ndim or len(keys) != len(values):
            raise invalid(
                "keys must be a vector with one key per value, but have shapes "
                f"{shapes.show(keys.shape)} and {shapes.show(values.shape)}"
            )
        target.insert_many(component, keys, values, done, cancellation)

    return insert


def _take_many(node: NodeContext) -> Function:
    if node.attrs["timeout_ms"] != -1:
        raise invalid("Timeout not supported yet.")
    allow_small_batch = bool(node.attrs["allow_small_batch"])

    def take(handle: Any, count: Array, *, done: Any, cancellation: Any) -> None:
        target = resources.behind(handle)
        if count.ndim:
            raise invalid("num_elements must be a scalar.")
        outputs = (dtypes.int64, dtypes.string, *target.types)
        resources.check_signature(node, (dtypes.int32,), outputs)
        target.take_many(int(count), done, cancellation, allow_small_batch=allow_small_batch)

    return take


def _close(node: NodeContext) -> Function:
    cancels = bool(node.attrs["cancel_pending_enqueues"])
    return lambda handle: resources.behind(handle).close(cancel_pending_enqueues=cancels)


def _ready_size(handle: Any) -> Any:
    return np.int32(resources.behind(handle).ready_size())


def _incomplete_size(handle: Any) -> Any:
    return np.int32(resources.behind(handle).incomplete_size())


register(Kernel("Barrier", _barrier))
register(Kernel("BarrierInsertMany", start=_insert_many))
register(Kernel("BarrierTakeMany", start=_take_many))
register(Kernel("BarrierClose", _close))
register(Kernel("BarrierReadySize", constantly(_ready_size)))
register(Kernel("BarrierIncompleteSize", constantly(_incomplete_size)))
