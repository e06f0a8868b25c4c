"""`tf.keras`: layers, models and training of Keras on graphs (python/keras)."""

import importlib
from typing import Any

from capstan.api.absent import absent
from capstan.keras import activations as activations
from capstan.keras import applications as applications
from capstan.keras import backend as backend
from capstan.keras import callbacks as callbacks
from capstan.keras import constraints as constraints
from capstan.keras import datasets as datasets
from capstan.keras import experimental as experimental
from capstan.keras import initializers as initializers
from capstan.keras import layers as layers
from capstan.keras import losses as losses
from capstan.keras import metrics as metrics
from capstan.keras import mixed_precision as mixed_precision
from capstan.keras import models as models
from capstan.keras import optimizers as optimizers
from capstan.keras import preprocessing as preprocessing
from capstan.keras import regularizers as regularizers
from capstan.keras import utils as utils
from capstan.keras import wrappers as wrappers
from capstan.keras.inputs import Input as Input
from capstan.keras.network import Model as Model
from capstan.keras.sequential import Sequential as Sequential

__all__ = [
    "Input",
    "Model",
    "Sequential",
    "activations",
    "applications",
    "backend",
    "callbacks",
    "constraints",
    "datasets",
    "experimental",
    "initializers",
    "layers",
    "losses",
    "metrics",
    "mixed_precision",
    "models",
    "optimizers",
    "preprocessing",
    "regularizers",
    "utils",
    "wrappers",
]


def __getattr__(name: str) -> Any:
    if name == "estimator":
        # Estimators are a layer above this one. A program that names them loads them.
        return importlib.import_module("capstan.estimator.keras")
    raise absent("tf.keras", name)


def __dir__() -> list[str]:
    return sorted(__all__)
