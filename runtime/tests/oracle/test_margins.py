"""Margins and blocks of pixels have TensorFlow's values, gradients, shapes and errors."""

from collections.abc import Callable
from typing import Any

import genuine
import numpy as np
import pytest

import capstan

pytestmark = genuine.MARKS

IMAGES = np.random.RandomState(0).rand(2, 4, 6, 8).astype(np.float32)
MARGINS = [[0, 1], [2, 1], [3, 0], [0, 0]]
Build = Callable[[Any, Any], Any]

BUILDS: list[Build] = [
    lambda v1, x: v1.pad(x, MARGINS, constant_values=2.5),
    lambda v1, x: v1.pad(x, MARGINS, constant_values=v1.constant(-1.0)),
    lambda v1, x: v1.pad(x, MARGINS),
    lambda v1, x: v1.pad(x, MARGINS, "reflect"),
    lambda v1, x: v1.pad(x, MARGINS, "SYMMETRIC"),
    lambda v1, x: v1.pad(x, [[0, 2], [4, 4], [6, 0], [8, 1]], "SYMMETRIC"),
    lambda v1, x: v1.pad(x, v1.placeholder_with_default(MARGINS, None), "REFLECT"),
    lambda v1, x: v1.space_to_batch_nd(x, [2, 3], [[0, 0], [1, 2]]),
    lambda v1, x: v1.space_to_batch_nd(x, v1.placeholder_with_default([3], [1]), [[1, 1]]),
    lambda v1, x: v1.space_to_batch(x, [[1, 1], [0, 0]], 2),
    lambda v1, x: v1.batch_to_space_nd(x, [2], [[1, 0]]),
    lambda v1, x: v1.batch_to_space_nd(x, [1, 2], [[0, 3], [2, 1]]),
    lambda v1, x: v1.batch_to_space(v1.concat([x, x], 0), [[0, 1], [1, 1]], 2),
    lambda v1, x: v1.space_to_depth(x, 2),
    lambda v1, x: v1.depth_to_space(x, 2),
]


def built(v1: Any, build: Build, shape: Any = IMAGES.shape) -> tuple[Any, list[Any]]:
    """Return the placeholder, and a result with its first and second derivative."""
    x = v1.placeholder(v1.float32, shape)
    y = build(v1, x)
    slope = v1.gradients(v1.reduce_sum(y * y * y), x)[0]
    return x, [y, slope, v1.gradients(slope, x)[0]]


def test_values_derivatives_and_static_shapes_are_tensorflows(v1: Any) -> None:
    for number, build in enumerate(BUILDS):
        for shape in (IMAGES.shape, None):
            found, shapes = [], []
            for tf in (v1, capstan):
                with tf.Graph().as_default(), tf.Session() as session:
                    x, results = built(tf, build, shape)
                    found.append(session.run(results, {x: IMAGES}))
                    shapes.append(results[0].shape.as_list() if shape else None)
            for theirs, ours in zip(*found, strict=True):
                np.testing.assert_allclose(ours, theirs, rtol=1e-5, err_msg=str(number))
            assert shapes[0] == shapes[1], number


def test_a_tensorflow_client_gets_the_same_values_on_our_tasks(
    v1: Any, tasks: genuine.Tasks
) -> None:
    with v1.Graph().as_default():
        pairs = [built(v1, build) for build in BUILDS]
        results, feeds = [each[1] for each in pairs], {each[0]: IMAGES for each in pairs}
        found = []
        for target in (tasks.target(), ""):
            with v1.Session(target) as session:
                found.append(session.run(results, feeds))
    for ours, theirs in zip(*found, strict=True):
        for one, other in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-5)


REFUSALS: list[Build] = [
    lambda v1, x: v1.pad(x, MARGINS, "EDGE"),
    lambda v1, x: v1.pad(x, v1.placeholder_with_default([[0, 0], [4, 0], [0, 0], [0, 0]], None),
                         "REFLECT"),
    lambda v1, x: v1.pad(x, v1.placeholder_with_default([[0, 0], [5, 0], [0, 0], [0, 0]], None),
                         "SYMMETRIC"),
    lambda v1, x: v1.space_to_batch_nd(x, v1.placeholder_with_default([3], [1]), [[0, 0]]),
    lambda v1, x: v1.batch_to_space_nd(x, v1.placeholder_with_default([3], [1]), [[0, 0]]),
    lambda v1, x: v1.batch_to_space_nd(x, [2], v1.placeholder_with_default([[5, 5]], None)),
    lambda v1, x: v1.space_to_depth(v1.placeholder_with_default(IMAGES, None), 4),
    lambda v1, x: v1.depth_to_space(v1.placeholder_with_default(IMAGES, None), 3),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(REFUSALS)))
def test_arguments_that_do_not_fit_are_refused_as_by_tensorflow(v1: Any, number: int) -> None:
    raised = []
    for tf in (v1, capstan):
        kinds = (ValueError, tf.errors.InvalidArgumentError)
        with tf.Graph().as_default(), tf.Session() as session, pytest.raises(kinds) as caught:
            session.run(REFUSALS[number](tf, tf.constant(IMAGES)))
        raised.append(caught.type.__name__)
    assert raised[0] == raised[1]
