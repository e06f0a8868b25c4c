"""Convolutions take their images in blocks."""

from typing import Any

import numpy as np
import pytest
import strict

import capstan as tf
from capstan.core import windows
from capstan.kernels import convolution
from capstan.kernels.convolution_geometry import FEW_CHANNELS, Geometry


def results(place: str, images: Any, filters: Any, stride: int) -> Any:
    """Return a convolution and its gradients by the images and the filters."""
    with tf.Graph().as_default(), tf.device(place):
        x, w = tf.placeholder(tf.float32, images.shape), tf.placeholder(tf.float32, filters.shape)
        y = tf.nn.conv2d(x, w, [1, stride, 1, 1], "SAME")
        fetches = [y, *tf.gradients(tf.reduce_sum(tf.sin(y)), [x, w])]
        with tf.Session() as session:
            return session.run(fetches, {x: images, w: filters})


@pytest.mark.e2e
@pytest.mark.parametrize("depth", [FEW_CHANNELS - 1, FEW_CHANNELS])
@pytest.mark.parametrize("place", ["/cpu:0", "/gpu:0"])
@pytest.mark.parametrize("stride", [1, 2])
def test_blocks_of_images_give_the_values_of_one_block(
    monkeypatch: pytest.MonkeyPatch, place: str, depth: int, stride: int
) -> None:
    random = np.random.default_rng(0)
    images = random.normal(size=(5, 6, 5, depth)).astype(np.float32)
    # A convolution with more filters needs no blocks on a CPU.
    filters = random.normal(size=(3, 2, depth, 2)).astype(np.float32)
    with strict.installed():
        expected = results(place, images, filters, stride)
        two_images = 2 * (6 // stride * 5) * (3 * 2 * depth) * 4
        for name in ("BLOCK", "DEVICE_BLOCK"):
            monkeypatch.setattr(convolution, name, two_images)
        found = results(place, images, filters, stride)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)


LAYERS = [
    (224, 3, 7, 2, 4),
    (224, 64, 3, 1, 64),
    (112, 64, 3, 1, 15),
    (56, 256, 3, 1, 15),
    (28, 32, 5, 1, 2),
    (7, 512, 3, 1, 1),
]
"""The size, the channels, the window and the stride of layers, and the blocks of 128 images."""


@pytest.mark.parametrize(("size", "depth", "width", "stride", "expected"), LAYERS)
def test_a_device_takes_few_blocks_that_are_much_smaller_than_its_memory(
    size: int, depth: int, width: int, stride: int, expected: int
) -> None:
    axis = windows.over(size, width, stride, 1, b"SAME")
    layer = Geometry(axis, axis, depth, 64)
    blocks = list(layer.blocks(128, 4, convolution.DEVICE_BLOCK))
    assert len(blocks) == expected
    most = max(block.stop - block.start for block in blocks)
    assert most * layer.pixels * layer.weights * 4 <= convolution.DEVICE_BLOCK


@pytest.mark.parametrize("size", [2, 3])
def test_images_that_are_too_small_have_no_windows(size: int) -> None:
    images = np.ones((2, 5, size, FEW_CHANNELS), np.float32)
    filters = np.ones((3, 3, FEW_CHANNELS, 4), np.float32)
    with tf.Graph().as_default(), tf.Session() as session:
        x, w = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
        y = tf.nn.conv2d(x, w, [1, 1, 1, 1], "VALID")
        fetches = [y, *tf.gradients(y, [x, w])]
        found = session.run(fetches, {x: images, w: filters})
    assert [each.shape for each in found] == [(2, 3, size - 2, 4), images.shape, filters.shape]
    assert found[1].any() == found[2].any() == (size == 3)
