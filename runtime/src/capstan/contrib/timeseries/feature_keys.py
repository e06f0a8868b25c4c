"""The names of features and results (contrib/timeseries/python/timeseries/feature_keys.py)."""

from typing import Final

from capstan.train.saved_model import constants


class State:
    """The state of a model: one structure, or its tensors by numbers after a prefix."""

    STATE_TUPLE: Final = "start_tuple"
    STATE_PREFIX: Final = "model_state"


class Times:
    """The times, which are integers in ascending order."""

    TIMES: Final = "times"


class Values:
    """The values at the times, which are one or several numbers each."""

    VALUES: Final = "values"


class TrainEvalFeatures(Times, Values):
    """The features of a training or an evaluation."""


class PredictionFeatures(Times, State):
    """The features of a prediction."""


class FilteringFeatures(Times, Values, State):
    """The features of a filtering, which updates the state of a model."""


class PredictionResults(Times):
    """The results of a prediction, beside those of the model."""


class FilteringResults(Times, State):
    """The results of an evaluation or a filtering."""


class SavedModelLabels:
    """The names of signatures."""

    PREDICT: Final = constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY
    FILTER: Final = "filter"
    COLD_START_FILTER: Final = "cold_start_filter"
