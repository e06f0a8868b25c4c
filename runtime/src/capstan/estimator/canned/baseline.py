"""Models that ignore the features: `tf.estimator.BaselineClassifier` and its kin.

Source: tensorflow/python/estimator/canned/baseline.py.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from capstan import train
from capstan.api import check_ops, context, init_ops, scope_block, variable_scope
from capstan.api.losses import Reduction
from capstan.estimator import estimator
from capstan.estimator.canned import choices, heads
from capstan.framework.raw import raw

_LEARNING_RATE: Final = 0.3


class BaselineClassifier(estimator.Estimator):
    """A classifier that learns how frequent each class is.

    The arguments have the meaning that they have for `DNNClassifier`.

    Raises:
        ValueError: there are fewer than two classes, or an argument of Estimator is wrong.
    """

    def __init__(
        self,
        model_dir: Any = None,
        n_classes: int = 2,
        weight_column: Any = None,
        label_vocabulary: Sequence[str] | None = None,
        optimizer: Any = "Ftrl",
        config: Any = None,
        loss_reduction: str = Reduction.SUM,
    ) -> None:
        head = choices.classification_head(
            n_classes, weight_column, label_vocabulary, loss_reduction
        )
        super().__init__(_model_fn(head, optimizer, weight_column), model_dir, config)


class BaselineRegressor(estimator.Estimator):
    """A regressor that learns the mean of the labels.

    Labels have `label_dimension` numbers for each example. The loss is the squared error.
    """

    def __init__(
        self,
        model_dir: Any = None,
        label_dimension: int = 1,
        weight_column: Any = None,
        optimizer: Any = "Ftrl",
        config: Any = None,
        loss_reduction: str = Reduction.SUM,
    ) -> None:
        head = heads.RegressionHead(
            weight_column=weight_column,
            label_dimension=label_dimension,
            loss_reduction=loss_reduction,
        )
        super().__init__(_model_fn(head, optimizer, weight_column), model_dir, config)


class BaselineEstimator(estimator.Estimator):
    """A model whose logits are the same for each example, and whose `head` the program chooses."""

    def __init__(
        self, head: heads.Head, model_dir: Any = None, optimizer: Any = "Ftrl", config: Any = None
    ) -> None:
        super().__init__(_model_fn(head, optimizer, None), model_dir, config)


def _model_fn(head: heads.Head, optimizer: Any, weight_column: Any) -> Callable[..., Any]:
    def build(features: Any, labels: Any, mode: str) -> Any:
        def train_op_fn(loss: Any) -> Any:
            chosen = choices.get_optimizer_instance(optimizer, _LEARNING_RATE)
            return chosen.minimize(loss, global_step=train.get_global_step())

        return head.create_estimator_spec(
            features=features,
            mode=mode,
            labels=labels,
            train_op_fn=train_op_fn,
            logits=_logits(features, head.logits_dimension, weight_column),
        )

    return build


def _logits(features: Mapping[str, Any], dimension: int, weight_column: Any) -> Any:
    """Return the same logits for each example. The features must have one number of examples."""
    weights = getattr(weight_column, "key", weight_column)
    # A served model gets no weights, so their number is not looked at.
    counts = [raw.Shape(value)[0] for key, value in features.items() if key != weights]
    if not counts:
        raise ValueError("The features are empty, so the number of examples is unknown.")
    checks = [check_ops.assert_equal(counts[0], count) for count in counts[1:]]
    with context.control_dependencies(checks), scope_block.variable_scope("baseline"):
        bias = variable_scope.get_variable("bias", [dimension], initializer=init_ops.Zeros())
        return raw.Mul(bias, raw.Fill(raw.Pack([counts[0], dimension]), 1.0))
