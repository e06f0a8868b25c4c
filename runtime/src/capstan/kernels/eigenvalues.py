"""Kernels of eigenvalues of any square matrices, and of their exponentials."""

import math
from typing import Any, Final

import numpy as np

from capstan.core.arrays import Array
from capstan.kernels.linear_algebra import check_square
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid

_TERMS: Final = 18
"""The terms of the series of exp(x), for matrices of a norm up to 1/2, up to 1e-18."""


def _eigen(node: NodeContext) -> Function:
    has_vectors, dtype = node.attrs["compute_v"], node.output_dtypes[0].as_numpy_dtype

    def decompose(matrix: Array) -> tuple[Any, Any]:
        check_square(matrix)
        try:
            if not has_vectors:
                return np.linalg.eigvals(matrix).astype(dtype), np.zeros(0, dtype)
            values, vectors = np.linalg.eig(matrix)
        except np.linalg.LinAlgError:
            raise invalid(
                "Eigen decomposition was not successful. The input might not be valid."
            ) from None
        return values.astype(dtype), vectors.astype(dtype)

    return decompose


def _exponential(matrix: Array) -> Array:
    """Halve the matrices until the series converges fast, and square its sum as often."""
    check_square(matrix)
    if not matrix.size:
        return matrix.copy()
    wide = matrix.astype(np.result_type(matrix.dtype, np.float64))
    norm = float(np.abs(wide).sum(-1).max())
    halvings = max(0, math.ceil(math.log2(norm)) + 1) if 0 < norm < math.inf else 0
    wide = wide / 2.0**halvings
    total = term = np.zeros_like(wide) + np.eye(matrix.shape[-1])
    for number in range(1, _TERMS):
        term = np.matmul(term, wide) / number
        total = total + term
    for _ in range(halvings):
        total = np.matmul(total, total)
    return total.astype(matrix.dtype)


register(Kernel("Eig", _eigen))
register(Kernel("MatrixExponential", lambda _: _exponential))
