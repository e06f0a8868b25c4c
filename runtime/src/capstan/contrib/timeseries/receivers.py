"""The inputs of exported models of series (contrib/timeseries/python/timeseries/estimators.py)."""

from typing import Any

import numpy as np

from capstan.api import (
    array_ops,
    creation_ops,
    example_ops,
    feature_column,
    math_ops,
    nest,
)
from capstan.contrib.timeseries.feature_keys import TrainEvalFeatures
from capstan.contrib.timeseries.state_names import state_to_dictionary
from capstan.core import dtypes
from capstan.estimator import receivers
from capstan.framework import convert
from capstan.framework import graph as graphs

_TIMES, _VALUES = TrainEvalFeatures.TIMES, TrainEvalFeatures.VALUES


def raw_receiver(model: Any, batch_size: int | None, length: int | None) -> Any:
    """Return a receiver with a placeholder for each feature. Values and state are optional."""
    times = creation_ops.placeholder(dtypes.int64, [batch_size, length], _TIMES)
    zeros = creation_ops.zeros([batch_size or 0, length or 0, model.num_features], model.dtype)
    values = creation_ops.placeholder_with_default(
        zeros, [batch_size, length, model.num_features], _VALUES
    )
    holders = {_TIMES: times, _VALUES: values}
    for name, (shape, dtype) in _exogenous(model).items():
        holders[name] = creation_ops.placeholder(dtype, [batch_size, length, *shape], name)
    holders |= _state(model, array_ops.shape(times)[0], batch_size)
    return receivers.ServingInputReceiver(holders, holders)


def one_shot_receiver(
    model: Any,
    filtering_length: int,
    prediction_length: int,
    batch_size: int | None,
    values_dtype: Any,
    truncate_values: bool,
) -> Any:
    """Return a receiver of serialized Examples with the features of all times."""
    total = filtering_length + prediction_length
    sizes = {_VALUES: total if truncate_values else filtering_length}
    columns = [
        feature_column.numeric_column(_TIMES, dtype=dtypes.int64),
        feature_column.numeric_column(
            _VALUES, (model.num_features,), dtype=values_dtype or dtypes.float32
        ),
        *model.exogenous_feature_columns,
    ]
    spec = {
        name: _with_length(name, feature, sizes.get(name, total))
        for name, feature in feature_column.make_parse_example_spec(columns).items()
    }
    examples = creation_ops.placeholder(dtypes.string, [batch_size], "input")
    features: dict[str, Any] = example_ops.parse_example(examples, spec)
    features[_TIMES] = array_ops.squeeze(features[_TIMES], -1)
    features[_VALUES] = math_ops.cast(features[_VALUES], model.dtype)[:, :filtering_length]
    features |= _state(model, array_ops.shape(features[_TIMES])[0], batch_size)
    return receivers.ServingInputReceiver(features, {"examples": examples})


def _with_length(name: str, feature: Any, length: int) -> Any:
    """Return the description of a feature of one time, for `length` times."""
    if isinstance(feature, example_ops.FixedLenFeature):
        return feature._replace(shape=(length, *feature.shape))
    if feature.dtype != dtypes.string:
        raise ValueError(f"VarLenFeatures not supported, got {feature} for key {name}")
    return example_ops.FixedLenFeature((length,), dtypes.string)


def _exogenous(model: Any) -> dict[str, Any]:
    """Return the shape of each exogenous feature at one time, and its dtype."""
    if not model.exogenous_feature_columns:
        return {}
    with graphs.Graph().as_default():
        spec = feature_column.make_parse_example_spec(model.exogenous_feature_columns)
        examples = creation_ops.placeholder(dtypes.string, [None])
        parsed = example_ops.parse_example(examples, spec)
        return {name: (each.shape.as_list()[1:], each.dtype) for name, each in parsed.items()}


def _state(model: Any, count: Any, batch_size: int | None) -> dict[str, Any]:
    """Return a placeholder for each tensor of the state. The defaults are zeros."""
    with graphs.Graph().as_default():
        # A model may need variables to know the shape of its state.
        model.initialize_graph()
        state = nest.map_structure(
            lambda each: np.zeros(each.shape.as_list(), each.dtype.as_numpy_dtype),
            model.get_start_state(),
        )
    found = {}
    for name, zeros in state_to_dictionary(state).items():
        multiples = array_ops.stack([count, *[1] * zeros.ndim])
        default = array_ops.tile(convert.constant(zeros[np.newaxis]), multiples)
        found[name] = creation_ops.placeholder_with_default(
            default, [batch_size, *zeros.shape], name
        )
    return found
