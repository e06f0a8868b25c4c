"""The settings of Keras that hold for the whole process (python/keras/backend_config.py)."""

from dataclasses import dataclass
from typing import Any


@dataclass(slots=True)
class Settings:
    """The values that the functions `set_*` of `tf.keras.backend` change."""

    floatx: str = "float32"
    epsilon: float = 1e-7
    image_data_format: str = "channels_last"
    initializes_variables: bool = True
    """Whether `get_session` initializes the variables that have no value."""
    policy: Any = None
    """The policy of layers without a `dtype`, or None for the type of their first input."""


SETTINGS = Settings()


def data_format(value: str | None) -> str:
    """Return `value` in lower case, or the format of images that the settings name.

    Raises:
        ValueError: `value` is neither channels_first nor channels_last.
    """
    chosen = SETTINGS.image_data_format if value is None else str(value).lower()
    if chosen not in ("channels_first", "channels_last"):
        raise ValueError(
            "The `data_format` argument must be one of "
            f'"channels_first", "channels_last". Received: {value}'
        )
    return chosen
