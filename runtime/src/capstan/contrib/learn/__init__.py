"""`tf.contrib.learn`: only its vocabularies. Estimators are not there."""

from typing import Any

from capstan.api.absent import absent
from capstan.contrib.learn import preprocessing as preprocessing

__all__ = ["preprocessing"]


def __getattr__(name: str) -> Any:
    raise absent("tf.contrib.learn", name)
