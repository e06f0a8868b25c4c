"""Kernels that join, split, repeat and permute tensors along axes.

Only Transpose and ConjugateTranspose return a view. The other kernels return copies, because a view
keeps the memory of the full tensor alive and may share the memory of a variable.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.kernels.arithmetic import constantly
from capstan.kernels.joining import concatenated
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid, number


def _transpose(x: Array, order: Array) -> Array:
    try:
        return x.transpose(order.tolist())
    except ValueError:
        raise invalid(
            f"transpose expects a permutation of {x.ndim} axes, but got {order.tolist()}"
        ) from None


def _conjugate_transpose(node: NodeContext) -> Function:
    if not node.input_dtypes[0].is_complex:
        return _transpose
    return lambda x, order: np.conjugate(_transpose(x, order))


def concat(node: NodeContext) -> Function:
    count = node.attrs["N"]

    def joined(*arrays: Array) -> Array:
        parts, axis = arrays[:count], int(arrays[count].item())
        out = arrays[count + 1] if len(arrays) > count + 1 else None
        try:
            return concatenated(parts, axis, out)
        except (ValueError, np.exceptions.AxisError):
            raise _concat_error(parts, axis) from None

    return joined


def _concat_error(parts: Sequence[Array], axis: int) -> Exception:
    first = parts[0]
    if not -first.ndim <= axis < first.ndim:
        return invalid(
            "ConcatOp : Expected concatenating dimensions in the range "
            f"[{-first.ndim}, {first.ndim}), but got {axis}"
        )
    at = axis % first.ndim
    rest = (*first.shape[:at], *first.shape[at + 1 :])
    for index, part in enumerate(parts):
        if part.ndim != first.ndim or (*part.shape[:at], *part.shape[at + 1 :]) != rest:
            return invalid(
                "ConcatOp : Dimensions of inputs should match: "
                f"shape[0] = {show(first.shape)} vs. shape[{index}] = {show(part.shape)}"
            )
    return invalid(f"ConcatOp : cannot join along axis {axis}")


def _concat_offset(axis: Array, *sizes: Array) -> Any:
    at, start = number(axis, "axis"), 0
    for index, size in enumerate(sizes):
        if size.ndim != 1:
            raise invalid(f"input {index} should be a vector, but got shape {show(size.shape)}")
    rows = [size.tolist() for size in sizes]
    first, rank = rows[0], len(rows[0])
    if not -rank <= at < rank:
        raise invalid(f"Concat dim is out of range: {at} vs. {rank}")
    at %= rank
    for index, row in enumerate(rows):
        if len(row) != rank:
            raise invalid(f"input {index} should contain {rank} elements, but got {len(row)}")
    starts = []
    for index, row in enumerate(rows):
        if row[:at] != first[:at] or row[at + 1 :] != first[at + 1 :]:
            raise invalid(
                f"All dimensions except {at} must match. Input {index} has shape "
                f"{_listed(row)} and doesn't match input 0 with shape {_listed(first)}."
            )
        starts.append(start)
        start += row[at]
    offsets = np.zeros((len(rows), rank), np.int32)
    offsets[:, at] = starts
    return offsets[0] if len(rows) == 1 else tuple(offsets)


def _listed(sizes: Sequence[int]) -> str:
    return "[" + " ".join(map(str, sizes)) + "]"


def _pack(node: NodeContext) -> Function:
    count, axis = node.attrs["N"], node.attrs["axis"]

    def pack(*arrays: Array) -> Array:
        parts = arrays[:count]
        first = parts[0]
        _check_axis(axis, first.ndim + 1)
        at = axis % (first.ndim + 1)
        result: Array
        if len(arrays) > count:
            result = arrays[count]
        else:
            shape = (*first.shape[:at], count, *first.shape[at:])
            result = np.empty_like(first, shape=shape, order="C")
        before: tuple[Any, ...] = (slice(None),) * at
        for index, part in enumerate(parts):
            if part.shape != first.shape:
                raise invalid(
                    f"Shapes of all inputs must match: values[0].shape = {show(first.shape)} != "
                    f"values[{index}].shape = {show(part.shape)}"
                )
            result[(*before, index, ...)] = part
        return result

    return pack


def _check_axis(axis: int, ndim: int) -> None:
    if not -ndim <= axis < ndim:
        raise invalid(f"axis = {axis} not in [{-ndim}, {ndim})")


def _unpack(node: NodeContext) -> Function:
    count, axis = node.attrs["num"], node.attrs["axis"]

    def unpack(x: Array, *outs: Array) -> Any:
        _check_axis(axis, x.ndim)
        if x.shape[axis] != count:
            raise invalid(f"Input shape axis {axis} must equal {count}, got shape {show(x.shape)}")
        before = (slice(None),) * (axis % x.ndim)
        return _copied([x[(*before, index, ...)] for index in range(count)], outs)

    return unpack


def _copied(views: Sequence[Array], outs: Sequence[Array]) -> Any:
    if outs:
        for out, view in zip(outs, views, strict=True):
            np.copyto(out, view)
    results = outs or tuple(view.copy() for view in views)
    return results[0] if len(results) == 1 else results


def _split_axis(axis: Array, x: Array) -> int:
    at = int(axis.item())
    if not -x.ndim <= at < x.ndim:
        raise invalid(f"-input rank({-x.ndim}) <= split_dim < input rank ({x.ndim}), but got {at}")
    return at % x.ndim


def _split(node: NodeContext) -> Function:
    count = node.attrs["num_split"]

    def split(axis: Array, x: Array, *outs: Array) -> Any:
        number(axis, "split_dim")
        at = _split_axis(axis, x)
        if x.shape[at] % count:
            raise invalid(
                "Number of ways to split should evenly divide the split dimension, but got "
                f"split_dim {at} (size = {x.shape[at]}) and num_split {count}"
            )
        return _copied(_cut(x, at, [x.shape[at] // count] * count), outs)

    return split


def _split_v(node: NodeContext) -> Function:
    count = node.attrs["num_split"]

    def split_v(x: Array, sizes: Array, axis: Array, *outs: Array) -> Any:
        if count == 1:
            return _copied([x], outs)
        if sizes.shape != (count,):
            raise invalid(
                f"size_splits must have shape [{count}], like num_split, not {show(sizes.shape)}"
            )
        return _split_by_sizes(x, sizes, axis, outs)

    return split_v


def _split_by_sizes(x: Array, sizes: Array, axis: Array, outs: Sequence[Array]) -> Any:
    at, lengths = _split_axis(axis, x), sizes.tolist()
    specified = sum(length for length in lengths if length >= 0)
    lengths = [x.shape[at] - specified if length == -1 else length for length in lengths]
    if sum(lengths) != x.shape[at] or min(lengths, default=0) < 0:
        raise invalid(
            "Determined shape must either match input shape along split_dim exactly if fully "
            f"specified, or be less than the size of the input along split_dim if not fully "
            f"specified.  Got: {specified}"
        )
    return _copied(_cut(x, at, lengths), outs)


def _cut(x: Array, axis: int, lengths: Sequence[int]) -> list[Array]:
    before, start, views = (slice(None),) * axis, 0, []
    for length in lengths:
        views.append(x[(*before, slice(start, start + length))])
        start += length
    return views


def _tile(x: Array, repeats: Array, out: Array | None = None) -> Array:
    counts = repeats.tolist()
    if len(counts) != x.ndim:
        raise invalid(
            f"Expected multiples argument to be a vector of length {x.ndim} but got length "
            f"{len(counts)}"
        )
    if min(counts, default=0) < 0:
        raise invalid(
            f"Expected multiples[{counts.index(min(counts))}] >= 0, but got {min(counts)}"
        )
    if out is None:
        sizes = tuple(size * count for size, count in zip(x.shape, counts, strict=True))
        out = np.empty_like(x, shape=sizes, order="C")
    # Put an axis for the repeats before each axis. A broadcast then does the tiling.
    pairs = list(zip(counts, x.shape, strict=True))
    np.copyto(
        out.reshape([length for pair in pairs for length in pair]),
        x.reshape([length for _, size in pairs for length in (1, size)]),
    )
    return out


def margins_of(x: Array, margins: Array) -> list[list[int]]:
    """Return the sizes of the margins before and after each axis of `x`.

    Raises:
        InvalidArgumentError: `margins` is not such a matrix, or a size is negative.
    """
    pairs: list[list[int]] = margins.tolist()
    if margins.ndim != 2 or margins.shape[1] != 2:
        raise invalid(f"paddings must be a matrix with 2 columns: {show(margins.shape)}")
    if len(pairs) != x.ndim:
        raise invalid(
            "The first dimension of paddings must be the rank of inputs"
            f"{show(margins.shape)} {show(x.shape)}"
        )
    if any(before < 0 or after < 0 for before, after in pairs):
        raise invalid(f"Paddings must be non-negative: {pairs}")
    return pairs


def _pad(x: Array, margins: Array, out: Array | None = None) -> Array:
    pairs = margins_of(x, margins)
    sizes = [sum(pair) + size for pair, size in zip(pairs, x.shape, strict=True)]
    out = np.empty_like(x, shape=sizes, order="C") if out is None else out
    if math.prod(out.shape) != x.size:
        out.fill(b"" if out.dtype.hasobject else 0)
    inside: list[Any] = [
        slice(before, before + size) for (before, _), size in zip(pairs, x.shape, strict=True)
    ]
    out[(*inside, ...)] = x
    return out


register(Kernel("Transpose", constantly(_transpose), alias=True))
register(Kernel("ConjugateTranspose", _conjugate_transpose, alias=True))
register(Kernel("ConcatV2", concat, out=True))
register(Kernel("ConcatOffset", constantly(_concat_offset)))
register(Kernel("Pack", _pack, out=True))
register(Kernel("Unpack", _unpack, out=True))
register(Kernel("Split", _split, out=True))
register(Kernel("SplitV", _split_v, out=True))
register(Kernel("Tile", constantly(_tile), out=True))
register(Kernel("Pad", constantly(_pad), out=True))
