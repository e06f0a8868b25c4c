"""Convolutions and pools over volumes, and their gradients, give the values of TensorFlow."""

from collections.abc import Callable
from typing import Any

import genuine
import numpy as np
import pytest

import capstan

pytestmark = genuine.MARKS


def values(*shape: int) -> Any:
    """Return distinct numbers in an order that looks random."""
    count = int(np.prod(shape))
    order = np.arange(count) * 7919 % (count + 1)
    return (np.asarray(order, np.float32) / count - 0.5).reshape(shape).astype(np.float32)


VOLUMES, FILTERS = values(2, 5, 4, 6, 3), values(3, 2, 3, 3, 4)
CASES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "same": lambda v1, x, w: v1.nn.conv3d(x, w, [1, 1, 1, 1, 1], "SAME"),
    "valid": lambda v1, x, w: v1.nn.conv3d(x, w, strides=[1, 1, 2, 1, 1], padding="VALID"),
    "strided": lambda v1, x, w: v1.nn.conv3d(x, w, [1, 2, 1, 3, 1], "SAME"),
    "transposed": lambda v1, x, w: v1.nn.conv3d_transpose(
        x, v1.transpose(w, [0, 1, 2, 4, 3]), [2, 10, 8, 12, 4], [1, 2, 2, 2, 1]
    ),
    "max": lambda v1, x, w: v1.nn.max_pool3d(x, [1, 2, 2, 2, 1], [1, 2, 2, 2, 1], "SAME"),
    "max overlapping": lambda v1, x, w: v1.nn.max_pool3d(
        x, [1, 3, 2, 3, 1], [1, 1, 2, 2, 1], "VALID"
    ),
    "mean": lambda v1, x, w: v1.nn.avg_pool3d(x, [1, 2, 2, 2, 1], [1, 2, 2, 2, 1], "VALID"),
    "mean overlapping": lambda v1, x, w: v1.nn.avg_pool3d(
        x, [1, 3, 3, 2, 1], [1, 2, 1, 2, 1], "SAME"
    ),
}


def run(v1: Any, target: str, build: Any, x: Any, w: Any, *, known: bool) -> Any:
    """Return the static shape, the value, the gradients and second gradients of a graph."""
    with v1.Graph().as_default(), v1.Session(target) as session:
        fed = [
            v1.placeholder(v1.float32, each.shape if known else [None] * each.ndim)
            for each in (x, w)
        ]
        y = build(v1, *fed)
        loss = v1.reduce_sum(y * y) + 0 * v1.reduce_sum(fed[1])
        slopes = v1.gradients(loss, fed)
        second = v1.gradients(v1.reduce_sum(slopes[0] * v1.cos(fed[0])), fed)
        fetches = [y, *slopes, *(each for each in second if each is not None)]
        return y.shape.as_list(), session.run(fetches, dict(zip(fed, (x, w), strict=True)))


@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients_are_those_of_tensorflow(
    v1: Any, tasks: genuine.Tasks, name: str
) -> None:
    shape, expected = run(v1, "", CASES[name], VOLUMES, FILTERS, known=True)
    found_shape, found = run(capstan, "", CASES[name], VOLUMES, FILTERS, known=True)
    assert found_shape == shape
    unknown_shape, unknown = run(capstan, "", CASES[name], VOLUMES, FILTERS, known=False)
    wanted = run(v1, "", CASES[name], VOLUMES, FILTERS, known=False)[0]
    assert unknown_shape == wanted
    _, client = run(v1, tasks.target(), CASES[name], VOLUMES, FILTERS, known=True)
    for results in (found, unknown, client):
        for value, other in zip(results, expected, strict=True):
            np.testing.assert_allclose(value, other, rtol=2e-4, atol=2e-4, strict=True)


def test_the_first_of_equal_elements_gets_the_gradient() -> None:
    """TensorFlow gives it to the first by oneDNN and on GPUs, and to all by its own CPU kernels."""

    def build(v1: Any, x: Any, w: Any) -> Any:
        return v1.nn.max_pool3d(x, [1, 2, 2, 2, 1], [1, 1, 1, 1, 1], "VALID") + 1.0

    x = np.zeros([1, 3, 3, 3, 1], np.float32)
    _, (value, gradient, *_) = run(capstan, "", build, x, FILTERS, known=True)
    expected = np.zeros_like(x)
    expected[:, :2, :2, :2] = 2
    np.testing.assert_array_equal(value, np.ones([1, 2, 2, 2, 1]))
    np.testing.assert_array_equal(gradient, expected)


@pytest.mark.parametrize("name", ["conv", "max", "mean"])
def test_the_format_with_channels_first_gives_the_same_values(name: str) -> None:
    """The CPU of TensorFlow has no such kernels."""
    layouts = {
        "NDHWC": ([1, 2, 1, 1, 1], [1, 2, 2, 1, 1]),
        "NCDHW": ([1, 1, 2, 1, 1], [1, 1, 2, 2, 1]),
    }

    def built(v1: Any, x: Any, w: Any, layout: str) -> Any:
        strides, sizes = layouts[layout]
        if name == "conv":
            return v1.nn.conv3d(x, w, strides, "SAME", layout)
        pool = v1.nn.max_pool3d if name == "max" else v1.nn.avg_pool3d
        return pool(x, sizes, strides, "SAME", layout)

    def turned(v1: Any, x: Any, w: Any) -> Any:
        first = built(v1, v1.transpose(x, [0, 4, 1, 2, 3]), w, "NCDHW")
        return v1.transpose(first, [0, 2, 3, 4, 1])

    def plain(v1: Any, x: Any, w: Any) -> Any:
        return built(v1, x, w, "NDHWC")

    found, expected = (
        run(capstan, "", build, VOLUMES, FILTERS, known=True) for build in (turned, plain)
    )
    for value, other in zip(found[1], expected[1], strict=True):
        np.testing.assert_allclose(value, other, rtol=1e-4, atol=1e-4)


def test_shapes_that_do_not_fit_are_refused() -> None:
    x, w = capstan.placeholder(capstan.float32), capstan.constant(FILTERS)
    with capstan.Session() as session:
        y = capstan.nn.conv3d(x, w, [1, 1, 1, 1, 1], "SAME")
        for value, message in (
            (VOLUMES[..., :2], "Input depth must match filter depth: 2 vs 3"),
            (VOLUMES[0], "rank 5"),
        ):
            with pytest.raises((capstan.errors.InvalidArgumentError, ValueError), match=message):
                session.run(y, {x: value})
    with pytest.raises(ValueError, match="ksize should be of length 1, 3 or 5"):
        capstan.nn.avg_pool3d(VOLUMES, [1, 2, 2, 1], [1, 1, 1, 1, 1], "SAME")


@pytest.mark.parametrize(
    "attrs",
    [([1, 2, 3, 2, 1], [1] * 5, "SAME"), ([1, 3, 2, 1, 1], [1, 2, 1, 3, 1], "VALID")],
)
def test_patches_and_their_gradients_are_those_of_tensorflow(
    v1: Any, tasks: genuine.Tasks, attrs: Any
) -> None:
    def build(tf: Any, x: Any, w: Any) -> Any:
        return tf.extract_volume_patches(x, *attrs)

    shape, expected = run(v1, "", build, VOLUMES, FILTERS, known=True)
    found_shape, found = run(capstan, "", build, VOLUMES, FILTERS, known=True)
    assert found_shape == shape
    # TensorFlow has no gradient for volumes of unknown sizes.
    unknown_shape, unknown = run(capstan, "", build, VOLUMES, FILTERS, known=False)
    assert unknown_shape == [None] * 5
    _, client = run(v1, tasks.target(), build, VOLUMES, FILTERS, known=True)
    for results in (found, unknown, client):
        for value, other in zip(results, expected, strict=True):
            np.testing.assert_allclose(value, other, rtol=1e-5, atol=1e-5, strict=True)


PATCHES: list[tuple[list[int], list[int], str]] = [
    ([1, 2, 2, 2, 1], [1] * 5, "EXPLICIT"),
    ([1, 2, 2, 2], [1] * 5, "SAME"),
    ([1, 2, 2, 2, 1], [1] * 4, "SAME"),
    ([2, 2, 2, 2, 1], [1] * 5, "SAME"),
    ([1, 2, 2, 2, 1], [1, 1, 1, 1, 2], "SAME"),
    ([1, 0, 2, 2, 1], [1] * 5, "SAME"),
    ([1, 1, 2, 2, 1], [1, 0, 1, 1, 1], "SAME"),
    ([1, 9, 9, 9, 1], [1] * 5, "VALID"),
]


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("number", range(len(PATCHES)))
def test_patches_that_do_not_fit_are_refused_as_by_tensorflow(
    v1: Any, number: int, known: bool
) -> None:
    raised = []
    for module in (v1, capstan):
        with module.Graph().as_default(), module.Session() as session:
            x = module.placeholder_with_default(VOLUMES, VOLUMES.shape if known else None)
            with pytest.raises((ValueError, module.errors.OpError)) as caught:
                session.run(module.extract_volume_patches(x, *PATCHES[number]))
        raised.append(caught.type.__name__)
    assert raised[0] == raised[1]


LAYERS: dict[str, tuple[Callable[[Any], Any], Callable[..., Any]]] = {
    "a convolution": (
        lambda x: capstan.layers.conv3d(x, 4, 3, (1, 2, 1), "same", activation=capstan.nn.relu),
        lambda v1, x, w, b: v1.nn.relu(v1.nn.conv3d(x, w, [1, 1, 2, 1, 1], "SAME") + b),
    ),
    "a transposed convolution": (
        lambda x: capstan.layers.conv3d_transpose(x, 4, (3, 2, 2), (2, 1, 2)),
        lambda v1, x, w, b: (
            v1.nn.conv3d_transpose(x, w, [2, 9, 6, 12, 4], [1, 2, 1, 2, 1], "VALID") + b
        ),
    ),
    "a transposed convolution of equal size": (
        lambda x: capstan.layers.conv3d_transpose(x, 4, 3, 2, "same", use_bias=False),
        lambda v1, x, w: v1.nn.conv3d_transpose(x, w, [2, 8, 10, 12, 4], [1, 2, 2, 2, 1], "SAME"),
    ),
    "a max pool": (
        lambda x: capstan.layers.max_pooling3d(x, 2, (1, 2, 2), "same"),
        lambda v1, x: v1.nn.max_pool3d(x, [1, 2, 2, 2, 1], [1, 1, 2, 2, 1], "SAME"),
    ),
    "an average pool": (
        lambda x: capstan.layers.average_pooling3d(x, (2, 1, 3), 1),
        lambda v1, x: v1.nn.avg_pool3d(x, [1, 2, 1, 3, 1], [1] * 5, "VALID"),
    ),
}


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_of_volumes_computes_what_its_operations_compute(
    v1: Any, name: str, known: bool
) -> None:
    layer, composed = LAYERS[name]
    volumes = np.random.default_rng(3).random((2, 4, 5, 6, 3), np.float32)
    tf = capstan
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, volumes.shape if known else [None] * 4 + [3])
        outputs = layer(x)
        session.run(tf.global_variables_initializer())
        variables = tf.trainable_variables()
        if len(variables) == 2:
            session.run(variables[1].assign([0.1, -0.2, 0.3, 0.4]))
        found, weights = session.run([outputs, variables], {x: volumes})
        shape = outputs.shape.as_list()
    with v1.Graph().as_default(), v1.Session() as session:
        expected = session.run(composed(v1, v1.constant(volumes), *map(v1.constant, weights)))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    assert shape == (list(found.shape) if known else [None] * 4 + [found.shape[4]])
    expected_names = ["kernel", "bias"][: len(weights)]
    assert [v.op.name.rpartition("/")[2] for v in variables] == expected_names


def test_a_layer_of_volumes_with_channels_first_computes_the_same() -> None:
    tf, volumes = capstan, np.random.default_rng(4).random((1, 3, 4, 5, 2), np.float32)
    with tf.Graph().as_default(), tf.Session() as session:
        first, last = tf.constant(volumes.transpose(0, 4, 1, 2, 3)), tf.constant(volumes)
        pairs = []
        for x, form in ((first, "channels_first"), (last, "channels_last")):
            with tf.variable_scope("", reuse=tf.AUTO_REUSE):
                hidden = tf.layers.conv3d(x, 4, 2, data_format=form, name="a")
                hidden = tf.layers.conv3d_transpose(hidden, 3, 2, 2, data_format=form, name="b")
            pairs.append(tf.layers.max_pooling3d(hidden, 2, 2, data_format=form))
        session.run(tf.global_variables_initializer())
        found, expected = session.run(pairs)
    np.testing.assert_allclose(found, expected.transpose(0, 4, 1, 2, 3), rtol=1e-5, atol=1e-6)
