"""Convolutions and pools, and their gradients, give the values and errors of TensorFlow."""

from collections.abc import Callable
from typing import Any

import genuine
import numpy as np
import pytest

import capstan

pytestmark = genuine.MARKS


def values(*shape: int, dtype: Any = np.float32) -> Any:
    """Return distinct numbers in an order that looks random."""
    count = int(np.prod(shape))
    order = np.arange(count) * 7919 % (count + 1)
    return (np.asarray(order, dtype) / count - 0.5).reshape(shape).astype(dtype)


IMAGES, FILTERS = values(2, 7, 6, 3), values(3, 2, 3, 4)
CONVOLUTIONS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "same": lambda v1, x, w: v1.nn.conv2d(x, w, [1, 1, 1, 1], "SAME"),
    "valid": lambda v1, x, w: v1.nn.conv2d(x, w, [1, 1, 1, 1], "VALID"),
    "strided": lambda v1, x, w: v1.nn.conv2d(x, w, [1, 2, 3, 1], "SAME"),
    "strided valid": lambda v1, x, w: v1.nn.conv2d(x, w, strides=2, padding="VALID"),
    "explicit": lambda v1, x, w: v1.nn.conv2d(x, w, [1, 2, 1, 1], [[0, 0], [1, 2], [0, 1], [0, 0]]),
    "dilated": lambda v1, x, w: v1.nn.conv2d(x, w, [1, 1, 1, 1], "SAME", dilations=[1, 2, 3, 1]),
    "atrous": lambda v1, x, w: v1.identity(v1.nn.atrous_conv2d(x, w, 2, "VALID"), "y"),
    "general": lambda v1, x, w: v1.nn.convolution(x, w, "SAME", strides=[2, 1]),
    "one pixel": lambda v1, x, w: v1.nn.conv2d(x, w[:1, :1], [1, 1, 1, 1], "SAME"),
    "few windows": lambda v1, x, w: v1.nn.conv2d(x, w, [1, 4, 5, 1], "VALID"),
    "transposed": lambda v1, x, w: v1.nn.conv2d_transpose(
        x, v1.transpose(w, [0, 1, 3, 2]), [2, 14, 12, 4], [1, 2, 2, 1]
    ),
    "transposed valid": lambda v1, x, w: v1.nn.conv2d_transpose(
        x, v1.transpose(w, [0, 1, 3, 2]), [2, 15, 12, 4], [1, 2, 2, 1], "VALID"
    ),
    "depthwise": lambda v1, x, w: v1.nn.depthwise_conv2d(x, w, [1, 1, 1, 1], "SAME"),
    "depthwise strided": lambda v1, x, w: v1.nn.depthwise_conv2d(x, w, [1, 2, 2, 1], "VALID"),
    "separable": lambda v1, x, w: v1.nn.separable_conv2d(
        x, w, values(1, 1, 12, 2), [1, 1, 1, 1], "SAME"
    ),
    "sequence": lambda v1, x, w: v1.nn.conv1d(x[:, 0], w[:, 0], 2, "SAME"),
}
SAME: dict[str, Callable[[Any, Any, Any], Any]] = {
    # TensorFlow has the gradients of a dilated convolution only on processors with AVX-512.
    "dilated": lambda v1, x, w: v1.nn.with_space_to_batch(
        x, [2, 3], "SAME", lambda x, *_: v1.nn.conv2d(x, w, [1, 1, 1, 1], "VALID"), [3, 2]
    ),
}
"""Other graphs with the same values, which TensorFlow can run on every processor."""
POOLS: dict[str, Callable[[Any, Any], Any]] = {
    "max": lambda v1, x: v1.nn.max_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], "SAME"),
    "max overlapping": lambda v1, x: v1.nn.max_pool(x, [1, 3, 3, 1], [1, 2, 2, 1], "SAME"),
    "max valid": lambda v1, x: v1.nn.max_pool(x, [1, 3, 2, 1], [1, 1, 2, 1], "VALID"),
    "max of equals": lambda v1, x: v1.nn.max_pool(x * 0, [1, 3, 3, 1], [1, 2, 2, 1], "SAME"),
    "max with places": lambda v1, x: v1.nn.max_pool_with_argmax(
        x, [1, 3, 2, 1], [1, 2, 1, 1], "SAME"
    )[0],
    "max with places in the batch": lambda v1, x: (
        v1.nn.max_pool_with_argmax(
            x, [1, 2, 2, 1], [1, 1, 2, 1], "VALID", include_batch_in_index=True
        ).output
    ),
    "mean": lambda v1, x: v1.nn.avg_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], "SAME"),
    "mean overlapping": lambda v1, x: v1.nn.avg_pool(x, [1, 3, 3, 1], [1, 2, 2, 1], "SAME"),
    "mean valid": lambda v1, x: v1.nn.avg_pool(x, 3, 1, "VALID"),
}


def run(
    v1: Any,
    build: Callable[..., Any],
    *operands: Any,
    known: bool = True,
    same: Callable[..., Any] | None = None,
) -> Any:
    """Return the name, the static shape, the value and the gradients of a graph.

    If `same` is given, it builds the graph with the value and the gradients.
    """
    with v1.Graph().as_default(), v1.Session() as session:
        xs = [
            v1.placeholder(operand.dtype, operand.shape if known else [None] * operand.ndim)
            for operand in operands
        ]
        y = build(v1, *xs)
        weights = np.cos(np.arange(int(np.prod(y.shape.as_list() if known else [1]))))
        value = y if same is None else same(v1, *xs)
        loss = v1.reduce_sum(value * value * (weights.reshape(y.shape.as_list()) if known else 1))
        fetches = [value, *v1.gradients(loss, xs)]
        results = session.run(fetches, dict(zip(xs, operands, strict=True)))
        return y.name, y.shape.as_list() if known else None, results


def check(
    v1: Any,
    build: Callable[..., Any],
    *operands: Any,
    known: bool = True,
    same: Callable[..., Any] | None = None,
) -> None:
    name, shape, expected = run(v1, build, *operands, known=known, same=same)
    found = run(capstan, build, *operands, known=known)
    assert found[:2] == (name, shape)
    for value, wanted in zip(found[2], expected, strict=True):
        assert value.dtype == wanted.dtype
        np.testing.assert_allclose(value, wanted, rtol=2e-4, atol=1e-5, strict=True)


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_a_convolution_and_its_gradients_are_tensorflows(v1: Any, name: str) -> None:
    check(v1, CONVOLUTIONS[name], IMAGES, FILTERS, same=SAME.get(name))


DEEP: dict[str, Callable[[Any, Any, Any], Any]] = {
    **{name: CONVOLUTIONS[name] for name in ("same", "valid", "strided", "explicit", "dilated")},
    "padding wider than a window": lambda v1, x, w: v1.nn.conv2d(
        x, w, [1, 1, 1, 1], [[0, 0], [3, 0], [1, 4], [0, 0]]
    ),
}


@pytest.mark.parametrize("units", [4, 20])
@pytest.mark.parametrize("name", DEEP)
def test_a_convolution_of_many_channels_is_tensorflows(v1: Any, name: str, units: int) -> None:
    check(v1, DEEP[name], values(2, 7, 6, 9), values(3, 2, 9, units), same=SAME.get(name))


@pytest.mark.parametrize("name", POOLS)
def test_a_pool_and_its_gradient_are_tensorflows(v1: Any, name: str) -> None:
    check(v1, POOLS[name], IMAGES)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_the_maximum_is_that_of_the_numbers_in_a_window(v1: Any, dtype: Any, padding: str) -> None:
    nan, low = np.nan, -np.inf
    image = np.array([[1, nan, 2, low], [nan, nan, 3, low], [5, nan, nan, 0]], dtype)
    images = np.stack([image, image[::-1]], -1)[None]
    outputs = []
    for tf in (capstan, v1):
        with tf.Graph().as_default(), tf.Session() as session:
            pool = tf.nn.max_pool(tf.constant(images), [1, 2, 2, 1], [1, 1, 1, 1], padding)
            outputs.append(session.run(pool))
    np.testing.assert_array_equal(*outputs)


@pytest.mark.parametrize("options", [{}, {"include_batch_in_index": True, "Targmax": "int32"}])
def test_the_places_of_the_largest_elements_are_tensorflows(v1: Any, options: Any) -> None:
    """A window whose first element is a NaN keeps it."""
    images = np.round(values(2, 5, 6, 2) * 4)
    images[0, ::2, 1::3] = np.nan
    outputs = []
    for tf in (capstan, v1):
        with tf.Graph().as_default(), tf.Session() as session:
            for padding in ("SAME", "VALID"):
                pool = tf.nn.max_pool_with_argmax(
                    images, [1, 3, 2, 1], [1, 2, 1, 1], padding, **options
                )
                outputs += session.run(pool)
    for found, expected in zip(outputs[:4], outputs[4:], strict=True):
        np.testing.assert_array_equal(found, expected, strict=True)


@pytest.mark.parametrize("name", ["same", "transposed", "depthwise"])
def test_a_convolution_of_unknown_sizes_is_tensorflows(v1: Any, name: str) -> None:
    check(v1, CONVOLUTIONS[name], IMAGES, FILTERS, known=False)


@pytest.mark.parametrize("name", ["max", "mean overlapping"])
def test_a_pool_of_unknown_sizes_is_tensorflows(v1: Any, name: str) -> None:
    check(v1, POOLS[name], IMAGES, known=False)


FORMATS: dict[str, Callable[[Any, Any, str], Any]] = {
    "strided": lambda x, w, layout: capstan.nn.conv2d(x, w, 2, "SAME", data_format=layout),
    "separable": lambda x, w, layout: capstan.nn.separable_conv2d(
        x, w, values(1, 1, 12, 2), 1, "VALID", data_format=layout
    ),
    "max": lambda x, w, layout: capstan.nn.max_pool(x, 2, 1, "SAME", layout),
    "mean": lambda x, w, layout: capstan.nn.avg_pool(x, 2, 1, "VALID", layout),
}


@pytest.mark.parametrize("name", FORMATS)
def test_the_format_with_channels_first_gives_the_same_values(name: str) -> None:
    """The CPU of TensorFlow has no such kernels."""
    build = FORMATS[name]

    def turned(v1: Any, x: Any, w: Any) -> Any:
        first = build(v1.transpose(x, [0, 3, 1, 2]), w, "NCHW")
        return v1.transpose(first, [0, 2, 3, 1]) + 0 * v1.reduce_sum(w)

    def plain(v1: Any, x: Any, w: Any) -> Any:
        return build(x, w, "NHWC") + 0 * v1.reduce_sum(w)

    found, expected = (run(capstan, each, IMAGES, FILTERS)[2] for each in (turned, plain))
    for value, wanted in zip(found, expected, strict=True):
        np.testing.assert_allclose(value, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("arguments", [{}, {"strides": [1, 2, 1]}, {"dilation_rate": 2}], ids=str)
def test_convolutions_of_volumes_are_tensorflows(v1: Any, arguments: Any) -> None:
    random = np.random.RandomState(3)
    volumes = random.normal(size=(1, 4, 5, 4, 2)).astype(np.float32)
    filters = random.normal(size=(2, 1, 2, 2, 3)).astype(np.float32)
    found = []
    for tf in (capstan, v1):
        with tf.Graph().as_default(), tf.Session() as session:
            x, w = tf.constant(volumes), tf.constant(filters)
            y = tf.nn.convolution(x, w, padding="SAME", **arguments)
            found.append(session.run([y, *tf.gradients(y * y, [x, w])]))
    for value, expected in zip(*found, strict=True):
        np.testing.assert_allclose(value, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("strides", [2, [2], [1, 2, 2], [1, 2, 2, 1, 1]])
def test_transposed_volumes_take_one_stride_or_one_for_each_axis(v1: Any, strides: Any) -> None:
    def run(tf: Any) -> Any:
        sizes = [2, 6, 6, 6, 3] if strides in (2, [2]) else [2, 3, 6, 6, 3]
        if len(np.atleast_1d(strides)) == 5:
            sizes = [2, 6, 6, 3, 3]
        with tf.Graph().as_default(), tf.Session() as session:
            x, w = values(2, 3, 3, 3, 1), values(2, 2, 2, 3, 1)
            return session.run(tf.nn.conv3d_transpose(x, w, sizes, strides))

    np.testing.assert_allclose(run(capstan), run(v1), rtol=1e-4, atol=1e-6, strict=True)
