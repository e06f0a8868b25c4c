"""`tf.contrib.linear_optimizer.SDCAOptimizer` (contrib/linear_optimizer/python/sdca_optimizer.py).

`tf.contrib.learn` has the models that take it.
"""

from typing import Any

from capstan.estimator.canned import linear_sdca

_LEAST_L2 = 1.0


class SDCAOptimizer:
    """An optimizer for `LinearClassifier` and `LinearRegressor` of `tf.contrib.learn`.

    The arguments are those of `tf.estimator.experimental.LinearSDCA`. The quadratic penalty of the
    algorithm is at least 1.

    Raises:
        ValueError: a penalty is negative, or there is a `partitioner`: the variables of these
            models have one part. `SdcaModel` takes variables with several parts.
    """

    def __init__(
        self,
        example_id_column: str,
        num_loss_partitions: int = 1,
        num_table_shards: int | None = None,
        symmetric_l1_regularization: float = 0.0,
        symmetric_l2_regularization: float = 1.0,
        adaptive: bool = True,
        partitioner: None = None,
    ) -> None:
        if partitioner is not None:
            raise ValueError(
                "SDCAOptimizer takes no partitioner. For weights in several parts, use "
                "tf.contrib.linear_optimizer.SdcaModel."
            )
        if symmetric_l2_regularization < 0.0:
            raise ValueError(
                "symmetric_l2_regularization should be non-negative. Found "
                f"({symmetric_l2_regularization})"
            )
        self.example_id_column = example_id_column
        self.num_loss_partitions = num_loss_partitions
        self.num_table_shards = num_table_shards
        self.symmetric_l1_regularization = symmetric_l1_regularization
        self.symmetric_l2_regularization = symmetric_l2_regularization
        self.adaptive = adaptive

    def get_name(self) -> str:
        """Return the name of the class."""
        return "SDCAOptimizer"

    def as_linear_sdca(self) -> Any:
        """Return the LinearSDCA that trains the same way."""
        return linear_sdca.LinearSDCA(
            self.example_id_column, self.num_loss_partitions, self.num_table_shards,
            self.symmetric_l1_regularization, max(self.symmetric_l2_regularization, _LEAST_L2),
            self.adaptive,
        )  # fmt: skip
