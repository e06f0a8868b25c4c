"""Predictions and filtering with an exported model of series.

Source: contrib/timeseries/python/timeseries/saved_model_utils.py.

with tf.Graph().as_default(), tf.Session() as session:
    signatures = tf.saved_model.loader.load(session, [tf.saved_model.tag_constants.SERVING], folder)
    state = saved_model_utils.cold_start_filter(signatures, session, features)
    predicted = saved_model_utils.predict_continuation(state, signatures, session, steps=10)
"""

from collections.abc import Mapping
from typing import Any

from capstan.contrib.timeseries import input_functions, readers
from capstan.contrib.timeseries.feature_keys import (
    FilteringResults,
    PredictionResults,
    SavedModelLabels,
    State,
)
from capstan.contrib.timeseries.state_names import state_to_dictionary

__all__ = ["cold_start_filter", "filter_continuation", "predict_continuation"]


def predict_continuation(
    continue_from: Mapping[str, Any],
    signatures: Any,
    session: Any,
    steps: int | None = None,
    times: Any = None,
    exogenous_features: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return predictions by name, and their times, after an evaluation or a filtering.

    `signatures` is the MetaGraphDef that `tf.saved_model.loader.load` returns, and `session` the
    session of the loaded model. The other arguments are those of `predict_continuation_input_fn`.

    Raises:
        ValueError: as `predict_continuation_input_fn`.
    """
    times = input_functions.following_times(times, steps, continue_from)
    features = {PredictionResults.TIMES: times, **(exogenous_features or {})}
    return _run(SavedModelLabels.PREDICT, signatures, session, features, continue_from)


def cold_start_filter(signatures: Any, session: Any, features: Mapping[str, Any]) -> dict[str, Any]:
    """Return the state of the model after `features`, from the start state.

    `features` are arrays as `NumpyReader` takes them, or with a series in each row.

    Raises:
        ValueError: as `NumpyReader`.
    """
    arrays = readers.canonical(features, is_one_series=False)
    return _run(SavedModelLabels.COLD_START_FILTER, signatures, session, arrays, None)


def filter_continuation(
    continue_from: Mapping[str, Any], signatures: Any, session: Any, features: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the state of the model after `features`, from the state of an earlier result.

    Raises:
        ValueError: as `cold_start_filter`.
    """
    arrays = readers.canonical(features, is_one_series=False)
    return _run(SavedModelLabels.FILTER, signatures, session, arrays, continue_from)


def _run(
    label: str,
    signatures: Any,
    session: Any,
    features: Mapping[str, Any],
    continue_from: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """Return the outputs of a signature, and the times."""
    signature = signatures.signature_def[label]
    fed = {**_state(continue_from), **features}
    feeds = {signature.inputs[name].name: value for name, value in fed.items()}
    outputs = {name: info.name for name, info in signature.outputs.items()}
    found: dict[str, Any] = session.run(outputs, feeds)
    return {**found, FilteringResults.TIMES: features[FilteringResults.TIMES]}


def _state(continue_from: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the state of an evaluation or a filtering, by the names of its tensors."""
    if continue_from is None:
        return {}
    if FilteringResults.STATE_TUPLE in continue_from:
        return state_to_dictionary(continue_from[FilteringResults.STATE_TUPLE])
    return {
        name: each for name, each in continue_from.items() if name.startswith(State.STATE_PREFIX)
    }
