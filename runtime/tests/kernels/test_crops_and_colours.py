"""Crops of images and their colours, compared with the formulas for each pixel."""

import colorsys
import math

import numpy as np
import pytest

import capstan as tf
from capstan.core.arrays import Array


@pytest.mark.parametrize("depth", [0, 1, 5])
@pytest.mark.parametrize("dtype", [np.float32, np.uint8])
@pytest.mark.parametrize("method", ["bilinear", "nearest"])
def test_the_pixels_of_crops_are_between_those_of_their_image(
    method: str, dtype: type, depth: int
) -> None:
    draw = np.random.default_rng(5)
    images = draw.integers(0, 200, (3, 6, 7, depth)).astype(dtype)
    boxes, owners = draw.uniform(-0.3, 1.3, (9, 4)).astype(np.float32), draw.integers(0, 3, 9)
    with tf.Graph().as_default(), tf.Session() as session:
        crops = session.run(
            tf.image.crop_and_resize(images, boxes, owners.astype(np.int32), [4, 5], method, -7.0)
        )
    for place in np.ndindex(9, 4, 5):
        box, (top, left, bottom, right) = place[0], boxes[place[0]]
        y = top * 5 + place[1] * (bottom - top) * 5 / 3
        x = left * 6 + place[2] * (right - left) * 6 / 4
        wanted = np.full(depth, -7.0)
        if 0 <= y <= 5 and 0 <= x <= 6:
            wanted = pixel(images[owners[box]].astype(float), y, x, method)
        np.testing.assert_allclose(crops[place], wanted, atol=1e-3)


def pixel(image: Array, y: float, x: float, method: str) -> Array:
    if method == "nearest":
        return image[math.floor(y + 0.5), math.floor(x + 0.5)]
    rows = [
        image[row, math.floor(x)] * (1 - x % 1) + image[row, math.ceil(x)] * (x % 1)
        for row in (math.floor(y), math.ceil(y))
    ]
    return rows[0] * (1 - y % 1) + rows[1] * (y % 1)


def test_hues_are_those_of_the_standard_library() -> None:
    images = np.random.default_rng(2).choice([0, 0.25, 0.5, 1], (40, 3)).astype(np.float32)
    with tf.Graph().as_default(), tf.Session() as session:
        found = session.run(tf.image.rgb_to_hsv(images))
    np.testing.assert_allclose(found, [colorsys.rgb_to_hsv(*row) for row in images], atol=1e-6)
