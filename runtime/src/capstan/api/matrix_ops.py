"""TensorFlow 1's functions for diagonals, bands and inverses of matrices.

Sources: python/ops/array_ops.py, python/ops/linalg_ops.py, python/ops/math_ops.py.
"""

from typing import Any

import numpy as np

from capstan.api import plain
from capstan.api.scoped import scoped
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework.raw import raw

__all__ = [
    "diag", "diag_part", "eye", "matrix_band_part", "matrix_determinant", "matrix_diag",
    "matrix_diag_part", "matrix_inverse", "matrix_set_diag", "matrix_transpose", "trace",
]  # fmt: skip

diag = plain.function(
    "diag", "Diag", "Return a tensor of twice the rank with these elements on its diagonal."
)
matrix_band_part = plain.function(
    "matrix_band_part",
    "MatrixBandPart",
    "Set the elements outside of a band to 0. A negative width keeps a whole triangle.",
)
matrix_determinant = plain.function(
    "matrix_determinant", "MatrixDeterminant", "Return the determinant of each matrix."
)


def diag_part(input: Any, name: str | None = None) -> Any:
    """Return the diagonal of a tensor whose shape has two equal halves."""
    return raw.DiagPart(input, name=name)


def matrix_diag(
    diagonal: Any,
    name: str | None = "diag",
    k: Any = 0,
    num_rows: Any = -1,
    num_cols: Any = -1,
    padding_value: Any = 0,
    align: str = "RIGHT_LEFT",
) -> Any:
    """Return matrices with these diagonals, and `padding_value` elsewhere.

    `k` is the number of the diagonal, where 0 is the main one and those above it are positive, or
    the lowest and the highest number of a band. A band has a row for each diagonal, the highest
    first. `align` is the side of the shorter diagonals in the rows above and below the main one.
    Without `num_rows` and `num_cols` the matrices are as small as possible, and square without
    both.
    """
    if _are_defaults(k, 0, num_rows, -1, num_cols, -1, padding_value, 0):
        return raw.MatrixDiag(diagonal, name=name)
    diagonal = convert.convert_to_tensor(diagonal, name="diagonal")
    padding = _padding(padding_value, diagonal)
    return raw.MatrixDiagV3(diagonal, k, num_rows, num_cols, padding, align=align, name=name)


def matrix_diag_part(
    input: Any,
    name: str | None = "diag_part",
    k: Any = 0,
    padding_value: Any = 0,
    align: str = "RIGHT_LEFT",
) -> Any:
    """Return the main diagonal of each matrix, or its diagonals `k` as `matrix_diag` takes them."""
    if _are_defaults(k, 0, padding_value, 0):
        return raw.MatrixDiagPart(input, name=name)
    matrix = convert.convert_to_tensor(input, name="input")
    return raw.MatrixDiagPartV3(matrix, k, _padding(padding_value, matrix), align=align, name=name)


def matrix_set_diag(
    input: Any,
    diagonal: Any,
    name: str | None = "set_diag",
    k: Any = 0,
    align: str = "RIGHT_LEFT",
) -> Any:
    """Return copies of the matrices with other main diagonals, or other diagonals `k`."""
    if _are_defaults(k, 0):
        return raw.MatrixSetDiag(input, diagonal, name=name)
    return raw.MatrixSetDiagV3(input, diagonal, k, align=align, name=name)


def _are_defaults(*pairs: Any) -> bool:
    """Return whether each argument is the number that follows it."""
    values, numbers = pairs[::2], pairs[1::2]
    return all(
        isinstance(value, int | float) and value == number
        for value, number in zip(values, numbers, strict=True)
    )


def _padding(value: Any, tensor: Any) -> Any:
    dtype = tensor.dtype.base_dtype
    return bool(value) if dtype is dtypes.bool_ and isinstance(value, int) else value


def matrix_inverse(input: Any, adjoint: bool = False, name: str | None = None) -> Any:
    """Return the inverse of each matrix, or the inverse of its adjoint.

    A matrix without an inverse makes the step raise InvalidArgumentError.
    """
    return raw.MatrixInverse(input, adjoint=adjoint, name=name)


def adjoint(matrix: Any, name: str | None = None) -> Any:
    """Swap the last two axes, and take conjugates (`tf.linalg.adjoint`).

    Raises:
        ValueError: `matrix` has fewer than two axes.
    """
    with scoped(name, "adjoint", (matrix,)):
        matrix = convert.convert_to_tensor(matrix, name="matrix")
        return matrix_transpose(matrix, conjugate=True)


def matrix_transpose(a: Any, name: str = "matrix_transpose", conjugate: bool = False) -> Any:
    """Swap the last two axes. With `conjugate`, take conjugates too.

    Raises:
        ValueError: `a` has fewer than two axes.
    """
    with scoped(name, "matrix_transpose", (a,)):
        a = convert.convert_to_tensor(a, name="a")
        turn = raw.ConjugateTranspose if conjugate and a.dtype.is_complex else raw.Transpose
        rank = a.shape.ndims
        if rank is None:
            count = raw.Rank(a)
            order = raw.ConcatV2(
                [
                    raw.Range(0, raw.Sub(count, 2), 1),
                    raw.Pack([raw.Sub(count, 1), raw.Sub(count, 2)]),
                ],
                0,
            )
            return turn(a, order, name="transpose")
        if rank < 2:
            raise ValueError(
                f"Argument 'a' should be a (batch) matrix, with rank >= 2.  Found: {a.shape}"
            )
        order = np.array([*range(rank - 2), rank - 1, rank - 2], np.int32)
        return turn(a, order, name="transpose")


def trace(x: Any, name: str | None = None) -> Any:
    """Return the sum of the main diagonal of each matrix."""
    with scoped(name, "Trace", (x,)) as scope:
        return raw.Sum(raw.MatrixDiagPart(x), np.array([-1], np.int32), name=scope)


def eye(
    num_rows: Any,
    num_columns: Any = None,
    batch_shape: Any = None,
    dtype: Any = dtypes.float32,
    name: str | None = None,
) -> Any:
    """Return identity matrices. `batch_shape` is the shape before the last two axes."""
    with scoped(name, "eye", (num_rows,)):
        columns = num_rows if num_columns is None else num_columns
        kind = dtypes.as_dtype(dtype).base_dtype
        rows_and_columns = raw.Pack([_size(num_rows), _size(columns)])
        batch = np.zeros(0, np.int32) if batch_shape is None else batch_shape
        batch = convert.convert_to_tensor(batch, dtypes.int32)
        shorter = _size(num_rows)
        if num_columns is not None:
            shorter = raw.Minimum(shorter, _size(columns))
        ones = raw.Fill(raw.ConcatV2([batch, raw.Reshape(shorter, [1])], 0), raw.Cast(1, DstT=kind))
        if num_columns is None:
            return matrix_diag(ones)
        sizes = raw.ConcatV2([batch, rows_and_columns], 0)
        return raw.MatrixSetDiag(raw.Fill(sizes, raw.Cast(0, DstT=kind)), ones)


def _size(value: Any) -> Any:
    """Return a scalar. A tensor of unknown rank must hold one number."""
    size = convert.convert_to_tensor(value, dtypes.int32)
    return raw.Reshape(size, []) if size.shape.ndims is None else size
