"""`tf.contrib.slim`: a training loop, datasets, and the names of `tf.contrib.layers`."""

import importlib
from typing import Any

from capstan.api.absent import absent
from capstan.contrib import framework as _framework
from capstan.contrib import layers as layers
from capstan.contrib import losses as losses
from capstan.contrib import metrics as metrics
from capstan.contrib.layers import initializers as initializers
from capstan.contrib.layers import regularizers as regularizers
from capstan.contrib.slim import evaluation as evaluation
from capstan.contrib.slim import learning as learning
from capstan.contrib.slim import model_analyzer as model_analyzer
from capstan.contrib.slim import queues as queues
from capstan.contrib.slim import summaries as summaries
from capstan.contrib.slim.data import data_decoder as data_decoder
from capstan.contrib.slim.data import data_provider as data_provider
from capstan.contrib.slim.data import dataset as dataset
from capstan.contrib.slim.data import dataset_data_provider as dataset_data_provider
from capstan.contrib.slim.data import parallel_reader as parallel_reader
from capstan.contrib.slim.data import prefetch_queue as prefetch_queue
from capstan.contrib.slim.data import tfexample_decoder as tfexample_decoder
from capstan.core import alias, public

_DATA = (
    "data_decoder", "data_provider", "dataset", "dataset_data_provider", "parallel_reader",
    "prefetch_queue", "tfexample_decoder",
)  # fmt: skip
_NETS = (
    "alexnet", "inception", "inception_v1", "inception_v2", "inception_v3", "overfeat",
    "resnet_utils", "resnet_v1", "resnet_v2", "vgg",
)  # fmt: skip
__all__ = [
    "data_decoder", "data_provider", "dataset", "dataset_data_provider", "evaluation",
    "initializers", "layers", "learning", "losses", "metrics", "model_analyzer",
    "nets", "parallel_reader", "prefetch_queue", "queues", "regularizers", "summaries",
    "tfexample_decoder", "utils",
]  # fmt: skip

utils = importlib.import_module("capstan.contrib.layers.python.layers.utils")

alias.grow(
    __name__,
    {
        "python.slim": (__name__,),
        "python.slim.evaluation": ("capstan.contrib.slim.evaluation",),
        "python.slim.learning": ("capstan.contrib.slim.learning",),
        "python.slim.model_analyzer": ("capstan.contrib.slim.model_analyzer",),
        "python.slim.queues": ("capstan.contrib.slim.queues",),
        "python.slim.summaries": ("capstan.contrib.slim.summaries",),
        "python.slim.data": ("capstan.contrib.slim.data",),
        **{f"python.slim.data.{name}": (f"capstan.contrib.slim.data.{name}",) for name in _DATA},
        "python.slim.nets": ("capstan.contrib.slim.nets",),
        **{f"python.slim.nets.{name}": (f"capstan.contrib.slim.nets.{name}",) for name in _NETS},
    },
)


def __getattr__(name: str) -> Any:
    if name == "nets":  # Few programs need the networks.
        return importlib.import_module(f"{__name__}.nets")
    for home in (layers, _framework):
        if not name.startswith("_") and name in vars(home):
            return vars(home)[name]
    raise absent("tf.contrib.slim", name)


def __dir__() -> list[str]:
    return sorted({*__all__, *public.names(vars(layers)), *public.names(vars(_framework))})
