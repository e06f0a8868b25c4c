"""`tf.nn`'s normalizations with one operation (python/ops/nn_impl.py, nn_ops.py)."""

from typing import Any

import numpy as np

from capstan.framework import convert
from capstan.framework.raw import raw

__all__ = ["fused_batch_norm", "local_response_normalization", "lrn"]


def fused_batch_norm(
    x: Any,
    scale: Any,
    offset: Any,
    mean: Any = None,
    variance: Any = None,
    epsilon: float = 0.001,
    data_format: str = "NHWC",
    is_training: bool = True,
    name: str | None = None,
) -> tuple[Any, Any, Any]:
    """Normalize images. Return the result, and the mean and variance of each channel.

    During training, the moments are those of the batch, and the variance that is returned is the
    unbiased one. Otherwise `mean` and `variance` are the moments.

    Raises:
        ValueError: the moments are given during training, or are missing otherwise.
    """
    x = convert.convert_to_tensor(x, name="input")
    scale = convert.convert_to_tensor(scale, name="scale")
    offset = convert.convert_to_tensor(offset, name="offset")
    if is_training and (mean is not None or variance is not None):
        raise ValueError("Both 'mean' and 'variance' must be None if is_training is True.")
    if not is_training and (mean is None or variance is None):
        raise ValueError("Both 'mean' and 'variance' must be given if is_training is False.")
    result = raw.FusedBatchNormV3(
        x,
        scale,
        offset,
        _moment(mean),
        _moment(variance),
        epsilon=max(epsilon, 1.001e-5),
        data_format=data_format,
        is_training=is_training,
        name=name,
    )
    return result[0], result[1], result[2]


def _moment(given: Any) -> Any:
    """Return a moment that is given, or no numbers, with which the operation computes its own."""
    return convert.constant(np.array([], np.float32)) if given is None else given


def local_response_normalization(
    input: Any,
    depth_radius: int = 5,
    bias: float = 1,
    alpha: float = 1,
    beta: float = 0.5,
    name: str | None = None,
) -> Any:
    """Divide each element by (bias + alpha * squares) ** beta.

    `squares` is the sum of the squares of the element and its neighbours, up to `depth_radius`
    channels away.
    """
    return raw.LRN(input, depth_radius=depth_radius, bias=bias, alpha=alpha, beta=beta, name=name)


lrn = local_response_normalization
