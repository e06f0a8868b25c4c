"""Kernels of linear algebra on stacks of matrices (core/kernels/linalg_ops_common.cc and its kin).

NumPy calls LAPACK, and CuPy calls cuSOLVER and cuBLAS. Eigenvectors and singular vectors are only
unique up to their signs, so these may differ from TensorFlow's.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.kernels.arithmetic import constantly
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid

_NO_CHOLESKY = "Cholesky decomposition was not successful. The input might not be valid."
_NO_EIGENVECTORS = (
    "Self-adjoint eigen decomposition was not successful. The input might not be valid."
)
_RANK_DEFICIENT = (
    "Input matrix was rank deficient or ill-conditioned. Try setting fast=False or provide a "
    "larger l2_regularizer > 0."
)


def _checked(function: Callable[..., Any], message: str, *arguments: Any, **options: Any) -> Any:
    """Call a function of `np.linalg`. If the matrix does not allow the result, raise `message`.

    The kernels of GPUs call `Device.checked`, because CuPy returns garbage for such a matrix.
    """
    try:
        return function(*arguments, **options)
    except np.linalg.LinAlgError:
        raise invalid(message) from None


def check_square(matrix: Array) -> None:
    """Require square matrices.

    Raises:
        InvalidArgumentError: the matrices have less than two axes, or are not square.
    """
    _check_matrix(matrix)
    if matrix.shape[-1] != matrix.shape[-2]:
        raise invalid(f"Input matrix must be square, got shape {show(matrix.shape)}")


def _check_matrix(matrix: Array) -> None:
    if matrix.ndim < 2:
        raise invalid(f"Input tensor must have rank >= 2, got shape {show(matrix.shape)}")


def _check_system(matrix: Array, rhs: Array) -> None:
    """Require a right-hand side for each row."""
    for operand in (matrix, rhs):
        _check_matrix(operand)
    if matrix.shape[-2] != rhs.shape[-2]:
        raise invalid(
            "Input matrix and rhs are incompatible: "
            f"{show(matrix.shape[-2:])} vs. {show(rhs.shape[-2:])}"
        )


def _check_batches(matrix: Array, rhs: Array) -> None:
    if matrix.shape[:-2] != rhs.shape[:-2]:
        raise invalid(
            "All input tensors must have the same outer dimensions, got "
            f"{show(matrix.shape)} and {show(rhs.shape)}"
        )


def _turned(matrix: Array) -> Array:
    """Return the adjoint of each matrix, which is the transpose of a real one."""
    turned = np.swapaxes(matrix, -1, -2)
    return np.conj(turned) if turned.dtype.kind == "c" else turned


def _inverse(node: NodeContext) -> Function:
    is_adjoint, call = node.attrs["adjoint"], node.hardware.checked

    def invert(matrix: Array) -> Any:
        check_square(matrix)
        inverse = _checked(call, "Input is not invertible.", np.linalg.inv, matrix)
        return _turned(inverse).copy() if is_adjoint else inverse

    return invert


def _determinant(matrix: Array) -> Any:
    check_square(matrix)
    return np.linalg.det(matrix)


def _log_determinant(matrix: Array) -> tuple[Any, Any]:
    check_square(matrix)
    sign, logarithm = np.linalg.slogdet(matrix)
    return sign, logarithm.astype(matrix.dtype, copy=False)


def _cholesky(node: NodeContext) -> Function:
    call = node.hardware.checked

    def decompose(matrix: Array) -> Any:
        check_square(matrix)
        return _checked(call, _NO_CHOLESKY, np.linalg.cholesky, matrix)

    return decompose


def _cholesky_grad(lower: Array, grad: Array) -> Any:
    """Return the symmetric gradient of the decomposed matrix (Murray, arXiv:1602.07527)."""
    check_square(lower)
    if lower.shape != grad.shape:
        raise invalid(f"l and grad must have one shape: {show(lower.shape)} {show(grad.shape)}")
    lower, half = np.tril(lower), np.tril(np.matmul(_turned(np.tril(lower)), np.tril(grad)))
    places = np.arange(lower.shape[-1])
    half[..., places, places] /= 2
    message = "Input is not invertible."
    left = _checked(np.linalg.solve, message, _turned(lower), half + _turned(half))
    return _turned(_checked(np.linalg.solve, message, _turned(lower), _turned(left))) / 2


def _solve(node: NodeContext) -> Function:
    is_adjoint, call = node.attrs["adjoint"], node.hardware.checked

    def solve(matrix: Array, rhs: Array) -> Any:
        check_square(matrix)
        _check_system(matrix, rhs)
        _check_batches(matrix, rhs)
        return _solution(call, _turned(matrix) if is_adjoint else matrix, rhs)

    return solve


def _solve_triangular(node: NodeContext) -> Function:
    is_adjoint, call = node.attrs["adjoint"], node.hardware.checked
    triangle = np.tril if node.attrs["lower"] else np.triu

    def solve(matrix: Array, rhs: Array) -> Any:
        check_square(matrix)
        _check_system(matrix, rhs)
        matrix = triangle(matrix)
        if matrix.shape[:-2] != rhs.shape[:-2]:  # CuPy's solver does not broadcast.
            batch = np.broadcast_shapes(matrix.shape[:-2], rhs.shape[:-2])
            matrix = np.broadcast_to(matrix, (*batch, *matrix.shape[-2:]))
            rhs = np.broadcast_to(rhs, (*batch, *rhs.shape[-2:]))
        return _solution(call, _turned(matrix) if is_adjoint else matrix, rhs)

    return solve


def _solution(call: Callable[..., Any], matrix: Array, rhs: Array) -> Any:
    """Solve systems whose batches have one shape. As in TensorFlow, they may have no columns."""
    if not rhs.size:
        return np.zeros_like(rhs)
    return _checked(call, "Input matrix is not invertible.", np.linalg.solve, matrix, rhs)


def _solve_least_squares(node: NodeContext) -> Function:
    is_fast = node.attrs["fast"]

    def solve(matrix: Array, rhs: Array, l2_regularizer: Array) -> Any:
        _check_system(matrix, rhs)
        _check_batches(matrix, rhs)
        penalty = float(l2_regularizer)
        if penalty < 0:
            raise invalid("l2_regularizer must be >= 0")
        if not is_fast:
            return np.matmul(np.linalg.pinv(matrix), rhs)
        rows, columns = matrix.shape[-2:]
        turned, small = _turned(matrix), min(rows, columns)
        gram = np.matmul(turned, matrix) if rows >= columns else np.matmul(matrix, turned)
        gram = gram + np.eye(small, dtype=matrix.dtype) * matrix.dtype.type(penalty)
        _checked(np.linalg.cholesky, _RANK_DEFICIENT, gram)
        if rows >= columns:
            return np.linalg.solve(gram, np.matmul(turned, rhs))
        return np.matmul(turned, np.linalg.solve(gram, rhs))

    return solve


def _qr(node: NodeContext) -> Function:
    mode: Any = "complete" if node.attrs["full_matrices"] else "reduced"

    def decompose(matrix: Array) -> tuple[Any, Any]:
        _check_matrix(matrix)
        q, r = np.linalg.qr(matrix, mode)
        return q, r

    return decompose


def _svd(node: NodeContext) -> Function:
    is_full, has_vectors = node.attrs["full_matrices"], node.attrs["compute_uv"]
    call, message = node.hardware.checked, "SVD did not converge."

    def decompose(matrix: Array) -> tuple[Any, Any, Any]:
        _check_matrix(matrix)
        if not has_vectors:
            values = _checked(call, message, np.linalg.svd, matrix, compute_uv=False)
            empty = np.zeros_like(matrix, shape=(0,))
            return values.astype(matrix.dtype, copy=False), empty, empty.copy()
        u, values, turned = _checked(call, message, np.linalg.svd, matrix, is_full)
        return values.astype(matrix.dtype, copy=False), u, _turned(turned).copy()

    return decompose


def _eigen(node: NodeContext) -> Function:
    has_vectors, call = node.attrs["compute_v"], node.hardware.checked

    def decompose(matrix: Array) -> tuple[Any, Any]:
        check_square(matrix)
        if not has_vectors:
            values = _checked(call, _NO_EIGENVECTORS, np.linalg.eigvalsh, matrix)
            return values.astype(matrix.dtype, copy=False), np.zeros_like(matrix, shape=(0,))
        values, vectors = _checked(call, _NO_EIGENVECTORS, np.linalg.eigh, matrix)
        return values.astype(matrix.dtype, copy=False), vectors

    return decompose


def self_adjoint_eigen(matrix: Array) -> tuple[Any, Any]:
    """Return the eigenvalues and the eigenvectors of self-adjoint matrices in host memory.

    Raises:
        InvalidArgumentError: the matrices are not square, or have no eigenvectors.
    """
    check_square(matrix)
    values, vectors = _checked(np.linalg.eigh, _NO_EIGENVECTORS, matrix)
    return values, vectors


register(Kernel("Cholesky", _cholesky))
register(Kernel("CholeskyGrad", constantly(_cholesky_grad)))
register(Kernel("LogMatrixDeterminant", constantly(_log_determinant)))
register(Kernel("MatrixDeterminant", constantly(_determinant)))
register(Kernel("MatrixInverse", _inverse))
register(Kernel("MatrixSolve", _solve))
register(Kernel("MatrixSolveLs", _solve_least_squares))
register(Kernel("MatrixTriangularSolve", _solve_triangular))
register(Kernel("Qr", _qr))
register(Kernel("SelfAdjointEigV2", _eigen))
register(Kernel("Svd", _svd))
