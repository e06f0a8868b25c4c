"""`tf.keras.preprocessing`: texts, sequences and images as arrays (python/keras/preprocessing)."""

from typing import Any

from capstan.api.absent import absent
from capstan.keras.preprocessing import image as image
from capstan.keras.preprocessing import sequence as sequence
from capstan.keras.preprocessing import text as text

__all__ = ["image", "sequence", "text"]


def __getattr__(name: str) -> Any:
    raise absent("tf.keras.preprocessing", name)
