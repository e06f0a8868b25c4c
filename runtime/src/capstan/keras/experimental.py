"""`tf.keras.experimental` (python/keras)."""

from typing import Any

from capstan.api.absent import absent
from capstan.keras.layers.recurrent_cells import PeepholeLSTMCell as PeepholeLSTMCell
from capstan.keras.layers.sequence_features import SequenceFeatures as SequenceFeatures
from capstan.keras.optimizers.cosine_schedules import CosineDecay as CosineDecay
from capstan.keras.optimizers.cosine_schedules import CosineDecayRestarts as CosineDecayRestarts
from capstan.keras.optimizers.cosine_schedules import LinearCosineDecay as LinearCosineDecay
from capstan.keras.optimizers.cosine_schedules import (
    NoisyLinearCosineDecay as NoisyLinearCosineDecay,
)
from capstan.keras.premade import LinearModel as LinearModel
from capstan.keras.premade import WideDeepModel as WideDeepModel
from capstan.keras.saved_models import export_saved_model as export_saved_model
from capstan.keras.saved_models import load_from_saved_model as load_from_saved_model


def __getattr__(name: str) -> Any:
    raise absent("tf.keras.experimental", name)
