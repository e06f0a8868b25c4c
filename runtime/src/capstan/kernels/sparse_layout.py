"""Kernels that join and split sparse tensors.

Sources: core/kernels/sparse_concat_op.cc, sparse_split_op.cc.
"""

import itertools
from collections.abc import Sequence

import numpy as np

from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.kernels import rejection
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid


def _concat(node: NodeContext) -> Function:
    wanted, count = node.attrs["concat_dim"], node.attrs["N"]

    def join(*parts: Array) -> tuple[Array, Array, Array]:
        indices, values, sizes = (parts[at : at + count] for at in range(0, 3 * count, count))
        _check_parts(indices, values, sizes)
        axis = _joined_axis(wanted, sizes)
        starts = np.cumsum([0, *(int(each[axis]) for each in sizes)])
        rows = np.concatenate(indices)
        rows[:, axis] += np.repeat(starts[:-1], [len(each) for each in indices])
        shape = sizes[0].copy()
        shape[axis] = starts[-1]
        order = np.lexsort(rows.T[::-1])
        return rows[order], np.concatenate(values)[order], shape

    return join


def _check_parts(indices: Sequence[Array], values: Sequence[Array], sizes: Sequence[Array]) -> None:
    for parts, form, rank in (
        (indices, "indices should be a matrix", 2),
        (values, "values should be a vector", 1),
        (sizes, "shapes should be a vector", 1),
    ):
        for at, part in enumerate(parts):
            if part.ndim != rank:
                raise invalid(
                    f"Input {form} but received shape {show(part.shape)} at position {at}"
                )
    for at, (places, held, shape) in enumerate(zip(indices, values, sizes, strict=True)):
        if places.shape != (len(held), len(shape)):
            raise invalid(
                f"Input indices must have {len(held)} rows and {len(shape)} columns, got shape "
                f"{show(places.shape)} at position {at}"
            )


def _joined_axis(wanted: int, sizes: Sequence[Array]) -> int:
    """Return the axis along which the tensors are joined, once their shapes are checked."""
    rank = len(sizes[0])
    axis = wanted + rank if wanted < 0 else wanted
    if not 0 <= axis < rank:
        raise invalid(f"Concat dimension must be in range [{-rank}, {rank}), got {wanted}")
    for at, shape in enumerate(sizes[1:], 1):
        if len(shape) != rank:
            raise invalid(
                f"Ranks of all input tensors must match: expected {rank} but got {len(shape)} at "
                f"position {at}"
            )
        for other in range(rank):
            if other != axis and shape[other] != sizes[0][other]:
                raise invalid(
                    f"Input shapes must match: expected {sizes[0][other]} for dimension {other} "
                    f"but got {shape[other]} at position {at}"
                )
    return axis


def _split(node: NodeContext) -> Function:
    count = node.attrs["num_split"]

    def split(split_dim: Array, indices: Array, values: Array, shape: Array) -> tuple[Array, ...]:
        axis = rejection.number(split_dim, "split_dim")
        if indices.ndim != 2 or values.ndim != 1 or shape.ndim != 1:
            raise invalid(
                "Input indices should be a matrix, and values and shape vectors, but received "
                f"shapes {show(indices.shape)}, {show(values.shape)} and {show(shape.shape)}"
            )
        if indices.shape != (len(values), len(shape)):
            raise invalid(
                f"Input indices must have {len(values)} rows and {len(shape)} columns, got shape "
                f"{show(indices.shape)}"
            )
        rank = len(shape)
        if not -rank <= axis < rank:
            raise invalid(f"Input axis should be in range [{-rank}, {rank}), got {axis}")
        axis %= rank
        size = int(shape[axis])
        if not 1 <= count <= size:
            raise invalid(
                f"Input num_split should be between 1 and the splitting dimension size ({size}), "
                f"got {count}"
            )
        # The first parts are one longer than the others where the size is no multiple.
        lengths = [size // count + (at < size % count) for at in range(count)]
        starts = np.cumsum([0, *lengths])
        owners = np.searchsorted(starts, indices[:, axis], "right") - 1
        found: tuple[list[Array], list[Array], list[Array]] = ([], [], [])
        for at, length in enumerate(lengths):
            is_here = owners == at
            places, sizes = indices[is_here], shape.copy()
            places[:, axis] -= starts[at]
            sizes[axis] = length
            for part, value in zip(found, (places, values[is_here], sizes), strict=True):
                part.append(value)
        return tuple(itertools.chain.from_iterable(found))

    return split


register(Kernel("SparseConcat", _concat))
register(Kernel("SparseSplit", _split))
