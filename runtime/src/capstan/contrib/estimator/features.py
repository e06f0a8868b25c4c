"""`tf.contrib.estimator.forward_features`: predictions that name their examples.

Source: tensorflow_estimator/contrib/estimator/python/estimator/extenders.py.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from capstan.api import sparse_math_ops, sparse_ops
from capstan.estimator import estimator as estimators
from capstan.estimator import estimator_spec, export_output
from capstan.framework import graph as graphs
from capstan.framework import sparse_tensor


def forward_features(
    estimator: estimators.Estimator,
    keys: str | Sequence[str] | None = None,
    sparse_default_values: Mapping[str, Any] | None = None,
) -> estimators.Estimator:
    """Return an estimator with the same model and folder, whose predictions have features too.

    `keys` names these features. The default is all. A sparse feature becomes dense, with its value
    of `sparse_default_values` where it has no value. The signatures `predict` and `serving_default`
    of an export have these features too, if they are PredictOutputs.

    Raises:
        TypeError: `keys` is neither a string nor a list of strings.
        ValueError: when a graph is built, if a key is missing in the features or is also the name
            of a prediction, or if a feature is sparse and has no default value.
    """
    chosen = _checked_keys(keys)
    defaults = sparse_default_values or {}

    def model_fn(
        features: Any, labels: Any, mode: str, config: Any
    ) -> estimator_spec.EstimatorSpec:
        spec = estimator.model_fn(features, labels, mode, config)
        names = tuple(features) if chosen is None else chosen
        _check(names, features, spec.predictions)
        added = {name: _dense(name, features[name], defaults) for name in names}
        exports = {
            name: _with_outputs(name, output, added)
            for name, output in (spec.export_outputs or {}).items()
        }
        return spec._replace(
            predictions={**spec.predictions, **added}, export_outputs=exports or None
        )

    return estimators.Estimator(model_fn, estimator.model_dir, estimator.config)


def _checked_keys(keys: Any) -> tuple[str, ...] | None:
    if keys is None:
        return None
    if isinstance(keys, str):
        return (keys,)
    if not isinstance(keys, list | tuple):
        raise TypeError(f"keys should be either a string or a list of strings. Given: {type(keys)}")
    for key in keys:
        if not isinstance(key, str):
            raise TypeError(
                "All items in the given keys list should be a string. There exist an item with "
                f"type: {type(key)}"
            )
    return tuple(keys)


def _check(names: Iterable[str], features: Mapping[str, Any], predictions: Any) -> None:
    if not isinstance(predictions, dict):
        raise ValueError(  # noqa: TRY004 - TensorFlow's error
            "Predictions should be a dict to be able to forward features. Given: "
            f"{type(predictions)}"
        )
    for name in names:
        if name not in features:
            raise ValueError(
                f'keys should be exist in features. Key "{name}" is not in features dict. '
                f"features dict has following keys: {list(features)}. Please check arguments of "
                "forward_features."
            )
        if name in predictions:
            raise ValueError(
                f"Cannot forward feature key ({name}). Since it does exist in predictions. "
                f"Existing prediction keys: {list(predictions)}. Please check arguments of "
                "forward_features."
            )


def _dense(name: str, feature: Any, defaults: Mapping[str, Any]) -> Any:
    feature = sparse_ops.convert_to_tensor_or_sparse_tensor(feature)
    if name in defaults:
        if not isinstance(feature, sparse_tensor.SparseTensor):
            raise ValueError(f"Feature ({name}) is expected to be a `SparseTensor`.")
        return sparse_math_ops.sparse_tensor_to_dense(feature, default_value=defaults[name])
    if not isinstance(feature, graphs.Tensor):
        raise ValueError(  # noqa: TRY004 - TensorFlow's error
            f"Feature ({name}) should be a Tensor. Please use `keys` argument of forward_features "
            "to filter unwanted features, or add key to argument `sparse_default_values`. "
            f"Type of features[{name}] is {type(feature)}."
        )
    return feature


def _with_outputs(name: str, output: Any, added: Mapping[str, Any]) -> Any:
    """Return the export output with further tensors, if it is one of predictions."""
    is_open = isinstance(output, export_output.PredictOutput)
    if not is_open or name not in ("predict", "serving_default"):
        return output
    return export_output.PredictOutput({**output.outputs, **added})
