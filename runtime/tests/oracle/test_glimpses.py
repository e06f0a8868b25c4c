"""The parts of images in glimpses are those of TensorFlow, and the rest is noise of its kind."""

from typing import Any

import genuine
import numpy as np
import pytest

import capstan as tf
from capstan.framework.raw import raw

pytestmark = genuine.MARKS

RANDOM = np.random.default_rng(4)
IMAGES = RANDOM.uniform(10, 20, (7, 6, 5, 2)).astype(np.float32)
OFFSETS = np.concatenate([RANDOM.uniform(-1.3, 1.3, (5, 2)), [[0, 0], [9, -9]]]).astype(np.float32)


@pytest.mark.parametrize("size", [(3, 2), (6, 5), (1, 1), (9, 8), (2, 9), (0, 3)])
@pytest.mark.parametrize("is_normalized", [False, True])
@pytest.mark.parametrize("is_centered", [False, True])
def test_glimpses_without_noise_are_those_of_tensorflow(
    v1: Any, size: Any, is_normalized: bool, is_centered: bool
) -> None:
    scale = 1 if is_normalized else np.float32([6, 5])
    options = {
        "centered": is_centered, "normalized": is_normalized, "uniform_noise": False,
        "noise": "zero",
    }  # fmt: skip
    for offsets in (OFFSETS * scale, np.abs(OFFSETS) * scale):
        inputs = {"input": IMAGES, "size": np.int32(size), "offsets": offsets}
        with v1.Graph().as_default(), v1.Session() as session:
            expected = session.run(v1.raw_ops.ExtractGlimpse(**inputs, **options))
        with tf.Graph().as_default(), tf.Session() as session:
            own = session.run(tf.raw_ops.ExtractGlimpse(**inputs, **options))
        np.testing.assert_array_equal(own, expected)


def test_the_function_gives_the_pixels_of_tensorflow(v1: Any) -> None:
    def program(tf: Any) -> Any:
        glimpses = tf.image.extract_glimpse(IMAGES[:6], [2, 2], OFFSETS[:6] / 3)
        assert glimpses.shape.as_list() == [6, 2, 2, 2]
        with tf.Session() as session:
            return session.run(glimpses)

    with v1.Graph().as_default():
        expected = program(v1)
    with tf.Graph().as_default():
        np.testing.assert_array_equal(program(tf), expected)


@pytest.mark.parametrize("noise", ["uniform", "gaussian"])
def test_noise_has_the_limits_of_the_image(noise: str) -> None:
    images = np.stack([IMAGES[0], IMAGES[1] + 100])
    glimpses = raw.ExtractGlimpse(
        images, np.int32([60, 60]), np.float32([[3, 3]] * 2), uniform_noise=False, noise=noise
    )
    with tf.Session() as session:
        found, other = session.run(glimpses), session.run(glimpses)
    assert (found != other).any()
    for image, window in zip(images, found, strict=True):
        assert image.min() <= window.min() < window.max() <= image.max()
        pixels = image.reshape(-1, 2)
        middle = pixels.mean(0) if noise == "gaussian" else (image.min() + image.max()) / 2
        np.testing.assert_allclose(window.mean((0, 1)), middle, atol=0.3)


def test_wrong_arguments_are_refused() -> None:
    unknown = tf.placeholder_with_default(np.float32([[0, 0, 0]] * 7), None)
    noisy = raw.ExtractGlimpse(IMAGES, [2, 2], OFFSETS, noise="none", uniform_noise=False)
    with tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="offsets must have the shape"):
            session.run(tf.image.extract_glimpse(IMAGES, [2, 2], unknown))
        with pytest.raises(tf.errors.InvalidArgumentError, match="could only be uniform"):
            session.run(noisy)
    with pytest.raises(ValueError, match="should not be specified at the same time"):
        raw.ExtractGlimpse(IMAGES, [2, 2], OFFSETS, noise="zero")
