"""Kernels that reverse, list and count elements, and kernels of diagonals and bands of matrices."""

from typing import Any

import numpy as np

from capstan.core import shapes
from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.kernels.arithmetic import constantly
from capstan.kernels.memory import beside, numbers, on_host
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid, number


def _reverse(tensor: Array, axes: Array) -> Array:
    rank = tensor.ndim
    places = [int(axis) for axis in axes]
    for index, axis in enumerate(places):
        if not -rank <= axis < rank:
            raise invalid(f"'axis'[{index}] = {axis} is out of valid range [0, {rank - 1}")
    wrapped = [axis % rank for axis in places]
    if len({*wrapped}) < len(wrapped):
        repeated = next(axis for n, axis in enumerate(wrapped) if axis in wrapped[:n])
        raise invalid(f"axis {repeated} specified more than once.")
    # A flip of no axes of a scalar is no array but its element.
    return np.flip(tensor, tuple(places)).copy() if places else tensor.copy()


def _reverse_sequence(node: NodeContext) -> Function:
    along, batch = node.attrs["seq_dim"], node.attrs["batch_dim"]

    def reverse(x: Array, lengths: Array) -> Array:
        if batch == along:
            raise invalid(f"batch_dim == seq_dim == {along}")
        for name, axis in (("seq_dim", along), ("batch_dim", batch)):
            if axis >= x.ndim:
                raise invalid(f"{name} must be < input rank ( {axis} vs. {x.ndim})")
        if lengths.shape != (x.shape[batch],):
            raise invalid(
                f"Length of seq_lengths != input.dims({batch}), ({lengths.size} vs. "
                f"{x.shape[batch]})"
            )
        made = x.copy()
        source, target = (
            np.moveaxis(x, (batch, along), (0, 1)),
            np.moveaxis(made, (batch, along), (0, 1)),
        )
        for at, length in enumerate(on_host(lengths).tolist()):
            if length < 0:
                raise invalid(f"seq_lens({at}) < 0")
            if length > x.shape[along]:
                raise invalid(f"seq_lens({at}) > input.dims({along})")
            target[at, :length] = source[at, :length][::-1]
        return made

    return reverse


def _line(node: NodeContext) -> Function:
    dtype = node.output_dtypes[0].as_numpy_dtype

    def line(start: Array, stop: Array, num: Array) -> Array:
        for name, value in (("start", start), ("stop", stop)):
            if value.ndim:
                raise invalid(f"{name} must be a scalar, not shape {show(value.shape)}")
        count = number(num, "num")
        if count <= 0:
            raise invalid(f"Requires num > 0: {count}")
        return np.linspace(start.item(), stop.item(), count, dtype=dtype)

    return line


def _difference(node: NodeContext) -> Function:
    dtype = node.output_dtypes[1].as_numpy_dtype

    def difference(x: Array, y: Array) -> tuple[Array, Array]:
        for name, array in (("x", x), ("y", y)):
            if array.ndim != 1:
                raise invalid(f"{name} should be a 1D vector.")
        excluded = set(y.tolist())
        kept = [at for at, element in enumerate(x.tolist()) if element not in excluded]
        places = np.array(kept, np.intp)
        return x[places], places.astype(dtype)

    return difference


def _bincount(node: NodeContext) -> Function:
    dtype = node.output_dtypes[0].as_numpy_dtype
    zeros = np.zeros if dtype is np.int32 else node.hardware.arrays.zeros

    def count(values: Array, size: Array, weights: Array) -> Array:
        length, flat = number(size, "size"), values.reshape(-1)
        if length < 0:
            raise invalid(f"size ({length}) must be non-negative")
        if flat.size and flat.min() < 0:
            raise invalid("Input arr must be non-negative!")
        if weights.size not in (0, flat.size):
            raise invalid("weights must have the shape of arr, or be empty")
        bins: Array = zeros(length, dtype)
        kept = np.flatnonzero(flat < length)
        parts = weights.reshape(-1)[beside(kept, weights)] if weights.size else dtype(1)
        np.add.at(bins, beside(flat[kept], bins), parts)
        return bins

    return count


def _diagonal_of(matrix: Array) -> Any:
    _check_matrix(matrix)
    return np.diagonal(matrix, 0, -2, -1).copy()


def _matrix_diag(diagonal: Array) -> Array:
    _check_diagonal(diagonal)
    count = diagonal.shape[-1]
    made = np.zeros_like(diagonal, shape=(*diagonal.shape, count))
    return _with_diagonal(made, diagonal)


def _check_matrix(matrix: Array) -> None:
    if matrix.ndim < 2:
        raise invalid(f"input must be at least 2-dim, received shape: {show(matrix.shape)}")


def _check_diagonal(diagonal: Array) -> None:
    if not diagonal.ndim:
        raise invalid(f"diagonal must be at least 1-dim, received shape: {show(diagonal.shape)}")


def _with_diagonal(matrix: Array, diagonal: Array) -> Array:
    count = min(matrix.shape[-2:])
    if diagonal.shape != (*matrix.shape[:-2], count):
        raise invalid(
            f"diagonal must have the shape {show((*matrix.shape[:-2], count))}, got "
            f"{show(diagonal.shape)}"
        )
    places = numbers(count, matrix)
    matrix[..., places, places] = diagonal
    return matrix


def _set_diag(matrix: Array, diagonal: Array) -> Array:
    _check_matrix(matrix)
    _check_diagonal(diagonal)
    return _with_diagonal(matrix.copy(), diagonal)


def _diag(diagonal: Array) -> Array:
    return np.diag(diagonal.reshape(-1)).reshape(diagonal.shape * 2)


def _diag_part(tensor: Array) -> Any:
    half = tensor.ndim // 2
    if tensor.ndim % 2 or not half or tensor.shape[:half] != tensor.shape[half:]:
        raise invalid(f"the halves of the shape must be equal, got {show(tensor.shape)}")
    count = int(np.prod(tensor.shape[:half]))
    return np.diagonal(tensor.reshape(count, count)).copy().reshape(tensor.shape[:half])


def _band(matrix: Array, lower: Array, upper: Array) -> Array:
    _check_matrix(matrix)
    rows, columns = matrix.shape[-2:]
    below, above = number(lower, "num_lower"), number(upper, "num_upper")
    if below > rows or above > columns:
        raise invalid(
            f"num_lower must be at most {rows} and num_upper at most {columns}, got {below} and "
            f"{above}"
        )
    offset = numbers(columns, matrix) - numbers(rows, matrix)[:, None]
    is_in = ((below < 0) | (-offset <= below)) & ((above < 0) | (offset <= above))
    return np.where(is_in, matrix, matrix.dtype.type(0))


def _check_numerics(node: NodeContext) -> Function:
    message = node.attrs["message"].decode("utf-8", "replace")

    def check(tensor: Array) -> Array:
        if not np.isfinite(tensor).all():
            has_nan, has_inf = np.isnan(tensor).any(), np.isinf(tensor).any()
            found = "Inf and NaN" if has_nan and has_inf else "NaN" if has_nan else "Inf"
            raise invalid(f"{message} : Tensor had {found} values")
        return tensor

    return check


def _ensure(node: NodeContext) -> Function:
    expected = node.attrs["shape"].internal

    def ensure(tensor: Array) -> Array:
        if not shapes.is_compatible(expected, tensor.shape):
            raise invalid(
                f"Shape of tensor {show(tensor.shape)} is not compatible with expected shape "
                f"{shapes.show(expected)}."
            )
        return tensor

    return ensure


register(Kernel("ReverseV2", constantly(_reverse)))
register(Kernel("ReverseSequence", _reverse_sequence))
register(Kernel("LinSpace", _line))
register(Kernel("ListDiff", _difference))
register(Kernel("Bincount", _bincount))
register(Kernel("MatrixDiag", constantly(_matrix_diag)))
register(Kernel("MatrixDiagPart", constantly(_diagonal_of)))
register(Kernel("MatrixSetDiag", constantly(_set_diag)))
register(Kernel("Diag", constantly(_diag)))
register(Kernel("DiagPart", constantly(_diag_part)))
register(Kernel("MatrixBandPart", constantly(_band)))
register(Kernel("CheckNumerics", _check_numerics, alias=True))
register(Kernel("EnsureShape", _ensure, alias=True))
