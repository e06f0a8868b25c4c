"""`BoundedTensorSpec`: the type of a tensor with bounds (python/framework/tensor_spec.py)."""

from typing import Any

import numpy as np

from capstan.api import type_spec


class BoundedTensorSpec(type_spec.TensorSpec):
    """The type of a tensor whose elements are between `minimum` and `maximum`.

    The bounds are arrays, or numbers, that can be broadcast to `shape`. Both bounds are allowed
    values.

    Raises:
        ValueError: a bound is missing, or cannot be broadcast to the shape.
        TypeError: as `tf.TensorSpec`.
    """

    __slots__ = ("_maximum", "_minimum")

    def __init__(
        self, shape: Any, dtype: Any, minimum: Any, maximum: Any, name: str | None = None
    ) -> None:
        super().__init__(shape, dtype, name)
        self._minimum = self._bound("minimum", minimum)
        self._maximum = self._bound("maximum", maximum)

    def _bound(self, which: str, value: Any) -> Any:
        if value is None:
            raise ValueError(f"{which} can not be None")
        bound = np.array(value, self.dtype.as_numpy_dtype)
        sizes = self.shape.as_list() if self.shape.ndims is not None else list(bound.shape)
        try:
            np.broadcast_to(bound, [1 if size is None else size for size in sizes])
        except ValueError as fault:
            raise ValueError(f"{which} is not compatible with shape. {fault}") from None
        bound.setflags(write=False)
        return bound

    @property
    def minimum(self) -> Any:
        """The least allowed values, as an array that cannot be changed."""
        return self._minimum

    @property
    def maximum(self) -> Any:
        """The greatest allowed values, as an array that cannot be changed."""
        return self._maximum

    @classmethod
    def from_spec(cls, spec: Any, name: str | None = None) -> "BoundedTensorSpec":
        """Return a type with the bounds of another type, or with those of its dtype."""
        low = getattr(spec, "minimum", spec.dtype.min)
        high = getattr(spec, "maximum", spec.dtype.max)
        return cls(spec.shape, spec.dtype, low, high, name or spec.name)

    def _key(self) -> tuple[Any, ...]:
        return (*super()._key(), self._minimum.tobytes(), self._maximum.tobytes())

    __hash__ = type_spec.TensorSpec.__hash__
