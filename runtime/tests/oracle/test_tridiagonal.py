"""The factors LU and tridiagonal matrices give the numbers of TensorFlow, with their gradients."""

from typing import Any

import genuine
import numpy as np
import pytest

import capstan as tf

pytestmark = genuine.MARKS

FORMATS = ("compact", "sequence", "long sequence", "matrix")


def run(tf: Any, program: Any) -> Any:
    with tf.Graph().as_default(), tf.Session() as session:
        return session.run(program(tf))


def same(v1: Any, program: Any) -> None:
    for own, expected in zip(run(tf, program), run(v1, program), strict=True):
        assert own.dtype == expected.dtype
        tolerance = 1e-3 if own.dtype in (np.float32, np.complex64) else 1e-9
        np.testing.assert_allclose(own, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
@pytest.mark.parametrize("shape", [(1, 1), (4, 4), (3, 7, 7), (2, 2, 20, 20), (0, 3, 3), (2, 0, 0)])
def test_the_factors_are_those_of_tensorflow(v1: Any, dtype: Any, shape: Any) -> None:
    real, imaginary = np.random.default_rng(12).normal(size=(2, *shape))
    matrices = (real + 1j * imaginary if dtype is np.complex128 else real).astype(dtype)
    same(v1, lambda tf: [*tf.linalg.lu(matrices), tf.linalg.lu(matrices, tf.int64).p])


def diagonals_as(kind: str, compact: Any) -> Any:
    """Return three diagonals [..., 3, M] in another format."""
    upper, middle, lower = np.moveaxis(compact, -2, 0)
    if kind == "compact":
        return compact
    if kind == "sequence":
        return [upper[..., :-1], middle, lower[..., 1:]]
    if kind == "long sequence":
        return [upper, middle, lower]
    size = compact.shape[-1]
    matrix = np.zeros((*middle.shape, size)) + np.triu(np.ones((size, size)), 2)
    for row in range(size):
        matrix[..., row, row] = middle[..., row]
        if row < size - 1:
            matrix[..., row, row + 1] = upper[..., row]
            matrix[..., row + 1, row] = lower[..., row + 1]
    return matrix


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize(("batch", "size"), [((), 2), ((), 5), ((3,), 4), ((2, 2), 9)])
def test_systems_and_products_are_those_of_tensorflow(
    v1: Any, kind: str, batch: Any, size: int
) -> None:
    # Matrices of some other seeds are nearly singular, and rounding then decides the results.
    draw = np.random.default_rng(200)
    compact = draw.normal(size=(*batch, 3, size))
    given = diagonals_as(kind, compact)
    rhs = draw.normal(size=(*batch, size, 2))
    name = kind.rpartition(" ")[2]

    def program(tf: Any) -> list[Any]:
        tensors = list(map(tf.constant, given)) if name == "sequence" else tf.constant(given)
        right = tf.constant(rhs)
        solve, times = tf.linalg.tridiagonal_solve, tf.linalg.tridiagonal_matmul
        steady = tf.constant(compact + np.array([[0], [9], [0]]))
        found = [
            solve(tensors, right, name),
            solve(tensors, right[..., 0], name),
            solve(steady, right, partial_pivoting=False),
        ]
        if kind == "sequence":  # The product takes only diagonals of one length.
            found.append(times(tf.constant(compact), right))
        else:
            found.append(times(tensors, right, name))
        arguments = [*tensors, right] if name == "sequence" else [tensors, right]
        slopes = tf.gradients([tf.sin(found[0]), tf.cos(found[3])], arguments)
        return [*found, *slopes, *tf.gradients(tf.sin(found[2]), [steady, right])]

    same(v1, program)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_systems_and_products_may_be_complex(v1: Any, dtype: Any) -> None:
    real, imaginary = np.random.default_rng(7).normal(size=(2, 2, 3, 5))
    diagonals = (real + 1j * imaginary).astype(dtype)
    rhs = np.swapaxes(diagonals[:, ::-1], -1, -2).copy()

    def program(tf: Any) -> list[Any]:
        compact, right = tf.constant(diagonals), tf.constant(rhs)
        solved = tf.linalg.tridiagonal_solve(compact, right)
        product = tf.linalg.tridiagonal_matmul(compact, right)
        conjugated = tf.linalg.tridiagonal_solve(compact, right[..., 0], conjugate_rhs=True)
        slopes = [tf.gradients(tf.abs(each), [compact, right]) for each in (solved, product)]
        return [solved, product, conjugated, *slopes[0], *slopes[1]]

    same(v1, program)


def test_a_matrix_of_one_number_is_solved_and_multiplied() -> None:
    def program(tf: Any) -> list[Any]:
        matrix, rhs = tf.constant([[[2.0]], [[4.0]]]), tf.constant([[[8.0, 3.0]], [[2.0, 1.0]]])
        solve, times = tf.linalg.tridiagonal_solve, tf.linalg.tridiagonal_matmul
        return [solve(matrix, rhs, "matrix"), times(matrix, rhs, "matrix")]

    solved, product = run(tf, program)
    np.testing.assert_array_equal(solved, [[[4.0, 1.5]], [[0.5, 0.25]]])
    np.testing.assert_array_equal(product, [[[16.0, 6.0]], [[8.0, 4.0]]])


def test_transposed_right_sides_have_transposed_solutions() -> None:
    """As in TensorFlow 1.15. TensorFlow 2.21 does not transpose the solutions."""
    draw = np.random.default_rng(12)
    diagonals, rhs = draw.normal(size=(2, 3, 4)), draw.normal(size=(2, 4, 3))

    def program(tf: Any) -> list[Any]:
        solve, turned = tf.linalg.tridiagonal_solve, np.swapaxes(rhs, -1, -2)
        return [solve(diagonals, rhs), solve(diagonals, turned, transpose_rhs=True)]

    plain, transposed = run(tf, program)
    np.testing.assert_array_equal(transposed, np.swapaxes(plain, -1, -2))


def test_a_matrix_without_an_inverse_is_refused(v1: Any) -> None:
    calls = [
        lambda tf: tf.linalg.lu(np.ones((2, 2)))[0],
        lambda tf: tf.linalg.tridiagonal_solve(*map(tf.constant, (np.zeros((3, 2)), np.ones(2)))),
        lambda tf: tf.linalg.tridiagonal_solve(
            tf.constant([[1.0, 1.0], [0.0, 1.0], [1.0, 1.0]]), tf.ones(2), partial_pivoting=False
        ),
    ]
    messages = ["Input is not invertible", "not invertible", "requires pivoting"]
    for call, message in zip(calls, messages, strict=True):
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            run(tf, call)
    # TensorFlow 2.21 returns NaN for the others. TensorFlow 1.15 raises the error.
    with pytest.raises(v1.errors.InvalidArgumentError, match=messages[0]):
        run(v1, calls[0])


def test_sizes_that_do_not_fit_are_refused() -> None:
    solve = tf.linalg.tridiagonal_solve
    numbers = np.ones
    for arguments, message in (
        ((numbers((3, 4)), numbers((2, 2, 2, 4))), "rank of rhs"),
        ((numbers((3, 4)), numbers(4), "none"), "Unrecognized diagonals_format"),
        (([numbers(4)] * 2, numbers(4), "sequence"), "sequence of length 3"),
        (([numbers(2), numbers(4), numbers(3)], numbers(4), "sequence"), "superdiagonal"),
        ((numbers((2, 4)), numbers(4)), "3"),
        ((numbers((5, 4, 7)), numbers((5, 4)), "matrix"), "to be the same"),
        ((numbers((3, 4)), numbers(5)), "4 and 5"),
    ):
        with pytest.raises(ValueError, match=message):
            solve(*arguments)
    unknown = tf.placeholder_with_default(numbers((3, 4)), [None, None])
    with tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="the same number"):
            session.run(solve(unknown, tf.placeholder_with_default(numbers(5), [None])))
        product = tf.raw_ops.TridiagonalMatMul(
            superdiag=unknown, maindiag=unknown, subdiag=unknown, rhs=unknown
        )
        with pytest.raises(tf.errors.InvalidArgumentError, match="Invalid superdiagonal shape"):
            session.run(product)
