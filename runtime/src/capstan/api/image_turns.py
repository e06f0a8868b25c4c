"""Functions that flip, transpose and turn images (python/ops/image_ops_impl.py).

Each takes one image or a batch. Images of unknown rank are one image. All raise ValueError if there
are neither 3 nor 4 axes, or the images have no pixels or no channels.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from capstan.api import array_ops, cond_ops, logic_ops, math_ops, random_ops
from capstan.api.image_batches import batched, unbatched
from capstan.api.scoped import scoped
from capstan.core import dtypes
from capstan.framework import convert


def flip_left_right(image: Any) -> Any:
    """Return images with left and right exchanged."""
    with scoped(None, "flip_left_right", [image]):
        value, is_single = batched(image)
        return unbatched(value[:, :, ::-1], is_single)


def flip_up_down(image: Any) -> Any:
    """Return images with top and bottom exchanged."""
    with scoped(None, "flip_up_down", [image]):
        value, is_single = batched(image)
        return unbatched(value[:, ::-1], is_single)


def transpose_image(image: Any, name: str | None = None) -> Any:
    """Return images with rows and columns exchanged."""
    with scoped(name, "transpose_image", [image]):
        value, is_single = batched(image)
        return unbatched(array_ops.transpose(value, [0, 2, 1, 3]), is_single)


def rot90(image: Any, k: Any = 1, name: str | None = None) -> Any:
    """Return images turned counter-clockwise by `k` quarters, an integer or a scalar tensor.

    Raises:
        ValueError: `k` is not a scalar.
    """
    with scoped(name, "rot90", [image, k]):
        value, is_single = batched(image)
        if isinstance(k, int | np.integer):
            return unbatched(_turned(value, int(k) % 4), is_single)
        quarters = convert.convert_to_tensor(k, dtypes.int32, "k")
        quarters.shape.assert_has_rank(0)
        quarters = math_ops.mod(quarters, 4)
        turns = [
            (logic_ops.equal(quarters, count), functools.partial(_turned, value, count))
            for count in (1, 2, 3)
        ]
        turned = cond_ops.case(turns, lambda: array_ops.identity(value), exclusive=True)
        batch, _, _, channels = value.shape.as_list()
        turned.set_shape([batch, None, None, channels])
        return unbatched(turned, is_single)


def _turned(images: Any, quarters: int) -> Any:
    for _ in range(quarters):
        images = array_ops.transpose(images, [0, 2, 1, 3])[:, ::-1]
    return images


def random_flip_left_right(image: Any, seed: int | None = None) -> Any:
    """Do what `flip_left_right` does to each image, or nothing, with probability 1/2."""
    return _random_flip("random_flip_left_right", image, lambda value: value[:, :, ::-1], seed)


def random_flip_up_down(image: Any, seed: int | None = None) -> Any:
    """Do what `flip_up_down` does to each image, or nothing, with probability 1/2."""
    return _random_flip("random_flip_up_down", image, lambda value: value[:, ::-1], seed)


def _random_flip(name: str, image: Any, flip: Callable[[Any], Any], seed: int | None) -> Any:
    with scoped(None, name, [image]):
        value, is_single = batched(image)
        if is_single:
            is_flipped = random_ops.random_uniform([], seed=seed) < 0.5
            chosen = cond_ops.cond(
                is_flipped, lambda: flip(value), lambda: array_ops.identity(value)
            )
            return unbatched(chosen, is_single)
        draws = random_ops.random_uniform(array_ops.shape(value)[:1], seed=seed)
        flags = array_ops.reshape(math_ops.cast(math_ops.round(draws), value.dtype), [-1, 1, 1, 1])
        return flags * flip(value) + (1 - flags) * value
