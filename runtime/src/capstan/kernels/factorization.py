"""Kernels of matrix factorization (contrib/factorization/kernels). TensorFlow has them on CPUs."""

from typing import Any

import numpy as np

from capstan.core import shapes
from capstan.core.arrays import Array
from capstan.kernels.arithmetic import constantly
from capstan.kernels.registry import Kernel, register
from capstan.kernels.rejection import invalid, number

_ELEMENTS = 1 << 22
"""The greatest number of gathered elements that are in memory at once."""


def _equations(*inputs: Array) -> tuple[Array, Array]:
    """Return what the entries of each row add to the two sides of its normal equations.

    With the factors f and weights w of the entries v of a row, and the weight u of entries that are
    not there, these are the sums of `w f f^T` and of `(u + w) v f`.
    """
    factors, factor_weights, unobserved_weight, input_weights, indices, values = inputs[:6]
    entry_weights, block_size, is_transposed = inputs[6:]
    _check_rank(factors, 2, "Input factors should be a matrix.")
    _check_rank(factor_weights, 1, "Input factor_weights should be a vector.")
    _check_rank(unobserved_weight, 0, "Input unobserved_weights should be a scalar.")
    _check_rank(input_weights, 1, "Input input_weights should be a vector.")
    _check_rank(indices, 2, "Input input_indices should be a matrix.")
    if indices.shape[1] != 2:
        raise invalid("Input input_indices should have shape (?, 2).")
    _check_rank(values, 1, "Input input_values should be a vector")
    _check_rank(entry_weights, 1, "Input entry_weights should be a vector")
    if len(values) != len(indices):
        raise invalid(
            "Input input_values' length should match the first dimension of Input input_indices "
        )
    count = number(block_size, "Input input_block_size")
    _check_rank(is_transposed, 0, "Input input_is_transpose should be a scalar.")
    row_ids, factor_ids = indices[:, ::-1].T if is_transposed else indices.T
    _check_within(row_ids, count, "row")
    _check_within(factor_ids, len(factors), "factor")
    if len(input_weights) and len(factor_weights) == len(factors) and not len(entry_weights):
        _check_within(row_ids, len(input_weights), "weight")
        weights = input_weights[row_ids] * factor_weights[factor_ids]
    elif not len(input_weights) + len(factor_weights) and len(entry_weights) == len(indices):
        weights = entry_weights
    else:
        raise invalid(
            "To specify the weights for observed entries, either (1) entry_weights must be set or "
            "(2) input_weights and factor_weights must be set, but not both."
        )
    if (weights < 0).any():
        raise invalid("The weights of entries must not be negative.")
    return _sums(
        factors, weights, values * (unobserved_weight + weights), row_ids, factor_ids, count
    )


def _sums(
    factors: Array, weights: Array, scaled: Array, row_ids: Array, factor_ids: Array, count: int
) -> tuple[Array, Array]:
    """Return the sums of `w f f^T` and of `scaled f` of each row, as matrix products.

    The products of rows with similar numbers of entries are computed together.
    """
    size = factors.shape[1]
    left = np.zeros((count, size, size), np.float32)
    right = np.zeros((count, size), np.float32)
    order = row_ids.argsort(kind="stable")
    roots, scaled, factor_ids = np.sqrt(weights)[order], scaled[order], factor_ids[order]
    lengths = np.bincount(row_ids, minlength=count)
    starts = lengths.cumsum() - lengths
    widths = np.ceil(np.log2(np.maximum(lengths, 1))).astype(np.int64)
    for width in np.unique(widths[lengths > 0]).tolist():
        places = np.arange(1 << width)
        group = np.flatnonzero((widths == width) & (lengths > 0))
        step = max(1, _ELEMENTS // max(1, len(places) * size))
        for part in (group[start : start + step] for start in range(0, len(group), step)):
            is_entry = places < lengths[part, np.newaxis]
            entries = np.where(is_entry, starts[part, np.newaxis] + places, 0)
            gathered = factors[factor_ids[entries]]
            rooted = gathered * (roots[entries] * is_entry)[..., np.newaxis]
            left[part] = rooted.transpose(0, 2, 1) @ rooted
            right[part] = ((scaled[entries] * is_entry)[:, np.newaxis] @ gathered)[:, 0]
    return left, right


def _masked(a: Array, b: Array, mask: Array, transpose_a: Array, transpose_b: Array) -> Array:
    """Return the elements of the product of two matrices that `mask` names by row and column."""
    _check_rank(a, 2, "Input a should be a matrix.")
    _check_rank(b, 2, "Input b should be a matrix.")
    _check_rank(mask, 2, "Input mask_indices should be a matrix.")
    _check_rank(transpose_a, 0, "Input transpose_a should be a scalar.")
    _check_rank(transpose_b, 0, "Input transpose_b should be a scalar.")
    rows, columns = a.T if transpose_a else a, b if transpose_b else b.T
    if rows.shape[1] != columns.shape[1]:
        raise invalid(
            f"Matrix shapes are incompatible: a has shape {shapes.show(a.shape)}, while b has "
            f"shape {shapes.show(b.shape)}."
        )
    if mask.shape[1] != 2:
        raise invalid(
            "mask_indices should be a matrix of shape [nnz 2], where nnz is the number of non-zero "
            "elements."
        )
    _check_within(mask[:, 0], len(rows), "row")
    _check_within(mask[:, 1], len(columns), "column")
    found = np.empty(len(mask), np.float32)
    step = max(1, _ELEMENTS // max(1, rows.shape[1]))
    for start in range(0, len(mask), step):
        part = mask[start : start + step]
        found[start : start + step] = np.einsum("ij,ij->i", rows[part[:, 0]], columns[part[:, 1]])
    return found


def _check_rank(value: Any, rank: int, message: str) -> None:
    if value.ndim != rank:
        raise invalid(message)


def _check_within(ids: Array, limit: int, name: str) -> None:
    is_outside = (ids < 0) | (ids >= limit)
    if is_outside.any():
        place = int(is_outside.argmax())
        raise invalid(
            f"The {name} index {ids[place]} of entry {place} is out of bounds [0, {limit})."
        )


register(Kernel("WALSComputePartialLhsAndRhs", constantly(_equations)))
register(Kernel("MaskedMatmul", constantly(_masked)))
