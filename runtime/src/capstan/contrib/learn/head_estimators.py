"""What the estimators share whose model has a head: those of `dnn`, `linear` and both.

Sources: contrib/learn/python/learn/estimators/{dnn,linear,dnn_linear_combined}.py. The models are
those of `tf.estimator`, with the names of their variables. Only the layers of deep networks have
`weights` and `biases`, and linear models of old columns have names such as `linear/age/weight`, as
in TensorFlow. The heads are those of `contrib.learn.heads`.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from capstan.api import nn, partitioners, scope_block, variable_collections, variable_scope
from capstan.api.feature_column import columns as categories
from capstan.api.feature_column import dense
from capstan.contrib.estimator import clipping
from capstan.contrib.layers import feature_columns as columns_of
from capstan.contrib.learn import estimators, single_head
from capstan.contrib.learn import run_config as run_configs
from capstan.contrib.learn.prediction_key import PredictionKey
from capstan.estimator.canned import choices
from capstan.estimator.canned import head as core

_DENSE: Final = {"kernel": "weights", "bias": "biases"}
"""The variables of a layer of `tf.layers`, and their names in `tf.contrib.layers`."""

_LINEAR: Final = "linear/linear_model/"
"""The scope of the variables of `tf.feature_column.linear_model` in an estimator."""

LINEAR_RATE: Final = 0.2
"""The greatest default learning rate of linear models."""

_ACTIVATIONS: Final[Mapping[str, Any]] = {"relu": nn.relu, "tanh": nn.tanh, "sigmoid": nn.sigmoid}


class _CoreHead:
    """The part of `canned.head.Head` that the models use."""

    def __init__(self, head: single_head.Head, *, is_trained: bool) -> None:
        self._head, self._is_trained = head, is_trained
        self.logits_dimension = head.logits_dimension

    def create_estimator_spec(
        self, features: Any, mode: str, logits: Any, labels: Any = None, optimizer: Any = None,
        train_op_fn: Callable[[Any], Any] | None = None,
    ) -> Any:  # fmt: skip
        """Return the ModelFnOps of the head."""
        of_model = None if self._is_trained else variable_collections.trainable_variables()
        updates = None if self._is_trained else ()

        def train(loss: Any) -> Any:
            return core.train_op(loss, optimizer, of_model, train_op_fn, updates)

        return self._head.create_model_fn_ops(features, mode, labels, train, logits=logits)


class HeadEstimator(estimators.Estimator):
    """An estimator with the function of a model of `tf.estimator`, which has a `core_head`.

    Features may be one tensor, for the column with an empty name.
    """

    def __init__(
        self, model: Callable[..., Any], model_dir: Any, config: Any, feature_engineering_fn: Any
    ) -> None:
        def build(features: Any, labels: Any, mode: str, config: Any) -> Any:
            scope = variable_scope.get_variable_scope()
            with scope_block.variable_scope(scope, custom_getter=_renamed):
                return model(by_name(features), labels, mode, config)

        config = config or run_configs.RunConfig()
        super().__init__(build, model_dir, config, None, feature_engineering_fn)


class Classifier(HeadEstimator):
    """An estimator whose predictions are classes."""

    def predict(
        self, x: Any = None, input_fn: Any = None, batch_size: int | None = None,
        outputs: Any = None, as_iterable: bool = True,
    ) -> Any:  # fmt: skip
        """Return the classes of examples, or dictionaries of `outputs`, as `Estimator.predict`."""
        if outputs:
            return super().predict(x, input_fn, batch_size, outputs, as_iterable)
        return self.predict_classes(x, input_fn, batch_size, as_iterable)

    def predict_classes(
        self, x: Any = None, input_fn: Any = None, batch_size: int | None = None,
        as_iterable: bool = True,
    ) -> Any:  # fmt: skip
        """Return the class of each example: a number, or one of the `label_keys`."""
        return self._predict_key(PredictionKey.CLASSES, x, input_fn, batch_size, as_iterable)

    def predict_proba(
        self, x: Any = None, input_fn: Any = None, batch_size: int | None = None,
        as_iterable: bool = True,
    ) -> Any:  # fmt: skip
        """Return the probabilities of the classes for each example."""
        return self._predict_key(PredictionKey.PROBABILITIES, x, input_fn, batch_size, as_iterable)


class Regressor(HeadEstimator):
    """An estimator whose predictions are numbers."""

    def predict(
        self, x: Any = None, input_fn: Any = None, batch_size: int | None = None,
        outputs: Any = None, as_iterable: bool = True,
    ) -> Any:  # fmt: skip
        """Return the scores of examples, or dictionaries of `outputs`, as `Estimator.predict`."""
        if outputs:
            return super().predict(x, input_fn, batch_size, outputs, as_iterable)
        return self.predict_scores(x, input_fn, batch_size, as_iterable)

    def predict_scores(
        self, x: Any = None, input_fn: Any = None, batch_size: int | None = None,
        as_iterable: bool = True,
    ) -> Any:  # fmt: skip
        """Return the score of each example."""
        return self._predict_key(PredictionKey.SCORES, x, input_fn, batch_size, as_iterable)


def core_head(head: single_head.Head, *, is_trained: bool = True) -> Any:
    """Return a head for the models of `tf.estimator`, which returns ModelFnOps.

    If it `is_trained`, a training step also runs the operations in UPDATE_OPS, and the optimizer of
    the model also changes variables of the head.
    """
    return _CoreHead(head, is_trained=is_trained)


def by_name(features: Any) -> Any:
    """Return features by name, also if they are one tensor or have no name."""
    if not isinstance(features, Mapping):
        return {columns_of.UNNAMED: features}
    return {name or columns_of.UNNAMED: tensor for name, tensor in features.items()}


def with_names_of_contrib(model_fn: Any, linear_columns: Iterable[Any]) -> Any:
    """Return `model_fn`, whose linear model has the names of variables that contrib gives it.

    As in TensorFlow, columns of `tf.feature_column` have the names of `tf.estimator`.
    """
    columns = list(linear_columns)
    if not all(isinstance(column, columns_of.OldColumn) for column in columns):
        return model_fn
    names = {f"{_LINEAR}{column.scope_name}/weights": _weight_of(column) for column in columns}
    names[f"{_LINEAR}bias_weights"] = "linear/bias_weight"

    def renamed(getter: Any, name: str, *args: Any, **kwargs: Any) -> Any:
        return getter(names.get(name, name), *args, **kwargs)

    def build(features: Any, labels: Any, mode: str, config: Any) -> Any:
        scope = variable_scope.get_variable_scope()
        with scope_block.variable_scope(scope, custom_getter=renamed):
            return model_fn(features, labels, mode, config)

    return build


def _weight_of(column: Any) -> str:
    name: str = column.scope_name
    if name == columns_of.UNNAMED:
        name = ""
    if isinstance(column, dense.IndicatorColumn):
        name = f"{name.removesuffix('_indicator')}_one_hot"
    is_table = isinstance(column, categories.CategoricalColumn)
    return f"linear/{name}/{'weights' if is_table else 'weight'}"


def optimizer(given: Any, default: str, rate: float, clip_norm: float | None) -> Any:
    """Return a function that returns an Optimizer: `given`, or the one with the name `default`.

    `given` is a name, an Optimizer, a function, or None. Those with a name have the learning rate
    `rate`. With `clip_norm`, the optimizer limits the global norm of the gradients.
    """

    def make() -> Any:
        made = choices.get_optimizer_instance(given or default, rate)
        return made if clip_norm is None else clipping.clip_gradients_by_norm(made, clip_norm)

    return make


def linear_rate(count: int) -> float:
    """Return the default learning rate of a linear model with `count` columns."""
    return min(LINEAR_RATE, 1.0 / math.sqrt(max(count, 1)))


def activation(given: Any) -> Any:
    """Return a function of layers, or the one with the name `given`.

    Raises:
        ValueError: there is no such name.
    """
    if not isinstance(given, str):
        return given
    if given not in _ACTIVATIONS:
        names = ", ".join(_ACTIVATIONS)
        raise ValueError(f"Activation name should be one of [{names}], you provided {given}.")
    return _ACTIVATIONS[given]


def input_partitioner(config: Any, min_slice_size: int | None) -> Any:
    """Return a partitioner with a part of a table for each parameter server.

    A part has at least `min_slice_size` bytes. Return None if this is None or 0.
    """
    if not min_slice_size:
        return None
    replicas = (config or run_configs.RunConfig()).num_ps_replicas
    return partitioners.min_max_variable_partitioner(replicas, min_slice_size=min_slice_size)


def refuse_multipliers(embedding_lr_multipliers: Any) -> None:
    """Raise ValueError if there are rates of embeddings."""
    if embedding_lr_multipliers:
        raise ValueError("embedding_lr_multipliers are not supported. Leave them out")


def _renamed(getter: Callable[..., Any], name: str, *args: Any, **kwargs: Any) -> Any:
    """Return a variable. Those of deep layers have the names of `tf.contrib.layers`."""
    layer, _, kind = name.rpartition("/")
    is_dense = layer.startswith("dnn/") and kind in _DENSE
    return getter(f"{layer}/{_DENSE[kind]}" if is_dense else name, *args, **kwargs)
