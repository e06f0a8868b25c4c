"""Updates of the rows of variables that a gradient names (core/kernels/training_ops.cc).

An update applies its formula (`kernels.training_formulas`) to copies of the rows, and writes the
rows back. One call may update several variables: then the formula computes the rows of all of them.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np

from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.kernels import rows, stacking, training_cells
from capstan.kernels import training_formulas as formulas
from capstan.kernels.memory import is_on_host, put_rows
from capstan.kernels.registry import Calls, Function, Join, NodeContext
from capstan.kernels.rejection import invalid
from capstan.resources import variable

Cell = variable.Variable

_SMALL_TABLE: Final = 1 << 22
"""Up to this size, marking the indices in a table is faster than sorting them."""
_SPARSE: Final = 1024
"""If a table has that many places for each index, sorting is faster. The number is a guess."""


def update(
    formula: formulas.Formula, targets: str, gradient: int, scratch: int
) -> Callable[[NodeContext], Function]:
    """Return the `make` of an update of rows. The indices follow the gradient in the arguments."""
    names = tuple(targets.split())
    count = len(names)

    def make(node: NodeContext) -> Function:
        allocate, attrs, widen = node.hardware.allocate, node.attrs, training_cells.precision(node)

        def apply(*inputs: Any) -> Cell:
            cells: Sequence[Cell] = inputs[:count]
            numbers = list(inputs[count:])
            grad, indices = numbers.pop(gradient), numbers.pop(gradient)
            update = formula(attrs, *widen(numbers))
            with training_cells.Locked(cells):
                arrays = [cell.writable() for cell in cells]
                training_cells.same_shape(names, arrays)
                _check_rows(arrays[0], grad, indices)
                for index, rows_of_grad in _rounds(indices, grad, len(arrays[0])):
                    *parts, slope = widen(
                        (*(rows.taken(array, index) for array in arrays), rows_of_grad)
                    )
                    spaces = [allocate(slope.shape, slope.dtype) for _ in range(scratch)]
                    update(*parts, slope, *spaces)
                    for array, part in zip(arrays, parts, strict=True):
                        put_rows(array, index, part)
            return cells[0]

        return apply

    return make


def _check_rows(table: Array, grad: Array, indices: Array) -> None:
    if indices.ndim != 1:
        raise invalid(f"indices must be one-dimensional, not of shape {show(indices.shape)}")
    if grad.shape != (*indices.shape, *table.shape[1:]):
        raise invalid(
            f"grad must be the same size as indices in the first dimension: "
            f"{show(grad.shape)} {show(indices.shape)}"
        )
    rows.check(indices, len(table))


def _rounds(indices: Array, grad: Array, count: int) -> Iterator[tuple[Array, Array]]:
    """Yield the indices, which are below `count`, and the rows to update at once.

    If an index occurs twice, yield one row at a time, as TensorFlow does.
    """
    if _are_distinct(indices, count):
        yield indices, grad
        return
    for at in range(len(indices)):
        yield indices[at : at + 1], grad[at : at + 1]


def joined(formula: formulas.Formula, targets: str, gradient: int, scratch: int) -> Join:
    """Return how one call updates rows of several variables. The arguments are those of `update`.

    The call joins nodes with the same hyperparameters, each with variables of its own, and
    gradients that name no row twice.
    """
    count = len(targets.split())

    def make(nodes: Sequence[NodeContext]) -> Callable[[Calls], list[Cell] | None]:
        allocate, attrs, widen = (
            nodes[0].hardware.allocate,
            nodes[0].attrs,
            training_cells.precision(nodes[0]),
        )

        def apply(calls: Calls) -> list[Cell] | None:
            numbers = [list(call[count:]) for call in calls]
            grads, indices = zip(
                *[(n.pop(gradient), n.pop(gradient)) for n in numbers], strict=True
            )
            if not _are_same(numbers) or not stacking.are_vectors(indices):
                return None
            groups = [call[:count] for call in calls]
            blocks = stacking.Blocks.of(indices)
            with training_cells.Locked([cell for group in groups for cell in group]):
                tables = [[cell.writable() for cell in group] for group in groups]
                if not _fit(tables, grads, indices, blocks):
                    return None
                update = formula(attrs, *widen(numbers[0]))
                stacked = [
                    stacking.rows_of_each(columns, indices, blocks)
                    for columns in zip(*tables, strict=True)
                ]
                *parts, slope = widen((*stacked, np.concatenate(grads)))
                update(*parts, slope, *(allocate(slope.shape, slope.dtype) for _ in range(scratch)))
                for columns, part in zip(zip(*tables, strict=True), parts, strict=True):
                    stacking.put_rows_of_each(columns, indices, part, blocks)
            return [group[0] for group in groups]

        return apply

    return Join(make)


def _are_same(numbers: Sequence[Sequence[Array]]) -> bool:
    """Return whether all nodes have the same hyperparameters."""
    first = numbers[0]
    return all(
        own is other or own == other
        for each in numbers[1:]
        for own, other in zip(each, first, strict=True)
    )


def _fit(
    tables: Sequence[Sequence[Array]],
    grads: Sequence[Array],
    indices: Sequence[Array],
    blocks: stacking.Blocks,
) -> bool:
    """Return whether the tables have the rows that the gradients name, each named once."""
    for each, grad, index in zip(tables, grads, indices, strict=True):
        count, *shape = each[0].shape
        if grad.shape != (len(index), *shape):
            return False
        for table in each[1:]:
            if table.shape != (count, *shape):
                return False
    rows_of = stacking.Blocks.of([each[0] for each in tables])
    named = np.concatenate(indices)
    return rows_of.contain(named, blocks) and _are_distinct(
        rows_of.moved(named, blocks), rows_of.total
    )


def _are_distinct(indices: Array, count: int) -> bool:
    """Return whether no index occurs twice. All are below `count`."""
    if not is_on_host(indices) or count > min(_SMALL_TABLE, _SPARSE * len(indices)):
        ranked = np.sort(indices)
        return not bool((ranked[1:] == ranked[:-1]).any())
    is_named = np.zeros(count, np.bool_)
    is_named[indices] = True
    return int(np.count_nonzero(is_named)) == len(indices)
