"""`tf.contrib.timeseries`: autoregressive models of series, and their input.

reader = tf.contrib.timeseries.CSVReader("series.csv")
regressor = tf.contrib.timeseries.ARRegressor(
    periodicities=24, input_window_size=30, output_window_size=10, num_features=1
)
regressor.train(tf.contrib.timeseries.RandomWindowInputFn(reader, 40, batch_size=16), steps=1000)
whole = tf.contrib.timeseries.WholeDatasetInputFn(reader)
evaluation = regressor.evaluate(whole, steps=1)
following = tf.contrib.timeseries.predict_continuation_input_fn(evaluation, steps=100)
(predictions,) = regressor.predict(following, yield_single_examples=False)
"""

from typing import Any

from capstan.api.absent import absent
from capstan.contrib.timeseries import saved_model_utils as saved_model_utils
from capstan.contrib.timeseries.anomaly_model import AnomalyMixtureARModel
from capstan.contrib.timeseries.ar_model import ARModel
from capstan.contrib.timeseries.estimators import (
    ARRegressor,
    LSTMAutoRegressor,
    TimeSeriesRegressor,
)
from capstan.contrib.timeseries.feature_keys import FilteringResults, TrainEvalFeatures
from capstan.contrib.timeseries.head import OneShotPredictionHead, TimeSeriesRegressionHead
from capstan.contrib.timeseries.input_functions import (
    RandomWindowInputFn,
    WholeDatasetInputFn,
    predict_continuation_input_fn,
)
from capstan.contrib.timeseries.prediction_models import FlatPredictionModel, LSTMPredictionModel
from capstan.contrib.timeseries.readers import CSVReader, NumpyReader, TFExampleReader
from capstan.core import alias

__all__ = [
    "ARModel",
    "ARRegressor",
    "AnomalyMixtureARModel",
    "CSVReader",
    "FilteringResults",
    "FlatPredictionModel",
    "LSTMAutoRegressor",
    "LSTMPredictionModel",
    "NumpyReader",
    "OneShotPredictionHead",
    "RandomWindowInputFn",
    "TFExampleReader",
    "TimeSeriesRegressionHead",
    "TimeSeriesRegressor",
    "TrainEvalFeatures",
    "WholeDatasetInputFn",
    "predict_continuation_input_fn",
    "saved_model_utils",
]

_HERE = "capstan.contrib.timeseries"
alias.grow(
    __name__,
    {
        "python.timeseries": (_HERE,),
        "python.timeseries.ar_model": (_HERE,),
        "python.timeseries.estimators": (_HERE,),
        "python.timeseries.feature_keys": (f"{_HERE}.feature_keys",),
        "python.timeseries.head": (_HERE, f"{_HERE}.state_names"),
        "python.timeseries.input_pipeline": (_HERE, f"{_HERE}.readers", f"{_HERE}.input_functions"),
        "python.timeseries.model": (f"{_HERE}.model",),
        "python.timeseries.saved_model_utils": (f"{_HERE}.saved_model_utils",),
        "python.timeseries.state_management": (f"{_HERE}.state_management",),
    },
)


def __getattr__(name: str) -> Any:
    raise absent("tf.contrib.timeseries", name)


def __dir__() -> list[str]:
    return sorted({*__all__, *alias.inside(globals())})
