"""The functions of `tf.nn` and random numbers: the operations that they add, and their results."""

from typing import Any

import numpy as np
import pytest
from interpreter import run, unknown

from capstan import errors
from capstan.api import (
    nn,
    random_ops,
)
from capstan.core import dtypes, tensor_shape
from capstan.framework import convert, gradients
from capstan.framework import graph as graphs

MATRIX = np.arange(6.0, dtype=np.float32).reshape(2, 3)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_softmax_works_along_any_axis(axis: int) -> None:
    powers = np.exp(MATRIX)
    expected = powers / powers.sum(axis, keepdims=True)
    np.testing.assert_allclose(run(nn.softmax(MATRIX, axis)), expected, rtol=1e-6)
    np.testing.assert_allclose(run(nn.log_softmax(MATRIX, axis)), np.log(expected), rtol=1e-5)


@pytest.mark.parametrize("axis", [0, 1, -2])
def test_the_axis_of_a_softmax_may_be_a_tensor(axis: int) -> None:
    at, feeds = unknown(axis, [])
    expected = np.exp(MATRIX) / np.exp(MATRIX).sum(axis, keepdims=True)
    result = nn.softmax(convert.constant(MATRIX), at)
    assert result.shape.as_list() == [2, 3]
    np.testing.assert_allclose(run(result, feeds), expected, rtol=1e-6)
    constant = nn.log_softmax(MATRIX, convert.constant(axis))
    np.testing.assert_allclose(run(constant), np.log(expected), rtol=1e-5)


def test_an_axis_of_a_softmax_that_does_not_exist_is_an_invalid_argument() -> None:
    with pytest.raises(errors.InvalidArgumentError, match=r"Dimension \(2\) must be in the range"):
        nn.softmax(MATRIX, 2)
    at, feeds = unknown(2, [])
    with pytest.raises(errors.InvalidArgumentError):
        run(nn.softmax(MATRIX, at), feeds)


# If the shape is unknown, only the last axis works: other axes are permuted first.
@pytest.mark.parametrize(
    "axis, is_known", [(0, True), (1, True), (2, True), (-1, True), (-1, False)]
)
def test_losses_take_logits_of_any_rank(axis: int, is_known: bool) -> None:
    random = np.random.default_rng(1)
    logits, labels = random.normal(size=(2, 3, 4)), random.random((2, 3, 4))
    x, feeds = unknown(logits, logits.shape if is_known else None)
    loss = nn.softmax_cross_entropy_with_logits(labels=labels, logits=x, dim=axis)
    log_softmax = logits - np.log(np.exp(logits).sum(axis, keepdims=True))
    np.testing.assert_allclose(run(loss, feeds), -(labels * log_softmax).sum(axis))
    if axis == -1:
        classes = random.integers(0, 4, (2, 3))
        loss = nn.sparse_softmax_cross_entropy_with_logits(labels=classes, logits=x)
        expected = -np.take_along_axis(log_softmax, classes[..., None], -1)[..., 0]
        np.testing.assert_allclose(run(loss, feeds), expected)


def test_losses_require_named_arguments() -> None:
    for loss in (
        nn.softmax_cross_entropy_with_logits,
        nn.sparse_softmax_cross_entropy_with_logits,
        nn.sigmoid_cross_entropy_with_logits,
    ):
        with pytest.raises(ValueError, match="with named arguments"):
            loss(MATRIX, MATRIX)
        with pytest.raises(ValueError, match="Both labels and logits must be provided"):
            loss(logits=MATRIX)
    with pytest.raises(ValueError, match="Rank mismatch: Rank of labels"):
        nn.sparse_softmax_cross_entropy_with_logits(labels=[[1, 2]], logits=MATRIX)


def test_only_the_older_softmax_loss_has_no_gradient_for_labels() -> None:
    labels, logits = convert.constant([[0.3, 0.7]]), convert.constant([[1.0, 2.0]])
    older = nn.softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    newer = nn.softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits)
    assert gradients.gradients(older, labels) == [None]
    assert gradients.gradients(newer, labels) != [None]


def test_logistic_losses_do_not_overflow() -> None:
    x, z = np.float64([-1000, -1, 0, 1, 1000]), np.float64([0, 1, 0, 1, 1])
    exact = np.maximum(x, 0) - x * z + np.log1p(np.exp(-np.abs(x)))
    np.testing.assert_allclose(run(nn.sigmoid_cross_entropy_with_logits(labels=z, logits=x)), exact)
    weighted = nn.weighted_cross_entropy_with_logits(z, x, 1.0)
    np.testing.assert_allclose(run(weighted), exact, atol=1e-12)
    with pytest.raises(ValueError, match="must have the same shape"):
        nn.sigmoid_cross_entropy_with_logits(labels=[1.0], logits=[1.0, 2.0])


def test_dropout_keeps_the_expected_sum() -> None:
    x = convert.constant(np.ones((100, 100), np.float32))
    kept = run(nn.dropout(x, keep_prob=0.25, seed=3))
    assert set(np.unique(kept)) == {0, 4}
    assert abs(kept.mean() - 1) < 0.1
    assert nn.dropout(x, 1.0) is x
    shared = run(nn.dropout(x, rate=0.5, noise_shape=[100, 1], seed=4))
    assert (shared == shared[:, :1]).all()
    for wrong in ({}, {"keep_prob": 0.5, "rate": 0.5}, {"keep_prob": 0.0}, {"rate": 1.5}):
        with pytest.raises(ValueError):
            nn.dropout(x, **wrong)


def test_pools_of_volumes_take_one_size_for_all_axes() -> None:
    x = np.arange(64, dtype=np.float32).reshape(1, 4, 4, 4, 1)
    for pool in (nn.max_pool3d, nn.avg_pool3d):
        expected = run(pool(x, [1, 2, 2, 2, 1], [1, 2, 2, 2, 1], "VALID"))
        for size in (2, [2, 2, 2]):
            np.testing.assert_array_equal(run(pool(x, size, size, "VALID")), expected)


def test_none_in_the_shape_of_noise_is_the_size_of_the_tensor() -> None:
    x, feeds = unknown(np.ones([50, 2], np.float32), [None, 2])
    for shape in ([None, 1], (None, 1), tensor_shape.TensorShape([None, 1])):
        found = run(nn.dropout(x, 0.5, shape), feeds)
        np.testing.assert_array_equal(found[:, 0], found[:, 1])
        assert set(found[:, 0]) == {0, 2}
    columns = run(nn.dropout(np.ones([2, 50], np.float32), 0.5, [1, None]))
    np.testing.assert_array_equal(columns[0], columns[1])


def test_layers_agree_with_numpy() -> None:
    w, b = np.ones((3, 2), np.float32), np.float32([1, -20])
    np.testing.assert_array_equal(run(nn.xw_plus_b(MATRIX, w, b)), MATRIX @ w + b)
    np.testing.assert_array_equal(run(nn.relu_layer(MATRIX, w, b)), np.maximum(MATRIX @ w + b, 0))
    np.testing.assert_allclose(run(nn.leaky_relu([-1.0, 2.0])), [-0.2, 2])
    np.testing.assert_array_equal(run(nn.leaky_relu([-1.0, 2.0], np.float64(3))), [-3, 2])
    np.testing.assert_array_equal(run(nn.leaky_relu([-1, 2], -1)), np.float32([1, 2]))
    np.testing.assert_allclose(run(nn.l2_normalize([[3.0, 4.0]], 1)), [[0.6, 0.8]], rtol=1e-6)
    assert run(nn.zero_fraction(MATRIX)) == np.float32(1 / 6)
    assert run(nn.in_top_k(MATRIX, [2, 0], 1)).tolist() == [True, False]
    k, feeds = unknown(np.int32(1), [])
    assert run(nn.in_top_k(MATRIX, [2, 0], k), feeds).tolist() == [True, False]
    with pytest.raises(ValueError, match="data_format must be"):
        nn.bias_add(MATRIX, b, data_format="NDHWC")


@pytest.mark.parametrize("keep", [True, False])
def test_moments_and_batch_normalization_agree_with_numpy(keep: bool) -> None:
    mean, variance = run(nn.moments(MATRIX, [0], keep_dims=keep))
    np.testing.assert_allclose(mean, MATRIX.mean(0, keepdims=keep))
    np.testing.assert_allclose(variance, MATRIX.var(0, keepdims=keep))
    normal = run(nn.batch_normalization(MATRIX, mean, variance, 1.0, 2.0, 1e-3))
    expected = 2 * (MATRIX - mean) / np.sqrt(variance + 1e-3) + 1
    np.testing.assert_allclose(normal, expected, rtol=1e-5)


# --- random numbers


def test_random_numbers_have_the_requested_range_mean_and_deviation() -> None:
    uniform = run(random_ops.random_uniform([1000], -3, 5, seed=1))
    assert -3 <= uniform.min() < -2.5
    assert 4.5 < uniform.max() <= 5
    normal = run(random_ops.random_normal([1000], 7.0, 2.0, seed=1))
    assert abs(normal.mean() - 7) < 0.5
    assert abs(run(random_ops.truncated_normal([1000], 1.0, 0.1, seed=1)) - 1).max() <= 0.2001
    integers = run(random_ops.random_uniform([100], 0, 3, dtypes.int32, seed=1))
    assert set(integers.tolist()) == {0, 1, 2}


def test_the_graphs_seed_makes_every_stream_repeatable() -> None:
    def draw() -> Any:
        with graphs.Graph().as_default():
            random_ops.set_random_seed(7)
            return run([random_ops.random_normal([3]), random_ops.random_normal([3])])

    first, second = draw(), draw()
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first[0], first[1])


def test_random_ops_refuse_types_without_a_distribution() -> None:
    with pytest.raises(ValueError, match="Must specify maxval for integer dtype"):
        random_ops.random_uniform([2], dtype=dtypes.int32)
    with pytest.raises(ValueError, match="Invalid dtype"):
        random_ops.random_normal([2], dtype=dtypes.int32)
