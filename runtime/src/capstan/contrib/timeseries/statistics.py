"""Statistics of a series, which variables collect from the batches of a training.

Source: contrib/timeseries/python/timeseries/math_utils.py.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from capstan.api import (
    array_ops,
    cond_ops,
    context,
    control_flow_ops,
    init_ops,
    math_ops,
    nest,
    nn,
    reduce_ops,
    scope_block,
    state_ops,
    variable_scope,
)
from capstan.contrib.timeseries.feature_keys import TrainEvalFeatures
from capstan.core import dtypes
from capstan.framework.raw import raw

_START_SIZE: Final = 16
"""The number of values whose moments are those of the start of a series."""


class Moments(NamedTuple):
    """The mean and the variance of each feature."""

    mean: Any
    variance: Any


class InputStatistics(NamedTuple):
    """What is known of a series: moments at its start and overall, its first time and its size.

    The size is an estimate from the times that the batches had.
    """

    series_start_moments: Moments
    overall_feature_moments: Moments
    start_time: Any
    total_observation_count: Any


class _Sums(NamedTuple):
    """The sums over all batches from which the statistics follow."""

    max_time_seen: Any
    chunk_count: Any
    inter_observation_duration_sum: Any
    example_count: Any
    overall_feature_sum: Any
    overall_feature_sum_of_squares: Any


class InputStatisticsFromMiniBatch:
    """Collects statistics of series with `num_features` values at a time.

    Several workers may update the variables at once. The statistics are then approximate.
    """

    def __init__(
        self, num_features: int, dtype: Any, starting_variance_window_size: int = _START_SIZE
    ) -> None:
        self._num_features, self._dtype = num_features, dtype
        self._start_size = starting_variance_window_size

    def initialize_graph(
        self, features: Mapping[str, Any], update_statistics: bool = True
    ) -> InputStatistics:
        """Return the statistics. With `update_statistics`, they include the features."""
        with scope_block.variable_scope("input_statistics", use_resource=True):
            statistics = self._statistics()
        with scope_block.variable_scope("input_statistics_auxiliary", use_resource=True):
            sums = self._sums()
        times = features.get(TrainEvalFeatures.TIMES)
        values = features.get(TrainEvalFeatures.VALUES)
        if not update_statistics or times is None or values is None:
            return statistics
        update = self._update(statistics, sums, times, math_ops.cast(values, self._dtype))
        with context.control_dependencies([update]):
            read = [array_ops.identity(each) for each in nest.flatten(statistics)]
        found: InputStatistics = nest.pack_sequence_as(statistics, read)
        # Another worker may not have seen the earliest time of this batch yet.
        earliest = raw.Minimum(found.start_time, reduce_ops.reduce_min(times))
        return found._replace(start_time=earliest)

    def _statistics(self) -> InputStatistics:
        size = [self._num_features]
        zeros, ones = init_ops.zeros_initializer(), init_ops.ones_initializer()
        return InputStatistics(
            Moments(
                _variable("series_start_mean", size, self._dtype, zeros),
                _variable("series_start_variance", size, self._dtype, ones),
            ),
            Moments(
                _variable("overall_feature_mean", size, self._dtype, zeros),
                _variable("overall_feature_var", size, self._dtype, ones),
            ),
            _variable("start_time", [], dtypes.int64, _constant(dtypes.int64.max)),
            _variable("total_observation_count", [], dtypes.int64, ones),
        )

    def _sums(self) -> _Sums:
        size, zeros = [self._num_features], init_ops.zeros_initializer()
        return _Sums(
            _variable("max_time_seen", [], dtypes.int64, _constant(dtypes.int64.min)),
            _variable("chunk_count", [], dtypes.int64, zeros),
            _variable("inter_observation_duration_sum", [], self._dtype, zeros),
            _variable("example_count", [], dtypes.int64, zeros),
            _variable("overall_feature_sum", size, self._dtype, zeros),
            _variable("overall_feature_sum_of_squares", size, self._dtype, zeros),
        )

    def _update(self, statistics: InputStatistics, sums: _Sums, times: Any, values: Any) -> Any:
        shape = array_ops.shape(times, out_type=dtypes.int64)
        spans = reduce_ops.reduce_max(times, 1) - reduce_ops.reduce_min(times, 1)
        gaps = self._real(spans) / self._real(shape[1] - 1)
        latest = _assign_near(
            sums.max_time_seen, raw.Maximum(sums.max_time_seen, reduce_ops.reduce_max(times))
        )
        added = control_flow_ops.group(
            latest,
            *(
                _add_near(variable, more)
                for variable, more in (
                    (sums.chunk_count, shape[0]),
                    (sums.inter_observation_duration_sum, reduce_ops.reduce_sum(gaps)),
                    (sums.example_count, array_ops.size(times, out_type=dtypes.int64)),
                    (sums.overall_feature_sum, reduce_ops.reduce_sum(values, [0, 1])),
                    (
                        sums.overall_feature_sum_of_squares,
                        reduce_ops.reduce_sum(raw.Square(values), [0, 1]),
                    ),
                )
            ),
        )
        with context.control_dependencies([added]):
            overall = self._update_overall(statistics.overall_feature_moments, sums)
            start, earliest = self._update_start(statistics, times, values)
            gap = sums.inter_observation_duration_sum / self._real(sums.chunk_count)
            count = self._real(latest - earliest + 1) / gap
            total = state_ops.assign(
                statistics.total_observation_count, math_ops.cast(raw.Round(count), dtypes.int64)
            )
            return control_flow_ops.group(overall, start, earliest, total)

    def _update_overall(self, moments: Moments, sums: _Sums) -> Any:
        count = self._real(sums.example_count)
        mean = sums.overall_feature_sum / count
        squares = sums.overall_feature_sum_of_squares / count
        variance = count / (count - 1.0) * (squares - raw.Square(mean))
        return control_flow_ops.group(
            state_ops.assign(moments.mean, mean), state_ops.assign(moments.variance, variance)
        )

    def _update_start(self, statistics: InputStatistics, times: Any, values: Any) -> Any:
        """Return the updates of the moments at the start and of the first time."""
        first = math_ops.cast(reduce_ops.argmin(times[:, 0], 0), dtypes.int32)

        def moments() -> Any:
            mean, variance = nn.moments(values[first, : self._start_size], axes=[0])
            return control_flow_ops.group(
                state_ops.assign(statistics.series_start_moments.mean, mean),
                state_ops.assign(statistics.series_start_moments.variance, variance),
            )

        with context.device(statistics.start_time.device):
            is_earliest = raw.LessEqual(times[first, 0], statistics.start_time)
            start = cond_ops.cond(is_earliest, moments, control_flow_ops.no_op)
            with context.control_dependencies([start]):
                earliest = state_ops.assign(
                    statistics.start_time,
                    raw.Minimum(statistics.start_time, reduce_ops.reduce_min(times)),
                )
        return start, earliest

    def _real(self, value: Any) -> Any:
        return math_ops.cast(value, self._dtype)


def _constant(value: int) -> Any:
    return init_ops.constant_initializer(value, dtype=dtypes.int64)


def _variable(name: str, shape: list[int], dtype: Any, initializer: Any) -> Any:
    return variable_scope.get_variable(name, shape, dtype, initializer, trainable=False)


def _assign_near(variable: Any, value: Any) -> Any:
    with context.device(variable.device):
        return state_ops.assign(variable, value)


def _add_near(variable: Any, more: Any) -> Any:
    with context.device(variable.device):
        return state_ops.assign_add(variable, more)
