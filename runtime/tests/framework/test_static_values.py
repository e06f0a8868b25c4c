"""The values that are known while a graph is built equal the values that a step computes."""

from collections.abc import Iterator
from typing import Any

import interpreter
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import capstan as tf
from capstan.framework import convert
from capstan.framework import graph as graphs
from capstan.framework.raw import raw


@pytest.fixture
def graph() -> Iterator[graphs.Graph]:
    with graphs.Graph().as_default() as graph:
        yield graph


CASES: list[Any] = [
    lambda x: tf.constant([1, 2]),
    lambda x: raw.Shape(x),
    lambda x: raw.Shape(x, out_type=tf.int64),
    lambda x: raw.Size(x),
    lambda x: raw.Rank(x),
    lambda x: raw.Range(1, 10, 3),
    lambda x: raw.Range(0.0, 1.0, 0.25),
    lambda x: raw.Range(5, 0, -2),
    lambda x: raw.Fill([2, 3], 7),
    lambda x: raw.ConcatV2([raw.Shape(x), [5]], 0),
    lambda x: raw.Pack([raw.Rank(x), 4]),
    lambda x: raw.Pack([[1, 2], [3, 4]], axis=1),
    lambda x: raw.Cast(raw.Shape(x), DstT=tf.int64),
    lambda x: raw.Identity(raw.Shape(x)),
    lambda x: tf.shape(x)[0],
    lambda x: tf.shape(x)[-1],
    lambda x: tf.shape(x)[1:],
    lambda x: tf.shape(x)[:-1],
    lambda x: tf.shape(x)[::-1],
    lambda x: tf.shape(x) * 2 + 1 - tf.constant([1, 0]),
    lambda x: raw.Maximum(tf.shape(x), 3),
]


@pytest.mark.parametrize("build", CASES)
def test_a_known_value_equals_the_value_that_the_step_computes(
    graph: graphs.Graph, build: Any
) -> None:
    tensor = build(tf.zeros([2, 3]))
    known = convert.constant_value(tensor)
    computed = interpreter.Interpreter().run(tensor)
    assert known is not None
    np.testing.assert_array_equal(known, computed)
    assert known.dtype == computed.dtype
    assert known.shape == computed.shape


@pytest.mark.e2e
@given(st.integers(-5, 5), st.integers(0, 9), st.sampled_from([-3, -1, 1, 2]))
def test_static_ranges_agree_with_pythons_range(start: int, length: int, delta: int) -> None:
    limit = start + length * (1 if delta > 0 else -1)
    with graphs.Graph().as_default():
        known = convert.constant_value(raw.Range(start, limit, delta))
    assert known is not None
    assert known.tolist() == list(range(start, limit, delta))


@pytest.mark.parametrize(
    "build",
    [
        lambda: tf.shape(tf.placeholder(tf.float32, [None])),
        lambda: raw.Rank(tf.placeholder(tf.float32)),
        lambda: raw.Size(tf.placeholder(tf.float32, [None, 2])),
        lambda: tf.placeholder(tf.int32, []) + 1,
        lambda: tf.constant(1.0) + 1.0,
        lambda: raw.Fill([1 << 20], 0),
        lambda: raw.Range(0, 1 << 30, 1),
        lambda: raw.Exp(1.0),
        lambda: tf.Variable(1).value(),
        lambda: raw.BroadcastGradientArgs([1], [2])[0],
    ],
)
def test_other_values_are_left_to_the_step(graph: graphs.Graph, build: Any) -> None:
    assert convert.constant_value(build()) is None


def test_a_value_becomes_known_when_the_shape_it_depends_on_does(graph: graphs.Graph) -> None:
    x = tf.placeholder(tf.float32)
    size = raw.Size(x) * 2
    assert convert.constant_value(size) is None
    x.set_shape([3])
    assert convert.constant_value(size) == 6


def test_a_static_shape_may_be_computed_from_other_shapes(graph: graphs.Graph) -> None:
    x = tf.placeholder(tf.float32, [4, 6])
    assert tf.reshape(x, [tf.shape(x)[0] * 2, -1]).shape == [8, 3]


@pytest.mark.parametrize(
    "build, size",
    [
        (lambda: tf.minimum(5, tf.constant(3)), 3),
        (lambda: tf.constant(-7) // 2 + 6, 2),
        (lambda: tf.constant(-7) % 4, 1),
        (lambda: tf.reduce_prod(tf.shape(tf.zeros([2, 3, 4]))[1:]), 12),
        (lambda: tf.reduce_sum([[1, 2], [3, 4]]), 10),
        (lambda: tf.reduce_max([[1, 2], [3, 4]], [0, 1]), 4),
        (lambda: tf.reduce_max([4, 2], 0, keepdims=True)[0], 4),
        (lambda: tf.reduce_min([4, 5]), 4),
    ],
)
def test_a_size_may_be_computed_from_numbers(graph: graphs.Graph, build: Any, size: int) -> None:
    assert tf.zeros(tf.stack([build(), 2])).shape == [size, 2]


@pytest.mark.parametrize(
    "build",
    [
        lambda: tf.constant(1) // 0,
        lambda: tf.constant([1, 2]) % tf.constant([1, 0]),
        lambda: tf.reduce_sum(tf.constant([], tf.int32)),
        lambda: tf.reduce_sum([1.0]),
        lambda: tf.reduce_sum([1], tf.placeholder(tf.int32)),
    ],
)
def test_what_is_no_size_is_left_to_the_step(graph: graphs.Graph, build: Any) -> None:
    assert convert.constant_value(build()) is None


def _branch(build: Any) -> Any:
    """Return what a branch of a conditional is, that runs only if `x` has rows."""
    x, size = tf.random_uniform([15, 60, 40]), tf.stack([50, 100])
    return tf.cond(tf.shape(x)[0] < 0, lambda: build(x, size), lambda: tf.zeros([1, 50, 100]))


def test_a_value_from_outside_a_branch_does_not_refuse_its_operations(graph: graphs.Graph) -> None:
    # Two of detection's masks: the branch that would fail does not run.
    joined = _branch(lambda x, size: tf.reshape(x, [-1, size[0], size[1]]))
    with tf.Session() as session:
        assert session.run(tf.shape(joined)).tolist() == [1, 50, 100]


def test_a_value_in_a_branch_refuses_its_operations(graph: graphs.Graph) -> None:
    with pytest.raises(ValueError, match="evenly divisible by 5000 but is 36000"):
        _branch(lambda x, size: tf.reshape(x, [-1, 50, 100]))


@pytest.mark.e2e
def test_the_evaluation_of_a_long_chain_of_integers_is_bounded(graph: graphs.Graph) -> None:
    count = tf.constant(1)
    for _ in range(2000):
        count = count + 0 * count
    assert convert.constant_value(count) is None
    assert tf.reshape(tf.zeros([1]), [count]).shape.ndims == 1
