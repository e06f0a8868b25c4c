"""TensorFlow 1's functions that solve systems of equations and decompose matrices.

Each works on the last two axes of its arguments, and the axes before them are a batch. The types
are float32, float64, complex64 and complex128. `matrix_solve_ls` and `self_adjoint_eig` take no
complex numbers.

Sources: python/ops/linalg_ops.py, python/ops/linalg/linalg_impl.py.
"""

from typing import Any, NamedTuple

import numpy as np

from capstan.api import complex_ops, plain
from capstan.api.scoped import scoped
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework.raw import raw

__all__ = [
    "cholesky", "cholesky_solve", "matrix_solve", "matrix_solve_ls", "matrix_triangular_solve",
    "qr", "self_adjoint_eig", "self_adjoint_eigvals", "svd",
]  # fmt: skip


class Qr(NamedTuple):
    """The factors of a matrix: `q` has orthonormal columns, and `r` is upper triangular."""

    q: Any
    r: Any


class LogMatrixDeterminant(NamedTuple):
    """The sign of a determinant, and the logarithm of its absolute value."""

    sign: Any
    log_abs_determinant: Any


cholesky = plain.function(
    "cholesky",
    "Cholesky",
    """Return the lower triangular factor L of each self-adjoint matrix L L^H.

    Only the lower triangle of `input` is read. If a matrix is not positive definite, the step
    raises InvalidArgumentError.
    """,
)


def cholesky_solve(chol: Any, rhs: Any, name: str | None = None) -> Any:
    """Solve A X = `rhs`, where `chol` is the result of `cholesky(A)`."""
    with scoped(name, "cholesky_solve", (chol, rhs)):
        half = raw.MatrixTriangularSolve(chol, rhs, lower=True)
        return raw.MatrixTriangularSolve(chol, half, lower=True, adjoint=True)


def matrix_solve(matrix: Any, rhs: Any, adjoint: bool = False, name: str | None = None) -> Any:
    """Solve `matrix` X = `rhs`, or the system of the adjoint matrix.

    If a matrix has no inverse, the step raises InvalidArgumentError.
    """
    return raw.MatrixSolve(matrix, rhs, adjoint=adjoint, name=name)


def matrix_triangular_solve(
    matrix: Any, rhs: Any, lower: bool = True, adjoint: bool = False, name: str | None = None
) -> Any:
    """Solve `matrix` X = `rhs`, and read only the lower or the upper triangle of `matrix`."""
    return raw.MatrixTriangularSolve(matrix, rhs, lower=lower, adjoint=adjoint, name=name)


def matrix_solve_ls(
    matrix: Any,
    rhs: Any,
    l2_regularizer: Any = 0.0,
    fast: bool = True,
    name: str | None = None,
) -> Any:
    """Return the X with the least squares of `matrix` X - `rhs`.

    `fast` solves the normal equations, with `l2_regularizer` times the squares of X added to the
    sum. If the matrix has not full rank, the step then raises InvalidArgumentError. Otherwise the
    solution with the least norm is found, and `l2_regularizer` has no effect.
    """
    penalty = convert.convert_to_tensor(l2_regularizer, dtypes.float64)
    return raw.MatrixSolveLs(matrix, rhs, penalty, fast=fast, name=name)


def qr(input: Any, full_matrices: bool = False, name: str | None = None) -> Qr:
    """Return the factors `q` and `r` of each matrix.

    For M x N matrices, `q` is M x min(M, N), or M x M if `full_matrices`.
    """
    return Qr(*raw.Qr(input, full_matrices=full_matrices, name=name))


def svd(
    tensor: Any, full_matrices: bool = False, compute_uv: bool = True, name: str | None = None
) -> Any:
    """Return `s`, `u` and `v`, where U diag(s) V^H is the matrix, or only `s` without `compute_uv`.

    The singular values `s` are in descending order. The columns of `u` and `v` are the singular
    vectors: min(M, N) of them, or all if `full_matrices`. The singular values of
    complex matrices are real, too.
    """
    s, u, v = raw.Svd(tensor, compute_uv=compute_uv, full_matrices=full_matrices, name=name)
    values = complex_ops.real(s)
    return (values, u, v) if compute_uv else values


def self_adjoint_eig(tensor: Any, name: str | None = None) -> Any:
    """Return the eigenvalues of symmetric matrices, in ascending order, and the eigenvectors.

    Only the lower triangle of `tensor` is read. The columns are the eigenvectors.
    """
    values, vectors = raw.SelfAdjointEigV2(tensor, compute_v=True, name=name)
    return values, vectors


def self_adjoint_eigvals(tensor: Any, name: str | None = None) -> Any:
    """Return the eigenvalues of symmetric matrices, in ascending order."""
    values, _ = raw.SelfAdjointEigV2(tensor, compute_v=False, name=name)
    return values


def logdet(matrix: Any, name: str | None = None) -> Any:
    """Return the logarithm of the determinant of positive definite matrices, a real number."""
    with scoped(name, "logdet", (matrix,)):
        diagonal = complex_ops.real(raw.MatrixDiagPart(raw.Cholesky(matrix)))
        logarithms = raw.Sum(raw.Log(diagonal), np.array([-1], np.int32))
        return raw.Mul(logarithms, convert.convert_to_tensor(2, logarithms.dtype), name="mul")


def slogdet(input: Any, name: str | None = None) -> LogMatrixDeterminant:
    """Return the sign of each determinant, and the logarithm of its absolute value."""
    return LogMatrixDeterminant(*raw.LogMatrixDeterminant(input, name=name))
