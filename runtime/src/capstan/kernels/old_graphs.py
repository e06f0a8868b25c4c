"""Kernels of ops of old graphs, whose successors have other arguments."""

from typing import Any

import numpy as np

from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.kernels import arithmetic, largest, layout, linear_algebra, margins
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid


def _concat(node: NodeContext) -> Function:
    join = layout.concat(node)
    return lambda axis, *parts: join(*parts[: node.attrs["N"]], axis, *parts[node.attrs["N"] :])


def _top_k(node: NodeContext) -> Function:
    find, count = largest.top_k(node), np.asarray(node.attrs["k"], np.int32)
    return lambda x: find(x, count)


def _reverse(x: Array, is_turned: Array) -> Array:
    if is_turned.ndim != 1 or len(is_turned) != x.ndim:
        raise invalid(
            f"'dims' must be a vector of {x.ndim} elements, but has shape {show(is_turned.shape)}"
        )
    steps: Any = [slice(None, None, -1 if turns else 1) for turns in is_turned.tolist()]
    return x[(*steps, ...)].copy()


def _tile_grad(x: Array, multiples: Array) -> Array:
    counts = multiples.tolist()
    if multiples.shape != (x.ndim,):
        raise invalid(
            f"Expected multiples argument to be a vector of length {x.ndim} but got "
            f"{show(multiples.shape)}"
        )
    split: list[int] = []
    for axis, (size, count) in enumerate(zip(x.shape, counts, strict=True)):
        if count < 1 or size % count:
            raise invalid(
                f"Expected input dimension {axis}, {size}, to be a multiple of multiples, {count}"
            )
        split += (count, size // count)
    parts: Any = x.reshape(split)
    return np.sum(parts, tuple(range(0, 2 * x.ndim, 2)), dtype=x.dtype)


def _bias_add(value: Array, bias: Array) -> Any:
    if value.ndim < 2:
        raise invalid(f"Input tensor must be at least 2D: {show(value.shape)}")
    if bias.shape != value.shape[-1:]:
        raise invalid(
            "Must provide as many biases as the last dimension of the input tensor: "
            f"{show(bias.shape)} vs. {show(value.shape)}"
        )
    return np.add(value, bias)


def _check_images(images: Array, *vectors: Array) -> None:
    if images.ndim != 4:
        raise invalid(f"input must be 4-dimensional {show(images.shape)}")
    for vector in vectors:
        if vector.shape != images.shape[-1:]:
            raise invalid(
                "mean, var, beta and gamma must be vectors with an element for each channel, got "
                f"{show(vector.shape)} for {show(images.shape)}"
            )


def _normalize(node: NodeContext) -> Function:
    is_scaled, least = node.attrs["scale_after_normalization"], node.attrs["variance_epsilon"]

    def normalize(x: Array, mean: Array, variance: Array, beta: Array, gamma: Array) -> Any:
        _check_images(x, mean, variance, beta, gamma)
        scale = 1 / np.sqrt(variance + variance.dtype.type(least))
        return (x - mean) * (scale * gamma if is_scaled else scale) + beta

    return normalize


def _normalization_slopes(node: NodeContext) -> Function:
    is_scaled, least = node.attrs["scale_after_normalization"], node.attrs["variance_epsilon"]

    def slopes(
        x: Array, mean: Array, variance: Array, gamma: Array, grad: Array
    ) -> tuple[Any, ...]:
        _check_images(x, mean, variance, gamma)
        wide = variance + variance.dtype.type(least)
        scale = 1 / np.sqrt(wide)
        factor = scale * gamma if is_scaled else scale
        by_beta = grad.sum((0, 1, 2))
        moved = (grad * (x - mean)).sum((0, 1, 2))
        by_gamma = moved * scale if is_scaled else np.zeros_like(gamma)
        by_variance = moved * factor * x.dtype.type(-0.5) / wide
        return grad * factor, -by_beta * factor, by_variance, by_beta, by_gamma

    return slopes


def _blocks(move: Function) -> Any:
    def make(node: NodeContext) -> Function:
        block = np.full(2, int(node.attrs["block_size"]), np.int32)

        def moved(x: Array, pairs: Array) -> Any:
            if x.ndim != 4:
                raise invalid(f"input rank should be 4 instead of {x.ndim}")
            return move(x, block, pairs)

        return moved

    return make


def _eigen(matrix: Array) -> Array:
    values, vectors = linear_algebra.self_adjoint_eigen(matrix)
    return np.concatenate([values[..., None, :], vectors], -2)


def _approximately_equal(node: NodeContext) -> Function:
    tolerance = node.attrs["tolerance"]

    def compare(x: Array, y: Array) -> Any:
        if x.shape != y.shape:
            raise invalid(f"x and y must have one shape, got {show(x.shape)} and {show(y.shape)}")
        distance = np.where(x > y, x - y, y - x)
        return distance < x.dtype.type(tolerance)

    return compare


register(Kernel("Concat", _concat))
register(Kernel("TopK", _top_k))
register(Kernel("Reverse", lambda _: _reverse))
register(Kernel("TileGrad", lambda _: _tile_grad))
register(Kernel("Mod", arithmetic.division(np.fmod, np.fmod), out=True))
register(Kernel("BiasAddV1", lambda _: _bias_add))
register(Kernel("BatchNormWithGlobalNormalization", _normalize))
register(Kernel("BatchNormWithGlobalNormalizationGrad", _normalization_slopes))
register(Kernel("SpaceToBatch", _blocks(margins.space_to_batch)))
register(Kernel("BatchToSpace", _blocks(margins.batch_to_space)))
for _op in ("SelfAdjointEig", "BatchSelfAdjointEig"):
    register(Kernel(_op, lambda _: _eigen))
register(Kernel("ApproximateEqual", _approximately_equal))
