"""`tf.contrib.model_pruning`: models whose smallest weights become 0 while they train."""

from typing import Any

from capstan.api.absent import absent
from capstan.contrib.model_pruning.layers import MaskedBasicLSTMCell as MaskedBasicLSTMCell
from capstan.contrib.model_pruning.layers import MaskedLSTMCell as MaskedLSTMCell
from capstan.contrib.model_pruning.layers import masked_conv2d as masked_conv2d
from capstan.contrib.model_pruning.layers import masked_convolution as masked_convolution
from capstan.contrib.model_pruning.layers import masked_fully_connected as masked_fully_connected
from capstan.contrib.model_pruning.masks import apply_mask as apply_mask
from capstan.contrib.model_pruning.masks import get_masked_weights as get_masked_weights
from capstan.contrib.model_pruning.masks import get_masks as get_masks
from capstan.contrib.model_pruning.masks import get_thresholds as get_thresholds
from capstan.contrib.model_pruning.masks import get_weight_sparsity as get_weight_sparsity
from capstan.contrib.model_pruning.masks import get_weights as get_weights
from capstan.contrib.model_pruning.pruning import Pruning as Pruning
from capstan.contrib.model_pruning.pruning import get_pruning_hparams as get_pruning_hparams
from capstan.contrib.model_pruning.pruning import train as train
from capstan.contrib.model_pruning.stripping import (
    graph_def_from_checkpoint as graph_def_from_checkpoint,
)
from capstan.contrib.model_pruning.stripping import strip_pruning_vars_fn as strip_pruning_vars_fn
from capstan.core import alias, public

alias.grow(
    __name__,
    {
        "python.layers.core_layers": (f"{__name__}.masks",),
        "python.layers.layers": (f"{__name__}.layers",),
        "python.layers.rnn_cells": (f"{__name__}.layers",),
        "python.learning": (f"{__name__}.pruning",),
        "python.pruning": (f"{__name__}.pruning", f"{__name__}.masks"),
        "python.strip_pruning_vars_lib": (f"{__name__}.stripping",),
    },
)


def __getattr__(name: str) -> Any:
    raise absent("tf.contrib.model_pruning", name)


def __dir__() -> list[str]:
    return public.names(globals())
