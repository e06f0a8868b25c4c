"""Kernels of reference variables and of the ops that change them.

Every change is made under the variable's lock, also if the attribute `use_locking` is false.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from capstan.core import dtypes, resource_name, shapes
from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.kernels import rows
from capstan.kernels.arithmetic import constantly
from capstan.kernels.memory import beside, is_on_host
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid
from capstan.resources import variable


def make_variable(node: NodeContext) -> Function:
    """Return the function that returns the variable of a node."""
    dtype = node.output_dtypes[0]
    cell = cell_of(node, dtype)
    sizes = node.attrs["shape"].internal
    if sizes and 0 in sizes and None not in sizes and cell.array is None:
        # TensorFlow takes a variable without elements for initialised. A scalar has one element.
        cell.assign(node.hardware.arrays.empty(sizes, dtype.as_numpy_dtype))
    return lambda: cell


def cell_of(
    node: NodeContext, dtype: dtypes.DType, kind: type[variable.Variable] = variable.Variable
) -> variable.Variable:
    """Return the variable of a node. Its name is `shared_name`, or else the name of the node."""
    default = node.resources.default_container
    name = resource_name.of_node(node.name, node.attrs, default)
    return node.resources.variable(name, dtype, node.device, kind)


def is_initialized(cell: variable.Variable) -> Any:
    """Return whether `cell` has a value."""
    return np.bool_(cell.array is not None)


def _assign(node: NodeContext) -> Function:
    validate = bool(node.attrs["validate_shape"])
    declared = node.input_shapes[0] if validate else None

    def assign(cell: variable.Variable, value: Array) -> variable.Variable:
        if cell.array is None and declared is not None and value.shape != declared:
            _check_declared(declared, value)
        cell.assign(value, validate_shape=validate)
        return cell

    return assign


def _check_declared(declared: tuple[int | None, ...], value: Array) -> None:
    """Check the shape of the first value against the declared shape, which may be partial."""
    if not shapes.is_compatible(declared, value.shape):
        raise invalid(
            "Assign requires shapes of both tensors to match. "
            f"lhs shape= {shapes.show(declared)} rhs shape= {shapes.show(value.shape)}"
        )


def _update(ufunc: np.ufunc) -> Callable[[NodeContext], Function]:
    def update(cell: variable.Variable, value: Array) -> variable.Variable:
        with cell.lock:
            array = cell.writable()
            if array.shape != value.shape:
                raise invalid(
                    "Parameters and update must be the same size, but have shapes "
                    f"{show(array.shape)} and {show(value.shape)}"
                )
            ufunc(array, value, array)
        return cell

    return constantly(update)  # type: ignore[no-any-return]


def _scatter(make_change: Callable[[], rows.Change]) -> Callable[[NodeContext], Function]:
    return lambda node: _scattering(make_change())


def _scattering(change: rows.Change) -> Function:
    def scatter(cell: variable.Variable, indices: Array, updates: Array) -> variable.Variable:
        with cell.lock:
            array = cell.writable()
            if not array.ndim:
                raise invalid("params must be at least 1-D, got shape []")
            needed = (*indices.shape, *array.shape[1:])
            if not updates.ndim:
                updates = np.broadcast_to(updates, needed)
            if updates.shape != needed:
                raise invalid(
                    "Must have updates.shape = indices.shape + params.shape[1:] or "
                    "updates.shape = [], got "
                    f"updates.shape {show(updates.shape)}, indices.shape {show(indices.shape)}, "
                    f"params.shape {show(array.shape)}"
                )
            rows.check(indices, len(array))
            change(array, beside(indices, array), updates)
        return cell

    return scatter


def _multiply(table: Array, indices: Array, values: Array) -> None:
    if is_on_host(table):
        np.multiply.at(table, indices, values)
    else:
        _apply_products(table, indices, values, np.multiply)


def _apply_products(table: Array, indices: Array, values: Array, ufunc: np.ufunc) -> None:
    """Multiply or divide each row of a device's table by the product of its values."""
    if indices.size and table.size:
        flat = values.reshape(indices.size, *table.shape[1:])
        ufunc(table, rows.products(indices.reshape(-1), flat, len(table)), table)


def _divide(table: Array, indices: Array, values: Array) -> None:
    if not is_on_host(table):
        _apply_products(table, indices, values, np.divide)
        return
    if table.dtype.kind not in "iu":
        np.divide.at(table, indices, values)
        return
    # As in C++, the quotients of integers are rounded towards zero.
    rest = np.broadcast_to(values, (*indices.shape, *table.shape[1:]))
    for place, row in np.ndenumerate(indices):
        if not rest[place].all():
            raise invalid("ScatterDiv: integer division by zero")
        remainder = np.fmod(table[row], rest[place])
        table[row] = (table[row] - remainder) // rest[place]


register(Kernel("VariableV2", make_variable))
register(Kernel("IsVariableInitialized", constantly(is_initialized)))
register(Kernel("Assign", _assign))
register(Kernel("AssignAdd", _update(np.add)))
register(Kernel("AssignSub", _update(np.subtract)))
SCATTERS = {
    "ScatterAdd": _scatter(lambda: rows.Accumulation(np.add)),
    "ScatterSub": _scatter(lambda: rows.Accumulation(np.subtract)),
    "ScatterMul": _scatter(lambda: _multiply),
    "ScatterDiv": _scatter(lambda: _divide),
    "ScatterMin": _scatter(lambda: partial(rows.at, np.minimum)),
    "ScatterMax": _scatter(lambda: partial(rows.at, np.maximum)),
    "ScatterUpdate": _scatter(lambda: rows.replace),
}
"""The `make` of each op. Each op exists for resource variables too."""
for _op, _make in SCATTERS.items():
    register(Kernel(_op, _make))
