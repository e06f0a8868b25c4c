"""`tf.contrib.factorization.WALSModel` (contrib/factorization/python/ops/factorization_ops.py)."""

import contextlib
from typing import Any

from capstan.api import control_flow_ops, variable_collections
from capstan.api.context import name_scope
from capstan.contrib import wals_shards, wals_update
from capstan.framework import convert

__all__ = ["WALSModel"]

Updated = tuple[Any, Any, Any, Any, Any]


class WALSModel:
    """Factors u and v of the rows and columns of a sparse matrix a, by alternating least squares.

    The loss is the sum of `w_ij (a_ij - u_i v_j)^2` over all i and j, plus `regularization` times
    the sum of the squares of all factors. `w_ij` is `unobserved_weight`, and for the entries of the
    matrix `unobserved_weight + row_weights[i] * col_weights[j]`. An update computes the factors of
    some rows that are best for the factors of the columns, or the other way round.

    `row_init` and `col_init` are "random", the factors, or a list of the factors of each shard.
    `row_weights` and `col_weights` are numbers, lists with the weights of each shard, or both None:
    all weights are then `unobserved_weight`. With the caches, each worker has copies of the factors
    and weights (`use_factors_weights_cache`) and of the Gramians (`use_gramian_cache`).

    Once, the chief runs `initialize_op`, and then each worker `worker_init`. Before a sweep over
    the rows, the chief runs `row_update_prep_gramian_op`, and then each worker
    `initialize_row_update_op`. Sweeps over columns have operations of their own.

    Raises:
        ValueError: only one kind of weights is None, a weight is negative, or there are not as many
            lists as shards.
    """

    def __init__(
        self,
        input_rows: int,
        input_cols: int,
        n_components: int,
        unobserved_weight: float = 0.1,
        regularization: float | None = None,
        row_init: Any = "random",
        col_init: Any = "random",
        num_row_shards: int = 1,
        num_col_shards: int = 1,
        row_weights: Any = 1,
        col_weights: Any = 1,
        use_factors_weights_cache: bool = True,
        use_gramian_cache: bool = True,
        use_scoped_vars: bool = False,
    ) -> None:
        if (row_weights is None) != (col_weights is None):
            raise ValueError("Pass None for both of row_weights and col_weights, or for neither.")
        self._loss = wals_update.Loss(n_components, unobserved_weight, regularization)

        def scoped(name: str) -> Any:
            return name_scope(name) if use_scoped_vars else contextlib.nullcontext()

        # The order decides the tasks to which a device function of parameter servers gives shards.
        with scoped("row_weights"):
            self._row_weights = wals_shards.weights(
                row_weights, input_rows, num_row_shards, "row_weights"
            )
        with scoped("col_weights"):
            self._col_weights = wals_shards.weights(
                col_weights, input_cols, num_col_shards, "col_weights"
            )
        with scoped("row_factors"):
            self._row_factors = wals_shards.factors(
                input_rows, n_components, num_row_shards, row_init, "row_factors"
            )
        with scoped("col_factors"):
            self._col_factors = wals_shards.factors(
                input_cols, n_components, num_col_shards, col_init, "col_factors"
            )
        self._row_gramian = wals_shards.gramian(n_components, "row_gramian")
        self._col_gramian = wals_shards.gramian(n_components, "col_gramian")
        with name_scope("row_prepare_gramian"):
            self._prepare_row_update = wals_shards.computed(self._col_gramian, self._col_factors)
        with name_scope("col_prepare_gramian"):
            self._prepare_col_update = wals_shards.computed(self._row_gramian, self._row_factors)
        with name_scope("transient_vars"):
            self._rows, self._cols = (
                wals_update.Side(
                    count,
                    wals_shards.copies(factors, f"{name}_factors_cache", use_factors_weights_cache),
                    wals_shards.copies(weights, f"{name}_wt_cache", use_factors_weights_cache),
                    wals_shards.copies([gramian], f"{name}_gramian_cache", use_gramian_cache),
                )
                for name, count, factors, weights, gramian in (
                    ("row", input_rows, self._row_factors, self._row_weights, self._row_gramian),
                    ("col", input_cols, self._col_factors, self._col_weights, self._col_gramian),
                )
            )
            self._worker_init = control_flow_ops.group(
                self._rows.weights.fill, self._cols.weights.fill, name="worker_init"
            )
            self._initialize_row_update = wals_update.started(fill=self._cols, empty=self._rows)
            self._initialize_col_update = wals_update.started(fill=self._rows, empty=self._cols)

    @property
    def row_factors(self) -> list[Any]:
        """The variables with the factors of the rows, one for each shard."""
        return self._row_factors

    @property
    def col_factors(self) -> list[Any]:
        """The variables with the factors of the columns, one for each shard."""
        return self._col_factors

    @property
    def row_weights(self) -> list[Any] | None:
        """The variables with the weights of the rows, one for each shard, or None."""
        return self._row_weights

    @property
    def col_weights(self) -> list[Any] | None:
        """The variables with the weights of the columns, one for each shard, or None."""
        return self._col_weights

    @property
    def initialize_op(self) -> Any:
        """A new operation that initializes the factors, the weights and the Gramians."""
        weights = [*(self._row_weights or ()), *(self._col_weights or ())]
        gramians = [self._row_gramian, self._col_gramian]
        return variable_collections.variables_initializer(
            [*self._row_factors, *self._col_factors, *gramians, *weights]
        )

    @property
    def worker_init(self) -> Any:
        """The operation that copies the weights to the worker.

        Run it again if the weights have changed.
        """
        return self._worker_init

    @property
    def row_update_prep_gramian_op(self) -> Any:
        """The operation that computes the Gramian of the columns. One task runs it."""
        return self._prepare_row_update

    @property
    def col_update_prep_gramian_op(self) -> Any:
        """The operation that computes the Gramian of the rows. One task runs it."""
        return self._prepare_col_update

    @property
    def initialize_row_update_op(self) -> Any:
        """The operation that copies to the worker what updates of rows need."""
        return self._initialize_row_update

    @property
    def initialize_col_update_op(self) -> Any:
        """The operation that copies to the worker what updates of columns need."""
        return self._initialize_col_update

    def update_row_factors(self, sp_input: Any = None, transpose_input: bool = False) -> Updated:
        """Update the factors of the rows that have entries in `sp_input`.

        `sp_input` has these rows with all of their entries, at their places in the whole matrix. If
        `transpose_input` is true, it has them as columns. Return `(new_values, update_op,
        unregularized_loss, regularization, sum_weights)`. `new_values` are the factors in the order
        in which `sp_input` has the rows. The losses and the sum of the weights are estimates for
        the whole matrix, from these rows.
        """
        step = self._loss.step(self._rows, self._cols, sp_input, transpose_input)
        rows = self._rows.total
        op = wals_shards.update(self._row_factors, rows, step.ids, step.values, "row_update")
        return step.values, op, step.unregularized_loss, step.regularization, step.sum_weights

    def update_col_factors(self, sp_input: Any = None, transpose_input: bool = False) -> Updated:
        """Update the factors of the columns that have entries in `sp_input`.

        The arguments and results are those of `update_row_factors`, for columns. If
        `transpose_input` is true, `sp_input` has the columns as rows.
        """
        step = self._loss.step(self._cols, self._rows, sp_input, not transpose_input)
        cols = self._cols.total
        op = wals_shards.update(self._col_factors, cols, step.ids, step.values, "col_update")
        return step.values, op, step.unregularized_loss, step.regularization, step.sum_weights

    def project_row_factors(
        self, sp_input: Any = None, transpose_input: bool = False, projection_weights: Any = None
    ) -> Any:
        """Return the best factors of new rows, in the order in which `sp_input` has them.

        The columns of `sp_input` are those of the model. `projection_weights` is the weight of the
        rows, or a vector with the weight of each (default: 1).
        """
        weights = convert.convert_to_tensor(1 if projection_weights is None else projection_weights)
        return self._loss.step(self._rows, self._cols, sp_input, transpose_input, weights).values

    def project_col_factors(
        self, sp_input: Any = None, transpose_input: bool = False, projection_weights: Any = None
    ) -> Any:
        """Return the best factors of new columns, as `project_row_factors` does of rows."""
        weights = convert.convert_to_tensor(1 if projection_weights is None else projection_weights)
        is_transposed = not transpose_input
        return self._loss.step(self._cols, self._rows, sp_input, is_transposed, weights).values
