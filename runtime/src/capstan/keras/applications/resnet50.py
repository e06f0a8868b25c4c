"""`tf.keras.applications.resnet50` (keras_applications/resnet50.py)."""

from typing import Any

from capstan.api.absent import absent
from capstan.keras.applications.resnet import ResNet50 as ResNet50
from capstan.keras.applications.resnet import decode_predictions as decode_predictions
from capstan.keras.applications.resnet import preprocess_input as preprocess_input


def __getattr__(name: str) -> Any:
    raise absent("tf.keras.applications.resnet50", name)
