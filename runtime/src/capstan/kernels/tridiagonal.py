"""Kernels of the factors LU, and of tridiagonal matrices.

Sources: core/kernels/{lu_op,tridiagonal_solve_op,tridiagonal_matmul_op}.cc. The loops go through
the rows of a matrix, and treat all matrices of a batch at once. A GPU does not tell the host that a
tridiagonal matrix has no inverse, as in TensorFlow.
"""

import math
from typing import Any

import numpy as np

from capstan.core import dtypes
from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.kernels.arithmetic import constantly
from capstan.kernels.linear_algebra import check_square
from capstan.kernels.memory import is_on_host, numbers, on_host
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid


def _lu(node: NodeContext) -> Function:
    is_short = node.attrs["output_idx_type"] is dtypes.int32

    def decompose(matrix: Array) -> tuple[Any, Any]:
        check_square(matrix)
        count, size = math.prod(matrix.shape[:-2]), matrix.shape[-1]
        factors, order = _factors(matrix.reshape(count, size, size).copy())
        if is_short:  # These are in host memory on every device.
            order = on_host(order).astype(np.int32)
        return factors.reshape(matrix.shape), order.reshape(matrix.shape[:-1])

    return decompose


def _factors(matrices: Array) -> tuple[Array, Array]:
    """Return the factors in place of the matrices, and which row each row of them was."""
    count, size = matrices.shape[:2]
    each = numbers(count, matrices)
    order = np.tile(numbers(size, matrices), (count, 1))
    for step in range(size):
        best = np.argmax(np.abs(matrices[:, step:, step]), 1) + step
        for rows in (matrices, order):
            chosen = rows[each, best].copy()
            rows[each, best] = rows[:, step]
            rows[:, step] = chosen
        pivots = matrices[:, step, step]
        if (on_host(pivots) == 0).any():
            raise invalid("Input is not invertible.")
        matrices[:, step + 1 :, step] /= pivots[:, None]
        lower, upper = matrices[:, step + 1 :, step], matrices[:, step, step + 1 :]
        matrices[:, step + 1 :, step + 1 :] -= lower[:, :, None] * upper[:, None]
    return matrices, order


def _solve(node: NodeContext) -> Function:
    pivots = node.attrs["partial_pivoting"]
    if node.attrs["perturb_singular"]:
        raise invalid("TridiagonalSolve: perturb_singular is not supported, as in TensorFlow 1")
    message = (
        "The matrix is not invertible."
        if pivots
        else "The matrix is either not invertible, or requires pivoting. Try setting "
        "partial_pivoting = True."
    )

    def solve(diagonals: Array, rhs: Array) -> Any:
        _check_solve(diagonals, rhs)
        if not rhs.size:
            return rhs.copy()
        rows, bands = _eliminated(diagonals, rhs, pivots)
        if is_on_host(rhs) and any((band[0] == 0).any() for band in bands):
            raise invalid(message)
        return np.stack(_substituted(rows, bands), -2)

    return solve


Bands = list[tuple[Array, Array, Array]]
"""The diagonal of each row of an upper triangular matrix, and the two numbers beside it."""


def _eliminated(diagonals: Array, rhs: Array, pivots: bool) -> tuple[list[Array], Bands]:
    """Return the right-hand sides and the rows after Gaussian elimination."""
    size, nothing = rhs.shape[-2], np.zeros_like(diagonals[..., 0, 0])
    pivot, beside, row = diagonals[..., 1, 0], diagonals[..., 0, 0], rhs[..., 0, :]
    rows: list[Array] = []
    bands: Bands = []
    for index in range(1, size):
        lower, middle = diagonals[..., 2, index], diagonals[..., 1, index]
        upper = diagonals[..., 0, index] if index < size - 1 else nothing
        below = rhs[..., index, :]
        swaps = np.abs(pivot) < np.abs(lower) if pivots else nothing != 0
        first = np.where(swaps, lower, pivot)
        factor = np.where(swaps, pivot, lower) / first
        bands.append((first, np.where(swaps, middle, beside), np.where(swaps, upper, nothing)))
        rows.append(np.where(swaps[..., None], below, row))
        wide = factor[..., None]
        row = np.where(swaps[..., None], row - wide * below, below - wide * row)
        pivot = np.where(swaps, beside - factor * middle, middle - factor * beside)
        beside = np.where(swaps, -factor * upper, upper)
    return [*rows, row], [*bands, (pivot, nothing, nothing)]


def _substituted(rows: list[Array], bands: Bands) -> list[Array]:
    """Return the rows of the solutions, from the last one to the first one."""
    solved: list[Array] = []
    for row, (pivot, *beside) in zip(reversed(rows), reversed(bands), strict=True):
        for factor, known in zip(beside, solved[:2], strict=False):
            row = row - factor[..., None] * known
        solved.insert(0, row / pivot[..., None])
    return solved


def _check_solve(diagonals: Array, rhs: Array) -> None:
    if min(diagonals.ndim, rhs.ndim) < 2 or diagonals.shape[:-2] != rhs.shape[:-2]:
        raise invalid(
            "All input tensors must have the same outer dimensions, got "
            f"{show(diagonals.shape)} and {show(rhs.shape)}"
        )
    if diagonals.shape[-2] != 3:
        raise invalid(
            "Expected diagonals to be provided as a matrix with 3 rows, got "
            f"{diagonals.shape[-2]} rows."
        )
    if diagonals.shape[-1] != rhs.shape[-2]:
        raise invalid(
            "Expected the same number of left-hand sides and right-hand sides, got "
            f"{diagonals.shape[-1]} and {rhs.shape[-2]}."
        )


def _multiply(superdiag: Array, maindiag: Array, subdiag: Array, rhs: Array) -> Any:
    expected = (*rhs.shape[:-2], 1, rhs.shape[-2]) if rhs.ndim > 1 else None
    named = {"superdiagonal": superdiag, "main diagonal": maindiag, "subdiagonal": subdiag}
    for name, diagonal in named.items():
        if diagonal.shape != expected:
            raise invalid(f"Invalid {name} shape.")
    upper, middle, lower = (each[..., 0, :, None] for each in named.values())
    result = middle * rhs
    result[..., 1:, :] += lower[..., 1:, :] * rhs[..., :-1, :]
    result[..., :-1, :] += upper[..., :-1, :] * rhs[..., 1:, :]
    return result


register(Kernel("Lu", _lu))
register(Kernel("TridiagonalSolve", _solve))
register(Kernel("TridiagonalMatMul", constantly(_multiply)))
