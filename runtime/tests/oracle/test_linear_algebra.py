"""Systems of equations and decompositions, with their gradients, as in TensorFlow.

Eigenvectors and singular vectors are unique only up to their signs, so the programs fetch values
that do not depend on the signs. Each program runs in TensorFlow, by TensorFlow's client on our
servers, and with our own API.
"""

from typing import Any

import genuine
import numpy as np
import pytest

import capstan as tf

pytestmark = genuine.MARKS
RANDOM = np.random.default_rng(5)
SQUARE, RHS = RANDOM.normal(size=(2, 3, 3)) + 3 * np.eye(3), RANDOM.normal(size=(2, 3, 2))
TALL, WIDE = RANDOM.normal(size=(4, 2)), RANDOM.normal(size=(2, 3))
RIGHTS = RANDOM.normal(size=(4, 2)), RANDOM.normal(size=(2, 1))
RANDOM_PARTS = RANDOM.normal(size=(2, 3, 3))
WEIGHTS = np.array([0.3, -1.2, 2.0])


def slopes(v1: Any, y: Any, *xs: Any) -> list[Any]:
    """Return the gradients of the sum of `y`, each element with a weight of its own."""
    return list(v1.gradients(v1.reduce_sum(v1.sin(v1.cast(y, v1.float64))), xs))


def solutions(v1: Any) -> list[Any]:
    matrix, rhs, fetches = v1.constant(SQUARE), v1.constant(RHS), []
    results = [v1.matrix_solve(matrix, rhs, adjoint=adjoint) for adjoint in (False, True)]
    for lower in (False, True):
        for adjoint in (False, True):
            results.append(v1.matrix_triangular_solve(matrix, rhs, lower=lower, adjoint=adjoint))
            one = v1.matrix_triangular_solve(matrix[0], rhs, lower=lower, adjoint=adjoint)
            results.append(one)
    for result in results:
        fetches += [result, *slopes(v1, result, matrix, rhs)]
    return fetches


def least_squares(v1: Any) -> list[Any]:
    fetches = []
    for value, right in zip((TALL, WIDE), RIGHTS, strict=True):
        matrix, rhs = v1.constant(value), v1.constant(right)
        exact = v1.matrix_solve_ls(matrix, rhs, fast=False)
        result = v1.matrix_solve_ls(matrix, rhs, l2_regularizer=0.2)
        fetches += [exact, result, *slopes(v1, result, matrix, rhs)]
    return fetches


def determinants(v1: Any) -> list[Any]:
    matrix, fetches = v1.constant(SQUARE), []
    definite = v1.matmul(matrix, matrix, transpose_b=True)
    factor = v1.cholesky(definite)
    sign, logarithm = v1.linalg.slogdet(matrix)
    solved = v1.cholesky_solve(factor, v1.constant(RHS))
    for result in (factor, logarithm, v1.linalg.logdet(definite), solved):
        fetches += [result, *slopes(v1, result, matrix)]
    # The gradient of Cholesky consists of other operations.
    return [*fetches, sign, v1.raw_ops.CholeskyGrad(l=factor, grad=v1.constant(SQUARE))]


def decompositions(v1: Any) -> list[Any]:
    fetches = []
    for value in (SQUARE, TALL, WIDE):
        matrix, weights = v1.constant(value), v1.constant(WEIGHTS[: min(value.shape[-2:])])
        s, u, v = v1.svd(matrix)
        whole = v1.matmul(u * weights, v, transpose_b=True)
        alone = v1.svd(matrix, compute_uv=False)
        _, every, _ = v1.svd(matrix, full_matrices=True)
        fetches += [s, whole, alone, v1.matmul(every, every, transpose_a=True)]
        fetches += [*slopes(v1, whole, matrix), *slopes(v1, s, matrix), *slopes(v1, alone, matrix)]
    for value in (SQUARE, TALL):
        matrix, weights = v1.constant(value), v1.constant(WEIGHTS[: value.shape[-1]])
        q, r = v1.qr(matrix)
        product = v1.matmul(q * weights, r)
        fetches += [product, *slopes(v1, product, matrix)]
        q, r = v1.qr(matrix, full_matrices=True)
        fetches.append(v1.matmul(q, r))
    return fetches


def eigenvalues(v1: Any) -> list[Any]:
    matrix = v1.constant(SQUARE)
    values, vectors = v1.self_adjoint_eig(matrix)
    whole = v1.matmul(vectors * v1.constant(WEIGHTS), vectors, transpose_b=True)
    alone = v1.self_adjoint_eigvals(matrix)
    fetches = [values, whole, alone]
    for result in (values, whole, alone):
        fetches += slopes(v1, result, matrix)
    return fetches


def any_eigenvalues(v1: Any) -> list[Any]:
    """Return sums over all eigenvalues, which have no order."""
    fetches = []
    for value in (SQUARE + RANDOM_PARTS, SQUARE[0], SQUARE + 1j * RANDOM_PARTS):
        matrix = v1.constant(value)
        values, vectors = v1.raw_ops.Eig(input=matrix, Tout=v1.complex128)
        alone, _ = v1.raw_ops.Eig(input=matrix, Tout=v1.complex128, compute_v=False)
        for result in (v1.sin(v1.real(values) + 2 * v1.imag(values)), v1.cos(v1.real(alone))):
            fetches += [v1.reduce_sum(result), *v1.gradients(result, matrix)]
        weighted = v1.square(v1.abs(vectors)) * v1.sin(v1.real(values))[..., None, :]
        sums = v1.reduce_sum(weighted, -1)
        fetches += [sums, *slopes(v1, sums, matrix)]
    return fetches


def products(v1: Any) -> list[Any]:
    matrix, vector = v1.constant(SQUARE), v1.constant(RHS[..., 0])
    fetches = []
    for options in ({}, {"transpose_a": True}, {"adjoint_a": True}):
        product = v1.linalg.matvec(matrix, vector, **options)
        fetches += [product, *slopes(v1, product, matrix, vector)]
    for order, axis in (
        ("euclidean", None), (1, -1), (np.inf, 0), ("fro", [1, 2]), (3, 0),
        (2, [-2, -1]), (2, (2, 0)),
    ):  # fmt: skip
        unit, size = v1.linalg.normalize(matrix, order, axis)
        fetches += [unit, size, *slopes(v1, unit, matrix)]
    return fetches


def complexes(v1: Any) -> list[Any]:
    square = SQUARE + 1j * RANDOM_PARTS
    matrix, rhs, fetches = v1.constant(square), v1.constant(RHS * (1 - 0.5j)), []

    def slopes_of(result: Any) -> list[Any]:
        """Return the gradients of a real sum, in which all parts count."""
        parts = v1.reduce_sum(v1.sin(v1.real(result)) + v1.cos(2 * v1.imag(result)))
        found = v1.gradients(parts, [matrix, rhs])
        return [each for each in found if each is not None]

    definite = v1.matmul(matrix, matrix, adjoint_b=True)
    results = [
        v1.matrix_inverse(matrix), v1.linalg.inv(matrix, adjoint=True), v1.cholesky(definite),
        v1.matrix_solve(matrix, rhs), v1.matrix_solve(matrix, rhs, adjoint=True),
        v1.matrix_triangular_solve(matrix, rhs),
        v1.matrix_triangular_solve(matrix, rhs, lower=False, adjoint=True),
        v1.cholesky_solve(v1.cholesky(definite), rhs), v1.matrix_determinant(matrix),
    ]  # fmt: skip
    for result in results:
        fetches += [result, *slopes_of(result)]
    logarithm = v1.linalg.logdet(definite)
    alone = v1.svd(matrix, compute_uv=False)
    for result in (logarithm, alone):
        fetches += [result, *v1.gradients(v1.reduce_sum(v1.sin(result)), matrix)]
    fetches += v1.linalg.slogdet(matrix)
    s, u, v = v1.svd(matrix)
    q, r = v1.qr(matrix)
    whole = v1.matmul(u * v1.cast(v1.expand_dims(s, -2), u.dtype), v, adjoint_b=True)
    return [*fetches, s, whole, v1.matmul(q, r)]


def functions(v1: Any) -> list[Any]:
    fetches = []
    definite = SQUARE @ SQUARE.swapaxes(1, 2)
    repeated = np.array([[4.0, 1, 0], [0, 4, 1], [0, 0, 4]])
    for value in (definite, repeated, definite + 1j * RANDOM_PARTS):
        matrix = v1.constant(value)
        for result in (v1.linalg.sqrtm(matrix), v1.linalg.expm(matrix / 40)):
            fetches += [result, *v1.gradients(v1.real(result), matrix)]
        fetches.append(v1.linalg.logm(v1.cast(matrix, v1.complex128)))
    for scale in (1e-3, 0.1, 1.0, 1.5, 40.0):  # One for each degree of the quotients.
        fetches.append(v1.linalg.expm(v1.constant(SQUARE * scale / 3)))
    unknown = v1.placeholder_with_default(SQUARE / 3, None)
    return [*fetches, v1.linalg.expm(unknown)]


def singular(v1: Any) -> list[Any]:
    """Return roots and logarithms that do not exist, and of which some are of real matrices."""
    zero, negative = v1.constant(np.zeros((2, 2))), v1.constant(-np.eye(2))
    rotated = v1.cast(negative, v1.complex128)
    roots = [v1.matrix_square_root(each) for each in (zero, negative, rotated)]
    return [*roots, v1.linalg.logm(rotated), v1.linalg.expm(zero)]


def pseudo_inverses(v1: Any) -> list[Any]:
    """Return ranks and pseudo-inverses, of matrices without full rank too."""
    dependent = TALL @ WIDE
    fetches = []
    for value in (SQUARE, TALL, WIDE, dependent, np.zeros((2, 3)), np.float32(dependent)):
        matrix = v1.constant(value)
        unknown = v1.placeholder_with_default(value, None)
        for each in (matrix, unknown):
            inverse = v1.linalg.pinv(each, validate_args=True)
            fetches += [inverse, v1.linalg.matrix_rank(each, validate_args=True)]
    for value in (SQUARE, TALL, WIDE):
        matrix = v1.constant(value)
        for rcond in (None, 0.3, 0.6):
            inverse = v1.linalg.pinv(matrix, rcond)
            fetches += [inverse, *slopes(v1, inverse, matrix)]
        fetches += [v1.linalg.matrix_rank(matrix, tol) for tol in (1.5, [[2.5]])]
    fetches.append(v1.linalg.pinv(v1.constant(SQUARE), [0.4, 0.8]))
    return [*fetches, v1.linalg.matrix_rank([[1, 2], [2, 4.0]])]


PROGRAMS = [
    pseudo_inverses,
    complexes,
    functions,
    singular,
    solutions,
    least_squares,
    determinants,
    decompositions,
    eigenvalues,
    any_eigenvalues,
    products,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_a_program_gives_the_values_of_tensorflow(
    v1: Any, tasks: genuine.Tasks, program: Any
) -> None:
    expected, *found_ways = genuine.three_answers(v1, program, tasks.target())
    for found in found_ways:
        for value, wanted in zip(found, expected, strict=True):
            tolerance = 1e-5 if wanted.dtype == np.float32 else 1e-7
            np.testing.assert_allclose(value, wanted, rtol=tolerance, atol=tolerance / 100)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: tf.cholesky([[1.0, 2], [2, 1]]), "Cholesky decomposition was not successful"),
        (lambda: tf.matrix_solve([[1.0, 1], [1, 1]], [[1.0], [1]]), "matrix is not invertible"),
        (lambda: tf.matrix_triangular_solve([[0.0]], [[1.0]]), "matrix is not invertible"),
        (lambda: tf.matrix_solve_ls(np.zeros((2, 2)), np.ones((2, 1))), "was rank deficient"),
    ],
    ids=["cholesky", "solve", "triangular", "least squares"],
)
def test_a_matrix_that_does_not_fit_is_refused_as_in_tensorflow_1(call: Any, message: str) -> None:
    """TensorFlow 2 returns NaN or infinity for some of them."""
    refusal = pytest.raises(tf.errors.InvalidArgumentError, match=message)
    with tf.Graph().as_default(), tf.Session() as session, refusal:
        session.run(call())


@pytest.mark.parametrize("name", ["matrix_rank", "pinv"])
def test_ranks_and_pseudo_inverses_are_of_floating_matrices(v1: Any, name: str) -> None:
    for module in (v1, tf):
        function = getattr(module.linalg, name)
        with pytest.raises(TypeError, match="float"):
            function(module.constant([[1, 2], [3, 4]]))
        with pytest.raises(ValueError, match="at least 2"):
            function([1.0, 2])
    with tf.Graph().as_default(), tf.Session() as session:
        unknown = tf.placeholder(tf.float32, None)
        checked = getattr(tf.linalg, name)(unknown, validate_args=True)
        with pytest.raises(tf.errors.InvalidArgumentError, match="rank at least"):
            session.run(checked, {unknown: [1.0, 2]})


@pytest.mark.parametrize("shape", [(0, 0), (2, 0, 0), (0, 3, 3)])
def test_empty_matrices_have_empty_results(v1: Any, tasks: genuine.Tasks, shape: Any) -> None:
    with v1.Graph().as_default():
        matrix = v1.constant(np.zeros(shape))
        fetches = [
            v1.cholesky(matrix), v1.matrix_solve(matrix, matrix), *v1.linalg.slogdet(matrix),
            *v1.self_adjoint_eig(matrix), *v1.svd(matrix), *v1.qr(matrix),
            v1.matrix_square_root(matrix), v1.linalg.logm(v1.cast(matrix, v1.complex64)),
        ]  # fmt: skip
        with v1.Session() as local, v1.Session(tasks.target()) as session:
            for value, wanted in zip(session.run(fetches), local.run(fetches), strict=True):
                np.testing.assert_array_equal(value, wanted, strict=True)
