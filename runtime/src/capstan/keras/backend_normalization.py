"""Normalization of batches by functions of `tf.keras.backend` (python/keras/backend.py)."""

from collections.abc import Sequence
from typing import Any

from capstan.api import array_ops, creation_ops
from capstan.api import nn as nn_ops
from capstan.train import moving_averages


def moving_average_update(x: Any, value: Any, momentum: float) -> Any:
    """Set the variable `x` to its moving average with `value`, without the bias of its start.

    The result of a step is the new value.
    """
    return moving_averages.assign_moving_average(x, value, momentum, zero_debias=True)


def batch_normalization(
    x: Any, mean: Any, var: Any, beta: Any, gamma: Any, axis: int = -1, epsilon: float = 1e-3
) -> Any:
    """Return `gamma * (x - mean) / sqrt(var + epsilon) + beta`. `beta` and `gamma` may be None.

    For images, the others are vectors or have further axes of size 1, and `axis` is that of the
    channels. Otherwise they broadcast.
    """
    if x.shape.ndims != 4 or axis not in (1, -3, 3, -1):
        return nn_ops.batch_normalization(x, mean, var, beta, gamma, epsilon)
    mean, var = _vector(mean), _vector(var)
    scale = creation_ops.ones_like(mean) if gamma is None else _vector(gamma)
    offset = creation_ops.zeros_like(mean) if beta is None else _vector(beta)
    layout = "NCHW" if axis in (1, -3) else "NHWC"
    return nn_ops.fused_batch_norm(x, scale, offset, mean, var, epsilon, layout, False)[0]


def _vector(x: Any) -> Any:
    return array_ops.reshape(x, [-1]) if x.shape.ndims != 1 else x


def normalize_batch_in_training(
    x: Any, gamma: Any, beta: Any, reduction_axes: Sequence[int], epsilon: float = 1e-3
) -> tuple[Any, Any, Any]:
    """Normalize a batch by its own moments. Return the result, the means and the variances.

    As in TensorFlow, the variances of images whose last axis has the channels are the unbiased
    ones. All other variances are those of the batch.
    """
    axes = list(reduction_axes)
    if x.shape.ndims == 4 and axes == [0, 1, 2]:
        channels = x.shape.as_list()[-1]
        scale = creation_ops.ones([channels], x.dtype.base_dtype) if gamma is None else gamma
        offset = creation_ops.zeros([channels], x.dtype.base_dtype) if beta is None else beta
        result: tuple[Any, Any, Any] = nn_ops.fused_batch_norm(x, scale, offset, epsilon=epsilon)
        return result
    mean, variance = nn_ops.moments(x, axes)
    if sorted(axes) == list(range(x.shape.ndims - 1)):
        normal = nn_ops.batch_normalization(x, mean, variance, beta, gamma, epsilon)
        return normal, mean, variance
    sizes = array_ops.shape(x)
    shape = array_ops.stack([1 if axis in axes else sizes[axis] for axis in range(x.shape.ndims)])
    centre, spread, offset, scale = (
        None if each is None else array_ops.reshape(each, shape)
        for each in (mean, variance, beta, gamma)
    )
    normal = nn_ops.batch_normalization(x, centre, spread, offset, scale, epsilon)
    return normal, mean, variance
