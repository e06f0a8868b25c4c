"""The formulas of the optimizers that regularise: proximal updates, AdagradDA and Ftrl
(core/kernels/training_ops.cc).

`l1` makes elements zero, and `l2` makes them small. `kernels.training_formulas` says what a
formula takes and returns.
"""

import numpy as np

from capstan.core.arrays import Array
from capstan.kernels.training_formulas import Attrs, Update


def proximal_gradient_descent(_: Attrs, rate: Array, l1: Array, l2: Array) -> Update:
    threshold, shrinkage = rate * l1, 1 + l2 * rate

    def update(value: Array, slope: Array, moved: Array, space: Array) -> None:
        np.multiply(slope, rate, moved)
        np.subtract(value, moved, moved)
        _shrink(moved, space, threshold)
        np.divide(moved, shrinkage, value)

    return update


def proximal_adagrad(_: Attrs, rate: Array, l1: Array, l2: Array) -> Update:
    def update(value: Array, accum: Array, slope: Array, *scratch: Array) -> None:
        moved, own_rate, threshold, space = scratch
        np.multiply(slope, slope, space)
        np.add(accum, space, accum)
        np.sqrt(accum, own_rate)
        np.divide(rate, own_rate, own_rate)
        np.multiply(slope, own_rate, moved)
        np.subtract(value, moved, moved)
        np.multiply(own_rate, l1, threshold)
        _shrink(moved, space, threshold)
        np.multiply(own_rate, l2, own_rate)
        np.add(own_rate, 1, own_rate)
        np.divide(moved, own_rate, value)

    return update


def adagrad_da(_: Attrs, rate: Array, l1: Array, l2: Array, global_step: Array) -> Update:
    count = rate.dtype.type(global_step)
    threshold, addend = l1 * count, l2 * count * rate

    def update(
        value: Array, total: Array, squares: Array, slope: Array, step: Array, size: Array
    ) -> None:
        np.add(total, slope, total)
        np.multiply(slope, slope, step)
        np.add(squares, step, squares)
        np.positive(total, step)
        _shrink(step, size, threshold)
        np.multiply(step, -rate, step)
        np.sqrt(squares, size)
        np.add(size, addend, size)
        np.divide(step, size, value)

    return update


def ftrl(attrs: Attrs, rate: Array, l1: Array, l2: Array, power: Array) -> Update:
    follow = _follow_the_leader(attrs, rate, l1, l2, power)

    def update(value: Array, accum: Array, linear: Array, slope: Array, *scratch: Array) -> None:
        follow(value, accum, linear, slope, slope, *scratch)

    return update


def ftrl_with_shrinkage(
    attrs: Attrs, rate: Array, l1: Array, l2: Array, shrinkage: Array, power: Array
) -> Update:
    follow, factor = _follow_the_leader(attrs, rate, l1, l2, power), 2 * shrinkage

    def update(
        value: Array, accum: Array, linear: Array, slope: Array, pull: Array, *scratch: Array
    ) -> None:
        np.multiply(value, factor, pull)
        np.add(pull, slope, pull)
        follow(value, accum, linear, slope, pull, *scratch)

    return update


def _follow_the_leader(attrs: Attrs, rate: Array, l1: Array, l2: Array, power: Array) -> Update:
    """Return the update that adds `pull` to the linear term, and the square of `slope` to `accum`.

    With `multiply_linear_by_lr`, the slot `linear` holds the linear term times the learning rate.
    """
    is_scaled, exponent, one = attrs["multiply_linear_by_lr"], -float(power), rate.dtype.type(1)
    scale, divisor = (rate, one) if is_scaled else (one, rate)
    bound, addend = l1 * scale, 2 * l2 * scale

    def update(
        value: Array,
        accum: Array,
        linear: Array,
        slope: Array,
        pull: Array,
        *scratch: Array,
    ) -> None:
        size, step, space = scratch
        _raise(accum, exponent, step)
        np.multiply(slope, slope, space)
        np.add(accum, space, accum)
        _raise(accum, exponent, size)
        np.subtract(size, step, step)
        np.divide(step, divisor, step)
        np.multiply(step, value, step)
        np.multiply(pull, scale, space)
        np.add(linear, space, space)
        np.subtract(space, step, linear)
        np.divide(size, divisor, size)
        np.add(size, addend, size)
        np.minimum(linear, bound, out=space)
        np.maximum(space, -bound, out=space)
        np.subtract(space, linear, space)
        np.divide(space, size, value)

    return update


def _raise(base: Array, exponent: float, out: Array) -> None:
    if exponent == 0.5:
        np.sqrt(base, out)
    else:
        np.power(base, base.dtype.type(exponent), out)


def _shrink(value: Array, space: Array, threshold: Array) -> None:
    """Move each element towards zero by `threshold`, at most to zero."""
    np.absolute(value, space)
    np.subtract(space, threshold, space)
    np.maximum(space, 0, out=space)
    np.copysign(space, value, value)
