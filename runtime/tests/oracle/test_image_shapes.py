"""Images of unknown shapes, sizes that are tensors, and images that do not fit."""

from collections.abc import Callable
from typing import Any

import genuine
import numpy as np
import pytest

import capstan

pytestmark = genuine.MARKS

Case = Callable[[Any, Any], Any]
IMAGE = np.arange(24, dtype=np.float32).reshape(2, 4, 3)
BATCH = np.arange(48, dtype=np.float32).reshape(2, 2, 4, 3)
CHANGES: dict[str, Case] = {
    "flip_left_right": lambda tf, x: tf.image.flip_left_right(x),
    "flip_up_down": lambda tf, x: tf.image.flip_up_down(x),
    "transpose": lambda tf, x: tf.image.transpose_image(x),
    **{
        f"rot90 {k}": lambda tf, x, k=k: tf.image.rot90(x, tf.placeholder_with_default(k, []))
        for k in range(-1, 5)
    },
    "crop": lambda tf, x: tf.image.crop_to_bounding_box(x, 0, 1, 2, 2),
    "crop by tensors": lambda tf, x: tf.image.crop_to_bounding_box(
        x, *map(tf.constant, (0, 1, 2, 2))
    ),
    "pad": lambda tf, x: tf.image.pad_to_bounding_box(x, 1, 0, 4, 5),
    "pad by tensors": lambda tf, x: tf.image.pad_to_bounding_box(
        x, *map(tf.constant, (1, 0, 4, 5))
    ),
    "crop or pad": lambda tf, x: tf.image.resize_image_with_crop_or_pad(x, 3, 3),
    "crop or pad by tensors": lambda tf, x: tf.image.resize_image_with_crop_or_pad(
        x, tf.constant(1), tf.constant(7)
    ),
}  # fmt: skip


@pytest.mark.parametrize("value, shape", [(IMAGE, None), (IMAGE, [None] * 3), (BATCH, [None] * 4)])
@pytest.mark.parametrize("name", CHANGES)
def test_images_of_unknown_sizes_are_changed_as_in_tensorflow(
    v1: Any, name: str, value: Any, shape: Any
) -> None:
    """TensorFlow 2 asks for the rank in the step, and some of its steps then fail."""
    found = []
    for tf, given in ((capstan, shape), (v1, [None] * value.ndim)):
        with tf.Graph().as_default(), tf.Session() as session:
            x = tf.placeholder(tf.float32, given)
            y = CHANGES[name](tf, x)
            assert y.shape.ndims == value.ndim
            found.append(session.run(y, {x: value}))
    np.testing.assert_array_equal(*found, strict=True)


REFUSALS: dict[str, tuple[Case, tuple[int, ...]]] = {
    "flip": (lambda tf, x: tf.image.flip_left_right(x), (2, 3)),
    "flip of no pixels": (lambda tf, x: tf.image.flip_up_down(x), (0, 2, 3)),
    "random flip": (lambda tf, x: tf.image.random_flip_left_right(x), (1, 2, 2, 2, 3)),
    "rot90": (lambda tf, x: tf.image.rot90(x, [1]), (2, 2, 3)),
    "transpose": (lambda tf, x: tf.image.transpose_image(x), (2, 3)),
    "crop": (lambda tf, x: tf.image.crop_to_bounding_box(x, 0, 0, 1, 1), (2, 3)),
    "crop of nothing": (
        lambda tf, x: tf.image.crop_to_bounding_box(x, 0, 0, np.int64(0), 1), (2, 2, 3),
    ),
    "pad": (lambda tf, x: tf.image.pad_to_bounding_box(x, 0, 0, 1, 1), (2, 3)),
    "pad to less": (lambda tf, x: tf.image.pad_to_bounding_box(x, 0, 0, np.int64(1), 2), (2, 2, 3)),
    "crop or pad": (lambda tf, x: tf.image.resize_image_with_crop_or_pad(x, 1, 1), (2, 3)),
    "crop or pad of no pixels": (
        lambda tf, x: tf.image.resize_image_with_crop_or_pad(x, 1, 1), (2, 0, 3),
    ),
    "central_crop": (lambda tf, x: tf.image.central_crop(x, 0.5), (2, 3)),
    "central_crop of unknown rank": (
        lambda tf, x: tf.image.central_crop(tf.placeholder(tf.float32), 0.5), (2, 2, 3),
    ),
    "resize to floats": (lambda tf, x: tf.image.resize_images(x, [2, 2.0]), (2, 2, 3)),
    "contrast": (lambda tf, x: tf.image.adjust_contrast(x, [2.0]), (2, 2, 3)),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSALS)
def test_images_that_do_not_fit_are_refused_when_the_graph_is_built(v1: Any, name: str) -> None:
    change, shape = REFUSALS[name]
    for tf in (v1, capstan):
        with tf.Graph().as_default(), pytest.raises(ValueError, match=r"\w"):
            change(tf, tf.zeros(shape))


@pytest.mark.parametrize(
    "change",
    [
        lambda tf, x: tf.image.crop_to_bounding_box(x, 0, 0, tf.constant(-1), 1),
        lambda tf, x: tf.image.pad_to_bounding_box(x, 0, 0, tf.placeholder_with_default(1, []), 4),
        lambda tf, x: tf.image.resize_image_with_crop_or_pad(
            x, 1, tf.placeholder_with_default(0, [])
        ),
    ],
)
def test_sizes_that_do_not_fit_end_the_step(v1: Any, change: Case) -> None:
    for tf in (v1, capstan):
        with tf.Graph().as_default(), tf.Session() as session:
            y = change(tf, tf.constant(IMAGE))
            with pytest.raises(tf.errors.InvalidArgumentError, match="target"):
                session.run(y)


def test_a_whole_central_crop_is_the_image_itself() -> None:
    with capstan.Graph().as_default():
        x = capstan.placeholder(capstan.float32)
        assert capstan.image.central_crop(x, 1.0) is x


def test_only_the_first_frame_of_a_file_has_three_axes(v1: Any) -> None:
    for tf in (v1, capstan):
        with tf.Graph().as_default():
            contents = tf.placeholder(tf.string, [])
            image = tf.image.decode_image(contents, expand_animations=False)
            assert image.shape.as_list() == [None, None, None]
