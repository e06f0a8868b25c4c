"""Kernels of the optimizers' updates (core/kernels/training_ops.cc), under the variables' locks.

Each formula is several NumPy calls. They are applied block by block, and a block stays in the
cache. An update therefore reads the memory of the variable, its slots and the gradient once.
Intermediate values are in scratch space that the kernel keeps. An update of several variables takes
their locks in the order of `variable.in_lock_order`.
"""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.kernels import rows
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

    The caller holds the lock of the variable.
    """

    __slots__ = ("_allocate", "_scratch")

    def __init__(self, node: NodeContext, scratch: int) -> None:
        dtype = node.attrs["T"].as_numpy_dtype
        self._allocate = node.hardware.allocate
        self._scratch = [self._allocate((0,), dtype) for _ in range(scratch)]

    def of(self, *arrays: Array) -> Iterable[tuple[Array, ...]]:
        """Yield for each block its elements of every array, and then scratch space of this size."""
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


def _same_shape(names: Sequence[str], *arrays: Array) -> None:
    for name, array in zip(names[1:], arrays[1:], strict=True):
        if array.shape != arrays[0].shape:
            raise invalid(
                f"{names[0]} and {name} do not have the same shape"
                f"{show(arrays[0].shape)} {show(array.shape)}"
            )


def _distinct(*cells: Cell) -> list[Cell]:
    """Return the variables in the order in which they must be locked.

    Raises:
        InvalidArgumentError: a variable occurs twice, so its lock would be taken twice.
    """
    if len({id(cell) for cell in cells}) < len(cells):
        raise invalid(f"Variable {cells[0].name!r} cannot be its own slot")
    return variable.in_lock_order(*cells)


def _gradient_descent(node: NodeContext) -> Function:
    blocks = _Blocks(node, 1)

    def apply(var: Cell, rate: Array, grad: Array) -> Cell:
        with var.lock:
            value = var.writable()
            if value.shape != grad.shape:
                _same_shape(("var", "delta"), value, grad)
            for part, slope, step in blocks.of(value, grad):
                np.multiply(slope, rate, step)
                np.subtract(part, step, part)
        return var

    return apply


def _momentum(node: NodeContext) -> Function:
    blocks, nesterov = _Blocks(node, 2), bool(node.attrs["use_nesterov"])

    def apply(var: Cell, accum: Cell, rate: Array, grad: Array, momentum: Array) -> Cell:
        first, second = _distinct(var, accum)
        with first.lock, second.lock:
            value, speed = var.writable(), accum.writable()
            _same_shape(("var", "accum", "grad"), value, speed, grad)
            for part, velocity, slope, step, look_ahead in blocks.of(value, speed, grad):
                np.multiply(velocity, momentum, velocity)
                np.add(velocity, slope, velocity)
                if nesterov:
                    np.multiply(velocity, momentum, look_ahead)
                    np.add(look_ahead, slope, look_ahead)
                    np.multiply(look_ahead, rate, step)
                else:
                    np.multiply(velocity, rate, step)
                np.subtract(part, step, part)
        return var

    return apply


def _sparse_momentum(node: NodeContext) -> Function:
    nesterov = bool(node.attrs["use_nesterov"])

    def apply(
        var: Cell, accum: Cell, rate: Array, grad: Array, indices: Array, momentum: Array
    ) -> Cell:
        first, second = _distinct(var, accum)
        with first.lock, second.lock:
            value, speed = var.writable(), accum.writable()
            _same_shape(("var", "accum"), value, speed)
            if grad.shape != (*indices.shape, *value.shape[1:]):
                raise invalid(
                    f"grad must be the same size as indices in the first dimension: "
                    f"{show(grad.shape)} {show(indices.shape)}"
                )
            rows.check(indices, len(value))
            for index, slope in _rounds(indices, grad):
                velocity = speed[index] * momentum + slope
                speed[index] = velocity
                value[index] -= (velocity * momentum + slope if nesterov else velocity) * rate
        return var

    return apply


def _rounds(indices: Array, grad: Array) -> Iterator[tuple[Array, Array]]:
    """Yield the indices and rows to update at once.

    If an index occurs twice, yield one row at a time, as TensorFlow does.
    """
    if len(np.unique(indices)) == len(indices):
        yield indices, grad
        return
    for at in range(len(indices)):
        yield indices[at : at + 1], grad[at : at + 1]


def _adam(node: NodeContext) -> Function:
    blocks, nesterov = _Blocks(node, 2), bool(node.attrs["use_nesterov"])

    def apply(var: Cell, m: Cell, v: Cell, *arguments: Array) -> Cell:
        *numbers, grad = arguments
        power1, power2, rate, beta1, beta2, epsilon = (float(number) for number in numbers)
        alpha = rate * (1.0 - power2) ** 0.5 / (1.0 - power1)
        first, second, third = _distinct(var, m, v)
        with first.lock, second.lock, third.lock:
            value, means, powers = var.writable(), m.writable(), v.writable()
            _same_shape(("var", "m", "v", "grad"), value, means, powers, grad)
            for part, mean, power, slope, step, size in blocks.of(value, means, powers, grad):
                np.subtract(slope, mean, step)
                np.multiply(step, 1.0 - beta1, step)
                np.add(mean, step, mean)
                np.multiply(slope, slope, step)
                np.subtract(step, power, step)
                np.multiply(step, 1.0 - beta2, step)
                np.add(power, step, power)
                if nesterov:
                    np.multiply(slope, 1.0 - beta1, step)
                    np.multiply(mean, beta1, size)
                    np.add(step, size, step)
                    np.multiply(step, alpha, step)
                else:
                    np.multiply(mean, alpha, step)
                np.sqrt(power, size)
                np.add(size, epsilon, size)
                np.divide(step, size, step)
                np.subtract(part, step, part)
        return var

    return apply


UPDATES = {
    "ApplyGradientDescent": _gradient_descent,
    "ApplyMomentum": _momentum,
    "SparseApplyMomentum": _sparse_momentum,
    "ApplyAdam": _adam,
}
"""The `make` of each op. Each op exists for resource variables too."""
for _op, _make in UPDATES.items():
    register(Kernel(_op, _make))
