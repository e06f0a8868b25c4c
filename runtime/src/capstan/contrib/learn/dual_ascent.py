"""The function of a linear model of `tf.contrib.learn` that dual coordinate ascent trains."""

from collections.abc import Iterable
from typing import Any

from capstan.api import feature_column, scope_block
from capstan.contrib.learn import head_estimators
from capstan.contrib.learn.mode_keys import ModeKeys
from capstan.estimator.canned import linear_sdca

_PREFIX = "linear/linear_model/"
"""The scope of the variables of `tf.feature_column.linear_model`."""


def model_fn(
    head: Any,
    feature_columns: Iterable[Any],
    optimizer: linear_sdca.LinearSDCA,
    weight_column_name: str | None,
    loss: str,
) -> Any:
    """Return the function of a model. The variables have the names of TensorFlow's checkpoints.

    `loss` is a name of a loss of the operation SdcaOptimizerV2.
    """
    columns = list(feature_columns)

    def build(features: Any, labels: Any, mode: str, config: Any = None) -> Any:
        features = head_estimators.by_name(features)
        held = _Weights()
        with scope_block.variable_scope("linear", custom_getter=held.named):
            logits = feature_column.linear_model(features, columns)
        if mode != ModeKeys.TRAIN:
            return head.create_model_fn_ops(features, mode, labels, logits=logits)
        train_op, update = linear_sdca.step(
            optimizer, features, labels, weight_column_name, loss,
            {column: [held[column.scope_name]] for column in columns}, [held["bias"]],
        )  # fmt: skip
        made = head.create_model_fn_ops(features, mode, labels, lambda _: train_op, logits=logits)
        return made._replace(training_chief_hooks=[update])

    return build


class _Weights(dict[str, Any]):
    """The variables of a linear model by the scopes of their columns. One is `bias`."""

    def named(self, getter: Any, name: str, *args: Any, **kwargs: Any) -> Any:
        """Return a variable of `tf.feature_column.linear_model` with the name of contrib."""
        path = name.removeprefix(_PREFIX).removesuffix("s")
        found = getter(f"linear/{path}", *args, **kwargs)
        self["bias" if path == "bias_weight" else path.removesuffix("/weight")] = found
        return found
