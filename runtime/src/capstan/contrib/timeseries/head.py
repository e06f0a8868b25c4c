"""The heads of models of series (contrib/timeseries/python/timeseries/head.py)."""

from collections.abc import Mapping
from typing import Any, Final

from capstan.api import (
    array_ops,
    control_flow_ops,
    creation_ops,
    math_ops,
    metrics,
    nest,
    scope_block,
    sparse_ops,
    state_ops,
    variables,
)
from capstan.api.scoped import scoped
from capstan.contrib.timeseries import feature_checks
from capstan.contrib.timeseries.feature_keys import (
    FilteringFeatures,
    FilteringResults,
    PredictionFeatures,
    PredictionResults,
    SavedModelLabels,
    State,
    TrainEvalFeatures,
)
from capstan.contrib.timeseries.model import ModelOutputs
from capstan.contrib.timeseries.state_names import gathered, state_to_dictionary, without_state
from capstan.core import dtypes
from capstan.estimator import estimator_spec, export_output, mode_keys
from capstan.estimator.canned import head
from capstan.estimator.canned.keys import MetricKeys
from capstan.framework import collections
from capstan.train import summary

_MODES: Final = mode_keys.ModeKeys


class _NoStatePredictOutput(export_output.PredictOutput):
    """Outputs whose signature takes no state."""

    def as_signature_def(self, receiver_tensors: Any) -> Any:
        return super().as_signature_def(without_state(receiver_tensors))


class TimeSeriesRegressionHead:
    """Builds a model of series in each mode.

    An evaluation returns the times, the predictions and the state of its last batch. An export has
    the signatures of `SavedModelLabels`.
    """

    def __init__(
        self, model: Any, state_manager: Any, optimizer: Any,
        input_statistics_generator: Any = None, name: str | None = None,
    ) -> None:  # fmt: skip
        self.model, self.state_manager, self.optimizer = model, state_manager, optimizer
        self.input_statistics_generator = input_statistics_generator
        self._name = name

    @property
    def name(self) -> str | None:
        return self._name

    @property
    def logits_dimension(self) -> int:
        return 1

    def create_estimator_spec(
        self, features: Mapping[str, Any], mode: str, labels: Any = None
    ) -> estimator_spec.EstimatorSpec:
        """Return the EstimatorSpec of the model.

        Raises:
            ValueError: there are labels, or a feature is missing or has a wrong shape.
        """
        with scoped(self._name, "head"):
            if labels is not None and labels != {}:
                raise ValueError(
                    "The model received a `labels`, which is not supported. Pass "
                    f"'{TrainEvalFeatures.TIMES}' and '{TrainEvalFeatures.VALUES}' as features."
                )
            tensors = {name: self._tensor(name, each) for name, each in features.items()}
            if mode != _MODES.PREDICT:
                feature_checks.check_training(tensors, self.model.num_features)
            statistics = None
            if self.input_statistics_generator is not None:
                statistics = self.input_statistics_generator.initialize_graph(
                    tensors, update_statistics=mode == _MODES.TRAIN
                )
            self.model.initialize_graph(input_statistics=statistics)
            tensors, is_exported = gathered(tensors, self.model.get_start_state())
            if mode == _MODES.PREDICT:
                self._check_predict_features(tensors)
            self.state_manager.initialize_graph(model=self.model, input_statistics=statistics)
            if mode == _MODES.TRAIN:
                return self._train_ops(tensors)
            if mode == _MODES.EVAL:
                return self._evaluate_ops(tensors)
            return self._serving_ops(tensors) if is_exported else self._predict_ops(tensors)

    def create_loss(
        self, features: Mapping[str, Any], mode: str, logits: Any = None, labels: Any = None
    ) -> ModelOutputs:
        """Return the outputs of the model, and add a summary of the loss."""
        outputs: ModelOutputs = self.state_manager.define_loss(self.model, features, mode)
        summary.scalar(head.key_of(MetricKeys.LOSS, self._name), outputs.loss)
        return outputs

    def _train_ops(self, features: Mapping[str, Any]) -> estimator_spec.EstimatorSpec:
        with scope_block.variable_scope("model", use_resource=True):
            loss = self.create_loss(features, _MODES.TRAIN).loss
        train_op = head.train_op(loss, self.optimizer, None, None, update_ops=())
        return estimator_spec.EstimatorSpec(_MODES.TRAIN, loss=loss, train_op=train_op)

    def _evaluate_ops(self, features: Mapping[str, Any]) -> estimator_spec.EstimatorSpec:
        with scope_block.variable_scope("model", use_resource=True):
            outputs = self.create_loss(features, _MODES.EVAL)
        found = {name: _last_value(name, each) for name, each in outputs.predictions.items()}
        found[FilteringResults.TIMES] = _last_value(
            FilteringResults.TIMES, outputs.prediction_times
        )
        found |= self._state_metric(outputs.end_state)
        found[MetricKeys.LOSS_MEAN] = metrics.mean(outputs.loss, name="average_loss")
        return estimator_spec.EstimatorSpec(
            _MODES.EVAL, outputs.predictions, outputs.loss, eval_metric_ops=found
        )

    def _state_metric(self, state: Any) -> dict[str, Any]:
        """Return the metric that has the state after the last batch."""
        name = FilteringResults.STATE_TUPLE
        pairs = [
            _last_value(f"{name}_{number}", each) for number, each in enumerate(nest.flatten(state))
        ]
        values = nest.pack_sequence_as(state, [value for value, _ in pairs])
        return {name: (values, control_flow_ops.group(*(update for _, update in pairs)))}

    def _predict_ops(self, features: Mapping[str, Any]) -> estimator_spec.EstimatorSpec:
        with scope_block.variable_scope("model", use_resource=True):
            predictions = self.model.predict(features)
        predictions[PredictionResults.TIMES] = features[PredictionFeatures.TIMES]
        return estimator_spec.EstimatorSpec(_MODES.PREDICT, predictions)

    def _serving_ops(self, features: Mapping[str, Any]) -> estimator_spec.EstimatorSpec:
        with scope_block.variable_scope("model", use_resource=True):
            predictions = self.model.predict(features)
        with scope_block.variable_scope("model", reuse=True):
            filtered = self.create_loss(features, _MODES.EVAL)
        with scope_block.variable_scope("model", reuse=True):
            unknown = {name: each for name, each in features.items() if name != State.STATE_TUPLE}
            started = self.model.define_loss(unknown, _MODES.EVAL)
        labels = SavedModelLabels
        outputs = {
            labels.PREDICT: export_output.PredictOutput(predictions),
            labels.FILTER: export_output.PredictOutput(state_to_dictionary(filtered.end_state)),
            labels.COLD_START_FILTER: _NoStatePredictOutput(state_to_dictionary(started.end_state)),
        }
        return estimator_spec.EstimatorSpec(_MODES.PREDICT, {}, export_outputs=outputs)

    def _check_predict_features(self, features: Mapping[str, Any]) -> None:
        names = (PredictionFeatures.TIMES, PredictionFeatures.STATE_TUPLE)
        feature_checks.check_names(features, names, "prediction")
        # The values are there in an export, for the signatures that filter.
        feature_checks.check_shapes(features, {State.STATE_TUPLE})

    def _tensor(self, name: str, value: Any) -> Any:
        if name == TrainEvalFeatures.TIMES:
            return math_ops.cast(value, dtypes.int64)
        if name == TrainEvalFeatures.VALUES:
            return math_ops.cast(value, self.model.dtype)
        if name == State.STATE_TUPLE:
            return value
        return sparse_ops.convert_to_tensor_or_sparse_tensor(value)


class OneShotPredictionHead(TimeSeriesRegressionHead):
    """A head whose export has one signature without a state.

    It takes `values` of shape [batch, size, num_features], and `times` and exogenous features that
    are longer. It predicts the values of the times after `size`.
    """

    def _check_predict_features(self, features: Mapping[str, Any]) -> None:
        names = (
            PredictionFeatures.TIMES, TrainEvalFeatures.VALUES, PredictionFeatures.STATE_TUPLE,
        )  # fmt: skip
        feature_checks.check_names(features, names, "prediction")
        feature_checks.check_shapes(features, {State.STATE_TUPLE, TrainEvalFeatures.VALUES})

    def _state_metric(self, state: Any) -> dict[str, Any]:
        return {}

    def _serving_ops(self, features: Mapping[str, Any]) -> estimator_spec.EstimatorSpec:
        values = FilteringFeatures.VALUES
        size = array_ops.shape(features[values])[1]
        given = {name: each for name, each in features.items() if name != State.STATE_TUPLE}
        before = {name: each if name == values else each[:, :size] for name, each in given.items()}
        after = {name: each[:, size:] for name, each in given.items() if name != values}
        with scope_block.variable_scope("model", use_resource=True):
            state = self.model.define_loss(before, _MODES.EVAL).end_state
        with scope_block.variable_scope("model", reuse=True):
            predictions = self.model.predict({**after, State.STATE_TUPLE: state})
        outputs = {SavedModelLabels.PREDICT: _NoStatePredictOutput(predictions)}
        return estimator_spec.EstimatorSpec(_MODES.PREDICT, {}, export_outputs=outputs)


def _last_value(name: str, tensor: Any) -> tuple[Any, Any]:
    """Return a metric whose value is the tensor of the last batch, of any shape."""
    variable = variables.Variable(
        creation_ops.zeros([], tensor.dtype),
        trainable=False,
        collections=[collections.GraphKeys.LOCAL_VARIABLES],
        validate_shape=False,
        name=f"{name}_identity_metric",
    )
    update = state_ops.assign(variable, tensor, validate_shape=False)
    return variable.value(), update
