"""Kernels of batch normalization and local response normalization."""

from typing import Any, Final

import numpy as np

from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.kernels import channel_passes
from capstan.kernels.folding import folded, repeated
from capstan.kernels.memory import is_on_host
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid

_SHORT: Final = 64
"""Sums over neighbours in longer rows of channels take less time than a product."""


def _is_first(node: NodeContext) -> bool:
    return node.attrs["data_format"] in (b"NCHW", "NCHW")


def _rows(node: NodeContext, images: Array) -> Array:
    """Return images as a matrix with one column for each channel, in float32."""
    if images.ndim != 4:
        raise invalid(f"input must be 4-dimensional, but has shape {show(images.shape)}")
    if _is_first(node):
        images = images.transpose(0, 2, 3, 1).copy()
    return images.astype(np.float32, copy=False).reshape(-1, images.shape[3])


def _images(node: NodeContext, rows: Array, like: Array) -> Array:
    """Return a matrix of pixels as images with the shape and dtype of `like`."""
    if _is_first(node):
        count, depth, height, width = like.shape
        rows = rows.reshape(count, height, width, depth).transpose(0, 3, 1, 2).copy()
    return rows.reshape(like.shape).astype(like.dtype, copy=False)


def _check_vectors(images: Array, rows: Array, **vectors: Array) -> None:
    """Refuse vectors that do not have one number for each channel."""
    for name, vector in vectors.items():
        if vector.shape != rows.shape[1:]:
            raise invalid(
                f"{name} must have the same number of elements as the channels of x, got "
                f"{show(vector.shape)} and {show(images.shape)}"
            )


def _steps(passes: channel_passes.Passes, rows: Array) -> Any:
    return passes if passes.serve(rows) else channel_passes.Formulas()


def _normal(node: NodeContext) -> Function:
    epsilon, training = np.float32(node.attrs["epsilon"]), bool(node.attrs["is_training"])
    spaces = len(node.output_dtypes) - 5
    passes = channel_passes.Passes()

    def normal(images: Array, scale: Array, offset: Array, mean: Array, variance: Array) -> Any:
        rows = _rows(node, images)
        _check_vectors(images, rows, scale=scale, offset=offset)
        if not training:
            _check_vectors(images, rows, mean=mean, variance=variance)
        count, rows = len(rows), folded(rows)
        steps = _steps(passes, rows)
        if training:
            number = np.float32(max(count, 1))
            centre = np.divide(steps.sums(rows, len(scale)), number)
            spread = np.divide(steps.squares(rows, centre), number)
            if not images.size:
                centre, spread = centre + np.float32(np.nan), spread + np.float32(np.nan)
        else:
            centre, spread = mean.copy(), variance.copy()
        factor = np.multiply(np.reciprocal(np.sqrt(np.add(spread, epsilon))), scale)
        result = steps.normalized(rows, centre, factor, offset)
        unbiased = spread
        if training:
            unbiased = np.multiply(spread, np.float32(count / max(count - 1, 1)))
        kept = (centre.copy(), spread.copy()) + (np.zeros_like(scale, shape=(0,)),) * spaces
        return (_images(node, result, images), centre, unbiased, *kept)

    return normal


def _normal_grad(node: NodeContext) -> Function:
    epsilon, training = np.float32(node.attrs["epsilon"]), bool(node.attrs["is_training"])
    passes = channel_passes.Passes()

    def normal_grad(
        slope: Array, images: Array, scale: Array, mean: Array, variance: Array, *_: Array
    ) -> Any:
        if slope.shape != images.shape:
            raise invalid(
                f"x and y_backprop must have the same shape, but have {show(images.shape)} and "
                f"{show(slope.shape)}"
            )
        rows = _rows(node, images)
        _check_vectors(images, rows, scale=scale, mean=mean, variance=variance)
        count = np.float32(max(len(rows), 1))
        rows, slopes = folded(rows), folded(_rows(node, slope))
        steps = _steps(passes, rows)
        inverse = np.reciprocal(np.sqrt(np.add(variance, epsilon)))
        by_offset, by_scale = steps.slopes(slopes, rows, mean, inverse)
        factor = np.multiply(scale, inverse)
        if training:
            means = np.divide(by_offset, count), np.divide(by_scale, count)
            result = steps.slope_by_rows(slopes, rows, mean, inverse, *means, factor)
        else:
            result = np.multiply(slopes, repeated(factor, rows))
        nothing = [np.zeros_like(scale, shape=(0,)) for _ in range(2)]
        return (_images(node, result, images), by_scale, by_offset, *nothing)

    return normal_grad


def _window_sums(values: Array, radius: int) -> Array:
    """Return for each channel the sum over the channels that are up to `radius` away.

    NumPy adds short rows one by one. A product with a band of ones is the same sum, which BLAS
    computes ten times as fast, but 0 times infinity is no number.
    """
    depth = values.shape[-1]
    if _may_be_product(values):
        places = np.arange(depth)
        is_near = np.abs(np.subtract.outer(places, places)) <= radius
        band = is_near.astype(values.dtype)
        return np.asarray(np.dot(values.reshape(-1, depth), band).reshape(values.shape))
    result = values.copy()
    for distance in range(1, min(radius, depth - 1) + 1):
        for target, source in (
            (result[..., distance:], values[..., :-distance]),
            (result[..., :-distance], values[..., distance:]),
        ):
            np.add(target, source, target)
    return result


def _may_be_product(values: Array) -> bool:
    return (
        is_on_host(values)
        and values.dtype.char in "fd"
        and values.shape[-1] <= _SHORT
        and bool(np.isfinite(values).all())
    )


def _norms(node: NodeContext, images: Array) -> Any:
    if images.ndim != 4:
        raise invalid(f"in must be 4-dimensional, but has shape {show(images.shape)}")
    squares = _window_sums(np.square(images), int(node.attrs["depth_radius"]))
    dtype = images.dtype.type
    return np.add(np.multiply(squares, dtype(node.attrs["alpha"])), dtype(node.attrs["bias"]))


def _lrn(node: NodeContext) -> Function:
    power = -float(node.attrs["beta"])

    def lrn(images: Array) -> Any:
        return np.multiply(images, np.power(_norms(node, images), images.dtype.type(power)))

    return lrn


def _lrn_grad(node: NodeContext) -> Function:
    alpha, beta = float(node.attrs["alpha"]), float(node.attrs["beta"])

    def lrn_grad(slope: Array, images: Array, outputs: Array) -> Any:
        dtype, norms = images.dtype.type, _norms(node, images)
        direct = np.multiply(slope, np.power(norms, dtype(-beta)))
        shares = np.divide(np.multiply(slope, outputs), norms)
        across = _window_sums(shares, int(node.attrs["depth_radius"]))
        return np.subtract(
            direct, np.multiply(np.multiply(images, across), dtype(2 * alpha * beta))
        )

    return lrn_grad


for _version in ("", "V2", "V3"):
    register(Kernel(f"FusedBatchNorm{_version}", _normal))
    register(Kernel(f"FusedBatchNormGrad{_version}", _normal_grad))
register(Kernel("LRN", _lrn))
register(Kernel("LRNGrad", _lrn_grad))
