"""`tf.contrib.learn`: its vocabularies and the names of modes. Estimators are not there."""

from typing import Any

from capstan.api.absent import absent
from capstan.contrib.learn import preprocessing as preprocessing
from capstan.contrib.learn.mode_keys import ModeKeys as ModeKeys

__all__ = ["ModeKeys", "preprocessing"]


def __getattr__(name: str) -> Any:
    raise absent("tf.contrib.learn", name)


def __dir__() -> list[str]:
    return sorted(__all__)
