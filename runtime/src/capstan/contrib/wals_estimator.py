"""`tf.contrib.factorization.WALSMatrixFactorization` (contrib/factorization/python/ops/wals.py)."""

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

from capstan.api import cond_ops
from capstan.contrib import wals_model, wals_sweeps
from capstan.contrib.learn import estimators
from capstan.contrib.learn.mode_keys import ModeKeys
from capstan.contrib.learn.model_fn import ModelFnOps
from capstan.framework import grouping


class WALSMatrixFactorization(estimators.Estimator):
    """Factors of the rows and columns of a sparse matrix, trained in turns.

    The arguments are those of `tf.contrib.factorization.WALSModel`. `regularization_coeff` is its
    `regularization`. The caches serve training. In a sweep, all rows get the best factors for the
    factors of the columns, or the other way round. Training ends after `max_sweeps` sweeps. The
    global step counts batches.

    An input function returns features, and None for the labels. INPUT_ROWS is a float32
    SparseTensor [num_rows, num_cols] with some rows, and INPUT_COLS one [num_cols, num_rows] with
    some columns, transposed. Training needs both, and all rows and columns one after another: a
    sweep ends when it has seen all. Predictions and evaluations need PROJECT_ROW, a boolean scalar:
    whether rows count, or columns. PROJECTION_WEIGHTS are the weights of the new rows or columns,
    which are 1 by default.

    Raises:
        ValueError: there are several workers, or an argument is wrong for WALSModel.
    """

    INPUT_ROWS: ClassVar[str] = "input_rows"
    INPUT_COLS: ClassVar[str] = "input_cols"
    PROJECT_ROW: ClassVar[str] = "project_row"
    PROJECTION_WEIGHTS: ClassVar[str] = "projection_weights"
    PROJECTION_RESULT: ClassVar[str] = "projection"
    COMPLETED_SWEEPS: ClassVar[str] = wals_sweeps.COMPLETED_SWEEPS
    LOSS: ClassVar[str] = wals_sweeps.LOSS
    RWSE: ClassVar[str] = wals_sweeps.RWSE

    def __init__(
        self,
        num_rows: int,
        num_cols: int,
        embedding_dimension: int,
        unobserved_weight: float = 0.1,
        regularization_coeff: float | None = None,
        row_init: Any = "random",
        col_init: Any = "random",
        num_row_shards: int = 1,
        num_col_shards: int = 1,
        row_weights: Any = 1,
        col_weights: Any = 1,
        use_factors_weights_cache_for_training: bool = True,
        use_gramian_cache_for_training: bool = True,
        max_sweeps: int | None = None,
        model_dir: Any = None,
        config: Any = None,
    ) -> None:
        self._shards = {"row": num_row_shards, "col": num_col_shards}

        def model_fn(features: Any, labels: Any, mode: str) -> ModelFnOps:
            if labels is not None:
                raise ValueError("The input function of WALSMatrixFactorization returns labels.")
            is_trained = mode == ModeKeys.TRAIN
            model = wals_model.WALSModel(
                num_rows, num_cols, embedding_dimension, unobserved_weight, regularization_coeff,
                row_init, col_init, num_row_shards, num_col_shards, row_weights, col_weights,
                use_factors_weights_cache_for_training and is_trained,
                use_gramian_cache_for_training and is_trained,
            )  # fmt: skip
            rows, columns = features[self.INPUT_ROWS], features[self.INPUT_COLS]
            if is_trained:
                return _trained(model, rows, columns, (num_rows, num_cols), max_sweeps)
            if mode == ModeKeys.INFER:
                return self._predicted(model, features, rows, columns)
            loss = cond_ops.cond(
                features[self.PROJECT_ROW],
                lambda: _loss(model.update_row_factors(rows, transpose_input=False)),
                lambda: _loss(model.update_col_factors(columns, transpose_input=True)),
            )
            return ModelFnOps(ModeKeys.EVAL, {}, loss, grouping.no_op(), {})

        super().__init__(model_fn, model_dir, config)
        if self.config.num_worker_replicas > 1:
            raise ValueError(
                "WALSMatrixFactorization must be run on a single worker replica, not on "
                f"{self.config.num_worker_replicas}."
            )

    def get_row_factors(self) -> list[Any]:
        """Return the factors of the rows, one array for each shard.

        Raises:
            ValueError: the model is not trained.
        """
        return self._factors("row")

    def get_col_factors(self) -> list[Any]:
        """Return the factors of the columns, as `get_row_factors`."""
        return self._factors("col")

    def get_projections(self, input_fn: Callable[[], Any]) -> Iterator[Any]:
        """Yield the factors of rows or columns, of which the model need not know any.

        Rows need a model that has trained rows, and columns one that has trained columns.
        Blocks for each batch. Raises ValueError if the model is not trained.
        """
        for found in self.predict(input_fn=input_fn):
            yield found[self.PROJECTION_RESULT]

    def _factors(self, axis: str) -> list[Any]:
        return [
            self.get_variable_value(f"{axis}_factors_shard_{number}")
            for number in range(self._shards[axis])
        ]

    def _predicted(self, model: Any, features: Any, rows: Any, columns: Any) -> ModelFnOps:
        weights = features.get(self.PROJECTION_WEIGHTS)
        found = cond_ops.cond(
            features[self.PROJECT_ROW],
            lambda: model.project_row_factors(rows, False, weights),
            lambda: model.project_col_factors(columns, True, weights),
        )
        return ModelFnOps(ModeKeys.INFER, {self.PROJECTION_RESULT: found}, None, grouping.no_op())


def _trained(
    model: Any, rows: Any, columns: Any, sizes: tuple[int, int], max_sweeps: int | None
) -> ModelFnOps:
    progress = wals_sweeps.Progress()
    by_row = progress.axis(
        "rows", sizes[0], rows, model.update_row_factors(rows, transpose_input=False)
    )
    by_column = progress.axis(
        "cols", sizes[1], columns, model.update_col_factors(columns, transpose_input=True)
    )
    rows_first = [model.row_update_prep_gramian_op, model.initialize_row_update_op]
    columns_first = [model.col_update_prep_gramian_op, model.initialize_col_update_op]
    hooks = [
        wals_sweeps.SweepHook(
            progress, model.worker_init, (by_row, rows_first), (by_column, columns_first)
        ),
        wals_sweeps.StepHook(),
    ]
    if max_sweeps is not None:
        hooks.append(wals_sweeps.StopAtSweepHook(progress, max_sweeps))
    return ModelFnOps(ModeKeys.TRAIN, {}, progress.loss, grouping.no_op(), {}, training_hooks=hooks)


def _loss(update: Any) -> Any:
    """Return the loss of the result of `update_row_factors`, with its penalty."""
    _, _, loss, penalty, _ = update
    return loss + penalty
