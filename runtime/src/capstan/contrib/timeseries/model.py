"""What all models of series share (contrib/timeseries/python/timeseries/model.py)."""

import abc
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from capstan.api import (
    array_ops,
    creation_ops,
    example_ops,
    feature_column,
    math_ops,
    nest,
)
from capstan.contrib.timeseries.feature_keys import PredictionFeatures, TrainEvalFeatures
from capstan.contrib.timeseries.statistics import InputStatistics
from capstan.core import dtypes
from capstan.framework import graph as graphs
from capstan.framework.raw import raw

_RESERVED = (
    TrainEvalFeatures.TIMES, TrainEvalFeatures.VALUES, PredictionFeatures.STATE_TUPLE,
)  # fmt: skip


class ModelOutputs(NamedTuple):
    """The loss of a batch, the state after it, its predictions by name, and their times."""

    loss: Any
    end_state: Any
    predictions: Any
    prediction_times: Any


class TimeSeriesModel(abc.ABC):
    """A model of series with `num_features` values at a time.

    `exogenous_feature_columns` are columns of `tf.feature_column` for features that the model does
    not predict. A model belongs to the graph of the last call of `initialize_graph`.
    """

    def __init__(
        self, num_features: int, exogenous_feature_columns: Sequence[Any] | None = None,
        dtype: Any = dtypes.float32,
    ) -> None:  # fmt: skip
        self._exogenous_feature_columns = list(exogenous_feature_columns or ())
        self.num_features, self.dtype = num_features, dtype
        self._input_statistics: InputStatistics | None = None
        self._graph_initialized = False

    @property
    def exogenous_feature_columns(self) -> list[Any]:
        return self._exogenous_feature_columns

    def initialize_graph(self, input_statistics: InputStatistics | None = None) -> None:
        """Begin to build the model in the default graph. The statistics scale its values."""
        self._graph_initialized = True
        self._input_statistics = input_statistics

    def define_loss(self, features: Mapping[str, Any], mode: str) -> ModelOutputs:
        """Return the outputs for a batch of series that begin with the start state.

        Raises:
            ValueError: `initialize_graph` has not been called, or features are wrong.
        """
        if not self._graph_initialized:
            raise ValueError("TimeSeriesModels require initialize_graph() to be called before use.")
        count = array_ops.shape(features[TrainEvalFeatures.TIMES])[0]
        state = nest.map_structure(lambda each: _replicated(each, count), self.get_start_state())
        return self.get_batch_loss(features, mode, state)

    @abc.abstractmethod
    def get_start_state(self) -> Any:
        """Return the state before a series, a structure of tensors without a batch."""

    @abc.abstractmethod
    def get_batch_loss(self, features: Mapping[str, Any], mode: str, state: Any) -> ModelOutputs:
        """Return the outputs for a batch of series that begin with `state`."""

    @abc.abstractmethod
    def predict(self, features: Mapping[str, Any]) -> dict[str, Any]:
        """Return the predictions for times after a state, by name."""

    def _scale_data(self, data: Any) -> Any:
        """Return values of a series as values of the model."""
        if self._input_statistics is None:
            return data
        mean, variance = self._input_statistics.overall_feature_moments
        return (data - mean) / raw.Sqrt(variance)

    def _scale_back_data(self, data: Any) -> Any:
        """Return values of the model as values of a series."""
        if self._input_statistics is None:
            return data
        mean, variance = self._input_statistics.overall_feature_moments
        return data * raw.Sqrt(variance) + mean

    def _scale_back_variance(self, variance: Any) -> Any:
        if self._input_statistics is None:
            return variance
        return variance * self._input_statistics.overall_feature_moments.variance

    def _exogenous_size(self) -> int:
        """Return the number of numbers that the exogenous columns have at a time."""
        if not self._exogenous_feature_columns:
            return 0
        with graphs.Graph().as_default():
            spec = feature_column.make_parse_example_spec(self._exogenous_feature_columns)
            examples = creation_ops.placeholder(dtypes.string, [None])
            parsed = example_ops.parse_example(examples, spec)
            dense = feature_column.input_layer(parsed, self._exogenous_feature_columns)
            return int(dense.shape.as_list()[-1])

    def _process_exogenous_features(self, times: Any, features: Mapping[str, Any]) -> Any:
        """Return the exogenous features of shape [batch, window, size], or None without columns.

        Raises:
            ValueError: the rank of a feature is unknown.
        """
        if not self._exogenous_feature_columns:
            return None
        rows = {
            name: _rows(name, tensor)
            for name, tensor in features.items()
            if name not in _RESERVED
        }  # fmt: skip
        dense = feature_column.input_layer(rows, self._exogenous_feature_columns, trainable=True)
        sizes = array_ops.concat([array_ops.shape(times), array_ops.shape(dense)[1:]], 0)
        regressors = array_ops.reshape(dense, sizes)
        regressors.set_shape(times.shape.concatenate(dense.shape[1:]))
        return math_ops.cast(regressors, self.dtype)


def _rows(name: str, tensor: Any) -> Any:
    """Return a feature with a row for each time of each series."""
    rank = tensor.shape.ndims
    if rank is None:
        raise ValueError(
            "Features with unknown rank are not supported. "
            f"Got shape {tensor.shape} for feature {name}."
        )
    sizes = array_ops.shape(tensor)
    merged = array_ops.reshape(tensor, array_ops.concat([[sizes[0] * sizes[1]], sizes[2:]], 0))
    merged.set_shape([None, *tensor.shape.as_list()[2:]])
    is_scalar = rank == 2 and tensor.dtype != dtypes.string
    return array_ops.expand_dims(merged, 1) if is_scalar else merged


def _replicated(state: Any, count: Any) -> Any:
    """Return a state for each series of a batch."""
    ones = [1] * state.shape.ndims
    return array_ops.tile(array_ops.expand_dims(state, 0), array_ops.stack([count, *ones]))
