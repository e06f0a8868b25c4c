"""Functions that choose boxes that do not overlap much (python/ops/image_ops_impl.py).

A box holds the coordinates of two opposite corners, y1, x1, y2 and x2, in any unit. The overlap of
two boxes is the area that they share, divided by the area that they cover. Of two boxes that
overlap more than a threshold, the functions leave out the box with the lower score. They raise
InvalidArgumentError in the step if a shape is wrong, a limit is negative or `iou_threshold` is not
in [0, 1]. None of them has a gradient.
"""

from typing import Any

from capstan.api.scoped import scoped
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework.raw import raw

_NONE = float("-inf")


def non_max_suppression(
    boxes: Any,
    scores: Any,
    max_output_size: Any,
    iou_threshold: Any = 0.5,
    score_threshold: Any = _NONE,
    name: str | None = None,
) -> Any:
    """Return the numbers of up to `max_output_size` boxes, the highest score first.

    `boxes` has the shape [boxes, 4] and `scores` the shape [boxes], as float16 or float32. Boxes
    whose score is not above `score_threshold` are left out. The result is an int32 vector.
    """
    with scoped(name, "non_max_suppression"):
        return raw.NonMaxSuppressionV3(
            boxes, scores, max_output_size, iou_threshold, score_threshold
        )


def non_max_suppression_with_scores(
    boxes: Any,
    scores: Any,
    max_output_size: Any,
    iou_threshold: Any = 0.5,
    score_threshold: Any = _NONE,
    soft_nms_sigma: Any = 0.0,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Return the numbers of boxes as `non_max_suppression` does, and their scores.

    With a positive `soft_nms_sigma`, each overlap with a chosen box multiplies the score of a box
    by `exp(-0.5 * overlap ** 2 / soft_nms_sigma)` before the next box is chosen. The scores have
    the dtype of `scores`.
    """
    with scoped(name, "non_max_suppression_with_scores"):
        value = convert.convert_to_tensor(boxes, name="boxes")
        settings = (
            convert.convert_to_tensor(setting, dtype=value.dtype)
            for setting in (iou_threshold, score_threshold, soft_nms_sigma)
        )
        chosen, chosen_scores, _ = raw.NonMaxSuppressionV5(
            value, scores, max_output_size, *settings, pad_to_max_output_size=False
        )
        return chosen, chosen_scores


def non_max_suppression_padded(
    boxes: Any,
    scores: Any,
    max_output_size: Any,
    iou_threshold: Any = 0.5,
    score_threshold: Any = _NONE,
    pad_to_max_output_size: bool = False,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Return the numbers of boxes as `non_max_suppression` does, and how many there are.

    With `pad_to_max_output_size`, the numbers are followed by zeros up to `max_output_size`. The
    count is an int32 scalar.
    """
    with scoped(name, "non_max_suppression_padded"):
        chosen, count = raw.NonMaxSuppressionV4(
            boxes,
            scores,
            max_output_size,
            iou_threshold,
            score_threshold,
            pad_to_max_output_size=pad_to_max_output_size,
        )
        return chosen, count


def non_max_suppression_overlaps(
    overlaps: Any,
    scores: Any,
    max_output_size: Any,
    overlap_threshold: Any = 0.5,
    score_threshold: Any = _NONE,
    name: str | None = None,
) -> Any:
    """Return the numbers of boxes as `non_max_suppression` does, given their overlaps.

    `overlaps` is a float32 matrix, with a row and a column for each box.
    """
    with scoped(name, "non_max_suppression_overlaps"):
        return raw.NonMaxSuppressionWithOverlaps(
            overlaps, scores, max_output_size, overlap_threshold, score_threshold
        )


def combined_non_max_suppression(
    boxes: Any,
    scores: Any,
    max_output_size_per_class: Any,
    max_total_size: Any,
    iou_threshold: Any = 0.5,
    score_threshold: Any = _NONE,
    pad_per_class: bool = False,
    clip_boxes: bool = True,
    name: str | None = None,
) -> tuple[Any, Any, Any, Any]:
    """Choose boxes for each class of each image, and keep the highest scores of all classes.

    `boxes` has the shape [batch, boxes, q, 4], where q is 1 or the number of classes, and `scores`
    the shape [batch, boxes, classes]. Both are float32. The results are padded with zeros to
    `max_total_size` boxes an image, or with `pad_per_class` to `max_output_size_per_class` times
    the number of classes if that is less. `clip_boxes` limits the coordinates to [0, 1].

    Returns the boxes [batch, size, 4], their scores and their classes [batch, size], all float32,
    and the number of boxes of each image [batch], as int32.
    """
    with scoped(name, "combined_non_max_suppression"):
        limits = (
            convert.convert_to_tensor(limit, dtype=dtypes.int32)
            for limit in (max_output_size_per_class, max_total_size)
        )
        found = raw.CombinedNonMaxSuppression(
            boxes,
            scores,
            *limits,
            iou_threshold,
            score_threshold,
            pad_per_class=pad_per_class,
            clip_boxes=clip_boxes,
        )
        return found[0], found[1], found[2], found[3]
