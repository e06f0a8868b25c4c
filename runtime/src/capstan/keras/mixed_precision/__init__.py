"""`tf.keras.mixed_precision`: layers that compute in another type than that of their variables."""

from typing import Any

from capstan.api.absent import absent
from capstan.keras.mixed_precision import experimental as experimental

__all__ = ["experimental"]


def __getattr__(name: str) -> Any:
    raise absent("tf.keras.mixed_precision", name)
