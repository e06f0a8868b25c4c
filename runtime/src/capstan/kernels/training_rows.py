"""Updates of the rows of variables that a gradient names (core/kernels/training_ops.cc).

An update applies its formula (`kernels.training_formulas`) to copies of the rows, and writes the
rows back. One call may update several variables: then the formula computes the rows of all of them.
"""

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np

from capstan.core import elementwise, recording
from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.hardware import cpu_tables
from capstan.kernels import rows, stacking, training_cells
from capstan.kernels import training_formulas as formulas
from capstan.kernels.memory import is_on_host, put_rows
from capstan.kernels.registry import Columns, Function, Join, Joined, NodeContext
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
        record = functools.partial(_recorded, node, formula, count, gradient, scratch)
        in_place = cpu_tables.Rows(record, count) if node.hardware.is_host else None
        check_scalars = training_cells.scalars(node, count)

        def apply(*inputs: Any) -> Cell:
            check_scalars(inputs)
            cells: Sequence[Cell] = inputs[:count]
            numbers = list(inputs[count:])
            grad, indices = numbers.pop(gradient), numbers.pop(gradient)
            update = formula(attrs, *widen(numbers))
            with training_cells.Locked(cells):
                arrays = [cell.writable() for cell in cells]
                training_cells.same_shape(names, arrays)
                _check_rows(arrays[0], grad, indices)
                if in_place is not None and _change_alone(in_place, arrays, indices, grad, numbers):
                    return cells[0]
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

    def make(nodes: Sequence[NodeContext]) -> Joined:
        program = _recorded(nodes[0], formula, count, gradient, scratch)
        in_place = cpu_tables.Rows(lambda: program, count)
        change_copies = _by_copies(nodes[0], formula, program, scratch)

        def apply(*given: Sequence[Any]) -> Columns | None:
            groups, numbers = [*zip(*given[:count], strict=True)], [*given[count:]]
            grads, indices = numbers.pop(gradient), numbers.pop(gradient)
            if not all(map(_are_same, numbers)) or not stacking.are_vectors(indices):
                return None
            named, grad = stacking.column(indices), stacking.column(grads)
            if not grad.blocks.match(named.blocks):
                return None
            with training_cells.Locked([cell for group in groups for cell in group]):
                columns = [[cell.writable() for cell in cells] for cells in given[:count]]
                if not all(map(stacking.are_alike, columns)):
                    return None
                if not _fit(columns, grad.stacked, named):
                    return None
                first = [each[0] for each in numbers]
                if not _change(in_place, columns, named, grad.stacked, first):
                    change_copies(columns, named, grad.stacked, first)
            return given[:1]

        return apply

    return Join(make)


def _by_copies(
    node: NodeContext,
    formula: formulas.Formula,
    program: elementwise.Program | None,
    scratch: int,
) -> Callable[..., None]:
    """Return the function that computes with copies of the rows of all tables.

    It takes the tables of each column, the rows that are named, the gradient and the
    hyperparameters. The tables of each column are alike. `program` is that of the formula.
    """
    allocate, attrs, widen = node.hardware.allocate, node.attrs, training_cells.precision(node)
    compiled = None if program is None else node.hardware.ufunc(program, node.resources.spent)

    def change(
        columns: Sequence[Sequence[Array]],
        named: stacking.Column,
        grad: Array,
        numbers: Sequence[Array],
    ) -> None:
        found = [stacking.rows_of_each(each, named).stacked for each in columns]
        *parts, slope = widen((*found, grad))
        if compiled is not None and slope.dtype == parts[0].dtype:
            compiled(*parts, slope, *numbers, *parts)
        else:
            update = formula(attrs, *widen(numbers))
            spaces = (allocate(slope.shape, slope.dtype) for _ in range(scratch))
            update(*parts, slope, *spaces)
        for column, part in zip(columns, parts, strict=True):
            stacking.put_rows_of_each(column, named, part)

    return change


def _recorded(
    node: NodeContext, formula: formulas.Formula, count: int, gradient: int, scratch: int
) -> elementwise.Program | None:
    """Return an update of rows as a program, or None.

    Its inputs are rows of the variables and of the gradient, and the hyperparameters. The results
    are new rows of the variables.
    """
    dtype = np.dtype(node.attrs["T"].as_numpy_dtype)
    if elementwise.computed(dtype) != dtype:
        return None
    others = list(range(count, len(node.input_dtypes)))
    del others[gradient : gradient + 2]
    for constants in ({}, node.constants):
        recorder = recording.Recorder(dtype)
        changed = [recorder.input() for _ in range(count)]
        slope = recorder.input()
        numbers = [
            recorder.constant(float(constants[index])) if index in constants else given
            for index, given in ((index, recorder.input()) for index in others)
        ]
        try:
            update = formula(node.attrs, *numbers)
            update(*changed, slope, *(recorder.scratch() for _ in range(scratch)))
            return recorder.program(changed)
        except recording.Unrecordable:
            continue
    return None


def _change(
    in_place: cpu_tables.Rows,
    columns: Sequence[Sequence[Array]],
    named: stacking.Column,
    grad: Array,
    numbers: Sequence[Array],
) -> bool:
    """Change the rows of all tables in one pass. Return False if NumPy has to change them.

    The tables of each column are alike.
    """
    indices = named.stacked
    change = in_place.after(grad.size)
    if change is None or not grad.flags.c_contiguous or not indices.flags.c_contiguous:
        return False
    if any(column[0].dtype != grad.dtype for column in columns):
        return False
    if not all(map(stacking.suit_loops, columns)):
        return False
    change(columns, indices, named.blocks.sizes, grad, numbers)
    return True


def _change_alone(
    in_place: cpu_tables.Rows,
    tables: Sequence[Array],
    indices: Array,
    grad: Array,
    numbers: Sequence[Array],
) -> bool:
    """Change rows of one variable and its slots, as `_change`."""
    if any(np.may_share_memory(table, grad) for table in tables):
        return False
    named = stacking.Column(stacking.Blocks.of([indices]), indices)
    return _change(in_place, [[table] for table in tables], named, grad, numbers)


def _are_same(numbers: Sequence[Array]) -> bool:
    """Return whether all nodes have the same hyperparameter, a scalar."""
    first = numbers[0]
    if first.ndim:
        return False
    return len(set(map(id, numbers))) == 1 or all(own == first for own in numbers)


def _fit(columns: Sequence[Sequence[Array]], grad: Array, named: stacking.Column) -> bool:
    """Return whether the tables have the rows that the gradients name, each named once."""
    firsts = columns[0]
    shape = firsts[0].shape[1:]
    if grad.shape[1:] != shape:
        return False
    rows_of = stacking.Blocks.of(firsts)
    for column in columns[1:]:
        if [*map(len, column)] != rows_of.sizes.tolist() or column[0].shape[1:] != shape:
            return False
    return rows_of.contain(named.stacked, named.blocks) and _are_distinct(
        rows_of.moved(named.stacked, named.blocks), rows_of.total
    )


def _are_distinct(indices: Array, count: int) -> bool:
    """Return whether no index occurs twice. All are below `count`."""
    if not is_on_host(indices) or count > min(_SMALL_TABLE, _SPARSE * len(indices)):
        ranked = np.sort(indices)
        return not bool((ranked[1:] == ranked[:-1]).any())
    is_named = np.zeros(count, np.bool_)
    is_named[indices] = True
    return int(np.count_nonzero(is_named)) == len(indices)
