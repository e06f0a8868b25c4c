"""Kernels that choose boxes that do not overlap much (core/kernels/non_max_suppression_op.cc).

A box holds the coordinates of two opposite corners: y1, x1, y2 and x2. Of two boxes that overlap
more than a threshold, the box with the lower score is left out.
"""

import heapq
import itertools
import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid, number

_FIRST_BLOCK: Final = 16
_BLOCK: Final = 128
"""The number of boxes that are compared at once: at first few, because a few may be enough."""

Overlaps = Callable[[list[int], list[int]], Array]
"""A function that returns how much each box of a list overlaps each box of another list."""


def _shared_parts(boxes: Array) -> Overlaps:
    """Return the function of the area that two boxes share, divided by the area that they cover."""
    corners = boxes.astype(np.float32, copy=False).T.reshape(2, 2, -1)
    low, high = corners.min(0), corners.max(0)
    areas = _areas(high - low)

    def overlaps(some: list[int], others: list[int]) -> Array:
        ends = np.minimum(high[:, some, np.newaxis], high[:, np.newaxis, others])
        sides = ends - np.maximum(low[:, some, np.newaxis], low[:, np.newaxis, others])
        shared = _areas(np.maximum(sides, 0))
        first, second = areas[some, np.newaxis], areas[others]
        covered = first + second - shared
        is_flat = (first <= 0) | (second <= 0)
        return np.where(is_flat, 0, shared / np.where(is_flat, 1, covered)).astype(boxes.dtype)

    return overlaps


def _areas(sides: Array) -> Array:
    return np.asarray(sides[0] * sides[1])


def _choose(
    scores: Array,
    overlaps: Overlaps,
    limit: int,
    threshold: float,
    least_score: float,
    sigma: float = 0.0,
) -> tuple[list[int], list[float]]:
    """Return the numbers of up to `limit` boxes, those with high scores first, and their scores.

    With a positive `sigma`, no box is left out for its overlaps. They lower its score instead. All
    numbers have the precision of the scores.
    """
    candidates = np.flatnonzero(scores > least_score)
    if sigma > 0:
        return _choose_softly(scores, candidates.tolist(), overlaps, limit, least_score, sigma)
    ordered = candidates[np.argsort(-scores[candidates], kind="stable")].tolist()
    chosen = _choose_apart(ordered, overlaps, limit, threshold)
    return chosen, scores[chosen].tolist()


def _choose_apart(
    candidates: list[int], overlaps: Overlaps, limit: int, threshold: float
) -> list[int]:
    """Return the first candidates that do not overlap those before by more than the threshold.

    The candidates of a block are compared with each other at once: a call of NumPy takes much
    longer than a comparison.
    """
    chosen: list[int] = []
    start, size = 0, min(_FIRST_BLOCK, 4 * limit)
    while start < len(candidates) and len(chosen) < limit:
        block = candidates[start : start + size]
        start, size = start + size, min(2 * size, _BLOCK)
        if chosen:
            is_near = overlaps(block, chosen) > threshold
            is_apart = np.logical_not(np.any(is_near, 1))
            block = list(itertools.compress(block, is_apart.tolist()))
        bits = np.packbits(overlaps(block, block) > threshold, 1, "little")
        rivals = [int.from_bytes(row.tobytes(), "little") for row in bits]
        taken = 0
        for place, own_rivals in enumerate(rivals):
            if not own_rivals & taken:
                taken |= 1 << place
                chosen.append(block[place])
    return chosen[:limit]


def _choose_softly(
    scores: Array,
    boxes: list[int],
    overlaps: Overlaps,
    limit: int,
    least_score: float,
    sigma: float,
) -> tuple[list[int], list[float]]:
    """Return chosen boxes, and their scores after overlaps with the boxes chosen before."""
    candidates = [(-float(scores[box]), box, 0) for box in boxes]
    heapq.heapify(candidates)
    chosen: list[int] = []
    chosen_scores: list[float] = []
    while candidates and len(chosen) < limit:
        negative, box, compared = heapq.heappop(candidates)
        shared = overlaps([box], chosen[compared:])[0] if len(chosen) > compared else scores[:0]
        score = _lowered(scores.dtype.type(-negative), shared, sigma)
        if score != -negative:
            if score > least_score:
                heapq.heappush(candidates, (-score, box, len(chosen)))
            continue
        chosen.append(box)
        chosen_scores.append(-negative)
    return chosen, chosen_scores


def _lowered(score: Any, shared: Array, sigma: float) -> float:
    """Return a score after overlaps with other boxes, of which the last counts first."""
    scale = score.dtype.type(-0.5) / score.dtype.type(sigma)
    for factor in np.exp(scale * shared * shared)[::-1]:
        score *= factor
    return float(score)


def _check_threshold(value: float, name: str) -> None:
    if not 0 <= value <= 1:
        raise invalid(f"{name} must be in [0, 1], got {value}")


def _check_boxes(boxes: Array, scores: Array) -> None:
    if boxes.ndim != 2 or boxes.shape[1] != 4:
        raise invalid(f"boxes must have the shape [boxes, 4], got {show(boxes.shape)}")
    if scores.shape != boxes.shape[:1]:
        raise invalid(
            f"scores has incompatible shape {show(scores.shape)}: it must be [{len(boxes)}], one "
            "score for each box"
        )


def _limit(value: Array) -> int:
    limit = number(value, "max_output_size")
    if limit < 0:
        raise invalid(f"max_output_size must be non-negative, got {limit}")
    return limit


def _positive(value: Array, name: str) -> int:
    limit = number(value, name)
    if limit <= 0:
        raise invalid(f"{name} must be > 0, got {limit}")
    return limit


def _suppress(node: NodeContext) -> Function:
    fixed = node.attrs.get("iou_threshold")
    is_padded = bool(node.attrs.get("pad_to_max_output_size"))

    def suppress(
        boxes: Array, scores: Array, max_output_size: Array, *settings: Array
    ) -> tuple[Array, Array, Array]:
        _check_boxes(boxes, scores)
        limit = _limit(max_output_size)
        given = [float(setting) for setting in settings]
        if fixed is not None:
            given = [float(fixed)]
        threshold, least_score, sigma = (*given, *(0.5, -math.inf, 0.0)[len(given) :])
        _check_threshold(threshold, "iou_threshold")
        if sigma < 0:
            raise invalid(f"soft_nms_sigma must be non-negative, got {sigma}")
        chosen, values = _choose(scores, _shared_parts(boxes), limit, threshold, least_score, sigma)
        count = len(chosen)
        indices = np.zeros(limit if is_padded else count, np.int32)
        indices[:count] = chosen
        chosen_scores = np.zeros(len(indices), scores.dtype)
        chosen_scores[:count] = values
        return indices, chosen_scores, np.array(count, np.int32)

    return suppress


def _indices(node: NodeContext) -> Function:
    suppress = _suppress(node)
    return lambda *inputs: suppress(*inputs)[0]


def _counted(node: NodeContext) -> Function:
    suppress = _suppress(node)
    return lambda *inputs: suppress(*inputs)[::2]


def _of_overlaps(node: NodeContext) -> Function:
    def suppress(
        overlaps: Array, scores: Array, max_output_size: Array, threshold: Array, least: Array
    ) -> Array:
        count = len(overlaps) if overlaps.ndim else 0
        if overlaps.shape != (count, count) or scores.shape != (count,):
            raise invalid(
                "overlaps must be square, with one row for each of the scores, got the shapes "
                f"{show(overlaps.shape)} and {show(scores.shape)}"
            )
        chosen, _ = _choose(
            scores,
            lambda some, others: overlaps[np.ix_(some, others)],
            _limit(max_output_size),
            float(threshold),
            float(least),
        )
        return np.array(chosen, np.int32)

    return suppress


def _combine(node: NodeContext) -> Function:
    pads_per_class, clips = bool(node.attrs["pad_per_class"]), bool(node.attrs["clip_boxes"])

    def combine(
        boxes: Array,
        scores: Array,
        size_per_class: Array,
        total_size: Array,
        iou_threshold: Array,
        score_threshold: Array,
    ) -> tuple[Array, Array, Array, Array]:
        _check_batch(boxes, scores)
        each = _positive(size_per_class, "max_output_size_per_class")
        total = _positive(total_size, "max_total_size")
        threshold = float(iou_threshold)
        _check_threshold(threshold, "iou_threshold")
        classes = scores.shape[2]
        size = min(total, each * classes) if pads_per_class else total
        result = np.zeros((len(boxes), size, 6), np.float32)
        counts = np.zeros(len(boxes), np.int32)
        for image in range(len(boxes)):
            found = [
                (score, kind, *boxes[image, box, min(kind, boxes.shape[2] - 1)])
                for kind in range(classes)
                for box, score in _chosen_of_class(
                    boxes[image], scores[image], kind, each, threshold, float(score_threshold)
                )
            ]
            found.sort(key=lambda row: -row[0])
            counts[image] = min(len(found), size)
            result[image, : counts[image]] = np.reshape(found[:size], (-1, 6))
        corners = np.clip(result[..., 2:], 0, 1) if clips else result[..., 2:]
        return corners, result[..., 0], result[..., 1], counts

    return combine


def _check_batch(boxes: Array, scores: Array) -> None:
    if boxes.ndim != 4 or boxes.shape[3] != 4:
        raise invalid(f"boxes must have the shape [batch, boxes, q, 4], got {show(boxes.shape)}")
    if scores.ndim != 3 or scores.shape[:2] != boxes.shape[:2]:
        raise invalid(
            f"scores must have the shape [{boxes.shape[0]}, {boxes.shape[1]}, classes], got "
            f"{show(scores.shape)}"
        )
    if boxes.shape[2] not in (1, scores.shape[2]):
        raise invalid(
            "third dimension of boxes must be either 1 or the number of classes, "
            f"{scores.shape[2]}, got {boxes.shape[2]}"
        )


def _chosen_of_class(
    boxes: Array, scores: Array, kind: int, limit: int, threshold: float, least_score: float
) -> list[tuple[int, float]]:
    """Return the boxes of an image that are chosen for a class, and their scores."""
    own = boxes[:, min(kind, boxes.shape[1] - 1)]
    chosen, values = _choose(scores[:, kind], _shared_parts(own), limit, threshold, least_score)
    return list(zip(chosen, values, strict=True))


register(Kernel("NonMaxSuppression", _indices))
register(Kernel("NonMaxSuppressionV2", _indices))
register(Kernel("NonMaxSuppressionV3", _indices))
register(Kernel("NonMaxSuppressionV4", _counted))
register(Kernel("NonMaxSuppressionV5", _suppress))
register(Kernel("NonMaxSuppressionWithOverlaps", _of_overlaps))
register(Kernel("CombinedNonMaxSuppression", _combine))
