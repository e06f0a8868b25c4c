"""Dilation, erosion and patches of images give TensorFlow's values, shapes and errors."""

from collections.abc import Callable
from typing import Any

import genuine
import numpy as np
import pytest

import capstan

pytestmark = genuine.MARKS
Build = Callable[..., Any]

IMAGES, FILTERS = (
    np.random.RandomState(3).permutation(int(np.prod(shape))).reshape(shape).astype(np.float32) / 9
    for shape in ((2, 7, 6, 3), (3, 2, 3))
)
ONES = [1, 1, 1, 1]

BUILDS: list[Build] = [
    lambda v1, x, w: v1.nn.dilation2d(x, w, ONES, ONES, "SAME"),
    lambda v1, x, w: v1.nn.dilation2d(x, w, [1, 2, 3, 1], ONES, "VALID"),
    lambda v1, x, w: v1.nn.dilation2d(
        x, filters=w, strides=ONES, dilations=[1, 2, 3, 1], padding="SAME"
    ),
    lambda v1, x, w: v1.nn.dilation2d(-x * 0.0, w * 0.0, ONES, [1, 2, 1, 1], "SAME"),
    lambda v1, x, w: v1.nn.erosion2d(x, w, [1, 2, 1, 1], ONES, "SAME"),
    lambda v1, x, w: v1.nn.erosion2d(x, w, ONES, [1, 3, 2, 1], "VALID"),
    lambda v1, x, w: v1.extract_image_patches(x, [1, 3, 2, 1], ONES, ONES, "SAME") + w[0, 0, 0],
    lambda v1, x, w: v1.image.extract_image_patches(
        x, sizes=[1, 2, 2, 1], strides=[1, 3, 2, 1], rates=ONES, padding="VALID"
    ) * w[0, 0, 0],
    lambda v1, x, w: v1.image.extract_patches(x, [1, 2, 3, 1], [1, 2, 1, 1], [1, 3, 2, 1], "SAME")
    * w[0, 0, 0],
]  # fmt: skip


def outcome(v1: Any, build: Build, known: bool) -> tuple[Any, Any]:
    """Return the static shape of the result, and its value and gradients."""
    with v1.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(v1.float32, IMAGES.shape if known else [None, None, 6, 3])
        w = v1.placeholder(v1.float32, FILTERS.shape if known else [None, 2, None])
        y = build(v1, x, w)
        slopes = v1.gradients(v1.reduce_sum(y * y), [x, w])
        return y.shape.as_list(), session.run([y, *slopes], {x: IMAGES, w: FILTERS})


@pytest.mark.parametrize("number", range(len(BUILDS)))
@pytest.mark.parametrize("known", [True, False])
def test_values_gradients_and_static_shapes_are_tensorflows(
    v1: Any, number: int, known: bool
) -> None:
    (wanted_shape, wanted), (shape, found) = (
        outcome(tf, BUILDS[number], known) for tf in (v1, capstan)
    )
    # TensorFlow infers no size if it does not know all sizes.
    pairs = zip(shape, wanted_shape, strict=True)
    assert shape == [ours if theirs is None else theirs for ours, theirs in pairs]
    assert shape == wanted_shape or not known
    for theirs, ours in zip(wanted, found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-4, strict=True)


def patches(v1: Any, x: Any, *attrs: Any) -> Any:
    return v1.extract_image_patches(x, *attrs)


REFUSALS: list[Build] = [
    lambda v1, x, w: v1.nn.dilation2d(x, w, ONES, ONES, "EXPLICIT"),
    lambda v1, x, w: v1.nn.dilation2d(x, w, ONES, [1, 1, 1], "SAME"),
    lambda v1, x, w: v1.nn.dilation2d(x, w, [1, 1], ONES, "SAME"),
    lambda v1, x, w: v1.nn.dilation2d(x, w, [2, 1, 1, 1], ONES, "SAME"),
    lambda v1, x, w: v1.nn.dilation2d(x, w, ONES, [1, 1, 1, 2], "SAME"),
    lambda v1, x, w: v1.nn.dilation2d(x, w[:, :, :2], ONES, ONES, "SAME"),
    lambda v1, x, w: v1.nn.dilation2d(x[0], w, ONES, ONES, "SAME"),
    lambda v1, x, w: v1.nn.dilation2d(x, w[0], ONES, ONES, "SAME"),
    lambda v1, x, w: v1.nn.dilation2d(x, w, ONES, [1, 6, 6, 1], "VALID"),
    lambda v1, x, w: v1.nn.dilation2d(x, w, ONES, ONES, "SAME", filters=w),
    lambda v1, x, w: patches(v1, x, [1, 2, 2, 1], ONES, ONES, "EXPLICIT"),
    lambda v1, x, w: patches(v1, x, [1, 2, 2], ONES, ONES, "SAME"),
    lambda v1, x, w: patches(v1, x, [1, 2, 2, 1], [1, 1, 1, 1, 1], ONES, "SAME"),
    lambda v1, x, w: patches(v1, x, [2, 2, 2, 1], ONES, ONES, "SAME"),
    lambda v1, x, w: patches(v1, x, [1, 0, 2, 1], ONES, ONES, "SAME"),
    lambda v1, x, w: patches(v1, x, [1, 2, 2, 1], [1, 0, 1, 1], ONES, "SAME"),
    lambda v1, x, w: patches(v1, x, [1, 9, 9, 1], ONES, ONES, "VALID"),
    lambda v1, x, w: patches(v1, x[0], [1, 2, 2, 1], ONES, ONES, "SAME"),
    lambda v1, x, w: patches(v1, x, [1, 2, 2, 1], ONES, ONES, "SAME", None, ONES),
]


@pytest.mark.parametrize("number", range(len(REFUSALS)))
@pytest.mark.parametrize("known", [True, False])
def test_arguments_that_do_not_fit_are_refused_as_by_tensorflow(
    v1: Any, number: int, known: bool
) -> None:
    raised = []
    for tf in (v1, capstan):
        with tf.Graph().as_default(), tf.Session() as session:
            x, w = tf.constant(IMAGES), tf.constant(FILTERS)
            if not known:
                x, w = (tf.placeholder_with_default(each, None) for each in (x, w))
            with pytest.raises((ValueError, TypeError, tf.errors.OpError)) as caught:
                session.run(REFUSALS[number](tf, x, w))
        raised.append(caught.type.__name__)
    assert raised[0] == raised[1]
