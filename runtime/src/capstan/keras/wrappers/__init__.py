"""`tf.keras.wrappers` (python/keras/wrappers)."""

from typing import Any

from capstan.api.absent import absent
from capstan.keras.wrappers import scikit_learn as scikit_learn

__all__ = ["scikit_learn"]


def __getattr__(name: str) -> Any:
    raise absent("tf.keras.wrappers", name)
