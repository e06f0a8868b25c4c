"""`tf.contrib.slim`: a training loop, and the names of `tf.contrib.layers` and `framework`."""

from typing import Any

from capstan.api.absent import absent
from capstan.contrib import framework as _framework
from capstan.contrib import layers as layers
from capstan.contrib import losses as losses
from capstan.contrib import metrics as metrics
from capstan.contrib.layers import collecting as utils
from capstan.contrib.layers import initializers as initializers
from capstan.contrib.layers import regularizers as regularizers
from capstan.contrib.layers import summaries as summaries
from capstan.contrib.slim import evaluation as evaluation
from capstan.contrib.slim import learning as learning
from capstan.contrib.slim import model_analyzer as model_analyzer
from capstan.core import alias, public

__all__ = [
    "evaluation", "initializers", "layers", "learning", "losses", "metrics", "model_analyzer",
    "regularizers", "summaries", "utils",
]  # fmt: skip

alias.grow(
    __name__,
    {
        "python.slim": (__name__,),
        "python.slim.evaluation": ("capstan.contrib.slim.evaluation",),
        "python.slim.learning": ("capstan.contrib.slim.learning",),
    },
)


def __getattr__(name: str) -> Any:
    for home in (layers, _framework):
        if not name.startswith("_") and name in vars(home):
            return vars(home)[name]
    raise absent("tf.contrib.slim", name)


def __dir__() -> list[str]:
    return sorted({*__all__, *public.names(vars(layers)), *public.names(vars(_framework))})
