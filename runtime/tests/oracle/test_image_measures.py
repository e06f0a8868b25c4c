"""Colour spaces, edges and measures of images are TensorFlow's."""

from collections.abc import Callable
from typing import Any

import genuine
import numpy as np
import pytest

import capstan

pytestmark = genuine.MARKS

Case = Callable[[Any], Any]
RANDOM = np.random.default_rng(21)
FLOATS = RANDOM.random((2, 9, 7, 3), np.float32)
NOISY = np.clip(FLOATS + RANDOM.normal(0, 0.1, FLOATS.shape), 0, 1).astype(np.float32)
BYTES, NOISY_BYTES = ((255 * images).astype(np.uint8) for images in (FLOATS, NOISY))
LARGE = RANDOM.random((2, 45, 37, 3), np.float32)
BLURRED = (LARGE + np.roll(LARGE, 1, 1)) / 2

CASES: list[Case] = [
    *(
        lambda v1, n=n, i=i: getattr(v1.image, n)(i)
        for n in ("rgb_to_yiq", "yiq_to_rgb", "rgb_to_yuv", "yuv_to_rgb")
        for i in (FLOATS, FLOATS[0].astype(np.float64), FLOATS[0, 0].astype(np.float16))
    ),
    *(lambda v1, k=k: v1.image.image_gradients(v1.constant(FLOATS))[k] for k in range(2)),
    lambda v1: v1.image.image_gradients(v1.constant(BYTES.astype(np.int32)))[0],
    *(
        lambda v1, t=t: v1.image.sobel_edges(v1.constant(FLOATS.astype(t)))
        for t in (np.float32, np.float64)
    ),
    *(lambda v1, i=i: v1.image.total_variation(v1.constant(i)) for i in (FLOATS, FLOATS[1])),
    lambda v1: v1.image.psnr(FLOATS, NOISY, 1.0),
    lambda v1: v1.image.psnr(FLOATS, FLOATS[0], 2.0),
    lambda v1: v1.image.psnr(BYTES, NOISY_BYTES, 255),
    lambda v1: v1.image.ssim(FLOATS, NOISY, 1.0, filter_size=4),
    lambda v1: v1.image.ssim(BYTES, NOISY_BYTES, 255, 5, 1.0, 0.02, 0.05),
    lambda v1: v1.image.ssim(LARGE[:, None], BLURRED[:, None], 1.0),
    lambda v1: v1.image.ssim_multiscale(LARGE, BLURRED, 1.0, filter_size=3),
    lambda v1: v1.image.ssim_multiscale(LARGE, BLURRED, 1.0, (0.3, 0.3, 0.4), 5, 1.2, 0.02, 0.04),
    *(
        lambda v1, s=s, m=m, a=a: v1.image.resize_image_with_pad(FLOATS, *s, m, a)
        for s in ((9, 7), (5, 11), (20, 8), (2, 2), (18, 14))
        for m in (0, 1)
        for a in (False, True)
    ),
    lambda v1: v1.image.resize_image_with_pad(BYTES[0], 13, 4),
    lambda v1: v1.image.resize_image_with_pad(
        v1.placeholder_with_default(FLOATS, [None] * 4), 6, 8
    ),
]


def value(v1: Any, case: Case) -> Any:
    with v1.Graph().as_default(), v1.Session() as session:
        return np.asarray(session.run(case(v1)))


@pytest.mark.parametrize("number", range(len(CASES)))
def test_values_are_those_of_tensorflow(v1: Any, number: int) -> None:
    ours, theirs = (value(tf, CASES[number]) for tf in (capstan, v1))
    tolerance = 2e-3 if theirs.dtype == np.float16 else 1e-4
    np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=1e-5, strict=True)


@pytest.mark.parametrize("name", ["psnr", "ssim", "total_variation", "sobel_edges", "rgb_to_yuv"])
def test_measures_have_the_gradients_of_tensorflow(v1: Any, name: str) -> None:
    def case(tf: Any) -> Any:
        images, others = tf.constant(FLOATS), (NOISY, 1.0)
        arguments = {"psnr": others, "ssim": (*others, 4)}.get(name, ())
        found = getattr(tf.image, name)(images, *arguments)
        return tf.gradients(found * found, images)[0]

    ours, theirs = (value(tf, case) for tf in (capstan, v1))
    np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-3)


def test_equal_images_are_as_similar_as_can_be() -> None:
    assert value(capstan, lambda tf: tf.image.psnr(FLOATS, FLOATS, 1.0)).tolist() == [np.inf] * 2
    same = value(capstan, lambda tf: tf.image.ssim(FLOATS, FLOATS, 1.0, filter_size=3))
    np.testing.assert_allclose(same, [1, 1], rtol=1e-6)


def test_an_image_of_low_jpeg_quality_is_further_from_the_original() -> None:
    smooth = np.linspace(0, 1, 16 * 16 * 3).reshape(16, 16, 3).astype(np.float32)
    for image, unit in ((smooth, 1), ((255 * smooth).astype(np.uint8), 255)):
        low, high, middle = (
            np.abs(value(capstan, case).astype(float) - image).mean() / unit
            for case in (
                lambda tf, i=image: tf.image.adjust_jpeg_quality(i, 1),
                lambda tf, i=image: tf.image.adjust_jpeg_quality(i, tf.constant(100)),
                lambda tf, i=image: tf.image.random_jpeg_quality(i, 95, 96, seed=2),
            )
        )
        assert high < low
        assert middle < low
    kept = value(capstan, lambda tf: tf.image.adjust_jpeg_quality(BYTES[0], 90))
    assert (kept.dtype, kept.shape) == (np.uint8, BYTES[0].shape)


@pytest.mark.parametrize(
    "case, message",
    [
        (lambda image: image.image_gradients(FLOATS[0]), "expects a 4D tensor"),
        (lambda image: image.total_variation(FLOATS[0, 0]), "either 3 or 4-dimensional"),
        (lambda image: image.psnr(FLOATS, LARGE, 1.0), "incompatible"),
        (lambda image: image.ssim(FLOATS[0, 0], FLOATS[0, 0], 1.0), "rank"),
        (lambda image: image.rgb_to_yuv(FLOATS[..., :2]), "3"),
        (lambda image: image.resize_image_with_pad(FLOATS, 0, 3), "target_height must be > 0"),
        (lambda image: image.resize_image_with_pad(FLOATS[0, 0], 2, 3), "either 3 or 4"),
        (lambda image: image.random_jpeg_quality(BYTES[0], 0, 101), "between 0 and 100"),
        (lambda image: image.random_jpeg_quality(BYTES[0], 9, 9), "must be less than"),
    ],
)
def test_wrong_arguments_are_refused(case: Any, message: str) -> None:
    with capstan.Graph().as_default(), pytest.raises(ValueError, match=message):
        case(capstan.image)


def test_a_wrong_quality_of_jpeg_is_refused_by_the_step() -> None:
    with pytest.raises(capstan.errors.InvalidArgumentError, match=r"in \[0,100\], got 101"):
        value(capstan, lambda tf: tf.image.adjust_jpeg_quality(BYTES[0], 101))
