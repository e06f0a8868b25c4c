"""Kernels of the optimizers' updates (core/kernels/training_ops.cc), under the variables' locks.

Each formula (`kernels.training_formulas`) is several NumPy calls. An update reads the memory of the
variable, its slots and the gradient only once: a CPU applies the calls block by block, and a block
stays in the cache. A GPU runs the calls as one kernel (`core.elementwise`). On a CPU, intermediate
values are in scratch space that the kernel keeps. A sparse update applies the formula to copies of
the rows that the gradient names, and writes the rows back. An update of several variables takes
their locks in the order of `variable.in_lock_order`.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from capstan.core import dtypes, elementwise
from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.kernels import rows
from capstan.kernels import training_formulas as formulas
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid
from capstan.resources import variable

Cell = variable.Variable

BLOCK = 1 << 14
"""The elements of a block. Several blocks of 64 KiB (float32) fit into the L2 cache.

The size is a guess.
"""


class _Blocks:
    """Cuts arrays of one shape into blocks, and has scratch space.

    The caller holds the lock of the variable, and changes the first `changed` arrays.
    """

    __slots__ = ("_allocate", "_changed", "_is_rounded", "_scratch")

    def __init__(self, node: NodeContext, changed: int, scratch: int) -> None:
        dtype = np.dtype(node.attrs["T"].as_numpy_dtype)
        computed = elementwise.computed(dtype)
        self._allocate = node.hardware.allocate
        self._changed, self._is_rounded = changed, computed != dtype
        self._scratch = [self._allocate((0,), computed) for _ in range(scratch)]

    def of(self, *arrays: Array) -> Iterable[tuple[Array, ...]]:
        """Yield for each block its elements of every array, and then scratch space of this size.

        The elements of bfloat16 are copies in single precision. Changes of these are rounded.
        """
        blocks = self._of(arrays)
        return self._rounded(blocks) if self._is_rounded else blocks

    def _rounded(self, blocks: Iterable[tuple[Array, ...]]) -> Iterator[tuple[Array, ...]]:
        for parts in blocks:
            wide = tuple(part.astype(np.float32, copy=False) for part in parts)
            yield wide
            for part, value in zip(parts[: self._changed], wide, strict=False):
                part[...] = value

    def _of(self, arrays: Sequence[Array]) -> Iterable[tuple[Array, ...]]:
        if arrays[0].size > BLOCK:
            return self._cut(arrays)
        shape = arrays[0].shape
        if self._scratch[0].shape != shape:
            self._scratch = [self._allocate(shape, old.dtype) for old in self._scratch]
        return ((*arrays, *self._scratch),)

    def _cut(self, arrays: Sequence[Array]) -> Iterator[tuple[Array, ...]]:
        # A gradient may be a reversed view of the variable. Without a copy, later blocks would read
        # values that earlier blocks have changed.
        flat = [array.reshape(-1) for array in map(_contiguous, arrays)]
        if self._scratch[0].shape != (BLOCK,):
            self._scratch = [self._allocate((BLOCK,), old.dtype) for old in self._scratch]
        for start in range(0, flat[0].size, BLOCK):
            blocks = [array[start : start + BLOCK] for array in flat]
            yield (*blocks, *(space[: len(blocks[0])] for space in self._scratch))


def _precision(node: NodeContext) -> Callable[[Iterable[Array]], Sequence[Array]]:
    """Return a function that returns arrays in the precision in which formulas compute."""
    return _wide if node.attrs["T"] is dtypes.bfloat16 else tuple


def _wide(arrays: Iterable[Array]) -> Sequence[Array]:
    return [array.astype(np.float32) for array in arrays]


def _contiguous(array: Array) -> Array:
    return array if array.flags.c_contiguous else array.copy()


def _same_shape(names: Sequence[str], arrays: Sequence[Array]) -> None:
    shape = arrays[0].shape
    for name, array in zip(names, arrays, strict=True):
        if array.shape != shape:
            raise invalid(
                f"{names[0]} and {name} do not have the same shape{show(shape)} {show(array.shape)}"
            )


class _Locked:
    """Holds the locks of several variables.

    Raises:
        InvalidArgumentError: a variable occurs twice, so its lock would be taken twice.
    """

    __slots__ = ("_cells",)

    def __init__(self, cells: Sequence[Cell]) -> None:
        if len(set(cells)) < len(cells):
            raise invalid(f"Variable {cells[0].name!r} cannot be its own slot")
        self._cells = variable.in_lock_order(*cells)

    def __enter__(self) -> None:
        for cell in self._cells:
            cell.lock.acquire()

    def __exit__(self, *_: object) -> None:
        for cell in self._cells:
            cell.lock.release()


def _gradient_descent(node: NodeContext) -> Function:
    if not node.hardware.is_host:
        return _in_one_pass(node, formulas.gradient_descent, ("var", "delta"), 1, 1)
    blocks, widen = _Blocks(node, 1, 1), _precision(node)

    def apply(var: Cell, rate: Array, grad: Array) -> Cell:
        (factor,) = widen((rate,))
        with var.lock:
            value = var.writable()
            if value.shape != grad.shape:
                _same_shape(("var", "delta"), (value, grad))
            for part, slope, step in blocks.of(value, grad):
                np.multiply(slope, factor, step)
                np.subtract(part, step, part)
        return var

    return apply


def _in_one_pass(
    node: NodeContext, formula: formulas.Formula, names: Sequence[str], gradient: int, scratch: int
) -> Function:
    """Return the function of a dense update on a device with memory of its own."""
    count = len(names) - 1
    at = count + gradient
    dtype = np.dtype(node.attrs["T"].as_numpy_dtype)
    recorder = elementwise.Recorder(elementwise.computed(dtype))
    given = [recorder.input(dtype=dtype) for _ in node.input_dtypes]
    traced = [each.astype(recorder.dtype) for each in given]
    changed = traced[:count]
    update = formula(node.attrs, *traced[count:at], *traced[at + 1 :])
    update(*changed, traced[at], *(recorder.scratch() for _ in range(scratch)))
    results = [each.astype(dtype) for each in changed]
    run = node.hardware.compile(recorder.program(results))

    def apply(*inputs: Any) -> Cell:
        cells: Sequence[Cell] = inputs[:count]
        grad = inputs[at]
        with _Locked(cells):
            arrays = [cell.writable() for cell in cells]
            if any(array.shape != grad.shape for array in arrays):
                _same_shape(names, [*arrays, grad])
            # The gradient may be a reversed view of the variable, which changes meanwhile.
            run([*arrays, *inputs[count:at], _contiguous(grad), *inputs[at + 1 :]], arrays)
        return cells[0]

    return apply


def _dense(
    formula: formulas.Formula, targets: str, gradient: int, scratch: int
) -> Callable[[NodeContext], Function]:
    """Return the `make` of an update by `formula` of variables with the names in `targets`.

    `gradient` is the place of the gradient among the other arguments. The formula needs `scratch`
    arrays.
    """
    names = (*targets.split(), "grad")
    count = len(names) - 1

    def make(node: NodeContext) -> Function:
        if not node.hardware.is_host:
            return _in_one_pass(node, formula, names, gradient, scratch)
        blocks, attrs, widen = _Blocks(node, count, scratch), node.attrs, _precision(node)
        at = count + gradient

        def apply(*inputs: Any) -> Cell:
            cells: Sequence[Cell] = inputs[:count]
            grad = inputs[at]
            update = formula(attrs, *widen(inputs[count:at]), *widen(inputs[at + 1 :]))
            with _Locked(cells):
                arrays = [cell.writable() for cell in cells]
                for array in arrays:
                    if array.shape != grad.shape:
                        _same_shape(names, [*arrays, grad])
                for parts in blocks.of(*arrays, grad):
                    update(*parts)
            return cells[0]

        return apply

    return make


def _sparse(
    formula: formulas.Formula, targets: str, gradient: int, scratch: int
) -> Callable[[NodeContext], Function]:
    """Return the `make` of an update of rows. The indices follow the gradient in the arguments."""
    names = tuple(targets.split())
    count = len(names)

    def make(node: NodeContext) -> Function:
        allocate, attrs, widen = node.hardware.allocate, node.attrs, _precision(node)

        def apply(*inputs: Any) -> Cell:
            cells: Sequence[Cell] = inputs[:count]
            numbers = list(inputs[count:])
            grad, indices = numbers.pop(gradient), numbers.pop(gradient)
            update = formula(attrs, *widen(numbers))
            with _Locked(cells):
                arrays = [cell.writable() for cell in cells]
                _same_shape(names, arrays)
                _check_rows(arrays[0], grad, indices)
                for index, rows_of_grad in _rounds(indices, grad):
                    *parts, slope = widen(
                        (*(rows.taken(array, index) for array in arrays), rows_of_grad)
                    )
                    spaces = [allocate(slope.shape, slope.dtype) for _ in range(scratch)]
                    update(*parts, slope, *spaces)
                    for array, part in zip(arrays, parts, strict=True):
                        array[index] = part
            return cells[0]

        return apply

    return make


def _check_rows(table: Array, grad: Array, indices: Array) -> None:
    if grad.shape != (*indices.shape, *table.shape[1:]):
        raise invalid(
            f"grad must be the same size as indices in the first dimension: "
            f"{show(grad.shape)} {show(indices.shape)}"
        )
    rows.check(indices, len(table))


def _rounds(indices: Array, grad: Array) -> Iterator[tuple[Array, Array]]:
    """Yield the indices and rows to update at once.

    If an index occurs twice, yield one row at a time, as TensorFlow does.
    """
    ranked = np.sort(indices)
    if not (ranked[1:] == ranked[:-1]).any():
        yield indices, grad
        return
    for at in range(len(indices)):
        yield indices[at : at + 1], grad[at : at + 1]


_ADAGRAD_DA = "var gradient_accumulator gradient_squared_accumulator"
_ARGUMENTS: dict[str, tuple[formulas.Formula, str, int, int]] = {
    "ProximalGradientDescent": (formulas.proximal_gradient_descent, "var", 3, 1),
    "Momentum": (formulas.momentum, "var accum", 1, 2),
    "Adagrad": (formulas.adagrad, "var accum", 1, 1),
    "ProximalAdagrad": (formulas.proximal_adagrad, "var accum", 3, 3),
    "AdagradDA": (formulas.adagrad_da, _ADAGRAD_DA, 0, 2),
    "Adadelta": (formulas.adadelta, "var accum accum_update", 3, 2),
    "RMSProp": (formulas.rms_prop, "var ms mom", 4, 2),
    "CenteredRMSProp": (formulas.centered_rms_prop, "var mg ms mom", 4, 2),
    "Ftrl": (formulas.ftrl, "var accum linear", 0, 3),
    "FtrlV2": (formulas.ftrl_with_shrinkage, "var accum linear", 0, 4),
}
"""The arguments of `_dense` and `_sparse`, by the name of the algorithm."""

UPDATES = {
    "ApplyGradientDescent": _gradient_descent,
    "ApplyAdam": _dense(formulas.adam, "var m v", 6, 2),
    **{f"Apply{name}": _dense(*arguments) for name, arguments in _ARGUMENTS.items()},
    **{f"SparseApply{name}": _sparse(*arguments) for name, arguments in _ARGUMENTS.items()},
}
"""The `make` of each op. Each op exists for resource variables too."""
for _op, _make in UPDATES.items():
    register(Kernel(_op, _make))
