"""The inputs and outputs of the graphs in an estimator's SavedModel.

Source: tensorflow/contrib/estimator/python/estimator/saved_model_estimator.py.
"""

from collections.abc import Mapping
from typing import Any, Final

from capstan.core import dtypes, tensor_shape
from capstan.estimator import mode_keys
from capstan.train.saved_model import constants

_MODES: Final = mode_keys.ModeKeys
_METHODS: Final = {
    _MODES.TRAIN: "tensorflow/supervised/training",
    _MODES.EVAL: "tensorflow/supervised/eval",
}


def signature_for(meta: Any, mode: str) -> Any:
    """Return the SignatureDef of a graph with which an estimator calls it.

    Raises:
        RuntimeError: the graph has no such signature.
    """
    is_prediction = mode == _MODES.PREDICT
    key = constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY if is_prediction else mode
    if key not in meta.signature_def:
        raise RuntimeError(
            f"{mode} mode is not available in the SavedModel: its graph has the signatures "
            f"{sorted(meta.signature_def)}, and not {key!r}."
        )
    return meta.signature_def[key]


def fed(signature: Any, features: Any, labels: Any) -> dict[str, Any]:
    """Return the features and labels by the names of the tensors that they replace.

    Raises:
        ValueError: an input of the graph is missing, or has another dtype or shape.
    """
    given = {**_named(labels, "label"), **_named(features, "feature")}
    found = {}
    for key, info in signature.inputs.items():
        if key not in given:
            raise ValueError(
                f'Key "{key}" not found in features or labels passed in to the model function. '
                f"All required keys: {sorted(signature.inputs)}"
            )
        _check(given[key], info, key)
        found[info.name] = given[key]
    return found


def _named(tensors: Any, default_name: str) -> Mapping[str, Any]:
    if tensors is None:
        return {}
    return tensors if isinstance(tensors, dict) else {default_name: tensors}


def _check(tensor: Any, info: Any, name: str) -> None:
    dtype, shape = dtypes.as_dtype(info.dtype), tensor_shape.TensorShape(info.tensor_shape)
    if tensor.dtype != dtype or not tensor.shape.is_compatible_with(shape):
        raise ValueError(
            f"Tensor shape and/or dtype validation failed for input {name}: "
            f"expected {dtype.name} of shape {shape}, got {tensor.dtype.name} of shape "
            f"{tensor.shape}"
        )


def parts(mode: str, outputs: Mapping[str, Any], method_name: str) -> dict[str, Any]:
    """Return the loss, the predictions and the metrics of an EstimatorSpec.

    Raises:
        RuntimeError: the signature is not one for this mode.
    """
    if mode == _MODES.PREDICT:
        return {"predictions": dict(outputs)}
    if method_name != _METHODS[mode]:
        raise RuntimeError(
            f"Invalid SignatureDef method name for mode {mode}: expected {_METHODS[mode]}, got "
            f"{method_name}. Please ensure that the SavedModel was exported with "
            "`tf.contrib.estimator.export_all_saved_models()`."
        )
    predictions = {
        key: value for key, value in outputs.items() if key.partition("/")[0] == "predictions"
    }
    return {
        "loss": outputs["loss"],
        "predictions": predictions,
        "eval_metric_ops": _metrics(outputs),
    }


def _metrics(outputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values and updates of the metrics, by name."""
    names = {
        key.rpartition("/")[0]
        for key in outputs
        if key.startswith("metrics/") and key.endswith("/value")
    }
    return {
        name: (outputs[f"{name}/value"], outputs[f"{name}/update_op"])
        for name in sorted(names)
        if f"{name}/update_op" in outputs
    }
