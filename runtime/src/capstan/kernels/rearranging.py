"""Kernels that shuffle rows, cut images at random places, or find the nearly largest elements."""

from typing import Any

import numpy as np

from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.kernels import largest, sampling, stateless
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid


def _shuffle(node: NodeContext) -> Function:
    words_of = stateless.of_key(node)

    def shuffle(value: Array, *key: Array) -> Array:
        words = words_of(*key)
        count = len(value) if value.ndim else 0
        order = list(range(count))
        # Each place gets one of the rows that are left, as in TensorFlow.
        for place, word in enumerate(words.first(count)[: max(count - 1, 0)].tolist()):
            other = place + word % (count - place)
            order[place], order[other] = order[other], order[place]
        return value[order] if count else value.copy()

    return shuffle


def _crop(node: NodeContext) -> Function:
    generator = sampling.generator(node)

    def crop(image: Array, size: Array) -> Array:
        if image.ndim != 3:
            raise invalid(f"image must be 3-dimensional {show(image.shape)}")
        if size.shape != (2,):
            raise invalid(f"size must contain two elements {show(size.shape)}")
        extents = size.tolist()
        if any(
            not 0 < wanted <= given for wanted, given in zip(extents, image.shape, strict=False)
        ):
            raise invalid(f"size must be within the image: {extents}, {show(image.shape)}")
        top, left = (
            int(generator.integers(0, given - wanted, endpoint=True))
            for wanted, given in zip(extents, image.shape, strict=False)
        )
        return image[top : top + extents[0], left : left + extents[1]].copy()

    return crop


def _nearly_largest(node: NodeContext) -> Function:
    """A CPU finds the elements that are the largest, or the smallest."""
    find, axis = largest.top_k(node), int(node.attrs["reduction_dimension"])
    count, is_max = np.asarray(node.attrs["k"], np.int32), node.attrs["is_max_k"]

    def nearly_largest(x: Array) -> tuple[Any, Any]:
        if not -x.ndim <= axis < x.ndim:
            raise invalid(f"reduction_dimension must be in [{-x.ndim}, {x.ndim}), not {axis}")
        rows = np.moveaxis(x, axis, -1)
        values, places = find(rows if is_max else -rows, count)
        turned = values if is_max else -values
        return np.moveaxis(turned, -1, axis).copy(), np.moveaxis(places, -1, axis).copy()

    return nearly_largest


register(Kernel("StatelessShuffle", _shuffle))
register(Kernel("RandomCrop", _crop))
register(Kernel("ApproxTopK", _nearly_largest))
