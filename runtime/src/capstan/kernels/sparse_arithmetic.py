"""Kernels that compute with the values of sparse tensors.

Sources: core/kernels/sparse_add_op.cc, sparse_add_grad_op.cc, sparse_tensor_dense_add_op.cc,
sparse_sparse_binary_op_shared.cc, sparse_dense_binary_op_shared.cc, sparse_softmax_op.cc.
"""

import functools

import numpy as np

from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.kernels.arithmetic import constantly, division, truncated
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid


def _check_pair(a: tuple[Array, Array, Array], b: tuple[Array, Array, Array], names: str) -> None:
    """Raise InvalidArgumentError unless the parts of two sparse tensors of one shape fit."""
    for at, (form, count) in enumerate((("matrices", 2), ("vectors", 1), ("a vector", 1))):
        if a[at].ndim != count or b[at].ndim != count:
            part = ("indices", "values", "shapes")[at]
            raise invalid(
                f"{names}{part} should be {form} but received shapes"
                f"{' ' if at == 2 else ': '}{show(a[at].shape)} and {show(b[at].shape)}"
            )
        if at == 1 and (len(a[1]) != len(a[0]) or len(b[1]) != len(b[0])):
            raise invalid(
                f"Expected {len(a[0])} and {len(b[0])} non-empty input values, got {len(a[1])} "
                f"and {len(b[1])}"
            )
    sizes_a, sizes_b = a[2].tolist(), b[2].tolist()
    if len(sizes_a) != len(sizes_b):
        shown = [" ".join(map(str, sizes)) for sizes in (sizes_a, sizes_b)]
        raise invalid(f"Operands do not have the same ranks; got shapes: {' and '.join(shown)}")
    for axis, (size_a, size_b) in enumerate(zip(sizes_a, sizes_b, strict=True)):
        if size_a != size_b:
            raise invalid(
                f"Operands' shapes do not match: got {size_a} and {size_b} for dimension {axis}"
            )
    for name, indices in (("a", a[0]), ("b", b[0])):
        if indices.shape[1] != len(sizes_a):
            raise invalid(
                f"{name}_indices must have {len(sizes_a)} columns, got shape {show(indices.shape)}"
            )


def _union(a: Array, b: Array) -> tuple[Array, Array, Array]:
    """Return the rows of two matrices in order, the place of each row of `a`, and that of `b`.

    A row of `a` and an equal one of `b` have one place. If a matrix repeats a row, the first one of
    `a` is paired with the first one of `b`, and so on.
    """
    if not (_is_sorted(a) and _is_sorted(b)):
        return _merged(a, b)
    rows = np.concatenate([a, b])
    numbers = np.concatenate([_repetition(a), _repetition(b)])
    keys = np.column_stack([rows, numbers])
    order = np.lexsort(keys.T[::-1])
    ranked = keys[order]
    is_first = np.ones(len(order), np.bool_)
    is_first[1:] = (ranked[1:] != ranked[:-1]).any(1)
    places = np.empty(len(order), np.int64)
    places[order] = np.cumsum(is_first) - 1
    return rows[order[is_first]], places[: len(a)], places[len(a) :]


def _is_sorted(rows: Array) -> bool:
    steps = np.diff(rows, axis=0)
    if not steps.size:
        return True
    first = steps[np.arange(len(steps)), (steps != 0).argmax(1)]
    return bool((first >= 0).all())


def _merged(a: Array, b: Array) -> tuple[Array, Array, Array]:
    """Do what `_union` does, row by row: rows out of order stay where TensorFlow leaves them."""
    rows, places = [], (np.empty(len(a), np.int64), np.empty(len(b), np.int64))
    left, right = a.tolist(), b.tolist()
    at_a = at_b = 0
    while at_a < len(left) or at_b < len(right):
        takes_a = at_b == len(right) or (at_a < len(left) and left[at_a] <= right[at_b])
        takes_b = at_a == len(left) or (at_b < len(right) and right[at_b] <= left[at_a])
        rows.append(left[at_a] if takes_a else right[at_b])
        if takes_a:
            places[0][at_a] = len(rows) - 1
            at_a += 1
        if takes_b:
            places[1][at_b] = len(rows) - 1
            at_b += 1
    return np.array(rows, np.int64), *places


def _repetition(rows: Array) -> Array:
    """Return for each row of a sorted matrix how many equal rows are before it."""
    numbers = np.arange(len(rows))
    is_new = np.ones(len(rows), np.bool_)
    is_new[1:] = (rows[1:] != rows[:-1]).any(1)
    return numbers - np.maximum.accumulate(np.where(is_new, numbers, 0))


def _spread(values: Array, places: Array, count: int) -> Array:
    result = np.zeros(count, values.dtype)
    result[places] = values
    return result


def _add(
    a_indices: Array, a_values: Array, a_shape: Array,
    b_indices: Array, b_values: Array, b_shape: Array, thresh: Array,
) -> tuple[Array, Array, Array]:  # fmt: skip
    _check_pair((a_indices, a_values, a_shape), (b_indices, b_values, b_shape), "Input ")
    if thresh.ndim:
        raise invalid(f"The magnitude threshold must be a scalar: got shape {show(thresh.shape)}")
    indices, at_a, at_b = _union(a_indices, b_indices)
    count = len(indices)
    sums = _spread(a_values, at_a, count) + _spread(b_values, at_b, count)
    is_both = np.zeros(count, np.bool_)
    is_both[np.intersect1d(at_a, at_b)] = True
    # TensorFlow drops a small sum of two values, but no value that one tensor alone has.
    is_kept = ~is_both | (thresh <= np.abs(sums))
    return indices[is_kept], sums[is_kept], a_shape.copy()


def _add_grad(grad: Array, a_indices: Array, b_indices: Array, found: Array) -> tuple[Array, Array]:
    matrices = (a_indices, b_indices, found)
    if any(each.ndim != 2 for each in matrices):
        shown = " and ".join(show(each.shape) for each in matrices)
        raise invalid(f"Input indices should be matrices but received shapes: {shown}")
    if grad.ndim != 1:
        raise invalid(
            f"Input backprop_val_grad should be a vector but received shape: {show(grad.shape)}"
        )
    if len({each.shape[1] for each in matrices}) > 1:
        counts = "".join(str(each.shape[1]) for each in matrices)
        raise invalid(
            f"The densified operands should have the same ndims; for A, B, sum got: {counts}"
        )
    if len(grad) != len(found):
        raise invalid(
            "# elements of backprop_val_grad and # rows of sum_indices should match (#nnz of sum): "
            f"got {len(grad)} and {len(found)}"
        )
    return _grad_at(a_indices, found, grad), _grad_at(b_indices, found, grad)


def _grad_at(indices: Array, found: Array, grad: Array) -> Array:
    union, places, at_sum = _union(indices, found)
    return _spread(grad, at_sum, len(union))[places]


def _dense_add(indices: Array, values: Array, shape: Array, b: Array) -> Array:
    if indices.ndim != 2:
        raise invalid(
            f"Input a_indices should be a matrix but received shape: {show(indices.shape)}"
        )
    if values.ndim != 1 or shape.ndim != 1:
        raise invalid(
            "Inputs a_values and a_shape should be vectors but received shapes: "
            f"{show(values.shape)} and {show(shape.shape)}"
        )
    for count, size in zip(indices.shape, (len(values), len(shape)), strict=True):
        if count != size:
            raise invalid(f"Dimensions {count} and {size} are not compatible")
    if len(shape) != b.ndim:
        raise invalid(f"Two operands have different ranks; received: {len(shape)} and {b.ndim}")
    for axis, size in enumerate(shape.tolist()):
        if size != b.shape[axis]:
            raise invalid(
                f"Dimension {axis} does not equal (no broadcasting is supported): sparse side "
                f"{size} vs dense side {b.shape[axis]}"
            )
    is_out = (indices < 0) | (indices >= shape)
    if is_out.any():
        row, axis = (int(each) for each in np.argwhere(is_out)[0])
        raise invalid(
            f"Sparse tensor has an invalid index on dimension {axis}: a_indices({row},{axis}) = "
            f"{indices[row, axis]}, dense tensor shape: {' '.join(map(str, shape.tolist()))}"
        )
    result = b.copy()
    np.add.at(result, tuple(indices.T), values)
    return result


def _extreme(
    ufunc: np.ufunc,
    a_indices: Array, a_values: Array, a_shape: Array,
    b_indices: Array, b_values: Array, b_shape: Array,
) -> tuple[Array, Array]:  # fmt: skip
    _check_pair((a_indices, a_values, a_shape), (b_indices, b_values, b_shape), "Inputs a_")
    indices, at_a, at_b = _union(a_indices, b_indices)
    count = len(indices)
    return indices, ufunc(_spread(a_values, at_a, count), _spread(b_values, at_b, count))


def _elementwise(
    step: Function, indices: Array, values: Array, shape: Array, dense: Array
) -> Array:
    _check_one(indices, values, shape)
    if len(values) != len(indices) or indices.shape[1] != len(shape):
        raise invalid(
            f"Input sp_indices must have {len(values)} rows and {len(shape)} columns, got shape "
            f"{show(indices.shape)}"
        )
    sizes = tuple(shape.tolist())
    own = sizes[len(sizes) - dense.ndim :] if dense.ndim <= len(sizes) else ()
    fits = len(own) == dense.ndim and all(
        size in (1, wanted) for size, wanted in zip(dense.shape, own, strict=True)
    )
    if not fits:
        raise invalid(
            "SparseDenseBinaryOpShared broadcasts dense to sparse only; got incompatible shapes: "
            f"{show(sizes)} vs. {show(dense.shape)}"
        )
    if ((indices < 0) | (indices >= shape)).any():
        raise invalid("Provided indices are out-of-bounds w.r.t. dense side with broadcasted shape")
    elements = np.broadcast_to(dense, sizes)[tuple(indices.T)]
    return np.asarray(step(values, elements))


def _quotients(node: NodeContext) -> Function:
    return functools.partial(_elementwise, division(np.true_divide, truncated)(node))


def _check_one(indices: Array, values: Array, shape: Array) -> None:
    if indices.ndim != 2:
        raise invalid(
            f"Input sp_indices should be a matrix but received shape: {show(indices.shape)}"
        )
    if values.ndim != 1 or shape.ndim != 1:
        raise invalid(
            "Inputs sp_values and sp_shape should be vectors but received shapes: "
            f"{show(values.shape)} and {show(shape.shape)}"
        )


def _softmax(indices: Array, values: Array, shape: Array) -> Array:
    """Return the values in the order of their indices, normalized along the last axis."""
    _check_one(indices, values, shape)
    if len(shape) < 2:
        raise invalid(
            f"Input should have rank >= 2, but received shape: {' '.join(map(str, shape.tolist()))}"
        )
    if (shape < 0).any():
        raise invalid(f"sp_shape must not have negative sizes, but is {shape.tolist()}")
    if indices.shape != (len(values), len(shape)):
        raise invalid(
            f"Input sp_indices must have {len(values)} rows and {len(shape)} columns, got shape "
            f"{show(indices.shape)}"
        )
    if not len(values):
        return values.copy()
    order = np.lexsort(indices.T[::-1])
    ranked, groups = values[order], indices[order, :-1]
    is_first = np.ones(len(order), np.bool_)
    is_first[1:] = (groups[1:] != groups[:-1]).any(1)
    starts, owners = np.flatnonzero(is_first), np.cumsum(is_first) - 1
    powers = np.exp(ranked - np.maximum.reduceat(ranked, starts)[owners])
    return np.asarray(powers / np.add.reduceat(powers, starts, 0, values.dtype)[owners])


register(Kernel("SparseAdd", constantly(_add)))
register(Kernel("SparseAddGrad", constantly(_add_grad)))
register(Kernel("SparseTensorDenseAdd", constantly(_dense_add)))
register(Kernel("SparseSparseMaximum", constantly(functools.partial(_extreme, np.maximum))))
register(Kernel("SparseSparseMinimum", constantly(functools.partial(_extreme, np.minimum))))
register(Kernel("SparseDenseCwiseAdd", constantly(functools.partial(_elementwise, np.add))))
register(Kernel("SparseDenseCwiseMul", constantly(functools.partial(_elementwise, np.multiply))))
register(Kernel("SparseDenseCwiseDiv", _quotients))
register(Kernel("SparseSoftmax", constantly(_softmax)))
