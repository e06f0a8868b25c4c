"""The normal equations and the losses of the updates of a `WALSModel`."""

from typing import Any, Final, NamedTuple

from capstan.api import (
    array_ops,
    control_flow_ops,
    creation_ops,
    gather_ops,
    linear_algebra_ops,
    math_ops,
    matrix_ops,
    reduce_ops,
    sparse_math_ops,
)
from capstan.contrib import wals_shards
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework.raw import raw
from capstan.framework.sparse_tensor import SparseTensor


class Side(NamedTuple):
    """What a worker reads of the rows of the matrix, or of its columns.

    Without weights, there are no copies of weights.
    """

    total: int
    factors: wals_shards.Copies
    weights: wals_shards.Copies
    gramian: wals_shards.Copies


def started(*, fill: Side, empty: Side) -> Any:
    """Return the operation that copies the side that stays, and empties the one that changes."""
    return control_flow_ops.group(
        *(fill.factors.fill, empty.factors.empty, fill.gramian.fill, empty.gramian.empty)
    )


class Step(NamedTuple):
    """The new factors `values` of the rows `ids`, and estimates of losses from these rows."""

    ids: Any
    values: Any
    unregularized_loss: Any
    regularization: Any
    sum_weights: Any


class _Entries(NamedTuple):
    """The entries of some rows. `rows` and `columns` are their places among `ids` and `others`."""

    ids: Any
    others: Any
    rows: Any
    columns: Any
    values: Any
    num_rows: Any

    @property
    def places(self) -> Any:
        return array_ops.stack([self.rows, self.columns], 1)


def _entries(sp_input: Any, is_transposed: bool) -> _Entries:
    if not isinstance(sp_input, SparseTensor):
        raise TypeError(f"sp_input must be a SparseTensor, and not {sp_input!r}")
    row_axis: Final = int(is_transposed)
    ids, rows = array_ops.unique(sp_input.indices[:, row_axis], dtypes.int64)
    others, columns = array_ops.unique(sp_input.indices[:, 1 - row_axis], dtypes.int64)
    num_rows = array_ops.size(ids, out_type=dtypes.int64)
    return _Entries(ids, others, rows, columns, sp_input.values, num_rows)


class Loss:
    """The loss of a model with factors of `size` elements. See `WALSModel`."""

    def __init__(self, size: int, unobserved_weight: float, regularization: float | None) -> None:
        self._size, self._unobserved_weight = size, unobserved_weight
        self._regularization = regularization

    def step(
        self, side: Side, other: Side, sp_input: Any, is_transposed: bool, weights: Any = None
    ) -> Step:
        """Return the best factors of the rows of `sp_input`, which are rows of `side`.

        If `is_transposed`, they are the columns of `sp_input`. `weights` is the weight of the rows,
        or a vector with that of each. By default, they have the weights of `side`.

        Raises:
            TypeError: `sp_input` is not a SparseTensor.
        """
        entries = _entries(sp_input, is_transposed)
        factors = _found(other.factors, entries.others)
        gramian = other.gramian.tensors[0]
        left = self._unobserved_weight * gramian
        if self._regularization is not None:
            left += self._regularization * matrix_ops.eye(self._size)
        if not side.weights.tensors:
            values, entry_weights = self._equal(entries, factors, left), None
        else:
            if weights is None:
                row_weights = _found(side.weights, entries.ids)
            else:
                ones = creation_ops.ones([entries.num_rows])
                row_weights = ones * math_ops.cast(weights, dtypes.float32)
            column_weights = _found(other.weights, entries.others)
            values = self._weighted(entries, factors, left, row_weights, column_weights)
            entry_weights = gather_ops.gather(row_weights, entries.rows) * gather_ops.gather(
                column_weights, entries.columns
            )
        return self._with_losses(side, other, entries, factors, values, entry_weights)

    def _equal(self, entries: _Entries, factors: Any, left: Any) -> Any:
        """Return the factors of rows all of whose elements have the weight of unobserved ones."""
        shape = array_ops.stack(
            [entries.num_rows, array_ops.size(entries.others, None, dtypes.int64)]
        )
        rows = SparseTensor(entries.places, entries.values, shape)
        right = self._unobserved_weight * sparse_math_ops.sparse_tensor_dense_matmul(rows, factors)
        solved = linear_algebra_ops.matrix_solve(left, array_ops.transpose(right))
        return array_ops.transpose(solved)

    def _weighted(
        self, entries: _Entries, factors: Any, left: Any, row_weights: Any, column_weights: Any
    ) -> Any:
        """Return the factors of rows whose entries have weights of their own."""
        of_entries, right = raw.WALSComputePartialLhsAndRhs(
            factors,
            column_weights,
            self._unobserved_weight,
            row_weights,
            entries.places,
            entries.values,
            [],
            entries.num_rows,
            False,
            name="wals_compute_partial_lhs_rhs",
        )
        solved = linear_algebra_ops.matrix_solve(left + of_entries, right[..., None])
        return array_ops.squeeze(solved, [2])

    def _with_losses(
        self,
        side: Side,
        other: Side,
        entries: _Entries,
        factors: Any,
        values: Any,
        entry_weights: Any,
    ) -> Step:
        """Add the losses. Those of elements without an entry follow from the Gramians."""
        gramian, unobserved = other.gramian.tensors[0], self._unobserved_weight
        approximations = raw.MaskedMatmul(values, factors, entries.places, False, True)
        residuals = raw.Square(entries.values - approximations)
        own_gramian = math_ops.matmul(values, values, transpose_a=True)
        squares = reduce_ops.reduce_sum(residuals) - reduce_ops.reduce_sum(
            raw.Square(approximations)
        )
        loss = unobserved * (squares + reduce_ops.reduce_sum(own_gramian * gramian))
        sum_weights = convert.constant(unobserved * side.total * other.total, dtypes.float32)
        scale = float(side.total) / math_ops.cast(entries.num_rows, dtypes.float32)
        if entry_weights is not None:
            loss += reduce_ops.reduce_sum(entry_weights * residuals)
            sum_weights += reduce_ops.reduce_sum(entry_weights) * scale
        regularization = convert.constant(0.0)
        if self._regularization is not None:
            regularization = self._regularization * (
                matrix_ops.trace(own_gramian) * scale + matrix_ops.trace(gramian)
            )
        return Step(entries.ids, values, loss * scale, regularization, sum_weights)


def _found(copies: wals_shards.Copies, ids: Any) -> Any:
    return gather_ops.embedding_lookup(copies.tensors, ids, partition_strategy="div")
