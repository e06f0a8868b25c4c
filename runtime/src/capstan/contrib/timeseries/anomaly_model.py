"""Models of series with outliers (contrib/timeseries/python/timeseries/ar_model.py)."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from capstan.api import init_ops, reduce_ops, variable_scope
from capstan.contrib.timeseries import ar_model, log_prob
from capstan.contrib.timeseries.prediction_models import FlatPredictionModel
from capstan.framework.raw import raw


class AnomalyMixtureARModel(ar_model.ARModel):
    """An ARModel of values that are outliers with the probability `anomaly_prior_probability`.

    An outlier costs less than in an ARModel. It still is a value of later input windows.
    `anomaly_distribution` is that of the outliers, around the predicted mean.

    Raises:
        ValueError: as ARModel, or the probability is not between 0 and 1, or the distribution is
            unknown.
    """

    GAUSSIAN_ANOMALY: Final = "gaussian"
    CAUCHY_ANOMALY: Final = "cauchy"

    def __init__(
        self,
        periodicities: Any,
        anomaly_prior_probability: float,
        input_window_size: int,
        output_window_size: int,
        num_features: int,
        prediction_model_factory: Callable[..., Any] = FlatPredictionModel,
        anomaly_distribution: str = GAUSSIAN_ANOMALY,
        num_time_buckets: int = 10,
        exogenous_feature_columns: Sequence[Any] | None = None,
    ) -> None:
        if not 0.0 < anomaly_prior_probability < 1.0:
            raise ValueError(
                "anomaly_prior_probability must be above 0 and below 1, given: "
                f"{anomaly_prior_probability}"
            )
        if anomaly_distribution not in (self.GAUSSIAN_ANOMALY, self.CAUCHY_ANOMALY):
            raise ValueError(
                f"anomaly_distribution must be gaussian or cauchy, given: {anomaly_distribution}"
            )
        self._prior, self._distribution = anomaly_prior_probability, anomaly_distribution
        super().__init__(
            periodicities, input_window_size, output_window_size, num_features,
            prediction_model_factory, num_time_buckets, self.NORMAL_LIKELIHOOD_LOSS,
            exogenous_feature_columns,
        )  # fmt: skip

    def prediction_ops(self, times: Any, values: Any, exogenous_regressors: Any) -> dict[str, Any]:
        found = super().prediction_ops(times, values, exogenous_regressors)
        parameter = variable_scope.get_variable(
            "anomaly_log_param", [], self.dtype, init_ops.zeros_initializer()
        )
        return {**found, "anomaly_params": raw.Exp(parameter)}

    def loss_op(self, targets: Any, prediction_ops: Mapping[str, Any]) -> Any:
        sigma = log_prob.deviation(prediction_ops["covariance"])
        normal = log_prob.normal(targets, sigma, prediction_ops["mean"])
        normal = normal + math.log(1.0 - self._prior)
        outlier = self._outlier_log_prob(targets, prediction_ops) + math.log(self._prior)
        greater = raw.Maximum(normal, outlier)
        difference = raw.Minimum(normal, outlier) - greater
        return -reduce_ops.reduce_mean(greater + raw.Log1p(raw.Exp(difference)))

    def _outlier_log_prob(self, targets: Any, prediction_ops: Mapping[str, Any]) -> Any:
        mean, parameter = prediction_ops["mean"], prediction_ops["anomaly_params"]
        if self._distribution == self.GAUSSIAN_ANOMALY:
            return log_prob.normal(targets, log_prob.deviation(parameter), mean)
        return log_prob.cauchy(targets, parameter, mean)
