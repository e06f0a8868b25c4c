"""The formulas of the optimizers' updates (core/kernels/training_ops.cc).

A formula takes the attributes of the node and the hyperparameters, in the order of the op's
arguments. It returns a function that changes the parts of the variable and of its slots in place.
This function takes the parts, the gradient's part, and scratch arrays of the same shape. All
calls are ufuncs, so that a GPU can compute an update in one pass (`core.elementwise`).

A function writes each part once. A step that reads a variable in place takes no lock, and would
otherwise see a temporary value of an update that another step makes at the same time.
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
        np.multiply(speed, decay, ahead)
        np.add(ahead, slope, speed)
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
        np.multiply(speed, decay, ahead)
        np.subtract(ahead, step, speed)
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

    def update(
        value: Array, mean: Array, norm: Array, slope: Array, step: Array, size: Array
    ) -> None:
        np.positive(slope, step)
        _decay(mean, beta1, step)
        np.absolute(slope, step)
        np.multiply(norm, beta2, size)
        np.maximum(size, step, out=norm)
        np.add(norm, epsilon, step)
        np.divide(mean, step, step)
        np.multiply(step, alpha, step)
        np.subtract(value, step, value)

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
        np.multiply(mean, rho, size)
        np.add(size, step, mean)
        np.multiply(mean, mean, size)
        np.subtract(squares, size, size)
        np.add(size, epsilon, size)
        _step_by_size(value, speed, slope, step, size, rate, decay)

    return update


def _decay(average: Array, rho: Array, sample: Array) -> None:
    """Move a moving average towards `sample`, which is scratch space afterwards."""
    np.subtract(sample, average, sample)
    np.multiply(sample, 1 - rho, sample)
    np.add(average, sample, average)


def _step_by_size(
    value: Array, speed: Array, slope: Array, step: Array, size: Array, rate: Array, decay: Array
) -> None:
    """Do the last part of RMSProp: divide the step by the root of `size`, and apply it."""
    np.sqrt(size, size)
    np.multiply(slope, rate, step)
    np.divide(step, size, step)
    np.multiply(speed, decay, size)
    np.add(size, step, speed)
    np.subtract(value, speed, value)
