"""`tf.linalg.lu`, and tridiagonal matrices (python/ops/linalg/linalg_impl.py).

The diagonals have one of three formats. "compact" is a tensor [..., 3, M]: the upper, the middle
and the lower diagonal. "sequence" is a list of these, and the outer ones may have M - 1 numbers.
"matrix" is a tensor [..., M, M], of which only the three diagonals are read.
"""

from typing import Any, NamedTuple

import numpy as np

from capstan.api import array_ops, complex_ops, matrix_ops
from capstan.api.scoped import scoped
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework.raw import raw


class Lu(NamedTuple):
    """The factors of a matrix side by side in `lu`, and which of its rows each row was in `p`."""

    lu: Any
    p: Any


def lu(input: Any, output_idx_type: Any = dtypes.int32, name: str | None = None) -> Lu:
    """Return the factors of matrices [..., M, M] whose rows `p` has put in order.

    Below its diagonal, `lu` has the lower factor, whose diagonal is 1. The rest is the upper
    factor. If a matrix has no inverse, the step raises InvalidArgumentError.
    """
    return Lu(*raw.Lu(input, output_idx_type=output_idx_type, name=name))


def tridiagonal_solve(
    diagonals: Any, rhs: Any, diagonals_format: str = "compact", transpose_rhs: bool = False,
    conjugate_rhs: bool = False, name: str | None = None, partial_pivoting: bool = True,
) -> Any:  # fmt: skip
    """Solve systems of tridiagonal matrices, for `rhs` [..., M] or [..., M, K].

    With `transpose_rhs`, a matrix `rhs` and the solution are [..., K, M]. With `conjugate_rhs`, the
    conjugates of complex numbers in `rhs` count, and not the numbers themselves. Without
    `partial_pivoting`, rows are not exchanged, which is faster and less exact. On a CPU, a step
    raises InvalidArgumentError if a matrix has no inverse.

    Raises:
        ValueError: the format does not exist, or the ranks or sizes do not fit.
    """
    with scoped(name, "tridiagonal_solve", ()):
        parts, rhs = _parts(diagonals, diagonals_format), convert.convert_to_tensor(rhs)
        compact = raw.Pack(parts, axis=-2)
        rank, rhs_rank = compact.shape.ndims, rhs.shape.ndims
        if rank is None or rhs_rank not in (rank - 1, rank):
            wanted = "known" if rank is None else f"{rank - 1} or {rank}"
            raise ValueError(f"Expected the rank of rhs to be {wanted}, got {rhs_rank}")
        is_vector = rhs_rank < rank
        rhs = complex_ops.conj(rhs) if conjugate_rhs else rhs
        columns = array_ops.expand_dims(rhs, -1) if is_vector else rhs
        if transpose_rhs and not is_vector:
            columns = matrix_ops.matrix_transpose(columns)
        solved = raw.TridiagonalSolve(compact, columns, partial_pivoting=partial_pivoting)
        if is_vector:
            return array_ops.squeeze(solved, [-1])
        return matrix_ops.matrix_transpose(solved) if transpose_rhs else solved


def tridiagonal_matmul(
    diagonals: Any, rhs: Any, diagonals_format: str = "compact", name: str | None = None
) -> Any:
    """Return the products of tridiagonal matrices and `rhs` [..., M, N].

    Raises:
        ValueError: the format does not exist, or the sizes do not fit.
    """
    with scoped(name, "tridiagonal_matmul", ()):
        parts = [array_ops.expand_dims(part, -2) for part in _parts(diagonals, diagonals_format)]
        return raw.TridiagonalMatMul(*parts, rhs)


def _parts(diagonals: Any, kind: str) -> list[Any]:
    """Return the upper, the middle and the lower diagonal, [..., M]."""
    if kind == "compact":
        return list(raw.Unpack(convert.convert_to_tensor(diagonals), num=3, axis=-2))
    if kind == "sequence":
        if not isinstance(diagonals, tuple | list) or len(diagonals) != 3:
            raise ValueError("Expected diagonals to be a sequence of length 3.")
        return _of_one_length(*map(convert.convert_to_tensor, diagonals))
    if kind == "matrix":
        matrix = convert.convert_to_tensor(diagonals)
        if len({*matrix.shape.as_list()[-2:]} - {None}) > 1:
            raise ValueError(f"Expected last two dimensions of {matrix} to be the same.")
        if 1 in matrix.shape.as_list()[-2:]:  # The matrix has no numbers beside its diagonal.
            return [raw.MatrixDiagPart(matrix)] * 3
        parts = [raw.MatrixDiagPartV2(matrix, k, _zero(matrix)) for k in (1, 0, -1)]
        return _of_one_length(*parts)
    raise ValueError(f"Unrecognized diagonals_format: {kind}")


def _of_one_length(upper: Any, middle: Any, lower: Any) -> list[Any]:
    """Add the numbers that have no effect to diagonals that lack them."""
    return [
        _padded(upper, middle, "superdiagonal", [0, 1]),
        middle,
        _padded(lower, middle, "subdiagonal", [1, 0]),
    ]


def _padded(diagonal: Any, middle: Any, name: str, margin: list[int]) -> Any:
    length, wanted = diagonal.shape.as_list()[-1], middle.shape.as_list()[-1]
    if length is None or length == wanted:
        return diagonal
    if wanted is not None and length != wanted - 1:
        raise ValueError(
            f"Expected {name} to be have length {wanted} or {wanted - 1}, got {length}."
        )
    return raw.Pad(diagonal, np.array([[0, 0]] * (diagonal.shape.ndims - 1) + [margin], np.int32))


def _zero(like: Any) -> Any:
    return convert.convert_to_tensor(0, like.dtype.base_dtype)
