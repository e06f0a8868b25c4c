"""Functions of `tf.nn` that add several operations give TensorFlow's values, shapes and errors."""

from collections.abc import Callable
from typing import Any

import genuine
import numpy as np
import pytest

import capstan

pytestmark = genuine.MARKS
Build = Callable[..., Any]

SEQUENCES, IMAGES, VOLUMES, FILTERS = (
    np.random.RandomState(0).rand(*shape).astype(np.float32) + 0.1
    for shape in ((2, 9, 3), (2, 6, 8, 3), (1, 4, 5, 6, 2), (3, 2, 3, 4))
)
WEIGHTS = np.array([0, 0.5, 2], np.float32)


def statistics(v1: Any, x: Any, axes: Any, shift: Any = None, **options: Any) -> list[Any]:
    """Return the statistics and the moments that they give."""
    found = v1.nn.sufficient_statistics(x, axes, shift, **options)
    return [*found[:3], *v1.nn.normalize_moments(*found)]


def apart(v1: Any, x: Any, rate: Any, padding: str, **options: Any) -> Any:
    """Return the means of windows whose pixels are `rate` apart."""

    def means(images: Any, count: int, padding: str) -> Any:
        assert count == 2
        return v1.nn.avg_pool(images, [1, 2, 3, 1], [1, 1, 1, 1], padding)

    return v1.nn.with_space_to_batch(x, rate, padding, means, **options)


BUILDS: list[tuple[Any, Build]] = [
    (IMAGES, lambda v1, x: v1.nn.swish(x - 0.5)),
    (IMAGES, lambda v1, x: v1.nn.log_poisson_loss(x * 3, x[::-1])),
    (IMAGES, lambda v1, x: v1.nn.log_poisson_loss(x * 3, x[::-1], compute_full_loss=True)),
    (IMAGES, lambda v1, x: v1.nn.moments(x, [0, 2])),
    (IMAGES, lambda v1, x: v1.nn.moments(x, [1], keep_dims=True)),
    (IMAGES.astype(np.float16), lambda v1, x: v1.nn.moments(x, [0, 1, 2])),
    (IMAGES, lambda v1, x: v1.nn.weighted_moments(x, [0, 1], WEIGHTS)),
    (IMAGES, lambda v1, x: v1.nn.weighted_moments(x, [1], WEIGHTS, keepdims=True)),
    (IMAGES, lambda v1, x: v1.nn.weighted_moments(x, [3], np.array([[2], [1]] * 4, np.int32))),
    (IMAGES.astype(np.float16), lambda v1, x: v1.nn.weighted_moments(x, [2, 3], WEIGHTS)),
    (IMAGES, lambda v1, x: statistics(v1, x, [0, 1, 2])),
    (IMAGES, lambda v1, x: statistics(v1, x, [2, 2, 1], 0.5, keep_dims=True)),
    (IMAGES, lambda v1, x: statistics(v1, x, [0], x[:, :1], keepdims=False)),
    (IMAGES, lambda v1, x: v1.nn.batch_norm_with_global_normalization(
        x, WEIGHTS, WEIGHTS, WEIGHTS, WEIGHTS, 0.1, True)),
    (IMAGES, lambda v1, x: v1.nn.batch_norm_with_global_normalization(
        input=x, mean=WEIGHTS, variance=WEIGHTS, beta=1.0, gamma=WEIGHTS, variance_epsilon=0.1,
        scale_after_normalization=False)),
    (IMAGES, lambda v1, x: v1.nn.space_to_batch(x, [[0, 0], [0, 0]], 2)),
    (IMAGES, lambda v1, x: v1.nn.space_to_depth(x, 2)),
    (IMAGES, lambda v1, x: v1.nn.depth_to_space(v1.tile(x, [1, 1, 1, 4]), 2)),
    (SEQUENCES, lambda v1, x: v1.nn.max_pool1d(x, 2, 2, "SAME")),
    (SEQUENCES, lambda v1, x: v1.nn.max_pool1d(x, [1, 3, 1], [2], "VALID", None)),
    (SEQUENCES, lambda v1, x: v1.nn.avg_pool1d(x, [3], 2, "SAME", "NWC")),
    (SEQUENCES, lambda v1, x: v1.nn.max_pool_v2(x, 3, 2, "SAME")),
    (IMAGES, lambda v1, x: v1.nn.max_pool_v2(x, [2, 3], 2, "VALID")),
    (VOLUMES, lambda v1, x: v1.nn.max_pool_v2(x, 2, [1, 2, 1, 2, 1], "SAME", "NDHWC")),
    (SEQUENCES, lambda v1, x: v1.nn.avg_pool_v2(x, 3, 1, "VALID")),
    (IMAGES, lambda v1, x: v1.nn.avg_pool_v2(x, 2, 1, "SAME", "NHWC")),
    (VOLUMES, lambda v1, x: v1.nn.avg_pool_v2(x, [2, 1, 2], 2, "VALID")),
    (SEQUENCES, lambda v1, x: v1.nn.pool(x, [3], "MAX", "SAME", strides=[2])),
    (SEQUENCES, lambda v1, x: v1.nn.pool(x, [3], "AVG", "VALID", dilation_rate=[2])),
    (IMAGES, lambda v1, x: v1.nn.pool(x, [2, 3], "AVG", "SAME")),
    (IMAGES, lambda v1, x: v1.nn.pool(x, [2, 2], "MAX", "VALID", [2, 3])),
    (VOLUMES, lambda v1, x: v1.nn.pool(x, [2, 2, 1], "MAX", "VALID", dilations=[1, 2, 2])),
    (VOLUMES, lambda v1, x: v1.nn.pool(x, [2, 2, 3], "AVG", "SAME", strides=[1, 2, 3])),
    (IMAGES, lambda v1, x: apart(v1, x, [2, 3], "VALID")),
    (IMAGES, lambda v1, x: apart(v1, x, [1, 1], "SAME")),
    (IMAGES, lambda v1, x: apart(v1, x, v1.placeholder_with_default([2, 2], [2]), "VALID")),
    (VOLUMES[0], lambda v1, x: apart(v1, x, [2, 2], "SAME", filter_shape=[2, 3])),
    (VOLUMES[0], lambda v1, x: apart(v1, x, [1, 2], "SAME", filter_shape=v1.constant([2, 3]),
                                     spatial_dims=[1, 2])),
    (VOLUMES, lambda v1, x: v1.nn.with_space_to_batch(
        x, [2, 3], "VALID", lambda y, *_: v1.nn.avg_pool3d(y, [1, 2, 1, 2, 1], [1] * 5, "VALID"),
        spatial_dims=[1, 3])),
    (VOLUMES, lambda v1, x: v1.nn.with_space_to_batch(
        x, [2, 2], "VALID", lambda y, *_: y * 2.0, data_format="NCHW")),
    (SEQUENCES, lambda v1, x: v1.nn.conv1d_transpose(
        x, FILTERS[0].transpose(0, 2, 1), [2, 18, 4], 2)),
    (SEQUENCES, lambda v1, x: v1.nn.conv1d_transpose(
        x, FILTERS[0].transpose(0, 2, 1), v1.constant([2, 18, 4]), [1, 2, 1], "VALID")),
    (SEQUENCES, lambda v1, x: v1.nn.conv_transpose(
        x, FILTERS[0].transpose(0, 2, 1), [2, 9, 4], 1)),
    (IMAGES, lambda v1, x: v1.nn.conv_transpose(
        x, FILTERS.transpose(0, 1, 3, 2), v1.constant([2, 12, 8, 4]), [2, 1])),
    (VOLUMES, lambda v1, x: v1.nn.conv_transpose(
        x, np.ones([2, 1, 3, 5, 2], np.float32), [1, 4, 10, 6, 5], [1, 2, 1], "SAME")),
    (IMAGES, lambda v1, x: v1.nn.atrous_conv2d_transpose(
        x, FILTERS.transpose(0, 1, 3, 2), [2, 6, 8, 4], 2, "SAME")),
    (IMAGES, lambda v1, x: v1.nn.atrous_conv2d_transpose(
        x, FILTERS.transpose(0, 1, 3, 2), [2, 12, 11, 4], 3, "VALID")),
    (IMAGES, lambda v1, x: v1.nn.atrous_conv2d_transpose(
        x, FILTERS.transpose(0, 1, 3, 2), v1.constant([2, 6, 8, 4]), 1, "SAME")),
    (IMAGES, lambda v1, x: v1.nn.depthwise_conv2d_native_backprop_input(
        [2, 6, 8, 3], FILTERS, v1.tile(x, [1, 1, 1, 4]), [1, 1, 1, 1], "SAME")),
    (IMAGES, lambda v1, x: v1.nn.depthwise_conv2d_backprop_filter(
        IMAGES, [3, 2, 3, 4], v1.tile(x, [1, 1, 1, 4]), [1, 1, 1, 1], "SAME")),
    (IMAGES, lambda v1, x: v1.nn.depthwise_conv2d_native_backprop_filter(
        x, [3, 2, 3, 4], v1.tile(x[:, :2, :4], [1, 1, 1, 4]), [1, 2, 2, 1], "VALID")),
    (IMAGES, lambda v1, x: v1.nn.depthwise_conv2d_backprop_input(
        [2, 8, 9, 3], FILTERS, v1.tile(x, [1, 1, 1, 4]), [1, 1, 1, 1], "VALID")),
]  # fmt: skip


def outcome(v1: Any, value: Any, build: Build, shape: Any) -> tuple[Any, Any]:
    """Return the static shapes of the results, and the values of the results and the gradient."""
    with v1.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(value.dtype, shape)
        found = build(v1, x)
        results = list(found) if isinstance(found, list | tuple) else [found]
        losses = [v1.reduce_sum(v1.cast(each, v1.float32) ** 3) for each in results]
        slope = v1.gradients(losses, x)[0]
        shapes = [each.shape.as_list() if each.shape.ndims is not None else None
                  for each in results]  # fmt: skip
        return shapes, session.run([*results, slope], {x: value})


def refined(shape: Any, wanted: Any) -> Any:
    """Return `wanted` with sizes of `shape` that are unknown in `wanted`."""
    if wanted is None:
        return shape
    return [ours if theirs is None else theirs for ours, theirs in zip(shape, wanted, strict=True)]


@pytest.mark.parametrize("number", range(len(BUILDS)))
@pytest.mark.parametrize("known", ["shape", "rank"])
def test_values_gradients_and_static_shapes_are_tensorflows(
    v1: Any, number: int, known: str
) -> None:
    value, build = BUILDS[number]
    shape = value.shape if known == "shape" else [None] * (value.ndim - 1) + [value.shape[-1]]
    (wanted_shapes, wanted), (shapes, found) = (
        outcome(tf, value, build, shape) for tf in (v1, capstan)
    )
    assert [refined(*pair) for pair in zip(shapes, wanted_shapes, strict=True)] == shapes
    tolerance = 2e-3 if value.dtype == np.float16 else 1e-4
    for ours, theirs in zip(found, wanted, strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance, strict=True)


PADDINGS: list[Build] = [
    lambda v1: v1.required_space_to_batch_paddings([5, 8], [2, 3]),
    lambda v1: v1.required_space_to_batch_paddings([5, 8], [2, 3], [[1, 0], [2, 3]]),
    lambda v1: v1.required_space_to_batch_paddings([5], v1.placeholder_with_default([4], [1])),
    lambda v1: v1.required_space_to_batch_paddings(v1.placeholder_with_default([5], None), [4]),
    lambda v1: v1.required_space_to_batch_paddings([], v1.zeros([0], v1.int32)),
]


@pytest.mark.parametrize("number", range(len(PADDINGS)))
def test_the_margins_for_blocks_are_tensorflows(v1: Any, number: int) -> None:
    outcomes = []
    for tf in (v1, capstan):
        with tf.Graph().as_default(), tf.Session() as session:
            pair = PADDINGS[number](tf)
            outcomes.append((session.run(pair), [each.shape.as_list() for each in pair]))
    assert outcomes[0][1] == outcomes[1][1]
    for theirs, ours in zip(outcomes[0][0], outcomes[1][0], strict=True):
        np.testing.assert_array_equal(ours, theirs, strict=True)


REFUSALS: list[Build] = [
    lambda v1, x: v1.nn.log_poisson_loss(x, x[:1]),
    lambda v1, x: v1.nn.moments(x, [0], keep_dims=True, keepdims=True),
    lambda v1, x: v1.nn.sufficient_statistics(x, [0], keep_dims=True, keepdims=True),
    lambda v1, x: v1.nn.weighted_moments(x, [0], 1.0, keep_dims=True, keepdims=True),
    lambda v1, x: v1.nn.batch_norm_with_global_normalization(x, 1.0, 1.0, input=x),
    lambda v1, x: v1.nn.max_pool1d(x[0], [1, 2], 1, "SAME"),
    lambda v1, x: v1.nn.avg_pool_v2(x[0, 0], 1, 1, "SAME"),
    lambda v1, x: v1.nn.max_pool_v2(v1.placeholder(v1.float32), 1, 1, "SAME"),
    lambda v1, x: v1.nn.max_pool_v2(x, 2, 1, "SAME", "N"),
    lambda v1, x: v1.nn.pool(x, [], "MAX", "SAME"),
    lambda v1, x: v1.nn.pool(x, [2], "MAX", "SAME"),
    lambda v1, x: v1.nn.pool(x, [2, 2], "MIN", "SAME"),
    lambda v1, x: v1.nn.pool(x, [2, 2], "MAX", "SAME", [2, 1]),
    lambda v1, x: v1.nn.pool(x, [2, 2], "MAX", "VALID", [2, 1], [1, 2]),
    lambda v1, x: v1.nn.pool(x, [2, 2], "MAX", "VALID", [2]),
    lambda v1, x: v1.nn.pool(x, [2, 2], "MAX", "VALID", [0, 1]),
    lambda v1, x: v1.nn.pool(x, [2, 2], "MAX", "VALID", strides=[0, 1]),
    lambda v1, x: v1.nn.pool(x, [2, 2], "MAX", "VALID", strides=[3, 1]),
    lambda v1, x: v1.nn.pool(x[0], [2], "MAX", "VALID", data_format="NHWC"),
    lambda v1, x: apart(v1, x, [2, 0], "VALID"),
    lambda v1, x: apart(v1, x, [2, 2], "SAME"),
    lambda v1, x: apart(v1, x, [2, 2], "BOTH"),
    lambda v1, x: apart(v1, x, [2, 2], "VALID", spatial_dims=[2, 1]),
    lambda v1, x: apart(v1, x, [2, 2], "VALID", spatial_dims=[0, 1]),
    lambda v1, x: apart(v1, x, [2, 2], "VALID", spatial_dims=[1, 4]),
    lambda v1, x: v1.required_space_to_batch_paddings([5], [2, 3]),
    lambda v1, x: v1.required_space_to_batch_paddings([5], [2], [1, 2]),
    lambda v1, x: v1.nn.conv_transpose(x, FILTERS, 5, 1),
    lambda v1, x: v1.nn.conv_transpose(x, FILTERS, [1, 2], 1),
    lambda v1, x: v1.nn.conv1d_transpose(x[0], FILTERS[0], [6, 8, 4], 1, data_format="NHWC"),
    lambda v1, x: v1.nn.atrous_conv2d_transpose(x, FILTERS, [2, 6, 8, 3], 2, "SAME"),
    lambda v1, x: v1.nn.atrous_conv2d_transpose(
        x, FILTERS.transpose(0, 1, 3, 2), [2, 6, 8, 4], 0, "SAME"),
    lambda v1, x: v1.nn.atrous_conv2d_transpose(
        x, FILTERS.transpose(0, 1, 3, 2), [2, 6, 8], 2, "SAME"),
    lambda v1, x: v1.nn.atrous_conv2d_transpose(
        x, FILTERS.transpose(0, 1, 3, 2), [2, 6, 8, 5], 2, "SAME"),
    lambda v1, x: v1.nn.atrous_conv2d_transpose(
        x, FILTERS.transpose(0, 1, 3, 2), [2, 6, 8, 4], 2, "EXPLICIT"),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(REFUSALS)))
def test_arguments_that_do_not_fit_are_refused_as_by_tensorflow(v1: Any, number: int) -> None:
    raised = []
    for tf in (v1, capstan):
        with tf.Graph().as_default(), pytest.raises((TypeError, ValueError)) as caught:
            REFUSALS[number](tf, tf.constant(IMAGES))
        raised.append(caught.type.__name__)
    assert raised[0] == raised[1]
