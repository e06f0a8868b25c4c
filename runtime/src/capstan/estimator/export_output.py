"""The outputs of a model that a SavedModel offers to its clients.

Source: tensorflow/python/estimator/export/export_output.py.
"""

import abc
from collections.abc import Mapping
from typing import Any, Final

from capstan.api import context
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework import graph as graphs
from capstan.train.saved_model import signatures

_SEPARATOR: Final = "/"


class ExportOutput(abc.ABC):
    """One output of a model, from which a SignatureDef is made."""

    @abc.abstractmethod
    def as_signature_def(self, receiver_tensors: Any) -> Any:
        """Return the SignatureDef whose inputs are the dictionary `receiver_tensors`."""


class ClassificationOutput(ExportOutput):
    """The output of a classifier: `scores`, `classes` or both.

    `scores` is a float tensor and `classes` a string tensor. Without `scores`, the classes are in
    descending order of their scores. Without `classes`, there is a score for each class id.

    Raises:
        ValueError: both tensors are missing, or a tensor has another dtype.
    """

    def __init__(self, scores: Any = None, classes: Any = None) -> None:
        if scores is not None and not _is_floating(scores):
            raise ValueError(f"Classification scores must be a float32 Tensor; got {scores}")
        if classes is not None and not _is_text(classes):
            raise ValueError(f"Classification classes must be a string Tensor; got {classes}")
        if scores is None and classes is None:
            raise ValueError("At least one of scores and classes must be set.")
        self._scores, self._classes = scores, classes

    @property
    def scores(self) -> Any:
        return self._scores

    @property
    def classes(self) -> Any:
        return self._classes

    def as_signature_def(self, receiver_tensors: Any) -> Any:
        """Return a SignatureDef for TensorFlow Serving's Classify.

        Raises:
            ValueError: `receiver_tensors` is not one string tensor.
        """
        examples = _only_examples("Classification", receiver_tensors)
        return signatures.classification_signature_def(examples, self.classes, self.scores)


class RegressionOutput(ExportOutput):
    """The output of a regression: the float tensor `value`.

    Raises:
        ValueError: `value` is not a float tensor.
    """

    def __init__(self, value: Any) -> None:
        if not _is_floating(value):
            raise ValueError(f"Regression output value must be a float32 Tensor; got {value}")
        self._value = value

    @property
    def value(self) -> Any:
        return self._value

    def as_signature_def(self, receiver_tensors: Any) -> Any:
        """Return a SignatureDef for TensorFlow Serving's Regress.

        Raises:
            ValueError: `receiver_tensors` is not one string tensor.
        """
        examples = _only_examples("Regression", receiver_tensors)
        return signatures.regression_signature_def(examples, self.value)


class PredictOutput(ExportOutput):
    """Any tensors by name. A single tensor gets the name `output`.

    Raises:
        ValueError: a name is not a string, or a value is not a tensor.
    """

    def __init__(self, outputs: Any) -> None:
        self._outputs = _named_tensors(outputs, "output", "Prediction")

    @property
    def outputs(self) -> dict[str, Any]:
        return self._outputs

    def as_signature_def(self, receiver_tensors: Any) -> Any:
        """Return a SignatureDef for TensorFlow Serving's Predict."""
        return signatures.predict_signature_def(receiver_tensors, self.outputs)


class SupervisedOutput(ExportOutput):
    """The loss, the predictions and the metrics of a graph for training or evaluation.

    The name of each tensor begins with `loss`, `predictions` or `metrics`. A metric is a tuple of a
    value and an update, and becomes the outputs `metrics/NAME/value` and `metrics/NAME/update_op`.

    Raises:
        ValueError: a name is not a string, or a value is not a tensor.
    """

    _method_name = ""

    def __init__(self, loss: Any = None, predictions: Any = None, metrics: Any = None) -> None:
        self._loss = None if loss is None else _prefixed(loss, "loss")
        self._predictions = None if predictions is None else _prefixed(predictions, "predictions")
        self._metrics = None if metrics is None else _metric_tensors(metrics)

    @property
    def loss(self) -> dict[str, Any] | None:
        return self._loss

    @property
    def predictions(self) -> dict[str, Any] | None:
        return self._predictions

    @property
    def metrics(self) -> dict[str, Any] | None:
        return self._metrics

    def as_signature_def(self, receiver_tensors: Any) -> Any:
        """Return the SignatureDef of a supervised step.

        Raises:
            ValueError: `receiver_tensors` is empty.
        """
        outputs = {**(self.predictions or {}), **(self.loss or {}), **(self.metrics or {})}
        signature = signatures.predict_signature_def(receiver_tensors, outputs)
        signature.method_name = self._method_name
        return signature


class TrainOutput(SupervisedOutput):
    """The outputs of a graph for training."""

    _method_name = "tensorflow/supervised/training"


class EvalOutput(SupervisedOutput):
    """The outputs of a graph for evaluation."""

    _method_name = "tensorflow/supervised/eval"


def _is_floating(tensor: Any) -> bool:
    return isinstance(tensor, graphs.Tensor) and tensor.dtype.is_floating


def _is_text(tensor: Any) -> bool:
    return isinstance(tensor, graphs.Tensor) and tensor.dtype.base_dtype == dtypes.string


def _only_examples(kind: str, receiver_tensors: Mapping[str, Any]) -> Any:
    """Return the only tensor of a dictionary, which holds serialized Examples."""
    tensors = list(receiver_tensors.values())
    if len(tensors) != 1 or not _is_text(tensors[0]):
        raise ValueError(f"{kind} input must be a single string Tensor; got {receiver_tensors}")
    return tensors[0]


def _checked_key(key: Any, kind: str) -> str:
    # The heads of a model with several heads have tuples as keys.
    if isinstance(key, tuple):
        key = _SEPARATOR.join(key)
    if not isinstance(key, str):
        raise ValueError(f"{kind} output key must be a string; got {key}.")
    return key


def _named_tensors(outputs: Any, default_name: str, kind: str) -> dict[str, Any]:
    tensors = outputs if isinstance(outputs, dict) else {default_name: outputs}
    for value in tensors.values():
        if not isinstance(value, graphs.Tensor):
            raise ValueError(f"{kind} output value must be a Tensor; got {value}.")
    return {_checked_key(key, kind): value for key, value in tensors.items()}


def _with_prefix(key: str, prefix: str) -> str:
    return key if key.startswith(prefix) else prefix + _SEPARATOR + key


def _prefixed(outputs: Any, prefix: str) -> dict[str, Any]:
    tensors = _named_tensors(outputs, prefix, prefix)
    return {_with_prefix(key, prefix): tensor for key, tensor in tensors.items()}


def _metric_tensors(metrics: Any) -> dict[str, Any]:
    outputs: dict[str, Any] = {}
    for name, (value, update) in (
        metrics if isinstance(metrics, dict) else {"metrics": metrics}
    ).items():
        key = _with_prefix(_checked_key(name, "metrics"), "metrics")
        if not isinstance(value, graphs.Tensor):
            raise ValueError(f"{key} output value must be a Tensor; got {value}.")
        if not isinstance(update, graphs.Tensor | graphs.Operation):
            raise ValueError(f"{key} update_op must be a Tensor or Operation; got {update}.")
        outputs[f"{key}/value"] = value
        outputs[f"{key}/update_op"] = _as_tensor(update)
    return outputs


def _as_tensor(update: Any) -> graphs.Tensor:
    """Return a tensor whose computation runs `update`. A SignatureDef names tensors only."""
    if isinstance(update, graphs.Tensor):
        return update
    with context.control_dependencies([update]):
        return convert.constant([], name="metric_op_wrapper")
