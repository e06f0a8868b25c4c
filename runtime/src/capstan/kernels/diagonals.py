"""Kernels that read and write bands of diagonals (core/kernels/linalg/matrix_*diag_op.cc).

`framework.ops.diagonals` says how a tensor holds a band.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.kernels.memory import beside, on_host
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid


@dataclass(frozen=True, slots=True)
class _Band:
    """The diagonals from `lower` to `upper`, and the side of the padding of shorter ones."""

    lower: int
    upper: int
    align: bytes

    @property
    def count(self) -> int:
        return self.upper - self.lower + 1

    def length(self, rows: int, columns: int) -> int:
        """Return the length of the longest diagonal."""
        return min(rows + min(self.upper, 0), columns - max(self.lower, 0))

    def shape(self, batch: tuple[int, ...], length: int) -> tuple[int, ...]:
        return (*batch, *(() if self.count == 1 else (self.count,)), length)

    def check_inside(self, rows: int, columns: int) -> None:
        """Raise InvalidArgumentError if a diagonal is outside of a matrix of this size."""
        for name, diagonal in (("lower", self.lower), ("upper", self.upper)):
            if diagonal and not -rows < diagonal < columns:
                raise invalid(
                    f"{name}_diag_index is out of bound: {diagonal}. It must be between {-rows} "
                    f"and {columns}"
                )
        self.check_order()

    def check_order(self) -> None:
        if self.lower > self.upper:
            raise invalid(
                "lower_diag_index must not be larger than upper_diag_index: "
                f"{self.lower} > {self.upper}"
            )

    def places(self, rows: int, columns: int, length: int) -> tuple[Array, ...]:
        """Return four vectors with the places of the elements of a band.

        They are the row and the column in the tensor of the band, whose rows have `length`
        elements, and the row and the column in the matrix.
        """
        diagonal = np.arange(self.upper, self.lower - 1, -1)[:, np.newaxis]
        sizes = np.minimum(rows + np.minimum(diagonal, 0), columns - np.maximum(diagonal, 0))
        is_left = ((diagonal >= 0) & self.align.startswith(b"LEFT")) | (
            (diagonal <= 0) & self.align.endswith(b"LEFT")
        )
        element = np.arange(length) - np.where(is_left, 0, length - sizes)
        row_of, place = np.nonzero((element >= 0) & (element < sizes))
        row = (element - np.minimum(diagonal, 0))[row_of, place]
        column = (element + np.maximum(diagonal, 0))[row_of, place]
        return row_of, place, row, column


def _band(node: NodeContext, k: Array, nothing: str) -> _Band:
    """Return the band `k`. `nothing` is the error for a vector without elements."""
    if k.ndim > 1:
        raise invalid(f"diag_index must be a scalar or vector, received shape: {show(k.shape)}")
    ends = k.reshape(-1).tolist()
    if not ends:
        raise invalid(nothing)
    if len(ends) > 2:
        raise invalid(
            f"diag_index must have only one or two elements, received {len(ends)} elements."
        )
    return _Band(ends[0], ends[-1], node.attrs.get("align", b"LEFT_LEFT"))


def _scalar(value: Array, message: str) -> Any:
    if value.ndim:
        raise invalid(message)
    return _only(value, message)


def _only(value: Array, message: str) -> Any:
    """Return the only element of an argument of any rank."""
    if value.size != 1:
        raise invalid(message)
    return on_host(value).item()


def _check_rank(name: str, value: Array, rank: int) -> None:
    if value.ndim < rank:
        raise invalid(f"{name} must be at least {rank}-dim, received shape: {show(value.shape)}")


def _copied(source: Array, source_at: tuple[Array, ...], made: Array, at: tuple[Array, ...]) -> Any:
    """Copy elements of the last two axes of one array to those of another."""
    rows, columns = (beside(index, source) for index in source_at)
    made_rows, made_columns = (beside(index, made) for index in at)
    made[..., made_rows, made_columns] = source[..., rows, columns]
    return made


def _part(node: NodeContext) -> Function:
    def part(matrix: Array, k: Array, padding: Array) -> Any:
        band = _band(node, k, "Expected diag_index to have at least 1 element")
        filling = _only(padding, "Padding must be scalar.")
        _check_rank("input", matrix, 2)
        *batch, rows, columns = matrix.shape
        band.check_inside(rows, columns)
        length = band.length(rows, columns)
        made = np.full_like(matrix, filling, shape=(*batch, band.count, length))
        row_of, place, row, column = band.places(rows, columns, length)
        _copied(matrix, (row, column), made, (row_of, place))
        return made.reshape(band.shape(tuple(batch), length))

    return part


def _set(node: NodeContext) -> Function:
    def set_band(matrix: Array, diagonals: Array, k: Array) -> Any:
        band = _band(node, k, "diag_index must have at least one element")
        _check_rank("input", matrix, 2)
        _check_rank("diagonal", diagonals, 1)
        *batch, rows, columns = matrix.shape
        band.check_inside(rows, columns)
        if band.count > 1 and diagonals.shape[len(batch) : len(batch) + 1] != (band.count,):
            raise invalid(
                "The number of diagonals provided in `diag` is not consistent with "
                "`lower_diag_index` and `upper_diag_index`"
            )
        length = band.length(rows, columns)
        expected = band.shape(tuple(batch), length)
        if diagonals.shape != expected:
            raise invalid(
                "Either first dimensions of diagonal don't match input.shape[:-2], or "
                "diagonal.shape[:-1] is not equal to the longests diagonal in range "
                f"[lower_diag_index:upper_diag_index].\nInput shape: {show(matrix.shape)}\n"
                f"Diagonal shape: {show(diagonals.shape)}\nExpected diagonal shape: "
                f"{show(expected)}"
            )
        row_of, place, row, column = band.places(rows, columns, length)
        source = diagonals.reshape(*batch, band.count, length)
        return _copied(source, (row_of, place), matrix.copy(), (row, column))

    return set_band


def _diag(node: NodeContext) -> Function:
    def diag(diagonals: Array, k: Array, rows: Array, columns: Array, padding: Array) -> Any:
        band = _band(node, k, "Expected diag_index to have at least 1 element")
        wanted_rows, wanted_columns = (
            int(_scalar(size, f"{name} must be a scalar"))
            for name, size in (("num_rows", rows), ("num_cols", columns))
        )
        filling = _scalar(padding, "padding_value must be a scalar")
        _check_rank("diagonal", diagonals, 1)
        band.check_order()
        if band.count > 1 and diagonals.shape[-2:-1] != (band.count,):
            raise invalid(
                "The number of diagonals provided in the input does not match the "
                "lower_diag_index and upper_diag_index range."
            )
        batch = diagonals.shape[:-1] if band.count == 1 else diagonals.shape[:-2]
        length = diagonals.shape[-1]
        shape = _matrix_shape(band, length, wanted_rows, wanted_columns)
        made = np.full_like(diagonals, filling, shape=(*batch, *shape))
        row_of, place, row, column = band.places(*shape, length)
        source = diagonals.reshape(*batch, band.count, length)
        return _copied(source, (row_of, place), made, (row, column))

    return diag


def _matrix_shape(band: _Band, length: int, rows: int, columns: int) -> tuple[int, int]:
    """Return the rows and columns of a matrix that holds a band. -1 asks for the least number."""
    least_rows, least_columns = length - min(band.upper, 0), length + max(band.lower, 0)
    for name, size, least in (("rows", rows, least_rows), ("columns", columns, least_columns)):
        if size != -1 and size < least:
            raise invalid(f"The number of {name} is too small.")
    if rows == columns == -1:
        return (max(least_rows, least_columns),) * 2
    rows, columns = (
        (least_rows if rows == -1 else rows),
        (least_columns if columns == -1 else columns),
    )
    if rows != least_rows and columns != least_columns:
        raise invalid(
            "The number of rows or columns is not consistent with the specified d_lower, d_upper, "
            "and diagonal."
        )
    return rows, columns


for _version in ("V2", "V3"):
    register(Kernel(f"MatrixDiag{_version}", _diag))
    register(Kernel(f"MatrixDiagPart{_version}", _part))
    register(Kernel(f"MatrixSetDiag{_version}", _set))
