"""The estimators of series (contrib/timeseries/python/timeseries/estimators.py)."""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from capstan.contrib.timeseries import anomaly_model, receivers, state_management, statistics
from capstan.contrib.timeseries.ar_model import ARModel
from capstan.contrib.timeseries.head import OneShotPredictionHead, TimeSeriesRegressionHead
from capstan.contrib.timeseries.prediction_models import FlatPredictionModel, LSTMPredictionModel
from capstan.estimator import estimator
from capstan.estimator.canned import choices
from capstan.train import adagrad, adam


class TimeSeriesRegressor(estimator.Estimator):
    """An estimator with a model of series.

    The features have `times` and `values`, as the input functions of this package return them. The
    default optimizer is Adam with the rate 0.02. `head_type` is a class of heads.
    """

    def __init__(
        self, model: Any, state_manager: Any = None, optimizer: Any = None, model_dir: Any = None,
        config: Any = None, head_type: Callable[..., Any] = TimeSeriesRegressionHead,
    ) -> None:  # fmt: skip
        if state_manager is None:
            is_ar = isinstance(model, ARModel)
            managers = state_management
            state_manager = (
                managers.FilteringOnlyStateManager()
                if is_ar
                else managers.PassthroughStateManager()
            )
        self._series_model = model
        head = head_type(
            model=model,
            state_manager=state_manager,
            optimizer=optimizer or adam.AdamOptimizer(0.02),
            input_statistics_generator=statistics.InputStatisticsFromMiniBatch(
                model.num_features, model.dtype
            ),
        )

        def model_fn(features: Mapping[str, Any], labels: Any, mode: str) -> Any:
            return head.create_estimator_spec(features, mode, labels)

        super().__init__(model_fn, model_dir, config)

    def build_raw_serving_input_receiver_fn(
        self, default_batch_size: int | None = None, default_series_length: int | None = None
    ) -> Callable[[], Any]:
        """Return the function of an export that takes arrays: the features, and maybe a state.

        The sizes are the static ones of the placeholders.
        """
        return functools.partial(
            receivers.raw_receiver, self._series_model, default_batch_size, default_series_length
        )

    def build_one_shot_parsing_serving_input_receiver_fn(
        self,
        filtering_length: int,
        prediction_length: int,
        default_batch_size: int | None = None,
        values_input_dtype: Any = None,
        truncate_values: bool = False,
    ) -> Callable[[], Any]:
        """Return the function of an export that takes serialized Examples.

        It is for `OneShotPredictionHead`. An Example has `filtering_length` values, and as many
        more times and exogenous features as it wants predictions. With `truncate_values`, it has
        values for all times, of which the last ones are not used.

        The function raises ValueError if a column needs a sparse feature of numbers.
        """
        return functools.partial(
            receivers.one_shot_receiver, self._series_model, filtering_length, prediction_length,
            default_batch_size, values_input_dtype, truncate_values,
        )  # fmt: skip


class ARRegressor(TimeSeriesRegressor):
    """An estimator with an `ARModel` of dense layers.

    The windows of a training have `input_window_size + output_window_size` times. With
    `anomaly_prior_probability`, the model is an `AnomalyMixtureARModel`. The default optimizer is
    Adagrad with the rate 0.1. The other arguments are those of `ARModel`.

    Raises:
        ValueError: `anomaly_distribution` has no probability, or the probability goes with another
            loss, or as ARModel.
    """

    def __init__(
        self,
        periodicities: Any,
        input_window_size: int,
        output_window_size: int,
        num_features: int,
        exogenous_feature_columns: Sequence[Any] | None = None,
        num_time_buckets: int = 10,
        loss: str = ARModel.NORMAL_LIKELIHOOD_LOSS,
        hidden_layer_sizes: Sequence[int] | None = None,
        anomaly_prior_probability: float | None = None,
        anomaly_distribution: str | None = None,
        optimizer: Any = None,
        model_dir: Any = None,
        config: Any = None,
    ) -> None:
        factory = functools.partial(FlatPredictionModel, hidden_layer_sizes=hidden_layer_sizes)
        sizes = input_window_size, output_window_size, num_features
        model: ARModel
        if anomaly_prior_probability is None:
            if anomaly_distribution is not None:
                raise ValueError(
                    "anomaly_prior_probability is required if anomaly_distribution is specified."
                )
            model = ARModel(
                periodicities, *sizes, factory, num_time_buckets, loss, exogenous_feature_columns
            )
        else:
            if loss != ARModel.NORMAL_LIKELIHOOD_LOSS:
                raise ValueError(
                    "AnomalyMixtureARModel only supports ar_model.ARModel.NORMAL_LIKELIHOOD_LOSS "
                    "for its loss argument."
                )
            kind = anomaly_model.AnomalyMixtureARModel
            model = kind(
                periodicities, anomaly_prior_probability, *sizes, factory,
                anomaly_distribution or kind.GAUSSIAN_ANOMALY, num_time_buckets,
                exogenous_feature_columns,
            )  # fmt: skip
        optimizer = optimizer or adagrad.AdagradOptimizer(0.1)
        manager = state_management.FilteringOnlyStateManager()
        super().__init__(model, manager, optimizer, model_dir, config)


class LSTMAutoRegressor(TimeSeriesRegressor):
    """An estimator with an `ARModel` of LSTMs, and a `OneShotPredictionHead`.

    `optimizer` is a name, an Optimizer or a function that returns one. The default rate of names is
    0.01. `num_timesteps` are the `num_time_buckets` of `ARModel`.

    Raises:
        ValueError: as ARModel.
    """

    def __init__(
        self,
        periodicities: Any,
        input_window_size: int,
        output_window_size: int,
        model_dir: Any = None,
        num_features: int = 1,
        extra_feature_columns: Sequence[Any] | None = None,
        num_timesteps: int = 10,
        loss: str = ARModel.NORMAL_LIKELIHOOD_LOSS,
        num_units: int = 128,
        optimizer: Any = "Adam",
        config: Any = None,
    ) -> None:
        model = ARModel(
            periodicities, input_window_size, output_window_size, num_features,
            functools.partial(LSTMPredictionModel, num_units=num_units), num_timesteps, loss,
            extra_feature_columns,
        )  # fmt: skip
        super().__init__(
            model, None, choices.get_optimizer_instance(optimizer, 0.01), model_dir, config,
            OneShotPredictionHead,
        )  # fmt: skip
