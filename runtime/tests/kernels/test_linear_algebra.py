"""Linear algebra gives results that fulfil their equations, and refuses matrices without a result.

These tests name no device, so they also run on simulated and on real GPUs, whose factors differ.
"""

from typing import Any

import numpy as np
import pytest

import capstan as tf
from capstan.framework.raw import raw

SHAPES = [(1, 1), (3, 3), (2, 3, 3), (2, 2, 5, 5), (40, 40), (3, 40, 40)]
REFUSALS = {
    "Cholesky": "Cholesky decomposition was not successful. The input might not be valid.",
    "MatrixInverse": "Input is not invertible.",
    "MatrixSolve": "Input matrix is not invertible.",
    "MatrixTriangularSolve": "Input matrix is not invertible.",
}

dtypes = pytest.mark.parametrize("dtype", [np.float32, np.float64])
shapes = pytest.mark.parametrize("shape", SHAPES, ids=str)


def run(op: str, *inputs: Any, **attrs: Any) -> Any:
    with tf.Graph().as_default(), tf.Session() as session:
        fed = [tf.placeholder(value.dtype, [None] * value.ndim) for value in inputs]
        return session.run(getattr(raw, op)(*fed, **attrs), dict(zip(fed, inputs, strict=True)))


def normal(shape: tuple[int, ...]) -> Any:
    """Return numbers that depend on the shape only, and not on the order of the tests."""
    return np.random.default_rng([7, *shape]).normal(size=shape)


def square(shape: tuple[int, ...], dtype: Any) -> Any:
    """Return matrices that are far from singular."""
    return (normal(shape) + 4 * shape[-1] * np.eye(shape[-1])).astype(dtype)


def turned(matrix: Any) -> Any:
    return np.swapaxes(matrix, -1, -2)


def check(found: Any, expected: Any) -> None:
    assert found.dtype == expected.dtype
    size = np.abs(expected).max()
    precision = 2e-5 if found.dtype == np.float32 else 1e-12
    np.testing.assert_allclose(found, expected, rtol=precision, atol=precision * size)


def check_is_orthogonal(matrix: Any) -> None:
    columns = matrix.shape[-1]
    ones = np.broadcast_to(
        np.eye(columns, dtype=matrix.dtype), (*matrix.shape[:-2], *(columns,) * 2)
    )
    check(turned(matrix) @ matrix, ones)


@dtypes
@shapes
def test_decompositions_of_symmetric_matrices_multiply_to_them(shape: Any, dtype: Any) -> None:
    factor = square(shape, dtype)
    matrix = factor @ turned(factor)
    # The operations read the lower triangle only.
    given = np.tril(matrix) + np.triu(np.full(shape, 99, dtype), 1)
    lower = run("Cholesky", given)
    check(lower, np.tril(lower))
    check(lower @ turned(lower), matrix)
    values, vectors = run("SelfAdjointEigV2", given)
    check(values, np.sort(values))
    check_is_orthogonal(vectors)
    check(vectors * values[..., None, :] @ turned(vectors), matrix)
    alone, nothing = run("SelfAdjointEigV2", given, compute_v=False)
    check(alone, values)
    assert nothing.shape == (0,)


@pytest.mark.parametrize("is_full", [False, True], ids=["thin", "full"])
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_complex_matrices_are_decomposed_into_a_unitary_and_an_upper_matrix(
    dtype: Any, is_full: bool
) -> None:
    with tf.device("/device:CPU:0"):
        for shape in ((3, 3), (2, 4, 2), (2, 2, 4)):
            matrix = (normal(shape) + 1j * normal(shape)).astype(dtype)
            q, r = run("Qr", matrix, full_matrices=is_full)
            assert q.dtype == r.dtype == dtype
            np.testing.assert_allclose(r, np.triu(r))
            np.testing.assert_allclose(q @ r, matrix, atol=1e-5)
            unit = np.conj(turned(q)) @ q
            np.testing.assert_allclose(unit, np.eye(q.shape[-1]) + 0 * unit, atol=1e-5)


def test_a_band_of_a_complex_matrix_and_its_gradient_keep_both_parts() -> None:
    with tf.Graph().as_default(), tf.Session() as session, tf.device("/device:CPU:0"):
        matrix = tf.constant(np.full((3, 3), 1 + 2j, np.complex64))
        band = tf.matrix_band_part(matrix, 0, -1)
        (slope,) = tf.gradients(band, matrix, tf.fill([3, 3], tf.constant(3 - 1j, tf.complex64)))
        ones = np.triu(np.ones((3, 3)))
        np.testing.assert_array_equal(session.run(band), ones * (1 + 2j))
        np.testing.assert_array_equal(session.run(slope), ones * (3 - 1j))


def test_the_gradient_of_a_complex_decomposition_is_not_implemented() -> None:
    with tf.Graph().as_default():
        matrix = tf.constant(np.eye(2, dtype=np.complex64))
        with pytest.raises(NotImplementedError, match="QrGrad not implemented for dtype"):
            tf.gradients(tf.real(tf.qr(matrix).r), matrix)


def test_the_gradient_of_complex_singular_vectors_is_not_implemented() -> None:
    with tf.Graph().as_default():
        matrix = tf.constant(np.eye(2, dtype=np.complex64))
        with pytest.raises(NotImplementedError, match="not implemented for complex types"):
            tf.gradients(tf.real(tf.svd(matrix)[1]), matrix)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_complex_results_keep_their_type(dtype: Any) -> None:
    matrix = (normal((2, 3, 3)) + 1j * normal((2, 3, 3)) + 4 * np.eye(3)).astype(dtype)
    with tf.device("/device:CPU:0"):
        sign, logarithm = run("LogMatrixDeterminant", matrix)
        assert sign.dtype == logarithm.dtype == dtype
        np.testing.assert_allclose(sign * np.exp(logarithm), run("MatrixDeterminant", matrix), 1e-4)
        values, left, right = run("Svd", matrix)
        alone, _, _ = run("Svd", matrix, compute_uv=False)
        assert values.dtype == alone.dtype == left.dtype == dtype
        np.testing.assert_allclose(values, alone, 1e-4)
        product = left * values[..., None, :] @ np.conj(turned(right))
        np.testing.assert_allclose(product, matrix, atol=1e-5)
        adjoint = run("MatrixInverse", matrix, adjoint=True) @ np.conj(turned(matrix))
        np.testing.assert_allclose(adjoint, np.eye(3) + 0 * adjoint, atol=1e-5)


@dtypes
@pytest.mark.parametrize("is_full", [False, True], ids=["thin", "full"])
@pytest.mark.parametrize(
    "shape", [*SHAPES, (4, 2), (2, 4), (5, 1), (1, 5), (2, 4, 2), (2, 2, 4), (2, 40, 35)], ids=str
)
def test_decompositions_of_any_matrices_multiply_to_them(
    shape: Any, is_full: bool, dtype: Any
) -> None:
    matrix, least = normal(shape).astype(dtype), min(shape[-2:])
    q, r = run("Qr", matrix, full_matrices=is_full)
    check_is_orthogonal(q)
    check(r, np.triu(r))
    check(q @ r, matrix)
    values, left, right = run("Svd", matrix, full_matrices=is_full)
    check(values, -np.sort(-np.abs(values)))
    check_is_orthogonal(left)
    check_is_orthogonal(right)
    check(left[..., :least] * values[..., None, :] @ turned(right[..., :least]), matrix)
    alone, *nothing = run("Svd", matrix, compute_uv=False)
    check(alone, values)
    assert [each.shape for each in nothing] == [(0,), (0,)]
    if is_full:
        assert q.shape == left.shape == (*shape[:-1], shape[-2])
        assert right.shape == (*shape[:-2], shape[-1], shape[-1])


@dtypes
@shapes
@pytest.mark.parametrize("adjoint", [False, True])
def test_solutions_fulfil_their_systems(shape: Any, adjoint: bool, dtype: Any) -> None:
    matrix = square(shape, dtype)
    rhs = normal((*shape[:-1], 2)).astype(dtype)
    used = turned(matrix) if adjoint else matrix
    check(used @ run("MatrixSolve", matrix, rhs, adjoint=adjoint), rhs)
    ones = np.broadcast_to(np.eye(shape[-1], dtype=dtype), shape)
    check(used @ run("MatrixInverse", matrix, adjoint=adjoint), ones)
    for lower in (False, True):
        for system in (matrix, matrix.reshape(-1, *shape[-2:])[0]):
            found = run("MatrixTriangularSolve", system, rhs, adjoint=adjoint, lower=lower)
            triangle = np.tril(system) if lower else np.triu(system)
            check((turned(triangle) if adjoint else triangle) @ found, rhs)


@dtypes
@shapes
def test_determinants_are_products_of_eigenvalues(shape: Any, dtype: Any) -> None:
    matrix = square(shape, dtype) / shape[-1]
    matrix[..., 0, :] *= -1
    expected = np.prod(np.linalg.eigvals(matrix.astype(np.float64)), -1).real.astype(dtype)
    np.testing.assert_allclose(run("MatrixDeterminant", matrix), expected, rtol=1e-4)
    signs, logarithms = run("LogMatrixDeterminant", matrix)
    assert signs.dtype == logarithms.dtype == dtype
    np.testing.assert_allclose(signs * np.exp(logarithms), expected, rtol=1e-4)
    assert np.all(signs == -1)


@dtypes
@pytest.mark.parametrize("batch", [(), (2,)], ids=["matrix", "batch"])
@pytest.mark.parametrize("op", REFUSALS)
def test_one_matrix_without_a_result_fails_the_step(op: str, batch: Any, dtype: Any) -> None:
    """A factor of `[[1, 2], [2, 1]]` has no real numbers. The others are for singular matrices."""
    bad = [[1, 2], [2, 1]] if op == "Cholesky" else [[1, 0], [2, 0]]
    matrix = np.broadcast_to(np.eye(2), (*batch, 2, 2)).astype(dtype)
    matrix.reshape(-1, 2, 2)[-1] = bad
    inputs = [matrix, matrix] if "Solve" in op else [matrix]
    with pytest.raises(tf.errors.InvalidArgumentError) as raised:
        run(op, *inputs)
    assert raised.value.message.startswith(REFUSALS[op])
    if op != "Cholesky":
        assert run("MatrixDeterminant", matrix).reshape(-1)[-1] == 0
        sign, logarithm = run("LogMatrixDeterminant", matrix)
        assert (sign.reshape(-1)[-1], logarithm.reshape(-1)[-1]) == (0, -np.inf)


@dtypes
@pytest.mark.parametrize("op", ["MatrixSolve", "MatrixTriangularSolve"])
def test_a_system_without_right_hand_sides_has_an_empty_solution(op: str, dtype: Any) -> None:
    for batch in ((), (2,)):
        matrix, rhs = np.zeros((*batch, 3, 3), dtype), np.zeros((*batch, 3, 0), dtype)
        np.testing.assert_array_equal(run(op, matrix, rhs), rhs, strict=True)


@dtypes
@pytest.mark.parametrize("shape", [(0, 0), (2, 0, 0), (0, 3, 3)], ids=str)
def test_empty_matrices_have_empty_results(shape: Any, dtype: Any) -> None:
    matrix = np.zeros(shape, dtype)
    for op in ("Cholesky", "MatrixInverse"):
        np.testing.assert_array_equal(run(op, matrix), matrix, strict=True)
    for op in ("MatrixSolve", "MatrixTriangularSolve"):
        np.testing.assert_array_equal(run(op, matrix, matrix), matrix, strict=True)
    for op in ("Qr", "SelfAdjointEigV2", "Svd"):
        assert all(not value.size for value in run(op, matrix))
    ones = np.ones(shape[:-2], dtype)
    np.testing.assert_array_equal(run("MatrixDeterminant", matrix), ones)
    signs, logarithms = run("LogMatrixDeterminant", matrix)
    np.testing.assert_array_equal([signs, logarithms], [ones, ones * 0])


@pytest.mark.parametrize("shape", [(3, 3), (2, 3, 3)], ids=str)
def test_the_gradient_of_cholesky_is_that_of_its_kernel(shape: Any) -> None:
    factor = square(shape, np.float64)
    matrix, by_lower = factor @ turned(factor), normal((2, *shape))[1]
    expected = run("CholeskyGrad", np.linalg.cholesky(matrix), by_lower)
    with tf.Graph().as_default(), tf.Session() as session:
        fed = tf.placeholder(tf.float64, [None] * len(shape))
        (slope,) = tf.gradients(tf.cholesky(fed), fed, by_lower)
        check(session.run(slope, {fed: matrix}), expected)
    check(expected, turned(expected))
