"""Banded triangular systems have TensorFlow's solutions and gradients."""

from typing import Any

import genuine
import numpy as np
import pytest

import capstan

pytestmark = genuine.MARKS


def numbers(shape: Any, dtype: Any) -> Any:
    real, imaginary = np.random.default_rng(7).normal(size=(2, *shape))
    return (real + 1j * imaginary if np.dtype(dtype).kind == "c" else real).astype(dtype)


def solved(tf: Any, bands: Any, rhs: Any, lower: bool, adjoint: bool) -> Any:
    bands, rhs = tf.constant(bands), tf.constant(rhs)
    found = tf.raw_ops.BandedTriangularSolve(matrix=bands, rhs=rhs, lower=lower, adjoint=adjoint)
    weights = tf.cast(tf.reshape(tf.range(1, tf.size(found) + 1), tf.shape(found)), found.dtype)
    return [found, *tf.gradients(found, [bands, rhs], grad_ys=weights)]


@pytest.mark.parametrize("adjoint", [False, True])
@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize(
    ("batch", "rhs_batch", "count", "size"),
    [((), (), 2, 4), ((3,), (3,), 3, 5), ((2, 1), (3,), 2, 3), ((), (2,), 4, 4)],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
def test_solutions_and_gradients_are_those_of_tensorflow(
    v1: Any, dtype: Any, batch: Any, rhs_batch: Any, count: int, size: int, lower: bool,
    adjoint: bool,
) -> None:  # fmt: skip
    bands, rhs = numbers((*batch, count, size), dtype), numbers((*rhs_batch, size, 2), dtype)
    # Dominant diagonals keep the errors of rounding small.
    bands[..., 0 if lower else -1, :] += 4
    results = []
    for tf in (capstan, v1):
        with tf.Graph().as_default(), tf.Session() as session:
            fetches = solved(tf, bands, rhs, lower, adjoint)
            shapes = [each.shape.as_list() for each in fetches]
            results.append((shapes, session.run(fetches)))
    assert results[0][0] == results[1][0]
    for own, expected in zip(results[0][1], results[1][1], strict=True):
        assert own.dtype == expected.dtype
        np.testing.assert_allclose(own, expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("batch", [(), (2,)])
def test_one_band_is_a_diagonal(v1: Any, batch: Any, lower: bool) -> None:
    bands, rhs = numbers((*batch, 1, 3), np.float64), numbers((3, 2), np.float64)
    with capstan.Graph().as_default(), capstan.Session() as session:
        found = session.run(solved(capstan, bands, rhs, lower, adjoint=False))
    with v1.Graph().as_default(), v1.Session() as session:
        x, y = v1.constant(bands), v1.constant(rhs)
        quotients = y / v1.linalg.matrix_transpose(x)
        weights = v1.reshape(v1.range(1, v1.size(quotients) + 1), v1.shape(quotients))
        weights = v1.cast(weights, v1.float64)
        expected = session.run([quotients, *v1.gradients(quotients, [x, y], grad_ys=weights)])
    for own, wanted in zip(found, expected, strict=True):
        np.testing.assert_allclose(own, wanted, rtol=1e-9)


@pytest.mark.parametrize(
    ("bands", "rhs"),
    [
        ([[0.0, 1.0], [1.0, 1.0]], [[1.0], [1.0]]),
        ([1.0, 2.0], [[1.0], [1.0]]),
        ([[1.0, 2.0]], [1.0, 1.0]),
        ([[1.0, 2.0]], [[1.0]]),
        (np.zeros((0, 2)), [[1.0], [1.0]]),
    ],
)
def test_systems_without_a_solution_are_refused(v1: Any, bands: Any, rhs: Any) -> None:
    for tf in (capstan, v1):
        with tf.Graph().as_default(), tf.Session() as session:
            given = [
                tf.placeholder_with_default(np.asarray(each, np.float32), None)
                for each in (bands, rhs)
            ]
            found = tf.raw_ops.BandedTriangularSolve(
                matrix=given[0], rhs=given[1], lower=True, adjoint=False
            )
            with pytest.raises(tf.errors.InvalidArgumentError):
                session.run(found)
