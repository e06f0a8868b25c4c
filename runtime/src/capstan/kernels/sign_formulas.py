"""The formulas of updates that compare the signs of gradients and of their average.

They are those of Bello and others, "Neural optimizer search with reinforcement learning" (2017),
in the form that `kernels.training_formulas` describes.
"""

import numpy as np

from capstan.core.arrays import Array
from capstan.kernels.training_formulas import Attrs, Update


def add_sign(_: Attrs, rate: Array, alpha: Array, fading: Array, decay: Array) -> Update:
    """A step grows if both signs agree, and shrinks if they do not."""

    def update(value: Array, mean: Array, slope: Array, step: Array, part: Array) -> None:
        _average(mean, decay, slope, step, part)
        np.multiply(step, fading, step)
        np.add(step, alpha, step)
        _subtract(value, rate, slope, step)

    return update


def power_sign(_: Attrs, rate: Array, logbase: Array, fading: Array, decay: Array) -> Update:
    """A step is multiplied by a power of a base, whose exponent has the sign of the product."""

    def update(value: Array, mean: Array, slope: Array, step: Array, part: Array) -> None:
        _average(mean, decay, slope, step, part)
        np.multiply(step, logbase * fading, step)
        np.exp(step, step)
        _subtract(value, rate, slope, step)

    return update


def _average(mean: Array, decay: Array, slope: Array, signs: Array, part: Array) -> None:
    """Move the average, and put the product of its sign and the gradient's in `signs`."""
    np.multiply(slope, 1 - decay, part)
    np.multiply(mean, decay, signs)
    np.add(signs, part, mean)
    np.sign(mean, part)
    np.sign(slope, signs)
    np.multiply(signs, part, signs)


def _subtract(value: Array, rate: Array, slope: Array, step: Array) -> None:
    np.multiply(step, slope, step)
    np.multiply(step, rate, step)
    np.subtract(value, step, value)
