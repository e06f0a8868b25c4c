"""A seed gives the random window of an image that it gives in TensorFlow."""

from typing import Any

import genuine
import numpy as np
import pytest

import capstan

pytestmark = genuine.MARKS

BOXES = [[[0.1, 0.2, 0.4, 0.5], [0.6, 0.7, 0.9, 0.8]]]


def windows(tf: Any, size: Any, seeds: Any, options: dict[str, Any], target: str = "") -> Any:
    """Return the three outputs for each seed."""
    with tf.Graph().as_default(), tf.device("/job:worker/task:0" if target else None):
        seed = tf.placeholder(tf.int64, [2])
        given = {"min_object_covered": 0.1, "bounding_boxes": BOXES, **options}
        given = {
            name: tf.constant(value, tf.float32) if name in ("min_object_covered", "bounding_boxes")
            else value
            for name, value in given.items()
        }  # fmt: skip
        outputs = tf.raw_ops.StatelessSampleDistortedBoundingBox(
            image_size=tf.constant(size), seed=seed, **given
        )
        with tf.Session(target) as session:
            return [session.run(list(outputs), {seed: each}) for each in seeds]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"min_object_covered": 0.9, "area_range": [0.2, 0.5]},
        {"aspect_ratio_range": [2.0, 3.0], "use_image_if_no_bounding_boxes": True},
        {"area_range": [0.99, 1.0], "max_attempts": 2},
        {"bounding_boxes": np.zeros((1, 0, 4)), "use_image_if_no_bounding_boxes": True},
    ],
)
@pytest.mark.parametrize("size", [[40, 60, 3], [5, 300, 1], [64, 64, 3]])
def test_windows_are_those_of_tensorflow(
    v1: Any, tasks: genuine.Tasks, size: list[int], options: dict[str, Any]
) -> None:
    seeds = [[number, -3 * number] for number in range(25)]
    expected = windows(v1, size, seeds, options)
    for tf, target in ((capstan, ""), (v1, tasks.target())):
        found = windows(tf, size, seeds, options, target)
        for own, theirs in zip(found, expected, strict=True):
            for value, wanted in zip(own, theirs, strict=True):
                assert value.dtype == wanted.dtype
                np.testing.assert_array_equal(value, wanted)


def test_a_seed_of_another_shape_is_refused() -> None:
    with capstan.Graph().as_default(), capstan.Session() as session:
        seed = capstan.placeholder(capstan.int64)
        outputs = capstan.raw_ops.StatelessSampleDistortedBoundingBox(
            image_size=[4, 4, 1], bounding_boxes=BOXES, min_object_covered=0.1, seed=seed
        )
        with pytest.raises(capstan.errors.InvalidArgumentError, match="seed must have shape"):
            session.run(outputs.begin, {seed: [1, 2, 3]})
