"""`tf.contrib.learn.SVM` (contrib/learn/python/learn/estimators/svm.py)."""

from collections.abc import Iterable
from typing import Any

from capstan.api import feature_column, scope_block
from capstan.contrib.learn import estimators, head_estimators, heads
from capstan.contrib.learn.mode_keys import ModeKeys
from capstan.contrib.learn.prediction_key import PredictionKey
from capstan.estimator.canned import linear_sdca

_LEAST_L2 = 1.0
_PREFIX = "linear/linear_model/"
"""The scope of the variables of `tf.feature_column.linear_model`."""


class SVM(estimators.Estimator):
    """A linear support vector machine of two classes, trained by dual coordinate ascent.

    The features have a string for each example in `example_id_column`, which finds its dual
    variable. `l1_regularization` and `l2_regularization` are the penalties of the weights, for the
    whole data. The second one is at least 1. `num_loss_partitions` is the number of workers that
    train at the same time. The variables have the names of TensorFlow's checkpoints.

    Raises:
        ValueError: `kernels` are given, or a penalty is negative.
    """

    def __init__(
        self,
        example_id_column: str,
        feature_columns: Iterable[Any],
        weight_column_name: str | None = None,
        model_dir: Any = None,
        l1_regularization: float = 0.0,
        l2_regularization: float = 0.0,
        num_loss_partitions: int = 1,
        kernels: None = None,
        config: Any = None,
        feature_engineering_fn: Any = None,
    ) -> None:
        if kernels is not None:
            raise ValueError("Kernel SVMs are not currently supported.")
        if l2_regularization < 0.0:
            raise ValueError(
                f"symmetric_l2_regularization should be non-negative. Found ({l2_regularization})"
            )
        columns = list(feature_columns)
        optimizer = linear_sdca.LinearSDCA(
            example_id_column, num_loss_partitions, None, l1_regularization,
            max(l2_regularization, _LEAST_L2), adaptive=True,
        )  # fmt: skip
        head = heads.binary_svm_head(weight_column_name=weight_column_name)

        def model_fn(features: Any, labels: Any, mode: str) -> Any:
            features = head_estimators.by_name(features)
            held = _Weights()
            with scope_block.variable_scope("linear", custom_getter=held.named):
                logits = feature_column.linear_model(features, columns)
            if mode != ModeKeys.TRAIN:
                return head.create_model_fn_ops(features, mode, labels, logits=logits)
            train_op, update = linear_sdca.step(
                optimizer, features, labels, weight_column_name, "hinge_loss",
                {column: [held[column.scope_name]] for column in columns}, [held["bias"]],
            )  # fmt: skip
            made = head.create_model_fn_ops(
                features, mode, labels, lambda _: train_op, logits=logits
            )
            return made._replace(training_chief_hooks=[update])

        super().__init__(model_fn, model_dir, config, None, feature_engineering_fn)

    def predict_classes(
        self, x: Any = None, input_fn: Any = None, batch_size: int | None = None,
        as_iterable: bool = True,
    ) -> Any:  # fmt: skip
        """Return the class of each example, 0 or 1. Raises as `Estimator.predict`."""
        return self._predict_key(PredictionKey.CLASSES, x, input_fn, batch_size, as_iterable)


class _Weights(dict[str, Any]):
    """The variables of a linear model by the scopes of their columns. One is `bias`."""

    def named(self, getter: Any, name: str, *args: Any, **kwargs: Any) -> Any:
        """Return a variable of `tf.feature_column.linear_model` with the name of contrib."""
        path = name.removeprefix(_PREFIX).removesuffix("s")
        found = getter(f"linear/{path}", *args, **kwargs)
        self["bias" if path == "bias_weight" else path.removesuffix("/weight")] = found
        return found
