"""Linear models: `tf.estimator.LinearClassifier`, `LinearRegressor` and `LinearEstimator`.

The names of the variables are TensorFlow's (tensorflow/python/estimator/canned/linear.py).
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from capstan import train
from capstan.api import scope_block
from capstan.api.losses import Reduction
from capstan.estimator import estimator
from capstan.estimator.canned import choices, dnn, heads, linear_logits, linear_sdca

_LEARNING_RATE: Final = 0.2


class LinearClassifier(estimator.Estimator):
    """A classifier whose logits are a weighted sum of `feature_columns`, and a bias.

    The arguments have the meaning that they have for `DNNClassifier`. If an example has several ids
    of a categorical column, `sparse_combiner` says how their weights are combined: "sum", "mean" or
    "sqrtn". `partitioner` cuts the weights.

    Raises:
        ValueError: there are fewer than two classes, or an argument of Estimator is wrong.
    """

    def __init__(
        self,
        feature_columns: Iterable[Any],
        model_dir: Any = None,
        n_classes: int = 2,
        weight_column: Any = None,
        label_vocabulary: Sequence[str] | None = None,
        optimizer: Any = "Ftrl",
        config: Any = None,
        partitioner: Any = None,
        warm_start_from: Any = None,
        loss_reduction: str = Reduction.SUM,
        sparse_combiner: str = "sum",
    ) -> None:
        head = choices.classification_head(
            n_classes, weight_column, label_vocabulary, loss_reduction
        )
        model = model_fn(head, feature_columns, optimizer, partitioner, sparse_combiner)
        super().__init__(model, model_dir, config, warm_start_from=warm_start_from)


class LinearRegressor(estimator.Estimator):
    """A regressor whose predictions are computed as the logits of `LinearClassifier`.

    Labels have `label_dimension` numbers for each example. The loss is the squared error.
    """

    def __init__(
        self,
        feature_columns: Iterable[Any],
        model_dir: Any = None,
        label_dimension: int = 1,
        weight_column: Any = None,
        optimizer: Any = "Ftrl",
        config: Any = None,
        partitioner: Any = None,
        warm_start_from: Any = None,
        loss_reduction: str = Reduction.SUM,
        sparse_combiner: str = "sum",
    ) -> None:
        head = heads.RegressionHead(
            weight_column=weight_column,
            label_dimension=label_dimension,
            loss_reduction=loss_reduction,
        )
        model = model_fn(head, feature_columns, optimizer, partitioner, sparse_combiner)
        super().__init__(model, model_dir, config, warm_start_from=warm_start_from)


class LinearEstimator(estimator.Estimator):
    """A model whose logits are those of `LinearClassifier`, and whose `head` the program chooses.

    `partitioner` cuts the weights.
    """

    def __init__(
        self,
        head: heads.Head,
        feature_columns: Iterable[Any],
        model_dir: Any = None,
        optimizer: Any = "Ftrl",
        config: Any = None,
        partitioner: Any = None,
        sparse_combiner: str = "sum",
        warm_start_from: Any = None,
    ) -> None:
        model = model_fn(head, feature_columns, optimizer, partitioner, sparse_combiner)
        super().__init__(model, model_dir, config, warm_start_from=warm_start_from)


def model_fn(
    head: heads.Head,
    feature_columns: Iterable[Any],
    optimizer: Any,
    partitioner: Any,
    sparse_combiner: str,
) -> Any:
    """Return the function that builds the model of an Estimator with this head.

    Raises:
        ValueError: the optimizer is LinearSDCA, and does not fit the model.
    """
    columns = tuple(feature_columns)
    linear_sdca.check(optimizer, head.logits_dimension, sparse_combiner)

    def build(features: Any, labels: Any, mode: str, config: Any) -> Any:
        dnn.check_features(features)
        if isinstance(optimizer, linear_sdca.LinearSDCA):
            return linear_sdca.spec(optimizer, head, features, labels, mode, columns)
        chosen = choices.get_optimizer_instance(
            optimizer or _default_optimizer(columns), _LEARNING_RATE
        )
        with scope_block.variable_scope(
            "linear",
            values=tuple(features.values()),
            partitioner=partitioner or dnn.table_partitioner(config),
        ):
            computed = logits(features, head.logits_dimension, columns, sparse_combiner)
            return head.create_estimator_spec(
                features=features, mode=mode, labels=labels, optimizer=chosen, logits=computed
            )

    return build


def logits(
    features: Mapping[str, Any],
    dimension: int,
    feature_columns: Sequence[Any],
    sparse_combiner: str,
) -> Any:
    """Return `dimension` logits for each example. The variables are in the current scope.

    The summaries are the bias and the share of the other weights that are zero.
    """
    return linear_logits.weighted_sum(features, dimension, feature_columns, sparse_combiner)[0]


def _default_optimizer(columns: Sequence[Any]) -> Any:
    return train.FtrlOptimizer(min(_LEARNING_RATE, 1.0 / math.sqrt(len(columns))))
