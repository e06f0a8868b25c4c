"""Input functions for series (contrib/timeseries/python/timeseries/input_pipeline.py)."""

import abc
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from capstan.api import (
    arrangement_ops,
    array_ops,
    cond_ops,
    context,
    input_ops,
    nest,
    ordering_ops,
    random_ops,
    reduce_ops,
    state_ops,
    variables,
)
from capstan.contrib.timeseries import readers
from capstan.contrib.timeseries.feature_keys import (
    FilteringResults,
    PredictionFeatures,
    TrainEvalFeatures,
)
from capstan.core import dtypes
from capstan.framework import collections, convert
from capstan.framework.raw import raw
from capstan.train import input_batches, input_producers


class TimeSeriesInputFn(abc.ABC):
    """An input function for the estimators of series."""

    @abc.abstractmethod
    def create_batch(self) -> tuple[dict[str, Any], None]:
        """Return the features of a batch, of shape [batch, window, ...], and no labels."""

    def __call__(self) -> tuple[dict[str, Any], None]:
        return self.create_batch()


class WholeDatasetInputFn(TimeSeriesInputFn):
    """Returns the whole series in each step, for an evaluation that a prediction continues."""

    def __init__(self, time_series_reader: readers.TimeSeriesReader) -> None:
        self._reader = time_series_reader

    def create_batch(self) -> tuple[dict[str, Any], None]:
        series = self._reader.read_full()
        return {name: array_ops.expand_dims(each, 0) for name, each in series.items()}, None


class RandomWindowInputFn(TimeSeriesInputFn):
    """Returns random windows of `window_size` times each, `batch_size` of them.

    Windows go through a queue that shuffles them. Its capacity and the least number of windows in
    it are multiples of the batch size. If `jitter`, some windows begin a time later, so that the
    borders of windows move. A window in which times go back is left out, or its times are sorted if
    not `discard_out_of_order`. `shuffle_seed` is the seed of the queue. The order of the windows
    also depends on how fast the threads fill the queue.

    A step raises OutOfRangeError if `discard_consecutive_batches_limit` batches in succession had
    no window in order.

    Raises:
        ValueError: the series is shorter than a window.
    """

    def __init__(
        self,
        time_series_reader: readers.TimeSeriesReader,
        window_size: int,
        batch_size: int,
        queue_capacity_multiplier: int = 1000,
        shuffle_min_after_dequeue_multiplier: int = 2,
        discard_out_of_order: bool = True,
        discard_consecutive_batches_limit: int = 1000,
        jitter: bool = True,
        num_threads: int | None = 2,
        shuffle_seed: int | None = None,
    ) -> None:
        time_series_reader.check_dataset_size(window_size)
        self._reader = time_series_reader
        self._window_size, self._batch_size = window_size, batch_size
        self._capacity = queue_capacity_multiplier * batch_size
        self._least = shuffle_min_after_dequeue_multiplier * batch_size
        self._discards, self._limit = discard_out_of_order, discard_consecutive_batches_limit
        self._jitter, self._num_threads = jitter, num_threads or batch_size
        self._seed = shuffle_seed

    def create_batch(self) -> tuple[dict[str, Any], None]:
        windows = self._windows()
        times = windows[TrainEvalFeatures.TIMES]
        if self._discards:
            kept = self._kept(reduce_ops.reduce_all(times[:, 1:] >= times[:, :-1], 1))
        else:
            order = ordering_ops.argsort(times, stable=True)
            windows = {
                name: arrangement_ops.batch_gather(each, order) for name, each in windows.items()
            }
            kept = True
        batch = input_batches.maybe_shuffle_batch(
            windows, self._batch_size, self._capacity, self._least, kept, self._num_threads,
            self._seed, enqueue_many=True,
        )  # fmt: skip
        return batch, None

    def _windows(self) -> dict[str, Any]:
        """Return as many windows as a batch has, in the order of the reader."""
        shift = random_ops.random_uniform([], maxval=2, dtype=dtypes.int32) if self._jitter else 0
        size = self._window_size * self._batch_size
        parts = input_batches.batch(
            self._reader.read(), size + shift, self._num_threads,
            self._capacity * self._window_size, enqueue_many=True,
        )  # fmt: skip
        shape = [self._batch_size, self._window_size]
        return {
            name: array_ops.reshape(part[shift:], [*shape, *part.shape.as_list()[1:]])
            for name, part in parts.items()
        }

    def _kept(self, in_order: Any) -> Any:
        """Return `in_order`, after a check that not all windows are out of order for ever."""
        discarded = variables.Variable(
            convert.constant(0, dtypes.int64),
            trainable=False,
            collections=[collections.GraphKeys.LOCAL_VARIABLES],
            name="discarded_windows_limiter",
        )

        def count() -> Any:
            return cond_ops.cond(
                reduce_ops.reduce_any(in_order),
                lambda: array_ops.identity(state_ops.assign(discarded, 0)),
                lambda: input_ops.count_up_to(discarded, self._limit),
            )

        # The threads of the queues start before the local variables are initialised.
        checked = cond_ops.cond(
            raw.IsVariableInitialized(discarded), count, lambda: convert.constant(0, dtypes.int64)
        )
        with context.control_dependencies([checked]):
            return array_ops.identity(in_order)


def predict_continuation_input_fn(
    evaluation: Mapping[str, Any],
    steps: int | None = None,
    times: Any = None,
    exogenous_features: Mapping[str, Any] | None = None,
) -> Callable[[], Any]:
    """Return an input function that predicts after an evaluation.

    `evaluation` is the result of `evaluate`. The predictions are for the next `steps` times, or for
    `times` of shape [batch, window]. Exogenous features begin with the same shape.

    Raises:
        ValueError: not exactly one of `steps` and `times` is given, or the times do not follow the
            evaluation.
    """
    features = {
        **(exogenous_features or {}),
        PredictionFeatures.STATE_TUPLE: evaluation[FilteringResults.STATE_TUPLE],
        PredictionFeatures.TIMES: following_times(times, steps, evaluation),
    }

    def input_fn() -> Any:
        # The limit ends the loop of `predict` after one batch.
        limited = {
            name: nest.map_structure(
                lambda value: input_producers.limit_epochs(
                    convert.convert_to_tensor(value), num_epochs=1
                ),
                values,
            )
            for name, values in features.items()
        }
        return limited, None

    return input_fn


def following_times(times: Any, steps: int | None, previous: Mapping[str, Any]) -> Any:
    """Return the times of a prediction, of shape [batch, window].

    Raises:
        ValueError: as `predict_continuation_input_fn`.
    """
    if steps is not None and times is not None:
        raise ValueError("Only one of `steps` and `times` may be specified.")
    before = np.asarray(previous[FilteringResults.TIMES])
    if steps is not None:
        return before[:, -1:] + 1 + np.arange(steps)[np.newaxis]
    if times is None:
        raise ValueError("One of `steps` and `times` must be specified.")
    times = np.array(times)
    times = times if times.ndim == 2 else times[np.newaxis]
    if len(before) != len(times):
        raise ValueError(
            "`times` must have a batch dimension matching the previous model output (got a batch "
            f"dimension of {len(times)} for `times` and {len(before)} for the previous model "
            "output)."
        )
    if not (before[:, -1] < times[:, 0]).all():
        raise ValueError("Prediction times must be after the corresponding previous model output.")
    return times
