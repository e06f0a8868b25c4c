"""Kernels of sparse tensors: their indices, values and dense shape.

Sources: core/kernels/sparse_to_dense_op.cc, sparse_tensor_dense_matmul_op.cc,
sparse_fill_empty_rows_op.cc, sparse_reorder_op.cc.
"""

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.hardware import cpu_loops
from capstan.kernels import row_loops, rows, runs, stacking
from capstan.kernels.arithmetic import constantly
from capstan.kernels.memory import beside
from capstan.kernels.registry import Columns, Function, Join, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid

_ADVICE = (
    ". Many sparse ops require sorted indices.\n"
    "    Use `tf.sparse.reorder` to create a correctly ordered copy.\n\n"
)


def _to_dense(node: NodeContext) -> Function:
    checks_order = node.attrs["validate_indices"]

    def fill(indices: Array, shape: Array, values: Array, default: Array) -> Array:
        if indices.ndim > 2:
            raise invalid(
                "sparse_indices should be a scalar, vector, or matrix, got shape "
                f"{show(indices.shape)}"
            )
        places = indices.reshape(-1, 1) if indices.ndim < 2 else indices
        if shape.ndim != 1:
            raise invalid(f"output_shape should be a vector, got shape {show(shape.shape)}")
        sizes = tuple(shape.tolist())
        if len(sizes) != places.shape[1]:
            raise invalid(
                f"output_shape has incorrect number of elements: {len(sizes)} should be: "
                f"{places.shape[1]}"
            )
        if values.ndim and values.shape != (len(places),):
            raise invalid(
                f"sparse_values has incorrect shape {show(values.shape)}, should be [] or "
                f"[{len(places)}]"
            )
        if default.ndim:
            raise invalid("default_value should be a scalar.")
        _check_places(places, sizes, checks_order)
        dense = np.full(sizes, default[()], values.dtype)
        dense[tuple(places.T)] = values
        return dense

    return fill


def _check_places(places: Array, sizes: tuple[int, ...], checks_order: bool) -> None:
    """Raise InvalidArgumentError for a place out of bounds, out of order or repeated."""
    is_out = ((places < 0) | (places >= np.array(sizes, np.int64))).any(1)
    if is_out.any():
        at = int(np.flatnonzero(is_out)[0])
        raise invalid(f"indices[{at}] = {places[at].tolist()} is out of bounds: need 0 <= index < "
                      f"{list(sizes)}")  # fmt: skip
    if checks_order and len(places) > 1:
        numbers = np.ravel_multi_index(tuple(places.T), sizes) if sizes else np.zeros(len(places))
        steps = np.diff(numbers)
        if (steps <= 0).any():
            at = int(np.flatnonzero(steps <= 0)[0]) + 1
            fault = "repeated" if steps[at - 1] == 0 else f"out of order{_ADVICE}"
            raise invalid(f"indices[{at}] = {places[at].tolist()} is {fault}")


def _matmul(node: NodeContext) -> Function:
    turns_a, turns_b = node.attrs["adjoint_a"], node.attrs["adjoint_b"]

    add = rows.Accumulation(np.add)

    def multiply(indices: Array, values: Array, shape: Array, b: Array) -> Array:
        check_parts(indices, values, shape)
        if len(shape) != 2 or b.ndim != 2:
            raise invalid(f"Tensors must be matrices, got {shape.tolist()} and {show(b.shape)}")
        count, inner = shape.tolist()
        at, across = indices[:, 0], indices[:, 1]
        if turns_a:
            count, inner, at, across = inner, count, across, at
            values = np.conjugate(values)
        dense = np.conjugate(b.T) if turns_b else b
        if len(dense) != inner:
            raise invalid(
                f"Cannot multiply A and B because inner dimension does not match: {inner} vs. "
                f"{len(dense)}"
            )
        rows.check(at, count)
        rows.check(across, inner)
        product: Array = node.hardware.arrays.zeros((count, dense.shape[1]), values.dtype)
        parts = dense[beside(across, dense)] * values[:, None]
        add(product, at, parts)
        return product

    return multiply


def _fill_empty_rows(
    indices: Array, values: Array, shape: Array, default: Array
) -> tuple[Array, Array, Array, Array]:
    check_parts(indices, values, shape)
    if default.ndim:
        raise invalid(f"default_value must be a scalar, saw: {show(default.shape)}")
    count = int(shape[0])
    owners = indices[:, 0]
    rows.check(owners, count)
    is_empty = np.ones(count, np.bool_)
    is_empty[owners] = False
    if not is_empty.any() and (owners[1:] >= owners[:-1]).all():
        return indices.copy(), values.copy(), is_empty, np.arange(len(values))
    added = np.zeros((int(is_empty.sum()), indices.shape[1]), np.int64)
    added[:, 0] = np.flatnonzero(is_empty)
    all_places = np.concatenate([indices, added])
    all_values = np.concatenate([values, np.full(len(added), default[()], values.dtype)])
    order = np.argsort(all_places[:, 0], kind="stable")
    went = np.empty(len(order), np.int64)
    went[order] = np.arange(len(order))
    return all_places[order], all_values[order], is_empty, went[: len(values)]


def _fill_empty_rows_of_several(
    loop: cpu_loops.Loop,
    indices: Sequence[Array],
    values: Sequence[Array],
    shapes: Sequence[Array],
    defaults: Sequence[Array],
) -> Columns | None:
    given = stacking.Blocks.of(values)
    if not stacking.are_vectors(values, shapes) or not given.match(stacking.Blocks.of(indices)):
        return None
    places = np.ascontiguousarray(stacking.stacked(indices))  # those of transposed ones are not
    sizes = stacking.column(shapes)
    if places.ndim != 2 or (sizes.blocks.sizes != places.shape[1]).any():
        return None
    if any(default.ndim for default in defaults):
        return None
    results = stacking.Blocks(sizes.stacked[:: places.shape[1]])
    numbers = stacking.stacked(values)
    run = loop.after(len(places))
    if run is not None:
        is_empty = np.ones(results.total, np.uint8)
        if run(places, places.shape[1], given.sizes, results.sizes, is_empty) == 0:
            went = np.arange(given.total) - given.starts.repeat(given.sizes)
            return _filled(given, places, numbers, results, is_empty.view(np.bool_), given, went)
    if not results.contain(np.ascontiguousarray(places[:, 0]), given):
        return None
    moved = results.moved(places[:, 0], given)
    is_empty = np.ones(results.total, np.bool_)
    is_empty[moved] = False
    empty = is_empty.nonzero()[0]
    went, filled = np.arange(given.total), given
    if len(empty):
        of_result = results.owners()[empty]
        added = np.zeros((len(empty), places.shape[1]), np.int64)
        added[:, 0] = empty - results.starts[of_result]
        places = np.concatenate([places, added])
        numbers = np.concatenate([numbers, np.array(defaults, numbers.dtype)[of_result]])
        moved = np.concatenate([moved, empty])
        filled = stacking.Blocks(given.sizes + np.bincount(of_result, minlength=len(values)))
    if len(empty) or np.count_nonzero(moved[1:] < moved[:-1]):
        order = runs.order(moved)
        places, numbers = rows.taken(places, order), numbers.take(order)
        ranks = np.empty(len(order), np.int64)
        ranks[order] = np.arange(len(order))
        went = ranks[: len(went)]
    went -= filled.starts.repeat(given.sizes)
    return _filled(filled, places, numbers, results, is_empty, given, went)


def _filled(
    filled: stacking.Blocks,
    places: Array,
    numbers: Array,
    results: stacking.Blocks,
    is_empty: Array,
    given: stacking.Blocks,
    went: Array,
) -> Columns:
    """Return the outputs of `SparseFillEmptyRows` as columns.

    The arguments are the blocks and the stacked tensor of each output, in order.
    """
    pairs = (filled, places), (filled, numbers), (results, is_empty), (given, went)
    return [stacking.Column(blocks, stacked) for blocks, stacked in pairs]


def check_parts(indices: Array, values: Array, shape: Array) -> None:
    """Raise InvalidArgumentError unless the parts of a sparse tensor fit together."""
    if (
        indices.ndim != 2 or values.ndim != 1 or shape.ndim != 1 or not shape.size
        or indices.shape != (len(values), len(shape))
    ):  # fmt: skip
        raise invalid(
            "indices must be a matrix with a row for each value and a column for each size of the "
            f"dense shape, got shapes {show(indices.shape)}, {show(values.shape)} and "
            f"{show(shape.shape)}"
        )


def _fill_empty_rows_grad(places: Array, grad: Array) -> tuple[Array, Any]:
    if places.ndim != 1 or grad.ndim != 1:
        raise invalid(
            "reverse_index_map and grad_values must be vectors, got shapes "
            f"{show(places.shape)} and {show(grad.shape)}"
        )
    rows.check(places, len(grad))
    is_default = np.ones(len(grad), np.bool_)
    is_default[places] = False
    return grad[places], np.asarray(grad[is_default].sum(dtype=grad.dtype))


def _reorder(indices: Array, values: Array, shape: Array) -> tuple[Array, Array]:
    check_parts(indices, values, shape)
    order = np.lexsort(indices.T[::-1]) if indices.shape[1] else np.arange(len(indices))
    return indices[order], values[order]


register(Kernel("SparseToDense", _to_dense))
register(Kernel("SparseTensorDenseMatMul", _matmul))
register(
    Kernel(
        "SparseFillEmptyRows",
        constantly(_fill_empty_rows),
        join=Join(
            lambda nodes: functools.partial(
                _fill_empty_rows_of_several, cpu_loops.Loop(row_loops.find_empty)
            )
        ),
    )
)
register(Kernel("SparseFillEmptyRowsGrad", constantly(_fill_empty_rows_grad)))
register(Kernel("SparseReorder", constantly(_reorder)))
