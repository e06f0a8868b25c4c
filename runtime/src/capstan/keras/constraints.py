"""`tf.keras.constraints`: functions that change a weight after its update
(python/keras/constraints.py).

The optimizers of `tf.train` call the constraint of a variable.
"""

from typing import Any

import numpy as np

from capstan.api import clip_ops, math_ops, nd_ops, reduce_ops
from capstan.api.absent import absent
from capstan.api.layers import settings
from capstan.keras import objects


class Constraint:
    """A function that returns the weight that replaces a weight, of the same shape."""

    def __call__(self, w: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} must override __call__")

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that create an equal constraint."""
        return dict(vars(self))


def _norms(w: Any, axis: Any) -> Any:
    return math_ops.sqrt(reduce_ops.reduce_sum(math_ops.square(w), axis=axis, keepdims=True))


class MaxNorm(Constraint):
    """Scales the vectors along `axis` down whose norm is larger than `max_value`."""

    def __init__(self, max_value: float = 2, axis: Any = 0) -> None:
        self.max_value = max_value
        self.axis = axis

    def __call__(self, w: Any) -> Any:
        norms = _norms(w, self.axis)
        desired = clip_ops.clip_by_value(norms, 0.0, float(self.max_value))
        return w * (desired / (settings.SETTINGS.epsilon + norms))


class NonNeg(Constraint):
    """Replaces negative weights by 0."""

    def __call__(self, w: Any) -> Any:
        return w * math_ops.cast(w >= 0.0, settings.SETTINGS.floatx)


class UnitNorm(Constraint):
    """Scales the vectors along `axis` to the norm 1."""

    def __init__(self, axis: Any = 0) -> None:
        self.axis = axis

    def __call__(self, w: Any) -> Any:
        return w / (settings.SETTINGS.epsilon + _norms(w, self.axis))


class MinMaxNorm(Constraint):
    """Moves the norms of the vectors along `axis` to [min_value, max_value], by the part `rate`."""

    def __init__(
        self,
        min_value: float = 0.0,
        max_value: float = 1.0,
        rate: float = 1.0,
        axis: Any = 0,
    ) -> None:
        self.min_value = min_value
        self.max_value = max_value
        self.rate = rate
        self.axis = axis

    def __call__(self, w: Any) -> Any:
        norms = _norms(w, self.axis)
        clipped = clip_ops.clip_by_value(norms, float(self.min_value), float(self.max_value))
        desired = self.rate * clipped + (1 - self.rate) * norms
        return w * (desired / (settings.SETTINGS.epsilon + norms))


class RadialConstraint(Constraint):
    """Makes the kernels of a convolution constant on the rings about their center.

    A kernel is [size, size, channels, filters]. As in TensorFlow 1.15, a ring gets the value at one
    place of the kernel's diagonal: for the size 4, the places are 1 for the center and 3, and for
    the size 3 they are 0 and 1.
    """

    def __call__(self, w: Any) -> Any:
        """Raises ValueError if the weight is not such a kernel, or its shape is unknown."""
        if w.shape.ndims != 4:
            raise ValueError(f"The weight tensor must be of rank 4, but is of shape: {w.shape}")
        height, width = w.shape.as_list()[:2]
        if height is None or height != width:
            raise ValueError(f"The kernels must be squares of a known size, not {w.shape}")
        distances = np.abs(np.arange(height) - (height - 1) / 2)
        rings = np.maximum.outer(distances, distances).astype(int)
        # The center of an even size has 4 places, and is a ring itself.
        start, is_odd = height // 2, height % 2
        places = np.where(rings == 0, max(start - 1, 0), start + rings - is_odd)
        return nd_ops.gather_nd(w, np.stack([places, places], -1).astype(np.int32))


max_norm = maxnorm = MaxNorm
non_neg = nonneg = NonNeg
unit_norm = unitnorm = UnitNorm
min_max_norm = MinMaxNorm
radial_constraint = RadialConstraint

serialize = objects.serialize_keras_object
deserialize = objects.deserializer("constraint", lambda: globals())
get = objects.getter("constraint", lambda: globals())


def __getattr__(name: str) -> Any:
    raise absent("tf.keras.constraints", name)
