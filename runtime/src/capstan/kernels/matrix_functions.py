"""Kernels of functions of matrices (core/kernels/matrix_square_root_op.cc,
matrix_logarithm_op.cc). TensorFlow has them for CPUs only.

Each works on the Schur form Q T Q^H of a matrix, where T is upper triangular, in double precision.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from capstan.core.arrays import Array
from capstan.kernels.arithmetic import constantly
from capstan.kernels.linear_algebra import check_square
from capstan.kernels.registry import Kernel, register

_NEAR = 0.25
"""The quotients of degree 7 are exact to double precision if T - 1 is not larger than this."""
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(7)


def _applied(function: Callable[[Any], Any], matrices: Array) -> Array:
    """Apply a function of triangular matrices to the Schur forms of matrices.

    A matrix for which the function has no finite value, or no real value in a real type, becomes
    NaN.
    """
    check_square(matrices)
    result = np.empty_like(matrices)
    for place in np.ndindex(matrices.shape[:-2]):
        result[place] = _of_one(function, matrices[place])
    return result


def _of_one(function: Callable[[Any], Any], matrix: Array) -> Any:
    if not matrix.size:
        return matrix
    if not np.all(np.isfinite(matrix)):
        return np.full_like(matrix, np.nan)
    basis, triangle = _schur(matrix.astype(np.complex128))
    with np.errstate(all="ignore"):
        found = basis @ function(triangle) @ basis.conj().T
    if matrix.dtype.kind == "c":
        return found
    values = np.diagonal(triangle)
    is_negative = (values.real < 0) & (np.abs(values.imag) <= _rounding(matrix))
    return np.full_like(matrix, np.nan) if np.any(is_negative) else found.real


def _rounding(matrix: Array) -> float:
    return float(len(matrix) * np.finfo(np.float64).eps * np.linalg.norm(matrix))


def _schur(matrix: Any) -> tuple[Any, Any]:
    """Return the unitary Q and the upper triangular T of Q T Q^H.

    The eigenvectors, made orthogonal, are such a Q. If they are nearly dependent, only one is
    taken, and the rest of the matrix is decomposed in turn.
    """
    basis, _ = np.linalg.qr(np.linalg.eig(matrix)[1])
    triangle = basis.conj().T @ matrix @ basis
    if np.max(np.abs(np.tril(triangle, -1))) <= _rounding(matrix):
        return basis, np.triu(triangle)
    basis, triangle = np.eye(len(matrix), dtype=matrix.dtype), matrix.copy()
    for first in range(len(matrix) - 1):
        _, vectors = np.linalg.eig(triangle[first:, first:])
        turn, _ = np.linalg.qr(vectors[:, :1], "complete")
        triangle[first:] = turn.conj().T @ triangle[first:]
        triangle[:, first:] = triangle[:, first:] @ turn
        basis[:, first:] = basis[:, first:] @ turn
    return basis, np.triu(triangle)


def _root(triangle: Any) -> Any:
    """Return the square root of a triangular matrix, column by column (Björck and Hammarling)."""
    root = np.diag(np.sqrt(np.diagonal(triangle)))
    for column in range(1, len(triangle)):
        for row in range(column - 1, -1, -1):
            inside = slice(row + 1, column)
            rest = triangle[row, column] - root[row, inside] @ root[inside, column]
            root[row, column] = rest / (root[row, row] + root[column, column])
    return root


def _logarithm(triangle: Any) -> Any:
    """Return the logarithm of a triangular matrix (Higham, "Functions of Matrices", 11.5).

    The logarithm of a matrix near 1 is the integral of X / (1 + t X) over t from 0 to 1. Square
    roots bring the matrix near 1, and each halves the logarithm.
    """
    one, near, halvings = np.eye(len(triangle)), triangle, 0
    if not np.all(np.diagonal(triangle)):
        return np.full_like(triangle, np.nan)
    while np.linalg.norm(near - one, 1) > _NEAR:
        near, halvings = _root(near), halvings + 1
    small = near - one
    parts = (
        weight / 2 * np.linalg.solve(one + (node + 1) / 2 * small, small)
        for node, weight in zip(_NODES, _WEIGHTS, strict=True)
    )
    found = np.triu(sum(parts) * 2.0**halvings)
    np.fill_diagonal(found, np.log(np.diagonal(triangle)))
    return found


register(Kernel("MatrixSquareRoot", constantly(lambda matrices: _applied(_root, matrices))))
register(Kernel("MatrixLogarithm", constantly(lambda matrices: _applied(_logarithm, matrices))))
