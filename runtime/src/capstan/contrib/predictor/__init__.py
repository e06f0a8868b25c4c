"""`tf.contrib.predictor`: functions that call an exported model or an estimator many times."""

from typing import Any

from capstan.api.absent import absent
from capstan.contrib import package_aliases
from capstan.contrib.predictor.predictor import from_estimator as from_estimator
from capstan.contrib.predictor.predictor import from_saved_model as from_saved_model
from capstan.core import public

package_aliases.grow(__name__)


def __getattr__(name: str) -> Any:
    raise absent("tf.contrib.predictor", name)


def __dir__() -> list[str]:
    return public.names(globals())
