"""Kernels of the optimizers' updates (core/kernels/training_ops.cc), under the variables' locks.

Each formula (`kernels.training_formulas`) is several NumPy calls. A device compiles them to one
loop (`core.elementwise`), which reads the memory of the variable, its slots and the gradient only
once. Until that pays, a CPU applies the calls block by block. A block stays in the cache, and
intermediate values are in scratch space that the kernel keeps. `training_rows` has the updates of
single rows.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from capstan.core import elementwise, recording
from capstan.core.arrays import Array
from capstan.kernels import (
    regularized_formulas,
    sign_formulas,
    training_cells,
    training_rows,
)
from capstan.kernels import training_formulas as formulas
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.resources import variable

Cell = variable.Variable

BLOCK = 1 << 14
"""The elements of a block. Several blocks of 64 KiB (float32) fit into the L2 cache.

The size is a guess.
"""


class _Blocks:
    """Cuts arrays of one shape into blocks, and has scratch space.

    The caller holds `lock` and the lock of the variable, and changes the first `changed` arrays.
    Two steps may give a node the handles of two variables, so `lock` guards the scratch space.
    """

    __slots__ = ("_allocate", "_changed", "_is_rounded", "_scratch", "lock")

    def __init__(self, node: NodeContext, changed: int, scratch: int) -> None:
        dtype = np.dtype(node.attrs["T"].as_numpy_dtype)
        computed = elementwise.computed(dtype)
        self._allocate = node.hardware.allocate
        self._changed, self._is_rounded = changed, computed != dtype
        self._scratch = [self._allocate((0,), computed) for _ in range(scratch)]
        self.lock = threading.Lock()

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


def _contiguous(array: Array) -> Array:
    return array if array.flags.c_contiguous else array.copy()


def _update(
    node: NodeContext, formula: formulas.Formula, names: Sequence[str], gradient: int, scratch: int
) -> Function:
    """Return the function of a dense update, which its device computes in one pass."""
    count = len(names) - 1
    at = count + gradient
    call = _compiled(node, formula, count, at, scratch)
    dtype, is_host = np.dtype(node.attrs["T"].as_numpy_dtype), node.hardware.is_host
    check_scalars = training_cells.scalars(node, count)

    def apply(*inputs: Any) -> Cell:
        check_scalars(inputs)
        cells: Sequence[Cell] = inputs[:count]
        grad = inputs[at]
        if not (is_host or grad.flags.c_contiguous):
            # The gradient may be a reversed view of the variable, which changes meanwhile.
            inputs = (*inputs[:at], grad.copy(), *inputs[at + 1 :])
        with cells[0].lock if count == 1 else training_cells.Locked(cells):
            arrays = [cell.writable() for cell in cells]
            for array in arrays:
                if array.shape != grad.shape:
                    training_cells.same_shape(names, [*arrays, grad])
                if array.dtype != dtype:
                    training_cells.same_type(cells, arrays, dtype)
            call(*arrays, *inputs[count:], *arrays)
        return cells[0]

    return apply


def _compiled(
    node: NodeContext, formula: formulas.Formula, count: int, at: int, scratch: int
) -> Callable[..., Any]:
    """Return the function that runs an update as a program (`Device.ufunc`).

    Input number `at` is the gradient. The first `count` inputs are changed. Some formulas decide by
    the value of a number. If it is no constant, a CPU runs them block by block.
    """
    if not node.hardware.is_host:
        return node.hardware.ufunc(
            _recorded(node, formula, count, at, scratch, {}), node.resources.spent
        )
    before = _in_blocks(node, formula, count, at, scratch)
    numbers = {
        index: float(value)
        for index, value in node.constants.items()
        if count <= index != at and not value.shape
    }
    for constants in ({}, numbers):
        try:
            program = _recorded(node, formula, count, at, scratch, constants)
        except recording.Unrecordable:
            continue
        return node.hardware.ufunc(program, node.resources.spent, before)
    return before


def _recorded(
    node: NodeContext,
    formula: formulas.Formula,
    count: int,
    at: int,
    scratch: int,
    constants: Mapping[int, float],
) -> elementwise.Program:
    """Return the program of an update. The inputs in `constants` become numbers of the program.

    Raises:
        Unrecordable: the formula decides by the value of an input.
    """
    dtype = np.dtype(node.attrs["T"].as_numpy_dtype)
    recorder = recording.Recorder(elementwise.computed(dtype))
    given = [recorder.input(dtype=dtype) for _ in node.input_dtypes]
    traced = [each.astype(recorder.dtype) for each in given]
    for index, number in constants.items():
        traced[index] = recorder.constant(number)
    changed = traced[:count]
    update = formula(node.attrs, *traced[count:at], *traced[at + 1 :])
    update(*changed, traced[at], *(recorder.scratch() for _ in range(scratch)))
    return recorder.program([each.astype(dtype) for each in changed])


def _in_blocks(
    node: NodeContext, formula: formulas.Formula, count: int, at: int, scratch: int
) -> Callable[..., None]:
    """Return the function that runs an update block by block, with the inputs of `_compiled`.

    The results replace the first inputs, whatever the other arguments are.
    """
    blocks, attrs, widen = _Blocks(node, count, scratch), node.attrs, training_cells.precision(node)
    inputs = len(node.input_dtypes)

    def call(*arrays: Array) -> None:
        update = formula(attrs, *widen(arrays[count:at]), *widen(arrays[at + 1 : inputs]))
        with blocks.lock:
            for parts in blocks.of(*arrays[:count], arrays[at]):
                update(*parts)

    return call


def _dense(
    formula: formulas.Formula, targets: str, gradient: int, scratch: int, named: str = "grad"
) -> Callable[[NodeContext], Function]:
    """Return the `make` of an update by `formula` of variables with the names in `targets`.

    The gradient is called `named`, and `gradient` is its place among the other arguments. The
    formula needs `scratch` arrays.
    """
    names = (*targets.split(), named)
    return lambda node: _update(node, formula, names, gradient, scratch)


_ADAGRAD_DA = "var gradient_accumulator gradient_squared_accumulator"
_ARGUMENTS: dict[str, tuple[formulas.Formula, str, int, int]] = {
    "ProximalGradientDescent": (regularized_formulas.proximal_gradient_descent, "var", 3, 2),
    "Momentum": (formulas.momentum, "var accum", 1, 2),
    "Adagrad": (formulas.adagrad, "var accum", 1, 1),
    "AdagradV2": (formulas.adagrad_with_epsilon, "var accum", 2, 2),
    "ProximalAdagrad": (regularized_formulas.proximal_adagrad, "var accum", 3, 4),
    "AdagradDA": (regularized_formulas.adagrad_da, _ADAGRAD_DA, 0, 2),
    "Adadelta": (formulas.adadelta, "var accum accum_update", 3, 2),
    "RMSProp": (formulas.rms_prop, "var ms mom", 4, 2),
    "CenteredRMSProp": (formulas.centered_rms_prop, "var mg ms mom", 4, 2),
    "Ftrl": (regularized_formulas.ftrl, "var accum linear", 0, 3),
    "FtrlV2": (regularized_formulas.ftrl_with_shrinkage, "var accum linear", 0, 4),
}
"""The arguments of `_dense` and `training_rows.update`, by the name of the algorithm."""

UPDATES = {
    "ApplyGradientDescent": _dense(formulas.gradient_descent, "var", 1, 1, "delta"),
    "ApplyAdam": _dense(formulas.adam, "var m v", 6, 2),
    "ApplyAdaMax": _dense(formulas.ada_max, "var m v", 5, 2),
    "ApplyAddSign": _dense(sign_formulas.add_sign, "var m", 4, 2),
    "ApplyPowerSign": _dense(sign_formulas.power_sign, "var m", 4, 2),
    **{f"Apply{name}": _dense(*arguments) for name, arguments in _ARGUMENTS.items()},
    **{
        f"SparseApply{name}": training_rows.update(*arguments)
        for name, arguments in _ARGUMENTS.items()
    },
}
"""The `make` of each op. Each op exists for resource variables too."""
_KERAS_MOMENTUM = (formulas.keras_momentum, "var accum", 1, 2)
RESOURCE_UPDATES = {
    "ApplyKerasMomentum": _dense(*_KERAS_MOMENTUM),
    "SparseApplyKerasMomentum": training_rows.update(*_KERAS_MOMENTUM),
    "ApplyAdamWithAmsgrad": _dense(formulas.adam_with_amsgrad, "var m v vhat", 6, 2),
}
"""The `make` of each op that exists for resource variables only, in the form of `UPDATES`."""
JOINS = {
    **{
        f"SparseApply{name}": training_rows.joined(*arguments)
        for name, arguments in _ARGUMENTS.items()
    },
    "SparseApplyKerasMomentum": training_rows.joined(*_KERAS_MOMENTUM),
}
"""How one call runs several updates of rows, by op."""
for _op, _make in UPDATES.items():
    register(Kernel(_op, _make, join=JOINS.get(_op)))
