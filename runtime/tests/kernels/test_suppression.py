"""Boxes that are compared in blocks are chosen as if each were compared alone."""

from typing import Any

import interpreter
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capstan.core.arrays import Array
from capstan.framework import graph as graphs
from capstan.framework.raw import raw


def shared_part(first: Array, second: Array) -> Any:
    """Return the area that two boxes share, divided by the area that they cover."""
    (low, high), (other_low, other_high) = (
        (np.minimum(box[:2], box[2:]), np.maximum(box[:2], box[2:])) for box in (first, second)
    )
    area, other_area = np.prod(high - low), np.prod(other_high - other_low)
    if area <= 0 or other_area <= 0:
        return np.float32(0)
    sides = np.minimum(high, other_high) - np.maximum(low, other_low)
    shared = np.prod(np.maximum(sides, 0))
    return shared / (area + other_area - shared)


def chosen_one_by_one(
    boxes: Array, scores: Array, limit: int, threshold: float, least: float
) -> list[int]:
    chosen: list[int] = []
    for box in sorted(range(len(scores)), key=lambda box: -scores[box]):
        is_apart = all(shared_part(boxes[box], boxes[other]) <= threshold for other in chosen)
        if len(chosen) < limit and scores[box] > least and is_apart:
            chosen.append(box)
    return chosen


@pytest.mark.parametrize("op", ["boxes", "overlaps"])
@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 1000),
    count=st.sampled_from([0, 1, 15, 16, 17, 60, 150]),
    limit=st.integers(0, 60),
    threshold=st.sampled_from([0.0, 0.25, 0.5, 1.0]),
)
def test_blocks_choose_the_same_boxes(
    op: str, seed: int, count: int, limit: int, threshold: float
) -> None:
    draw = np.random.default_rng(seed)
    boxes = draw.integers(0, 6, (count, 4)).astype(np.float32)
    scores = draw.integers(0, 20, count).astype(np.float32)
    settings = (np.int32(limit), np.float32(threshold), np.float32(1))
    wanted = chosen_one_by_one(boxes, scores, limit, threshold, 1)
    with graphs.Graph().as_default():
        if op == "boxes":
            found = raw.NonMaxSuppressionV3(boxes, scores, *settings)
        else:
            overlaps = np.array(
                [[shared_part(box, other) for other in boxes] for box in boxes], np.float32
            ).reshape(count, count)
            found = raw.NonMaxSuppressionWithOverlaps(overlaps, scores, *settings)
        assert interpreter.Interpreter().run(found).tolist() == wanted
