"""Convolutions refuse steps that they cannot take, and divide channels in groups."""

from typing import Any

import numpy as np
import pytest
import strict

import capstan as tf

IMAGES, VOLUMES = np.ones((2, 8, 8, 4), np.float32), np.ones((2, 4, 4, 4, 4), np.float32)


def conv2d(numbers: dict[str, list[int]]) -> Any:
    given = {"strides": [1, 1, 1, 1], **numbers}
    return tf.nn.conv2d(tf.placeholder(tf.float32), np.ones((3, 3, 4, 2)), padding="SAME", **given)


def by_input(numbers: dict[str, list[int]]) -> Any:
    given = {"strides": [1, 1, 1, 1], **numbers}
    slope = tf.placeholder(tf.float32)
    return tf.nn.conv2d_backprop_input(
        [2, 8, 8, 4], np.ones((3, 3, 4, 2)), slope, padding="SAME", **given
    )


def by_filter(numbers: dict[str, list[int]]) -> Any:
    given = {"strides": [1, 1, 1, 1], **numbers}
    slope = tf.placeholder(tf.float32)
    return tf.nn.conv2d_backprop_filter(IMAGES, [3, 3, 4, 2], slope, padding="SAME", **given)


def depthwise(numbers: dict[str, list[int]]) -> Any:
    given = {"strides": [1, 1, 1, 1], **numbers}
    images = tf.placeholder(tf.float32)
    return tf.nn.depthwise_conv2d_native(images, np.ones((3, 3, 4, 2)), padding="SAME", **given)


def conv3d(numbers: dict[str, list[int]]) -> Any:
    given = {
        name: [*value[:3], value[2], value[3]]
        for name, value in {"strides": [1, 1, 1, 1], **numbers}.items()
    }
    volumes = tf.placeholder(tf.float32)
    return tf.nn.conv3d(volumes, np.ones((3, 3, 3, 4, 2)), padding="SAME", **given)


@pytest.mark.parametrize("numbers", [[2, 1, 1, 1], [1, 1, 1, 2], [2, 2, 2, 2]])
@pytest.mark.parametrize("attribute", ["strides", "dilations"])
@pytest.mark.parametrize("build", [conv2d, by_input, by_filter, depthwise, conv3d])
def test_a_convolution_does_not_step_over_images_or_channels(
    build: Any, attribute: str, numbers: list[int]
) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        result = build({attribute: numbers})
        with pytest.raises(
            tf.errors.InvalidArgumentError,
            match=f"does not yet support {attribute} in the batch and depth dimensions",
        ):
            session.run(result)


def test_the_channels_are_where_the_format_has_them() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        images = tf.transpose(IMAGES, [0, 3, 1, 2])
        good, bad = (
            tf.nn.conv2d(images, np.ones((3, 3, 4, 2)), strides, "SAME", data_format="NCHW")
            for strides in ([1, 1, 2, 2], [1, 2, 2, 1])
        )
        assert session.run(good).shape == (2, 2, 4, 4)
        with pytest.raises(tf.errors.InvalidArgumentError, match="strides in the batch and depth"):
            session.run(bad)


@pytest.mark.parametrize("number", [0, -1])
def test_the_elements_of_a_window_are_at_least_one_pixel_apart(number: int) -> None:
    with (
        tf.Graph().as_default(),
        pytest.raises(ValueError, match=f"Dilation rate must be >= 1, but got {number}"),
    ):
        tf.nn.conv2d(
            IMAGES, np.ones((3, 3, 4, 2)), [1, 1, 1, 1], "SAME", dilations=[1, 1, number, 1]
        )


@pytest.mark.parametrize("place", ["/cpu:0", "/gpu:0"])
@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
@pytest.mark.parametrize(("depth", "groups"), [(2, 2), (1, 4)])
@pytest.mark.parametrize("width", [1, 3])
def test_filters_of_fewer_channels_convolve_groups_of_channels(
    place: str, data_format: str, depth: int, groups: int, width: int
) -> None:
    random, axis = np.random.default_rng(0), data_format.index("C")
    images = random.normal(size=(2, 5, 4, 4))
    filters = random.normal(size=(width, width, depth, 8))
    with strict.installed(), tf.Graph().as_default(), tf.device(place), tf.Session() as session:
        x, w = tf.constant(images), tf.constant(filters)
        turned = tf.transpose(x, [0, 3, 1, 2]) if axis == 1 else x
        y = tf.nn.conv2d(turned, w, 1, "SAME", data_format=data_format)
        parts = [
            tf.nn.conv2d(one, other, 1, "SAME", data_format=data_format)
            for one, other in zip(
                tf.split(turned, groups, axis), tf.split(w, groups, 3), strict=True
            )
        ]
        expected = tf.concat(parts, axis)
        assert y.shape.as_list() == expected.shape.as_list()
        slopes = []
        for value in (y, expected):
            first = tf.gradients(tf.reduce_sum(tf.sin(value)), [x, w])
            second = tf.gradients([tf.reduce_sum(tf.square(each)) for each in first], [x, w])
            slopes.append([value, *first, *second])
        found, wanted = session.run(slopes)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(
    ("filters", "message", "in_step"),
    [
        (
            (3, 3, 3, 2),
            r"Depth of input \(4\) is not a multiple of input depth of filter \(3\)",
            "input depth must be evenly divisible by filter depth: 4 vs 3",
        ),
        (
            (3, 3, 2, 3),
            r"Depth of output \(3\) is not a multiple of the number of groups \(2\)",
            r"Depth of output \(3\) is not a multiple of the number of groups \(2\)",
        ),
    ],
)
def test_groups_have_the_same_numbers_of_channels(
    filters: tuple[int, ...], message: str, in_step: str
) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        with pytest.raises(ValueError, match=message):
            tf.nn.conv2d(IMAGES, np.ones(filters), 1, "SAME")
        x, w = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
        y = tf.nn.conv2d(x, w, 1, "SAME")
        with pytest.raises(tf.errors.InvalidArgumentError, match=in_step):
            session.run(y, {x: IMAGES, w: np.ones(filters)})
