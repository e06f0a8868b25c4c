"""Checks of the features of series (contrib/timeseries/python/timeseries/head.py)."""

from collections.abc import Collection, Mapping
from typing import Any

from capstan.contrib.timeseries.feature_keys import State, TrainEvalFeatures

_TIMES, _VALUES = TrainEvalFeatures.TIMES, TrainEvalFeatures.VALUES


def check_training(features: Mapping[str, Any], num_features: int) -> None:
    """Check the features of a training or an evaluation.

    Raises:
        ValueError: times or values are missing, or a shape is wrong.
    """
    check_names(features, (_TIMES, _VALUES), "training/evaluation")
    check_shapes(features, ignored={State.STATE_TUPLE})
    if not features[_VALUES].shape.is_compatible_with([None, None, num_features]):
        raise ValueError(
            f"Expected shape (batch dimension, window size, {num_features}) for feature "
            f"'{_VALUES}', since the model was configured with num_features={num_features} (got "
            f"shape {features[_VALUES].shape})"
        )


def check_names(features: Mapping[str, Any], names: Collection[str], purpose: str) -> None:
    """Raise ValueError if a feature is missing."""
    for name in names:
        if name not in features:
            raise ValueError(f"Expected a '{name}' feature for {purpose}.")


def check_shapes(features: Mapping[str, Any], ignored: Collection[str]) -> None:
    """Check that the shape of a feature begins with that of the times: batch and window.

    Raises:
        ValueError: a shape does not.
    """
    times = features[_TIMES].shape
    if not times.is_compatible_with([None, None]):
        raise ValueError(
            f"Expected shape (batch dimension, window size) for feature '{_TIMES}' (got shape "
            f"{times})"
        )
    for name, tensor in features.items():
        if name in ignored or tensor.shape.ndims is None:
            continue
        if tensor.shape.ndims < 2 or not tensor.shape[:2].is_compatible_with(times):
            raise ValueError(
                "Features must have shape (batch dimension, window size, ...) where batch "
                f"dimension and window size match the '{_TIMES}' feature (got shape "
                f"{tensor.shape} for feature '{name}' but shape {times} for feature '{_TIMES}')"
            )


def check_window(times: Any, input_size: int, output_size: int) -> None:
    """Raise ValueError if the times are not those of an input window and its output window."""
    size = input_size + output_size
    if not times.shape.is_compatible_with([None, size]):
        raise ValueError(
            f"ARModel with input_window_size={input_size} and output_window_size={output_size} "
            f"expects feature '{_TIMES}' to have shape (batch_size, {size}) (for any batch_size), "
            f"but got shape {times.shape}. If you are using RandomWindowInputFn, set window_size="
            f"{size} or adjust the input_window_size and output_window_size arguments to ARModel."
        )


def check_series(times: Any, input_size: int, output_size: int) -> None:
    """Raise ValueError if a series is known to be shorter than an input and an output window."""
    size = times.shape.as_list()[1]
    if size is not None and size < input_size + output_size:
        raise ValueError(
            "ARModel requires a window of at least input_window_size + output_window_size to "
            f"evaluate on (input_window_size={input_size}, output_window_size={output_size}, and "
            f"got shape {times.shape} for feature '{_TIMES}' (batch size, window size))."
        )
