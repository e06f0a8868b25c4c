"""`tf.estimator.EstimatorSpec`: the model that a `model_fn` returns.

Source: tensorflow/python/estimator/model_fn.py.
"""

from typing import Any, NamedTuple, Self

from capstan.api import array_ops, control_flow_ops, nest, variables
from capstan.core import tensor_shape
from capstan.estimator import export_output, mode_keys
from capstan.framework import collections
from capstan.framework import graph as graphs
from capstan.train import hook as hooks
from capstan.train import scaffold as scaffolds
from capstan.train.saved_model import constants

_MODES = mode_keys.ModeKeys
_LOCAL = collections.GraphKeys.LOCAL_VARIABLES
_METRICS = collections.GraphKeys.METRIC_VARIABLES


class _Fields(NamedTuple):
    mode: str
    predictions: Any = None
    loss: Any = None
    train_op: Any = None
    eval_metric_ops: Any = None
    export_outputs: Any = None
    training_chief_hooks: Any = None
    training_hooks: Any = None
    scaffold: Any = None
    evaluation_hooks: Any = None
    prediction_hooks: Any = None


class EstimatorSpec(_Fields):
    """The operations and hooks of a model in one mode.

    Training needs `loss` and `train_op`, evaluation needs `loss`, and prediction needs
    `predictions`, a tensor or a dictionary of tensors. The other fields are optional in each mode.
    The loss has one element. `eval_metric_ops` holds tuples of a value and an update op by name,
    as the functions of `tf.metrics` return them. A metric of Keras becomes such a tuple, and its
    variables become local variables. `export_outputs` holds ExportOutputs by the names
    of signatures. The default is one PredictOutput of the predictions.

    Raises:
        TypeError: a field is of another type.
        ValueError: a field of the mode is missing, the loss has several elements, a tensor is not
            of the default graph, or none of several export outputs is the default.
    """

    __slots__ = ()

    def __new__(
        cls,
        mode: str,
        predictions: Any = None,
        loss: Any = None,
        train_op: Any = None,
        eval_metric_ops: Any = None,
        export_outputs: Any = None,
        training_chief_hooks: Any = None,
        training_hooks: Any = None,
        scaffold: Any = None,
        evaluation_hooks: Any = None,
        prediction_hooks: Any = None,
    ) -> Self:
        train_op = _checked_train_op(train_op, mode)
        loss = _checked_loss(loss, mode)
        predictions = _checked_predictions(predictions, mode)
        eval_metric_ops = _checked_metrics(eval_metric_ops)
        if mode == _MODES.PREDICT:
            export_outputs = checked_export_outputs(export_outputs, predictions)
        _check_graph(predictions, loss, train_op, eval_metric_ops)
        all_hooks = [
            tuple(each or ())
            for each in (training_chief_hooks, training_hooks, evaluation_hooks, prediction_hooks)
        ]
        for hook in (hook for group in all_hooks for hook in group):
            if not isinstance(hook, hooks.SessionRunHook):
                raise TypeError(f"All hooks must be SessionRunHook instances, given: {hook}")
        scaffold = scaffold or scaffolds.Scaffold()
        if not isinstance(scaffold, scaffolds.Scaffold):
            raise TypeError(f"scaffold must be tf.train.Scaffold. Given: {scaffold}")
        return super().__new__(
            cls,
            mode=mode,
            predictions=predictions,
            loss=loss,
            train_op=train_op,
            eval_metric_ops=eval_metric_ops,
            export_outputs=export_outputs,
            training_chief_hooks=all_hooks[0],
            training_hooks=all_hooks[1],
            scaffold=scaffold,
            evaluation_hooks=all_hooks[2],
            prediction_hooks=all_hooks[3],
        )

    def _replace(self, **kwds: Any) -> Self:
        """Return a copy with other values of some fields. All fields are checked again.

        Raises:
            ValueError: `mode` differs, or a name is not a field.
        """
        if kwds.get("mode", self.mode) != self.mode:
            raise ValueError("mode of EstimatorSpec cannot be changed.")
        unknown = sorted(set(kwds) - set(self._fields))
        if unknown:
            raise ValueError(f"Got unexpected field names: {unknown}")
        return type(self)(**{**self._asdict(), **kwds})


def checked_export_outputs(export_outputs: Any, predictions: Any) -> dict[str, Any]:
    """Return the ExportOutputs by name, one of which is the default.

    Raises:
        TypeError: `export_outputs` is not a dictionary of ExportOutputs.
        ValueError: none of several outputs has the default name.
    """
    default = constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY
    if export_outputs is None:
        export_outputs = {default: export_output.PredictOutput(predictions)}
    if not isinstance(export_outputs, dict):
        raise TypeError(f"export_outputs must be dict, given: {export_outputs}")
    if not all(isinstance(each, export_output.ExportOutput) for each in export_outputs.values()):
        raise TypeError(
            f"Values in export_outputs must be ExportOutput objects. Given: {export_outputs}"
        )
    if len(export_outputs) > 1 and default not in export_outputs:
        raise ValueError(
            "Multiple export_outputs were provided, but none of them is specified as the default.  "
            "Do this by naming one of them with "
            "signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY."
        )
    if not export_outputs:
        return {}
    return {default: next(iter(export_outputs.values())), **export_outputs}


def export_outputs_for_mode(
    mode: str,
    serving_export_outputs: Any = None,
    predictions: Any = None,
    loss: Any = None,
    metrics: Any = None,
) -> dict[str, Any]:
    """Return the ExportOutputs of a graph by the names of signatures.

    Raises:
        ValueError: `mode` is not a mode.
    """
    if mode == _MODES.PREDICT:
        return checked_export_outputs(serving_export_outputs, predictions)
    if mode == _MODES.TRAIN:
        return {mode: export_output.TrainOutput(loss, predictions, metrics)}
    if mode == _MODES.EVAL:
        return {mode: export_output.EvalOutput(loss, predictions, metrics)}
    raise ValueError(f"Export output type not found for mode: {mode}")


def _is_tensor(value: Any) -> bool:
    return isinstance(value, graphs.Tensor | variables.Variable)


def _check_runnable(value: Any, name: str) -> None:
    if not (isinstance(value, graphs.Operation) or _is_tensor(value)):
        raise TypeError(f"{name} must be Operation or Tensor, given: {value}")


def _check_tensor(value: Any, name: str) -> None:
    if not _is_tensor(value):
        raise TypeError(f"{name} must be Tensor, given: {value}")


def _checked_train_op(train_op: Any, mode: str) -> Any:
    if train_op is not None:
        _check_runnable(train_op, "train_op")
    elif mode == _MODES.TRAIN:
        raise ValueError("Missing train_op.")
    return train_op


def _checked_loss(loss: Any, mode: str) -> Any:
    """Return the loss as a scalar."""
    if loss is None:
        if mode in (_MODES.TRAIN, _MODES.EVAL):
            raise ValueError("Missing loss.")
        return None
    _check_tensor(loss, "loss")
    shape = loss.get_shape()
    if shape.num_elements() not in (None, 1):
        raise ValueError(f"Loss must be scalar, given: {loss}")
    if not shape.is_compatible_with(tensor_shape.TensorShape([])):
        return array_ops.reshape(loss, [])
    return loss


def _checked_predictions(predictions: Any, mode: str) -> Any:
    if predictions is None:
        if mode == _MODES.PREDICT:
            raise ValueError("Missing predictions.")
        return {}
    if isinstance(predictions, dict):
        for key, value in predictions.items():
            _check_tensor(value, f"predictions[{key}]")
        return dict(predictions)
    _check_tensor(predictions, "predictions")
    return predictions


def _checked_metrics(eval_metric_ops: Any) -> dict[str, Any]:
    if eval_metric_ops is None:
        return {}
    if not isinstance(eval_metric_ops, dict):
        raise TypeError(f"eval_metric_ops must be a dict, given: {eval_metric_ops}")
    pairs = {key: _pair(metric) for key, metric in eval_metric_ops.items()}
    for key, metric in pairs.items():
        if not isinstance(metric, tuple) or len(metric) != 2:
            raise TypeError(
                "Values of eval_metric_ops must be (metric_value, update_op) tuples, given: "
                f"{metric} for key: {key}"
            )
        # A metric may have several values, but only one update.
        for value in (*nest.flatten(metric[0]), metric[1]):
            _check_runnable(value, f"eval_metric_ops[{key}]")
    return pairs


def _pair(metric: Any) -> Any:
    """Return the value and the update of a metric of Keras, and any other metric as it is.

    Raises:
        ValueError: the program has not called `update_state`.
    """
    # Estimators do not import Keras, which loads only for programs that use it.
    if not (hasattr(metric, "update_state") and hasattr(metric, "result")):
        return metric
    if not metric.updates:
        raise ValueError(f'Please call update_state(...) on the "{metric.name}" metric')
    for collection in (_LOCAL, _METRICS):
        collected = graphs.get_default_graph().get_collection_ref(collection)
        for variable in metric.variables:
            if not any(variable is other for other in collected):
                collected.append(variable)
    return metric.result(), control_flow_ops.group(*metric.updates)


def _check_graph(predictions: Any, loss: Any, train_op: Any, metrics: dict[str, Any]) -> None:
    """Check that all tensors are of the default graph."""
    checked: list[tuple[str, str, Any]] = []
    if isinstance(predictions, dict):
        for key, value in predictions.items():
            checked.append(("prediction values", f"{key}: {value.name}", value))
    else:
        checked.append(("prediction values", predictions.name, predictions))
    checked += [
        (field, value.name, value)
        for field, value in (("loss", loss), ("train_op", train_op))
        if value is not None
    ]
    for key, metric in metrics.items():
        for value in nest.flatten(metric):
            checked.append(("eval_metric_ops", f"{key}: {value.name}", value))
    graph = graphs.get_default_graph()
    for field, name, value in checked:
        if value.graph is not graph:
            raise ValueError(
                f'{field} with "{name}" must be from the default graph. Possible causes of this '
                f"error include: \n\n1) {field} was created outside the context of the default "
                "graph.\n\n2) The object passed through to EstimatorSpec was not created in the "
                'most recent call to "model_fn".'
            )
