"""The formulas of the optimizers' updates (core/kernels/training_ops.cc).

A formula takes the attributes of the node and the hyperparameters, in the order of the op's
arguments. It returns a function that changes the parts of the variable and of its slots in place.
This function takes the parts, the gradient's part, and scratch arrays of the same shape. All
calls are ufuncs, so that a GPU can compute an update in one pass (`core.elementwise`).
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from capstan.core.arrays import Array

Update = Callable[..., None]
Formula = Callable[..., Update]
Attrs = Mapping[str, Any]


def gradient_descent(_: Attrs, rate: Array) -> Update:
    def update(value: Array, slope: Array, step: Array) -> None:
        np.multiply(slope, rate, step)
        np.subtract(value, step, value)

    return update


def momentum(attrs: Attrs, rate: Array, decay: Array) -> Update:
    is_nesterov = attrs["use_nesterov"]

    def update(value: Array, speed: Array, slope: Array, step: Array, ahead: Array) -> None:
        np.multiply(speed, decay, speed)
        np.add(speed, slope, speed)
        if is_nesterov:
            np.multiply(speed, decay, ahead)
            np.add(ahead, slope, ahead)
            np.multiply(ahead, rate, step)
        else:
            np.multiply(speed, rate, step)
        np.subtract(value, step, value)

    return update


def keras_momentum(attrs: Attrs, rate: Array, decay: Array) -> Update:
    is_nesterov = attrs["use_nesterov"]

    def update(value: Array, speed: Array, slope: Array, step: Array, ahead: Array) -> None:
        np.multiply(slope, rate, step)
        np.multiply(speed, decay, speed)
        np.subtract(speed, step, speed)
        if is_nesterov:
            np.multiply(speed, decay, ahead)
            np.subtract(ahead, step, ahead)
            np.add(value, ahead, value)
        else:
            np.add(value, speed, value)

    return update


def adam(attrs: Attrs, *numbers: Array) -> Update:
    is_nesterov = attrs["use_nesterov"]
    power1, power2, rate, beta1, beta2, epsilon = numbers
    alpha = rate * np.sqrt(1 - power2) / (1 - power1)

    def update(
        value: Array, mean: Array, power: Array, slope: Array, step: Array, size: Array
    ) -> None:
        np.subtract(slope, mean, step)
        np.multiply(step, 1 - beta1, step)
        np.add(mean, step, mean)
        np.multiply(slope, slope, step)
        np.subtract(step, power, step)
        np.multiply(step, 1 - beta2, step)
        np.add(power, step, power)
        if is_nesterov:
            np.multiply(slope, 1 - beta1, step)
            np.multiply(mean, beta1, size)
            np.add(step, size, step)
            np.multiply(step, alpha, step)
        else:
            np.multiply(mean, alpha, step)
        np.sqrt(power, size)
        np.add(size, epsilon, size)
        np.divide(step, size, step)
        np.subtract(value, step, value)

    return update


def adam_with_amsgrad(_: Attrs, *numbers: Array) -> Update:
    power1, power2, rate, beta1, beta2, epsilon = numbers
    alpha = rate * np.sqrt(1 - power2) / (1 - power1)

    def update(
        value: Array,
        mean: Array,
        power: Array,
        largest: Array,
        slope: Array,
        step: Array,
        size: Array,
    ) -> None:
        np.positive(slope, step)
        _decay(mean, beta1, step)
        np.multiply(slope, slope, step)
        _decay(power, beta2, step)
        np.maximum(largest, power, out=largest)
        np.multiply(mean, alpha, step)
        np.sqrt(largest, size)
        np.add(size, epsilon, size)
        np.divide(step, size, step)
        np.subtract(value, step, value)

    return update


def ada_max(
    _: Attrs, power1: Array, rate: Array, beta1: Array, beta2: Array, epsilon: Array
) -> Update:
    alpha = rate / (1 - power1)

    def update(value: Array, mean: Array, norm: Array, slope: Array, step: Array) -> None:
        np.positive(slope, step)
        _decay(mean, beta1, step)
        np.absolute(slope, step)
        np.multiply(norm, beta2, norm)
        np.maximum(norm, step, out=norm)
        np.add(norm, epsilon, step)
        np.divide(mean, step, step)
        np.multiply(step, alpha, step)
        np.subtract(value, step, value)

    return update


def proximal_gradient_descent(_: Attrs, rate: Array, l1: Array, l2: Array) -> Update:
    threshold, shrinkage = rate * l1, 1 + l2 * rate

    def update(value: Array, slope: Array, step: Array) -> None:
        np.multiply(slope, rate, step)
        np.subtract(value, step, value)
        _shrink(value, step, threshold)
        np.divide(value, shrinkage, value)

    return update


def adagrad(attrs: Attrs, rate: Array) -> Update:
    updates_slots = attrs["update_slots"]

    def update(value: Array, accum: Array, slope: Array, step: Array) -> None:
        if updates_slots:
            np.multiply(slope, slope, step)
            np.add(accum, step, accum)
        np.sqrt(accum, step)
        np.divide(slope, step, step)
        np.multiply(step, rate, step)
        np.subtract(value, step, value)

    return update


def adagrad_with_epsilon(attrs: Attrs, rate: Array, epsilon: Array) -> Update:
    updates_slots = attrs["update_slots"]

    def update(value: Array, accum: Array, slope: Array, step: Array, size: Array) -> None:
        if updates_slots:
            np.multiply(slope, slope, step)
            np.add(accum, step, accum)
        np.sqrt(accum, size)
        np.add(size, epsilon, size)
        np.multiply(slope, rate, step)
        np.divide(step, size, step)
        np.subtract(value, step, value)

    return update


def proximal_adagrad(_: Attrs, rate: Array, l1: Array, l2: Array) -> Update:
    def update(
        value: Array, accum: Array, slope: Array, step: Array, own_rate: Array, threshold: Array
    ) -> None:
        np.multiply(slope, slope, step)
        np.add(accum, step, accum)
        np.sqrt(accum, own_rate)
        np.divide(rate, own_rate, own_rate)
        np.multiply(slope, own_rate, step)
        np.subtract(value, step, value)
        np.multiply(own_rate, l1, threshold)
        _shrink(value, step, threshold)
        np.multiply(own_rate, l2, own_rate)
        np.add(own_rate, 1, own_rate)
        np.divide(value, own_rate, value)

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
        np.positive(total, value)
        _shrink(value, step, threshold)
        np.multiply(value, -rate, value)
        np.sqrt(squares, size)
        np.add(size, addend, size)
        np.divide(value, size, value)

    return update


def adadelta(_: Attrs, rate: Array, rho: Array, epsilon: Array) -> Update:
    def update(
        value: Array, accum: Array, updates: Array, slope: Array, step: Array, size: Array
    ) -> None:
        np.multiply(slope, slope, step)
        _decay(accum, rho, step)
        np.add(updates, epsilon, step)
        np.add(accum, epsilon, size)
        np.sqrt(step, step)
        np.sqrt(size, size)
        np.divide(step, size, step)
        np.multiply(step, slope, step)
        np.multiply(step, rate, size)
        np.subtract(value, size, value)
        np.multiply(step, step, step)
        _decay(updates, rho, step)

    return update


def rms_prop(_: Attrs, rate: Array, rho: Array, decay: Array, epsilon: Array) -> Update:
    def update(
        value: Array, squares: Array, speed: Array, slope: Array, step: Array, size: Array
    ) -> None:
        np.multiply(slope, slope, step)
        _decay(squares, rho, step)
        np.add(squares, epsilon, size)
        _step_by_size(value, speed, slope, step, size, rate, decay)

    return update


def centered_rms_prop(_: Attrs, rate: Array, rho: Array, decay: Array, epsilon: Array) -> Update:
    def update(
        value: Array,
        mean: Array,
        squares: Array,
        speed: Array,
        slope: Array,
        step: Array,
        size: Array,
    ) -> None:
        np.multiply(slope, slope, step)
        _decay(squares, rho, step)
        np.multiply(slope, 1 - rho, step)
        np.multiply(mean, rho, mean)
        np.add(mean, step, mean)
        np.multiply(mean, mean, size)
        np.subtract(squares, size, size)
        np.add(size, epsilon, size)
        _step_by_size(value, speed, slope, step, size, rate, decay)

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
        np.multiply(pull, scale, space)
        np.add(linear, space, linear)
        _raise(accum, exponent, step)
        np.multiply(slope, slope, space)
        np.add(accum, space, accum)
        _raise(accum, exponent, size)
        np.subtract(size, step, step)
        np.divide(step, divisor, step)
        np.multiply(step, value, step)
        np.subtract(linear, step, linear)
        np.divide(size, divisor, size)
        np.add(size, addend, size)
        np.minimum(linear, bound, out=value)
        np.maximum(value, -bound, out=value)
        np.subtract(value, linear, value)
        np.divide(value, size, value)

    return update


def _raise(base: Array, exponent: float, out: Array) -> None:
    if exponent == 0.5:
        np.sqrt(base, out)
    else:
        np.power(base, base.dtype.type(exponent), out)


def _decay(average: Array, rho: Array, sample: Array) -> None:
    """Move a moving average towards `sample`, which is scratch space afterwards."""
    np.subtract(sample, average, sample)
    np.multiply(sample, 1 - rho, sample)
    np.add(average, sample, average)


def _shrink(value: Array, space: Array, threshold: Array) -> None:
    """Move each element towards zero by `threshold`, at most to zero."""
    np.absolute(value, space)
    np.subtract(space, threshold, space)
    np.maximum(space, 0, out=space)
    np.copysign(space, value, value)


def _step_by_size(
    value: Array, speed: Array, slope: Array, step: Array, size: Array, rate: Array, decay: Array
) -> None:
    """Do the last part of RMSProp: divide the step by the root of `size`, and apply it."""
    np.sqrt(size, size)
    np.multiply(slope, rate, step)
    np.divide(step, size, step)
    np.multiply(speed, decay, speed)
    np.add(speed, step, speed)
    np.subtract(value, speed, value)
