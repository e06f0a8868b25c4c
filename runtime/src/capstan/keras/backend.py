"""`tf.keras.backend`: the settings of Keras, and functions of tensors (python/keras/backend.py)."""

from typing import Any

from capstan.api.absent import absent
from capstan.framework import graph as graphs
from capstan.keras import context
from capstan.keras.crossentropies import binary_crossentropy as binary_crossentropy
from capstan.keras.crossentropies import categorical_crossentropy as categorical_crossentropy
from capstan.keras.crossentropies import (
    sparse_categorical_crossentropy as sparse_categorical_crossentropy,
)
from capstan.keras.learning import in_test_phase as in_test_phase
from capstan.keras.learning import in_train_phase as in_train_phase
from capstan.keras.learning import learning_phase as learning_phase
from capstan.keras.learning import set_learning_phase as set_learning_phase
from capstan.keras.recurrence import rnn as rnn
from capstan.keras.settings import SETTINGS as _SETTINGS
from capstan.keras.settings import data_format as _data_format


def epsilon() -> float:
    """Return the small number that layers add to divisors, 1e-7 by default."""
    return _SETTINGS.epsilon


def set_epsilon(value: float) -> None:
    """Set the value of `epsilon()`."""
    _SETTINGS.epsilon = value


def floatx() -> str:
    """Return the type of variables and inputs whose type is not given, "float32" by default."""
    return _SETTINGS.floatx


def set_floatx(value: str) -> None:
    """Set the value of `floatx()`.

    Raises:
        ValueError: the value is none of float16, float32 and float64.
    """
    if value not in ("float16", "float32", "float64"):
        raise ValueError(f"Unknown floatx type: {value}. Use float16, float32 or float64")
    _SETTINGS.floatx = value


def image_data_format() -> str:
    """Return the format of images if a layer has no `data_format`: channels_last by default."""
    return _SETTINGS.image_data_format


def set_image_data_format(data_format: str) -> None:
    """Set the value of `image_data_format()`.

    Raises:
        ValueError: the format is neither channels_first nor channels_last.
    """
    _SETTINGS.image_data_format = _data_format(data_format)


def int_shape(x: Any) -> tuple[int | None, ...] | None:
    """Return the static shape of a tensor or variable as a tuple, or None if it is unknown."""
    return None if x.shape.ndims is None else tuple(x.shape.as_list())


def ndim(x: Any) -> int | None:
    """Return the number of axes, or None if it is unknown."""
    rank: int | None = x.shape.ndims
    return rank


def clear_session() -> None:
    """Replace the default graph by a new one, in which the names of layers begin again.

    Raises:
        AssertionError: a `with graph.as_default()` block is open.
    """
    context.forget(graphs.get_default_graph())
    graphs.reset_default_graph()


def __getattr__(name: str) -> Any:
    raise absent("tf.keras.backend", name)
