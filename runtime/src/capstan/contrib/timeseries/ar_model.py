"""Models that predict a window of a series from the window before it.

Source: contrib/timeseries/python/timeseries/ar_model.py. The name scope of the variables ends with
a slash, so a variable has one name inside and outside of a loop.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from capstan.api import (
    array_ops,
    creation_ops,
    math_ops,
    reduce_ops,
    scope_block,
    tensor_array_ops,
    while_ops,
)
from capstan.contrib.timeseries import feature_checks, log_prob, model, windows
from capstan.contrib.timeseries.feature_keys import PredictionFeatures, TrainEvalFeatures
from capstan.contrib.timeseries.prediction_models import FlatPredictionModel
from capstan.contrib.timeseries.statistics import InputStatistics
from capstan.core import dtypes
from capstan.estimator.mode_keys import ModeKeys
from capstan.framework import convert
from capstan.framework.raw import raw

_SCOPE: Final = "model/"
State = tuple[Any, Any, Any]
"""The times, the scaled values and the exogenous features of the last input window."""


class ARModel(model.TimeSeriesModel):
    """A model of the next `output_window_size` values after `input_window_size` values.

    `prediction_model_factory` takes `num_features` and the sizes of both windows. It returns a
    model of Keras, whose call takes the features of both windows and returns `mean` and
    `covariance`. Each of `periodicities` adds `num_time_buckets` features. A time has the feature
    of its part of the period, with the share of the part that has passed, and zeros for the others.

    The loss is the likelihood of normal distributions, or `ARModel.SQUARED_LOSS` without variances.

    Raises:
        ValueError: there is neither a period nor an input window, a size is not positive, or the
            loss is unknown.
    """

    SQUARED_LOSS: Final = "squared_loss"
    NORMAL_LIKELIHOOD_LOSS: Final = "normal_likelihood_loss"

    def __init__(
        self,
        periodicities: Any,
        input_window_size: int,
        output_window_size: int,
        num_features: int,
        prediction_model_factory: Callable[..., Any] = FlatPredictionModel,
        num_time_buckets: int = 10,
        loss: str = NORMAL_LIKELIHOOD_LOSS,
        exogenous_feature_columns: Sequence[Any] | None = None,
    ) -> None:
        super().__init__(num_features, exogenous_feature_columns)
        self._factory = prediction_model_factory
        self.input_window_size, self.output_window_size = input_window_size, output_window_size
        self.window_size = input_window_size + output_window_size
        self.loss = loss
        self.exogenous_size = self._exogenous_size()
        self._buckets = int(num_time_buckets)
        is_list = isinstance(periodicities, list | tuple)
        periods = periodicities if is_list else [periodicities] if periodicities else []
        self._periods = [int(period) for period in periods]
        self._check()

    def _check(self) -> None:
        if self.loss not in (self.SQUARED_LOSS, self.NORMAL_LIKELIHOOD_LOSS):
            raise ValueError(f"Unknown loss {self.loss}. Use one of the losses of ARModel")
        if not self._periods and not self.input_window_size:
            raise ValueError("ARModel needs periodicities or an input_window_size above 0")
        if min([self._buckets, self.output_window_size, *self._periods]) <= 0:
            raise ValueError("periodicities, num_time_buckets and output_window_size must be > 0")

    def initialize_graph(self, input_statistics: InputStatistics | None = None) -> None:
        """Begin to build the model in the default graph, with a new prediction model."""
        super().initialize_graph(input_statistics)
        self._prediction_model = self._factory(
            num_features=self.num_features, input_window_size=self.input_window_size,
            output_window_size=self.output_window_size,
        )  # fmt: skip

    def get_start_state(self) -> State:
        """Return zeros, of which only the shapes matter."""
        size = self.input_window_size
        return (
            creation_ops.zeros([size], dtypes.int64),
            creation_ops.zeros([size, self.num_features], self.dtype),
            creation_ops.zeros([size, self.exogenous_size], self.dtype),
        )

    def prediction_ops(self, times: Any, values: Any, exogenous_regressors: Any) -> dict[str, Any]:
        """Return the predictions for an output window.

        The times and the exogenous features are those of both windows, side by side. The values are
        those of the input window.
        """
        count, sizes = array_ops.shape(times)[0], [self.input_window_size, self.output_window_size]
        inputs, outputs = [], []
        known = times.shape.as_list()[0]
        for features, size in (
            (self._time_features(times), len(self._periods) * self._buckets),
            (exogenous_regressors, self.exogenous_size),
        ):
            if size:
                before, after = array_ops.split(features, sizes, 1)
                inputs.append(before)
                outputs.append(after)
        if self.input_window_size:
            inputs.insert(1 if self._periods else 0, values)
        if not outputs:
            outputs.append(creation_ops.zeros(array_ops.stack([count, sizes[1], 0]), self.dtype))
        joined = [array_ops.concat(parts, 2) for parts in (inputs, outputs)]
        total = len(self._periods) * self._buckets + self.exogenous_size
        joined[0].set_shape([known, sizes[0], total + self.num_features * bool(sizes[0])])
        joined[1].set_shape([known, sizes[1], total])
        with scope_block.variable_scope(_SCOPE, use_resource=True):
            found: dict[str, Any] = self._prediction_model(*joined)
        for each in found.values():
            each.set_shape([None, self.output_window_size, self.num_features])
        return found

    def loss_op(self, targets: Any, prediction_ops: Mapping[str, Any]) -> Any:
        """Return the mean loss of the elements of an output window."""
        mean = prediction_ops["mean"]
        if self.loss == self.SQUARED_LOSS:
            return reduce_ops.reduce_mean(math_ops.squared_difference(mean, targets))
        return -reduce_ops.reduce_mean(
            log_prob.normal(targets, log_prob.deviation(prediction_ops["covariance"]), mean)
        )

    def get_batch_loss(
        self, features: Mapping[str, Any], mode: str, state: Any
    ) -> model.ModelOutputs:
        """Return the outputs for one window during a training, or for a whole series.

        An evaluation covers the end of the series with output windows that do not overlap.

        Raises:
            ValueError: the series has another size than both windows together, or a smaller size
                during an evaluation.
        """
        times = math_ops.cast(features[TrainEvalFeatures.TIMES], dtypes.int64)
        values = math_ops.cast(features[TrainEvalFeatures.VALUES], self.dtype)
        exogenous = self._process_exogenous_features(times, features)
        if mode == ModeKeys.TRAIN:
            return self._window(times, values, exogenous, mode)
        feature_checks.check_series(times, self.input_window_size, self.output_window_size)
        return self._evaluate(times, values, exogenous, state)

    def _window(self, times: Any, values: Any, exogenous: Any, mode: str) -> model.ModelOutputs:
        """Return the outputs for an input window and the output window after it."""
        feature_checks.check_window(times, self.input_window_size, self.output_window_size)
        scaled, border = self._scale_data(values), self.input_window_size
        found = self.prediction_ops(times, scaled[:, :border, :], exogenous)
        mean = self._scale_back_data(found["mean"])
        if mode == ModeKeys.EVAL and self.loss == self.SQUARED_LOSS:
            loss = self.loss_op(values[:, border:, :], {"mean": mean})
        else:
            loss = self.loss_op(scaled[:, border:, :], found)
        start = self.output_window_size
        return model.ModelOutputs(
            loss,
            (times[:, start:], values[:, start:, :], exogenous[:, start:, :]),
            {
                "mean": mean,
                "covariance": self._scale_back_variance(found["covariance"]),
                "observed": values[:, border:],
            },
            times[:, border:],
        )

    def _evaluate(
        self, times: Any, values: Any, exogenous: Any, state: State
    ) -> model.ModelOutputs:
        count = (array_ops.shape(times)[1] - self.input_window_size) // self.output_window_size
        size = count * self.output_window_size
        used = -(size + self.input_window_size)
        parts = (times[:, used:], values[:, used:], exogenous[:, used:])

        def body(number: Any, *arrays: Any) -> Any:
            start = number * self.output_window_size
            cuts = [part[:, start : start + self.window_size] for part in parts]
            for window, part in zip(cuts, parts, strict=True):
                sizes = part.shape.as_list()
                window.set_shape([sizes[0], self.window_size, *sizes[2:]])
            outputs = self._window(cuts[0], cuts[1], cuts[2], ModeKeys.EVAL)
            found = (outputs.loss, outputs.predictions["mean"], outputs.predictions["covariance"])
            return number + 1, *(
                array.write(number, value) for array, value in zip(arrays, found, strict=True)
            )

        arrays = [tensor_array_ops.TensorArray(self.dtype, size=count) for _ in range(3)]
        _, losses, means, variances = while_ops.while_loop(
            lambda number, *_: number < count, body, [0, *arrays]
        )
        ends = [
            self._end(before, now)
            for before, now in zip(state, (times, self._scale_data(values), exogenous), strict=True)
        ]
        shape = array_ops.stack([array_ops.shape(times)[0], size, self.num_features])
        return model.ModelOutputs(
            reduce_ops.reduce_mean(losses.stack(), 0),
            tuple(ends),
            {
                "mean": windows.side_by_side(means, shape),
                "covariance": windows.side_by_side(variances, shape),
                "observed": values[:, -size:],
            },
            times[:, -size:],
        )

    def _end(self, before: Any, now: Any) -> Any:
        """Return the last input window of a state and the series after it."""
        joined = array_ops.concat([math_ops.cast(before, now.dtype), now], 1)
        start = array_ops.shape(joined)[1] - self.input_window_size
        last = joined[:, start:]
        last.set_shape([None, self.input_window_size, *now.shape.as_list()[2:]])
        return last

    def predict(self, features: Mapping[str, Any]) -> dict[str, Any]:
        """Return the mean and the variances at times after a state, window after window.

        The predicted means are the values of the next input window. Without an earlier call of
        `initialize_graph`, the model has no statistics.
        """
        if not self._graph_initialized:
            self.initialize_graph()
        times = math_ops.cast(features[PredictionFeatures.TIMES], dtypes.int64)
        exogenous = self._process_exogenous_features(times, features)
        old_times, old_values, old_exogenous = features[PredictionFeatures.STATE_TUPLE]
        count = array_ops.shape(times)[1]
        rounds = (count + self.output_window_size - 1) // self.output_window_size
        padding = rounds * self.output_window_size - count
        border = self.input_window_size
        all_times = array_ops.concat(
            [
                windows.last(math_ops.cast(old_times, dtypes.int64), border),
                windows.padded(times, padding),
            ],
            1,
        )
        all_exogenous = array_ops.concat(
            [windows.last(convert.convert_to_tensor(old_exogenous, self.dtype), border),
             windows.padded(exogenous, padding)], 1,
        )  # fmt: skip
        values = windows.last(convert.convert_to_tensor(old_values, self.dtype), border)
        values.set_shape([None, border, self.num_features])

        def body(number: Any, values: Any, means: Any, variances: Any) -> Any:
            start = number * self.output_window_size
            window = all_times[:, start : start + self.window_size]
            window.set_shape([None, self.window_size])
            regressors = all_exogenous[:, start : start + self.window_size]
            found = self.prediction_ops(window, values, regressors)
            following = array_ops.concat([values, found["mean"]], 1)[:, self.output_window_size :]
            following.set_shape([None, border, self.num_features])
            return (
                number + 1, following, means.write(number, found["mean"]),
                variances.write(number, found["covariance"]),
            )  # fmt: skip

        arrays = [tensor_array_ops.TensorArray(self.dtype, size=rounds) for _ in range(2)]
        _, _, means, variances = while_ops.while_loop(
            lambda number, *_: number < rounds, body, [0, values, *arrays]
        )
        shape = array_ops.stack([array_ops.shape(times)[0], -1, self.num_features])
        mean = windows.side_by_side(means, shape)[:, :count, :]
        if self.loss == self.SQUARED_LOSS:
            variance = raw.OnesLike(mean)
        else:
            variance = windows.side_by_side(variances, shape)[:, :count, :]
        return {
            "mean": self._scale_back_data(mean),
            "covariance": self._scale_back_variance(variance),
        }

    def _process_exogenous_features(self, times: Any, features: Mapping[str, Any]) -> Any:
        found = super()._process_exogenous_features(times, features)
        if found is None:
            sizes = array_ops.concat([array_ops.shape(times), [0]], 0)
            found = creation_ops.zeros(sizes, self.dtype)
            found.set_shape([*times.shape.as_list(), 0])
        return found

    def _time_features(self, times: Any) -> Any:
        if not self._periods:
            return None
        return windows.time_features(
            times, self.window_size, self._periods, self._buckets, self.dtype
        )
