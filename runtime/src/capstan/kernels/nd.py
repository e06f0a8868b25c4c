"""Kernels that read or change the slices of a tensor at multi-dimensional indices.

As in TensorFlow (core/kernels/scatter_nd_op.cc), an index that is repeated adds each of its values,
and an update keeps the last one.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np

from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.kernels import rows
from capstan.kernels.arithmetic import constantly
from capstan.kernels.memory import beside, is_on_host, on_host
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid
from capstan.resources import variable

MakeChange = Callable[[], rows.Change]
"""Returns the change of a node."""

_join: rows.Change = partial(rows.at, np.add)
"""Appends the strings of an index to one another."""


def _flat(
    shape: tuple[int, ...], indices: Array, what: str = "shape"
) -> tuple[Array, int, tuple[int, ...]]:
    """Find the slices of an array of this shape that `indices` names.

    Return the position of each of them in row-major order, how many slices the array has, and the
    shape of a slice. `what` names the shape in the error.

    Raises:
        InvalidArgumentError: `indices` is a scalar, or an index is out of range or has too many
            coordinates.
    """
    if not indices.ndim:
        raise invalid("indices must be at least a vector, got shape: []")
    depth = indices.shape[-1]
    if depth > len(shape):
        raise invalid(
            "index innermost dimension length must be <= params rank; saw: "
            f"{depth} vs. {len(shape)}"
        )
    indices = on_host(indices)
    bounds = np.array(shape[:depth], np.int64)
    is_out = ((indices < 0) | (indices >= bounds)).any(-1)
    if is_out.any():
        at = np.unravel_index(int(np.flatnonzero(is_out)[0]), is_out.shape)
        place = ",".join(map(str, at))
        wrong = ", ".join(map(str, indices[at].tolist()))
        raise invalid(f"indices[{place}] = [{wrong}] does not index into {what} {show(shape)}")
    steps = np.ones(depth, np.int64)
    steps[:-1] = np.cumprod(bounds[:0:-1])[::-1]
    numbers = np.asarray((indices.astype(np.int64) * steps).sum(-1, dtype=np.int64))
    return numbers, int(np.prod(bounds, dtype=np.int64)), shape[depth:]


def _gather(params: Array, indices: Array) -> Any:
    if indices.size and not params.size:
        raise invalid(
            "Requested more than 0 entries, but params is empty.  Params shape: "
            f"{show(params.shape)}"
        )
    numbers, count, rest = _flat(params.shape, indices, "param shape")
    taken: Any = params.reshape(count, *rest)[beside(numbers, params)]
    is_string = params.dtype.hasobject and not is_on_host(taken)
    return np.array(taken, object) if is_string else taken


def _gather_from_variable(cell: variable.Variable, indices: Array) -> Any:
    with cell.lock:
        return _gather(cell.held(), indices)


def _apply(change: rows.Change, array: Array, indices: Array, updates: Array) -> None:
    """Change `array` in place, which must be contiguous.

    Raises:
        InvalidArgumentError: an index is out of range, or the shapes do not fit.
    """
    if not array.size and (indices.size or updates.size):
        raise invalid("Indices and updates specified for empty output shape")
    numbers, count, rest = _flat(array.shape, indices)
    expected = (*indices.shape[:-1], *rest)
    if updates.shape != expected:
        raise invalid(
            f"updates must have the shape {show(expected)} = indices.shape[:-1] + "
            f"params.shape[indices.shape[-1]:], got {show(updates.shape)}"
        )
    flat = beside(numbers.reshape(-1), array)
    change(array.reshape(count, *rest), flat, updates.reshape(flat.size, *rest))


def _scatter(node: NodeContext) -> Function:
    dtype = node.output_dtypes[0].as_numpy_dtype
    empty: Any = b"" if dtype is object else 0
    change = _join if dtype is object else rows.Accumulation(np.add)

    def scatter(indices: Array, updates: Array, shape: Array) -> Array:
        if (shape < 0).any():
            raise invalid(f"shape must have no negative size, got {shape.tolist()}")
        made = np.full_like(updates, empty, dtype, "C", shape=tuple(shape.tolist()))
        _apply(change, made, indices, updates)
        return made

    return scatter


def _updated(change: rows.Change) -> Function:
    def update(tensor: Array, indices: Array, updates: Array) -> Array:
        # A scalar of NumPy cannot be changed in place.
        made = np.array(tensor, order="C") if is_on_host(tensor) else tensor.copy()
        _apply(change, made, indices, updates)
        return made

    return update


def _changed(change: rows.Change) -> Function:
    def update(cell: variable.Variable, indices: Array, updates: Array) -> variable.Variable:
        with cell.lock:
            _apply(change, cell.writable(), indices, updates)
        return cell

    return update


def _changed_resource(change: rows.Change) -> Function:
    def update(cell: variable.Variable, indices: Array, updates: Array) -> None:
        with cell.lock:
            _apply(change, cell.writable(), indices, updates)

    return update


def _of_node(
    made: Callable[[rows.Change], Function], make_change: MakeChange
) -> Callable[[NodeContext], Function]:
    """Return the `make` of a kernel whose nodes have a change of their own."""
    return lambda node: made(make_change())


register(Kernel("GatherNd", constantly(_gather)))
register(Kernel("ResourceGatherNd", constantly(_gather_from_variable)))
register(Kernel("ScatterNd", _scatter))
_CHANGES: Final[dict[str, MakeChange]] = {
    "Update": lambda: rows.replace,
    "Add": lambda: rows.Accumulation(np.add),
    "Sub": lambda: rows.Accumulation(np.subtract),
    "Max": lambda: partial(rows.at, np.maximum),
    "Min": lambda: partial(rows.at, np.minimum),
}
register(Kernel("ScatterNdNonAliasingAdd", _of_node(_updated, _CHANGES["Add"])))
for _kind, _change in _CHANGES.items():
    register(Kernel(f"TensorScatter{_kind}", _of_node(_updated, _change)))
    register(Kernel(f"ScatterNd{_kind}", _of_node(_changed, _change)))
    register(Kernel(f"ResourceScatterNd{_kind}", _of_node(_changed_resource, _change)))
