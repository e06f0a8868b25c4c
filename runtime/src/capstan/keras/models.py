"""`tf.keras.models` (python/keras/models.py)."""

from typing import Any

from capstan.api.absent import absent
from capstan.keras.network import Model as Model
from capstan.keras.sequential import Sequential as Sequential


def __getattr__(name: str) -> Any:
    raise absent("tf.keras.models", name)
