"""Kernels of resource variables. A handle is the `resources.variable.Variable` itself.

A kernel that changes a variable does what the kernel for reference variables does, but has no
output.
"""

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from capstan import errors
from capstan.core import shapes
from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.kernels import indexing, state, training
from capstan.kernels.arithmetic import constantly
from capstan.kernels.registry import (
    Columns,
    Function,
    Join,
    Joined,
    Joining,
    Kernel,
    NodeContext,
    register,
)
from capstan.kernels.rejection import invalid
from capstan.resources import variable

Cell = variable.Variable


def _handle(node: NodeContext) -> Function:
    cell = state.cell_of(node, node.attrs["dtype"], variable.ResourceVariable)
    return lambda: cell


def _read(cell: Cell) -> Array:
    return cell.read()


def _shape(node: NodeContext) -> Function:
    dtype = node.output_dtypes[0].as_numpy_dtype
    return lambda cell: np.array(cell.held().shape, dtype)


def _assign(node: NodeContext) -> Function:
    declared = node.input_shapes[0]

    def assign(cell: Cell, value: Array) -> None:
        # Later reads rely on the declared shape of the handle, so another shape is refused.
        if value.shape != declared and not shapes.is_compatible(declared, value.shape):
            raise invalid(
                f"Trying to assign to variable with tensor with wrong shape. Expected "
                f"{shapes.show(declared)} got {show(value.shape)}"
            )
        cell.assign(value, validate_shape=False)

    return assign


def _update(ufunc: np.ufunc) -> Any:
    def update(cell: Cell, value: Array) -> None:
        with cell.lock:
            array = cell.writable()
            if array.shape != value.shape:
                raise invalid(
                    f"Cannot update variable with shape {show(array.shape)} using a Tensor with "
                    f"shape {show(value.shape)}, shapes must be equal."
                )
            ufunc(array, value, array)

    return constantly(update)


def _gather(node: NodeContext) -> Function:
    batch = node.attrs["batch_dims"]

    def gather(cell: Cell, indices: Array, out: Array | None = None) -> Any:
        with cell.lock:
            if batch:
                return indexing.take_of_batches(cell.held(), indices, batch, batch, out)
            return indexing.take(cell.held(), indices, 0, out)

    return gather


def _gather_from_each(nodes: Sequence[NodeContext]) -> Joined | None:
    if any(node.attrs["batch_dims"] for node in nodes):
        return None

    def gather(cells: Sequence[Cell], indices: Sequence[Array]) -> Columns | None:
        with contextlib.ExitStack() as locks:
            for cell in variable.in_lock_order(*dict.fromkeys(cells)):
                locks.enter_context(cell.lock)
            return indexing.take_from_each([cell.held() for cell in cells], indices)

    return gather


def _scatter(make: Callable[[NodeContext], Function]) -> Callable[[NodeContext], Function]:
    def scatter(node: NodeContext) -> Function:
        function = make(node)

        def run(cell: Cell, indices: Array, updates: Array) -> None:
            if not updates.ndim:
                # A scalar updates every element of the rows.
                shape = (*indices.shape, *cell.held().shape[1:])
                updates = np.broadcast_to(updates, shape)
            function(cell, indices, updates)

        return run

    return scatter


def _optimizing(make: Callable[[NodeContext], Function]) -> Callable[[NodeContext], Function]:
    """Return a `make` whose functions do what the functions of `make` do, but return nothing.

    As in TensorFlow (core/kernels/training_op_helpers.h), they raise InternalError if a variable
    has no value.
    """

    def made(node: NodeContext) -> Function:
        function = make(node)

        def run(*inputs: Any) -> None:
            try:
                function(*inputs)
            except errors.NotFoundError:
                raise errors.InternalError(None, None, "Invalid variable reference.") from None

        return run

    return made


def _without_results(make: Joining) -> Joining:
    """Return a `make` of `Join` whose functions return nothing, as for `_optimizing`."""

    def made(nodes: Sequence[NodeContext]) -> Joined | None:
        function = make(nodes)

        def run(*inputs: Sequence[Any]) -> Columns | None:
            return None if function is None or function(*inputs) is None else ()

        return run

    return made


def _destroy(node: NodeContext) -> Function:
    is_forgiving = bool(node.attrs["ignore_lookup_error"])

    def destroy(cell: Cell) -> None:
        if not is_forgiving:
            cell.held()
        cell.clear()

    return destroy


def _check_exists(cell: Cell) -> None:
    """Raise NotFoundError if the variable has no value. Reads never copy a variable here."""
    cell.held()


register(Kernel("VarHandleOp", _handle))
register(
    Kernel(
        "ReadVariableOp",
        constantly(_read),
        alias=True,
        emit=lambda inputs: f"{inputs[0]}.read()",
    )
)
register(Kernel("VarIsInitializedOp", constantly(state.is_initialized)))
register(Kernel("VariableShape", _shape))
register(Kernel("DestroyResourceOp", _destroy))
register(Kernel("DisableCopyOnRead", constantly(_check_exists)))
register(Kernel("AssignVariableOp", _assign))
register(Kernel("AssignAddVariableOp", _update(np.add)))
register(Kernel("AssignSubVariableOp", _update(np.subtract)))
register(Kernel("ResourceGather", _gather, out=True, join=Join(_gather_from_each)))
for _op, _make in state.SCATTERS.items():
    register(Kernel(f"Resource{_op}", _scatter(_make)))
for _op, _make in {**training.UPDATES, **training.RESOURCE_UPDATES}.items():
    _join = training.JOINS.get(_op)
    _join = _join and Join(_without_results(_join.make))
    register(Kernel(f"Resource{_op}", _optimizing(_make), join=_join))
