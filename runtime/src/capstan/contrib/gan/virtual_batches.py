"""Virtual batch normalization (contrib/gan/python/features/python/virtual_batchnorm_impl.py)."""

from typing import Any

from capstan.api import (
    array_ops,
    init_ops,
    known_values,
    math_ops,
    nn,
    reduce_ops,
    scope_block,
    variable_scope,
)
from capstan.core import dtypes, tensor_shape
from capstan.framework import graph as graphs
from capstan.framework.raw import raw


def _checked_axis(batch: Any, axis: int) -> int:
    rank = batch.shape.ndims
    if rank is None:
        raise ValueError("`reference_batch` has unknown dimensions.")
    positive = rank + axis if axis < 0 else axis
    if not 0 <= positive < rank:
        raise ValueError(
            f"Value of `axis` argument {positive} is out of range for input with rank {rank}"
        )
    return positive


def _statistics(values: Any, axes: list[int]) -> tuple[Any, Any]:
    """Return the mean and the mean square along axes, computed in float32 for float16.

    The axes stay, with the size 1.
    """
    wide = math_ops.cast(values, dtypes.float32) if values.dtype == dtypes.float16 else values
    # A shift by about the mean keeps the digits of small differences.
    shift = raw.StopGradient(reduce_ops.reduce_mean(wide, axes, keepdims=True))
    mean = reduce_ops.reduce_mean(wide - shift, axes, keepdims=True) + shift
    squares = reduce_ops.reduce_mean(raw.Square(wide), axes, keepdims=True)
    return math_ops.cast(mean, values.dtype), math_ops.cast(squares, values.dtype)


def _size(tensor: Any, axis: int) -> Any:
    size = array_ops.shape(tensor)[axis]
    return known_values.constant_value(size) or size


class VBN:
    """Normalizes examples by the statistics of a fixed batch and of the example alone.

    An example thus depends on no other example of its batch (Salimans and others, 2016). The
    variables `beta` and `gamma` shift and scale the result, unless `center` or `scale` is false.

    Raises:
        ValueError: the rank of the reference batch is unknown, an axis is out of its range, or
            `axis` and `batch_axis` are the same.
    """

    def __init__(
        self,
        reference_batch: Any,
        axis: int = -1,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Any = None,
        gamma_initializer: Any = None,
        beta_regularizer: Any = None,
        gamma_regularizer: Any = None,
        trainable: bool = True,
        name: str | None = None,
        batch_axis: int = 0,
    ) -> None:
        axis = _checked_axis(reference_batch, axis)
        self._batch_axis = _checked_axis(reference_batch, batch_axis)
        if axis == self._batch_axis:
            raise ValueError("`axis` and `batch_axis` cannot be the same.")
        self._epsilon, self._reference_batch = epsilon, reference_batch
        rank, size = reference_batch.shape.ndims, reference_batch.shape.as_list()[axis]
        self._axes = [each for each in range(rank) if each not in (axis, self._batch_axis)]
        self._shape = [size if each == axis else 1 for each in range(rank)]
        with scope_block.variable_scope(name, "VBN", [reference_batch]) as self._scope:
            self._mean, self._squares = _statistics(
                reference_batch, [each for each in range(rank) if each != axis]
            )
            self._variance = self._squares - raw.Square(self._mean)
            batch = math_ops.cast(_size(reference_batch, self._batch_axis), dtypes.float32)
            self._weight = 1.0 / (batch + 1.0)
            self._beta: Any = 0
            self._gamma: Any = 1
            if center:
                self._beta = variable_scope.get_variable(
                    "beta", [size], initializer=beta_initializer or init_ops.zeros_initializer(),
                    regularizer=beta_regularizer, trainable=trainable,
                )  # fmt: skip
            if scale:
                self._gamma = variable_scope.get_variable(
                    "gamma", [size], initializer=gamma_initializer or init_ops.ones_initializer(),
                    regularizer=gamma_regularizer, trainable=trainable,
                )  # fmt: skip

    def reference_batch_normalization(self) -> Any:
        """Return the normalized reference batch."""
        with graphs.get_default_graph().name_scope(self._scope.name):
            return self._normalized(self._reference_batch, self._mean, self._variance)

    def __call__(self, inputs: Any) -> Any:
        """Return the normalized inputs.

        Raises:
            ValueError: their shape differs from that of the reference batch, but for the batch.
        """
        given, reference = (
            [size for axis, size in enumerate(each.shape.as_list()) if axis != self._batch_axis]
            for each in (inputs, self._reference_batch)
        )
        tensor_shape.TensorShape(given).assert_is_compatible_with(reference)
        with graphs.get_default_graph().name_scope(self._scope.name):
            mean, squares = (
                self._weight * own + (1.0 - self._weight) * of_reference
                for own, of_reference in zip(
                    _statistics(inputs, self._axes), (self._mean, self._squares), strict=True
                )
            )
            return self._normalized(inputs, mean, squares - raw.Square(mean))

    def _normalized(self, values: Any, mean: Any, variance: Any) -> Any:
        beta, gamma = (
            each if isinstance(each, int) else array_ops.reshape(each, self._shape)
            for each in (self._beta, self._gamma)
        )
        return nn.batch_normalization(values, mean, variance, beta, gamma, self._epsilon)
