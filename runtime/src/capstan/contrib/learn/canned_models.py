"""How the estimators of `tf.contrib.learn` use the models of `tf.estimator`.

Sources: contrib/learn/python/learn/estimators/{prediction_key,dnn}.py.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from capstan.api import array_ops, scope_block, variable_scope
from capstan.contrib.estimator import clipping
from capstan.contrib.layers import feature_columns as columns_of
from capstan.contrib.learn import estimators
from capstan.estimator.canned import keys

_DENSE: Final = {"kernel": "weights", "bias": "biases"}
"""The variables of a layer of `tf.layers`, and their names in `tf.contrib.layers`."""


class PredictionKey:
    """The names of predictions (prediction_key.py)."""

    CLASSES: Final = "classes"
    PROBABILITIES: Final = "probabilities"
    LOGITS: Final = "logits"
    LOGISTIC: Final = "logistic"
    SCORES: Final = "scores"
    TOP_K: Final = "top_k"
    GENERIC: Final = "output"


class Canned(estimators.Estimator):
    """An estimator whose model is that of `core`, an estimator of `tf.estimator`."""

    def __init__(
        self, core: Any, config: Any, feature_engineering_fn: Any, named: Callable[[Any], Any]
    ) -> None:
        """`named` returns the predictions under the names of `PredictionKey`."""

        def build(features: Any, labels: Any, mode: str, config: Any) -> Any:
            scope = variable_scope.get_variable_scope()
            with scope_block.variable_scope(scope, custom_getter=renamed):
                spec = core.model_fn(by_name(features), labels, mode, config)
            return spec._replace(predictions=named(spec.predictions))

        super().__init__(build, core.model_dir, config, None, feature_engineering_fn)

    def _predicted(
        self, key: str, x: Any, input_fn: Any, batch_size: int | None, as_iterable: bool
    ) -> Any:
        found = super().predict(x, input_fn, batch_size, [key], as_iterable)
        return (each[key] for each in found) if as_iterable else found[key]


class Classifier(Canned):
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
        return self._predicted(PredictionKey.CLASSES, x, input_fn, batch_size, as_iterable)

    def predict_proba(
        self, x: Any = None, input_fn: Any = None, batch_size: int | None = None,
        as_iterable: bool = True,
    ) -> Any:  # fmt: skip
        """Return the probabilities of the classes for each example."""
        return self._predicted(PredictionKey.PROBABILITIES, x, input_fn, batch_size, as_iterable)


class Regressor(Canned):
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
        return self._predicted(PredictionKey.SCORES, x, input_fn, batch_size, as_iterable)


def renamed(getter: Callable[..., Any], name: str, *args: Any, **kwargs: Any) -> Any:
    """Return a variable. Those of deep layers have the names of `tf.contrib.layers`."""
    layer, _, kind = name.rpartition("/")
    is_dense = layer.startswith("dnn/") and kind in _DENSE
    return getter(f"{layer}/{_DENSE[kind]}" if is_dense else name, *args, **kwargs)


def by_name(features: Any) -> Any:
    """Return features by name, also if they are one tensor or have no name."""
    if not isinstance(features, Mapping):
        return {columns_of.UNNAMED: features}
    return {name or columns_of.UNNAMED: tensor for name, tensor in features.items()}


def classes(has_words: bool) -> Callable[[Any], Any]:
    """Return the function that names the predictions of a classifier."""
    found = keys.PredictionKeys.CLASSES if has_words else keys.PredictionKeys.CLASS_IDS

    def named(predictions: Any) -> Any:
        if predictions is None:
            return None
        chosen = array_ops.squeeze(predictions[found], 1)
        return {**predictions, PredictionKey.CLASSES: chosen}

    return named


def scores(predictions: Any) -> Any:
    """Return the predictions of a regressor, with the scores. One score is not a vector."""
    if predictions is None:
        return None
    found = predictions[keys.PredictionKeys.PREDICTIONS]
    if found.shape.ndims == 2 and found.shape.as_list()[1] == 1:
        found = array_ops.squeeze(found, 1)
    return {**predictions, PredictionKey.SCORES: found}


def optimizer(given: Any, default: str, clip_norm: float | None) -> Any:
    """Return an optimizer for `tf.estimator`: a name, an Optimizer or a function."""
    chosen = given or default
    if clip_norm is None:
        return chosen
    if isinstance(chosen, str):
        message = "gradient_clip_norm needs an optimizer: pass an Optimizer as `optimizer`"
        raise ValueError(message)  # noqa: TRY004 - the value is wrong, not its type
    make = chosen if callable(chosen) else lambda: chosen
    return lambda: clipping.clip_gradients_by_norm(make(), clip_norm)


def refuse(centered_bias: bool, multipliers: Any) -> None:
    if centered_bias:
        raise ValueError("enable_centered_bias is not supported. Leave it out")
    if multipliers:
        raise ValueError("embedding_lr_multipliers are not supported. Leave them out")
