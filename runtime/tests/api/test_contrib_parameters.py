"""The functions of `tf.contrib.distributions` that make parameters."""

from typing import Any

import numpy as np
import pytest

import capstan as tf

DISTRIBUTIONS = tf.contrib.distributions


def run(build: Any) -> Any:
    with tf.Graph().as_default(), tf.Session() as session:
        return session.run(build())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_inverse_of_softplus_has_finite_gradients(dtype: Any) -> None:
    x = np.array([1e-30, 1e-5, 0.1, 1.0, 20.0, 1e4], dtype)

    def build() -> Any:
        tensor = tf.constant(x)
        y = DISTRIBUTIONS.softplus_inverse(tensor)
        return y, tf.nn.softplus(y), tf.gradients(y, tensor)[0]

    y, again, slope = run(build)
    np.testing.assert_allclose(again, x, rtol=1e-5)
    np.testing.assert_allclose(slope, 1 / -np.expm1(-x), rtol=1e-5)
    np.testing.assert_allclose(y[3:], x[3:] + np.log(-np.expm1(-x[3:])), rtol=1e-6)


LOWER = [[4, 0, 0], [6, 5, 0], [3, 2, 1]]
UPPER = [[1, 2, 3], [0, 5, 6], [0, 0, 4]]


@pytest.mark.parametrize(("is_upper", "expected"), [(False, LOWER), (True, UPPER)])
@pytest.mark.parametrize("shape", [[2, 6], [None, None], None])
def test_triangles_are_filled_in_a_spiral(is_upper: bool, expected: Any, shape: Any) -> None:
    numbers = np.float32([range(1, 7), range(0, 60, 10)])
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder_with_default(numbers, shape)
        made = DISTRIBUTIONS.fill_triangular(x, upper=is_upper)
        if shape is not None:
            assert made.shape.as_list() == [shape[0], *[shape[1] and 3] * 2]
        fed = tf.placeholder_with_default(made, shape and [shape[0], *[shape[1] and 3] * 2])
        back = DISTRIBUTIONS.fill_triangular_inverse(fed, upper=is_upper)
        matrices, vectors = session.run([made, back])
    np.testing.assert_array_equal(matrices[0], expected)
    np.testing.assert_array_equal(vectors, numbers)


@pytest.mark.parametrize("is_upper", [False, True])
@pytest.mark.parametrize("n", [1, 2, 4, 5])
def test_triangles_of_any_size_are_inverted(n: int, is_upper: bool) -> None:
    numbers = np.random.default_rng(n).normal(size=n * (n + 1) // 2)
    made, back = run(
        lambda: [
            made := DISTRIBUTIONS.fill_triangular(numbers, is_upper),
            DISTRIBUTIONS.fill_triangular_inverse(made, is_upper),
        ]
    )
    cut = np.triu if is_upper else np.tril
    np.testing.assert_array_equal(cut(made), made)
    np.testing.assert_array_equal(back, numbers)


def test_a_vector_that_fills_no_triangle_is_refused() -> None:
    with tf.Graph().as_default(), pytest.raises(ValueError, match=r"shape \(4\) does not"):
        DISTRIBUTIONS.fill_triangular(np.ones(4))


def test_a_diagonal_is_mapped() -> None:
    matrix = np.float32([[[0, 2], [3, -1]]])
    made, same = run(
        lambda: [
            DISTRIBUTIONS.matrix_diag_transform(matrix, transform=tf.exp),
            DISTRIBUTIONS.matrix_diag_transform(matrix),
        ]
    )
    np.testing.assert_allclose(made, [[[1, 2], [3, np.exp(-1)]]], rtol=1e-6)
    np.testing.assert_array_equal(same, matrix)


@pytest.mark.parametrize("keep_dims", [False, True])
@pytest.mark.parametrize("axis", [None, 0, [1], [0, 1]])
def test_weighted_sums_of_exponentials(axis: Any, keep_dims: bool) -> None:
    logarithms = np.array([[-500.0, -502.0, -501.0], [3.0, 1.0, 2.0]])
    weights = np.array([[1.0, -2.0, 0.5], [-1.0, 1.0, -0.5]])
    value, sign, alone, plain = run(
        lambda: [
            *DISTRIBUTIONS.reduce_weighted_logsumexp(
                logarithms, weights, axis, keep_dims, return_sign=True
            ),
            DISTRIBUTIONS.reduce_weighted_logsumexp(logarithms, weights, axis, keep_dims),
            DISTRIBUTIONS.reduce_weighted_logsumexp(logarithms, axis=axis, keep_dims=keep_dims),
        ]
    )
    shift = logarithms.max(1, keepdims=True) if axis == [1] else logarithms.max()
    axes = axis if not isinstance(axis, list) else tuple(axis)
    terms = np.exp(logarithms - shift)
    offset = shift if keep_dims or np.ndim(shift) == 0 else shift[:, 0]
    total = (weights * terms).sum(axes, keepdims=keep_dims)
    np.testing.assert_allclose(value, np.log(np.abs(total)) + offset)
    np.testing.assert_array_equal(sign, np.sign(total))
    np.testing.assert_array_equal(alone, value)
    np.testing.assert_allclose(plain, np.log(terms.sum(axes, keepdims=keep_dims)) + offset)


def test_a_sum_of_nothing_is_minus_infinity() -> None:
    found = run(lambda: DISTRIBUTIONS.reduce_weighted_logsumexp([-np.inf, -np.inf], [1.0, 1.0]))
    assert np.isneginf(found)
