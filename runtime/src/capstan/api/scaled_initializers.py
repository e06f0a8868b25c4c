"""The initializers that only `tf.initializers` has (python/ops/init_ops.py)."""

from typing import Any

from capstan.api import init_ops, matrix_ops
from capstan.core import dtypes, tensor_shape

__all__ = ["he_normal", "he_uniform", "identity", "lecun_normal", "lecun_uniform"]


def he_normal(seed: int | None = None) -> init_ops.VarianceScaling:
    """Return the normal initializer of He, whose variance is 2 divided by the number of inputs."""
    return init_ops.VarianceScaling(2.0, "fan_in", "truncated_normal", seed)


def he_uniform(seed: int | None = None) -> init_ops.VarianceScaling:
    """Return the uniform initializer of He, whose variance is 2 divided by the number of inputs."""
    return init_ops.VarianceScaling(2.0, "fan_in", "uniform", seed)


def lecun_normal(seed: int | None = None) -> init_ops.VarianceScaling:
    """Return the normal initializer of LeCun, whose variance is 1 divided by the inputs."""
    return init_ops.VarianceScaling(1.0, "fan_in", "truncated_normal", seed)


def lecun_uniform(seed: int | None = None) -> init_ops.VarianceScaling:
    """Return the uniform initializer of LeCun, whose variance is 1 divided by the inputs."""
    return init_ops.VarianceScaling(1.0, "fan_in", "uniform", seed)


class Identity(init_ops.Initializer):
    """Creates an identity matrix times `gain`. A matrix need not be square."""

    def __init__(self, gain: float = 1.0, dtype: Any = dtypes.float32) -> None:
        """Raises ValueError if `dtype` is not a floating-point type."""
        self.gain = gain
        self.dtype = dtypes.as_dtype(dtype)
        if not self.dtype.is_floating:
            raise ValueError(f"Expected floating point type, got {self.dtype}.")

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        """Return the matrix, or the part of it that a partition of a variable holds.

        Raises:
            ValueError: the shape has not two axes.
        """
        full = shape if partition_info is None else partition_info.full_shape
        sizes = tensor_shape.as_shape(full).as_list()
        if len(sizes) != 2:
            raise ValueError("Identity matrix initializer can only be used for 2D matrices.")
        matrix = matrix_ops.eye(sizes[0], sizes[1], dtype=dtypes.as_dtype(dtype or self.dtype))
        if partition_info is not None:
            rows, columns = partition_info.var_offset
            height, width = tensor_shape.as_shape(shape).as_list()
            matrix = matrix[rows : rows + height, columns : columns + width]
        return self.gain * matrix

    def get_config(self) -> dict[str, Any]:
        return {"gain": self.gain, "dtype": self.dtype.name}


identity = Identity
