"""Crops of images, and boxes that do not overlap much, are TensorFlow's, with their gradients."""

from collections.abc import Callable
from typing import Any

import genuine
import numpy as np
import pytest

import capstan

pytestmark = genuine.MARKS

Case = Callable[[Any], Any]
INFINITE = float("inf")
OWNERS = np.int32([1, 0, 1, 1, 0])


def drawn(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def boxes(seed: int, count: int = 5) -> Any:
    """Return boxes of which some reach over the edges, or have their corners exchanged."""
    return drawn(seed).uniform(-0.2, 1.2, (count, 4)).astype(np.float32)


IMAGES = drawn(3).uniform(0, 200, (2, 6, 5, 3))


def values(tf: Any, case: Case) -> list[Any]:
    with tf.Graph().as_default(), tf.Session() as session:
        made = case(tf)
        return [np.asarray(each) for each in session.run(list(made))]


def check(v1: Any, case: Case, tolerance: float = 1e-4) -> None:
    for ours, theirs in zip(values(capstan, case), values(v1, case), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance, strict=True)


@pytest.mark.parametrize("dtype", ["uint8", "int16", "int64", "float16", "float32", "float64"])
@pytest.mark.parametrize("method", ["bilinear", "nearest"])
@pytest.mark.parametrize("size", [(1, 1), (4, 1), (1, 3), (7, 4)])
def test_crops_are_those_of_tensorflow(v1: Any, dtype: str, method: str, size: Any) -> None:
    def case(tf: Any) -> list[Any]:
        image = tf.image
        return [
            image.crop_and_resize(IMAGES.astype(dtype), boxes(4), OWNERS, size, method),
            image.crop_and_resize(
                IMAGES.astype(dtype), boxes(5), None, size, method, -7.5, box_indices=OWNERS
            ),
        ]

    check(v1, case)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("method", ["bilinear", "nearest"])
@pytest.mark.parametrize("size", [(1, 1), (4, 1), (1, 3), (7, 4)])
def test_gradients_of_crops_are_those_of_tensorflow(
    v1: Any, dtype: str, method: str, size: Any
) -> None:
    def case(tf: Any) -> list[Any]:
        images, places = tf.constant(IMAGES.astype(dtype) / 100), tf.constant(boxes(6))
        crops = tf.image.crop_and_resize(images, places, OWNERS, size, method, 2.0)
        weights = tf.constant(drawn(7).standard_normal((5, *size, 3)).astype(np.float32))
        return list(tf.gradients(crops * weights, [images, places]))

    check(v1, case, 2e-2 if dtype == "float16" else 1e-4)


def test_images_of_integers_have_no_gradient_but_their_boxes_have(v1: Any) -> None:
    def case(tf: Any) -> list[Any]:
        images, places = tf.constant(IMAGES.astype(np.uint8)), tf.constant(boxes(6))
        crops = tf.image.crop_and_resize(images, places, OWNERS, [3, 2])
        return list(tf.gradients(crops, [places]))

    check(v1, case, 1e-3)


def test_the_static_shape_of_crops_follows_from_boxes_and_size() -> None:
    with capstan.Graph().as_default():
        images = capstan.placeholder(capstan.float32, [None, None, None, 3])
        crops = capstan.image.crop_and_resize(images, boxes(4), OWNERS, [4, 2])
        assert crops.shape.as_list() == [5, 4, 2, 3]


@pytest.mark.parametrize(
    "owners, size, error, message",
    [
        ([0, 2], [1, 1], capstan.errors.OutOfRangeError, r"outside \[0, 2\)"),
        ([0, -1], [1, 1], capstan.errors.OutOfRangeError, "the first is -1"),
        ([0, 1], [0, 1], capstan.errors.InvalidArgumentError, "must be positive"),
    ],
)
def test_wrong_crops_are_refused(owners: Any, size: Any, error: Any, message: str) -> None:
    with capstan.Graph().as_default(), capstan.Session() as session:
        crops = capstan.image.crop_and_resize(IMAGES, boxes(4, 2), owners, size)
        with pytest.raises(error, match=message):
            session.run(crops)


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"crop_size": [1, 1]}, "box_ind"),
        ({"box_ind": OWNERS}, "crop_size"),
        ({"box_ind": OWNERS, "box_indices": OWNERS, "crop_size": [1, 1]}, "both"),
    ],
)
def test_a_crop_needs_its_arguments_once(arguments: dict[str, Any], message: str) -> None:
    with capstan.Graph().as_default(), pytest.raises(ValueError, match=message):
        capstan.image.crop_and_resize(IMAGES, boxes(4), **arguments)


def crowd(seed: int, count: int = 30) -> tuple[Any, Any]:
    """Return boxes that overlap each other, and their scores, of which some are equal."""
    random = drawn(seed)
    corners = random.uniform(0, 1, (count, 2))
    sides = random.uniform(-0.05, 0.5, (count, 2))
    places = np.concatenate([corners, corners + sides], 1).astype(np.float32)
    return places, (random.integers(0, 12, count) / 12).astype(np.float32)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("threshold", [0.0, 0.25, 0.5, 1.0])
def test_chosen_boxes_are_those_of_tensorflow(v1: Any, seed: int, threshold: float) -> None:
    places, scores = crowd(seed)

    def case(tf: Any) -> list[Any]:
        image = tf.image
        overlaps = drawn(seed).random((30, 30)).astype(np.float32)
        return [
            image.non_max_suppression(places, scores, 30, threshold),
            image.non_max_suppression(places, scores, 4, threshold, 0.3),
            image.non_max_suppression(
                places.astype(np.float16), scores.astype(np.float16), 8, threshold, 0.3
            ),
            image.non_max_suppression(places[:0], scores[:0], 4, threshold),
            # The function of TensorFlow 2.21 follows another rule, but the op is still there.
            *(
                part
                for is_padded in (True, False)
                for part in tf.raw_ops.NonMaxSuppressionV4(
                    boxes=places,
                    scores=scores,
                    max_output_size=25,
                    iou_threshold=threshold,
                    score_threshold=0.5,
                    pad_to_max_output_size=is_padded,
                )
            ),
            image.non_max_suppression_overlaps(overlaps, scores, 9, threshold, 0.1),
        ]

    check(v1, case)


@pytest.mark.parametrize("sigma", [0.0, 0.2, 1.0])
@pytest.mark.parametrize("least", [-INFINITE, 0.2])
def test_scores_sink_with_overlaps_as_in_tensorflow(v1: Any, sigma: float, least: float) -> None:
    places, scores = crowd(11)

    def case(tf: Any) -> list[Any]:
        return [
            *tf.image.non_max_suppression_with_scores(places, scores, 12, 0.7, least, sigma),
            *tf.image.non_max_suppression_with_scores(places, scores, 40, 1.0, least, sigma),
        ]

    check(v1, case)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("threshold", [0.0, 0.1, 0.5])
@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_large_overlaps_also_only_lower_the_scores(
    v1: Any, seed: int, threshold: float, dtype: str
) -> None:
    places, scores = (each.astype(dtype) for each in crowd(seed))

    def case(tf: Any) -> list[Any]:
        return [
            part
            for given, least, sigma in ((scores, 0.2, 0.3), (scores - scores.max() / 2, -0.3, 0.6))
            for part in tf.image.non_max_suppression_with_scores(
                places, given, 40, *np.array([threshold, least, sigma], dtype)
            )
        ]

    check(v1, case)


def test_the_older_ops_choose_the_boxes_of_tensorflow(v1: Any) -> None:
    places, scores = crowd(12)

    def case(tf: Any) -> list[Any]:
        return [
            tf.raw_ops.NonMaxSuppression(
                boxes=places, scores=scores, max_output_size=9, iou_threshold=0.25
            ),
            tf.raw_ops.NonMaxSuppressionV2(
                boxes=places, scores=scores, max_output_size=9, iou_threshold=0.25
            ),
        ]

    check(v1, case)


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("pads", [True, False])
@pytest.mark.parametrize("each, total", [(4, 50), (3, 5), (40, 7)])
def test_boxes_of_all_classes_are_those_of_tensorflow(
    v1: Any, shared: bool, pads: bool, each: int, total: int
) -> None:
    random = drawn(8)
    corners = random.uniform(-0.2, 1, (2, 20, 1 if shared else 3, 2))
    places = np.concatenate([corners, corners + random.uniform(0.1, 0.5, corners.shape)], -1)
    scores = random.permutation(120).reshape(2, 20, 3).astype(np.float32) / 120

    def case(tf: Any) -> list[Any]:
        return [
            part
            for clips in (True, False)
            for part in tf.image.combined_non_max_suppression(
                places.astype(np.float32), scores, each, total, 0.3, 0.4, pads, clips
            )
        ]

    check(v1, case)


@pytest.mark.parametrize(
    "case, message",
    [
        (lambda image, b, s: image.non_max_suppression(b, s, 3, 1.5), r"must be in \[0, 1\]"),
        (lambda image, b, s: image.non_max_suppression(b, s, -1), "must be non-negative"),
        (
            lambda image, b, s: image.non_max_suppression_with_scores(b, s, 3, 0.5, 0.0, -1.0)[0],
            "soft_nms_sigma must be non-negative",
        ),
    ],
)
def test_wrong_settings_of_a_choice_are_refused(case: Any, message: str) -> None:
    with capstan.Graph().as_default(), capstan.Session() as session:
        chosen = case(capstan.image, *crowd(1))
        with pytest.raises(capstan.errors.InvalidArgumentError, match=message):
            session.run(chosen)


@pytest.mark.parametrize(
    "each, total, pads, message",
    [
        (0, 5, True, "max_output_size_per_class must be > 0"),
        (3, 0, False, "max_total_size must be > 0"),
        (3, -1, True, "max_total_size must be > 0"),
    ],
)
def test_boxes_of_all_classes_need_positive_limits(
    each: int, total: int, pads: bool, message: str
) -> None:
    places, scores = np.zeros((1, 2, 1, 4), np.float32), np.zeros((1, 2, 3), np.float32)
    with capstan.Graph().as_default(), capstan.Session() as session:

        def found(*limits: Any) -> Any:
            return capstan.image.combined_non_max_suppression(
                places, scores, *limits, pad_per_class=pads
            )

        with pytest.raises(ValueError, match=message):
            found(each, total)
        unknown = [capstan.placeholder(capstan.int32, []) for _ in range(2)]
        outputs = found(*unknown)
        with pytest.raises(capstan.errors.InvalidArgumentError, match=message):
            session.run(outputs, dict(zip(unknown, (each, total), strict=True)))


def test_boxes_of_some_classes_are_refused_before_the_step() -> None:
    with capstan.Graph().as_default(), pytest.raises(ValueError, match="third dimension of boxes"):
        capstan.image.combined_non_max_suppression(
            np.zeros((1, 5, 2, 4), np.float32), np.zeros((1, 5, 3), np.float32), 4, 4
        )


def test_zeros_follow_the_chosen_boxes_up_to_the_limit() -> None:
    places, scores = crowd(2)

    def case(tf: Any) -> list[Any]:
        image = tf.image
        return [
            *image.non_max_suppression_padded(places, scores, 25, 0.3, 0.5, True),
            *image.non_max_suppression_padded(places, scores, 25, 0.3, 0.5),
            image.non_max_suppression(places, scores, 25, 0.3, 0.5),
        ]

    padded, count, bare, bare_count, chosen = values(capstan, case)
    assert 0 < count == bare_count == len(chosen) < 25
    assert bare.tolist() == chosen.tolist()
    assert padded.tolist() == [*chosen, *[0] * (25 - count)]


def test_the_static_shape_of_padded_boxes_is_known() -> None:
    with capstan.Graph().as_default():
        chosen, count = capstan.image.non_max_suppression_padded(
            *crowd(1), 7, pad_to_max_output_size=True
        )
        assert (chosen.shape.as_list(), count.shape.as_list()) == ([7], [])
        places = capstan.placeholder(capstan.float32, [2, None, 1, 4])
        scores = capstan.placeholder(capstan.float32, [None, 5, 3])
        for pads, size in ((False, 50), (True, 12)):
            found = capstan.image.combined_non_max_suppression(
                places, scores, 4, 50, pad_per_class=pads
            )
            sizes = [part.shape.as_list() for part in found]
            assert sizes == [[2, size, 4], [2, size], [2, size], [2]]
