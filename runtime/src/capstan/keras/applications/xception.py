"""`tf.keras.applications.xception`: Deep Learning with Depthwise Separable Convolutions,
https://arxiv.org/abs/1610.02357 (keras_applications/xception.py).
"""

from typing import Any

from capstan.api.absent import absent
from capstan.keras import layers
from capstan.keras.applications import architecture as _architecture
from capstan.keras.applications import imagenet_utils as _imagenet_utils

_FILES = _architecture.Files.of(
    "https://github.com/fchollet/deep-learning-models/releases/download/v0.4/",
    "xception",
    ("0a58e3b7378bc2990ea3b43d5981f1f6", "b0042744bf5b25fce3cb969f33bebb97"),
)


def _separable(x: Any, filters: int, name: str) -> Any:
    axis = _architecture.channel_axis()
    x = layers.SeparableConv2D(filters, 3, padding="same", use_bias=False, name=name)(x)
    return layers.BatchNormalization(axis, name=f"{name}_bn")(x)


def _shortcut(x: Any, filters: int) -> Any:
    x = layers.Conv2D(filters, 1, 2, padding="same", use_bias=False)(x)
    return layers.BatchNormalization(_architecture.channel_axis())(x)


def _shrinking(x: Any, block: str, filters: tuple[int, int], starts_with_relu: bool) -> Any:
    """Return a block of two convolutions that halves the height and the width."""
    residual = _shortcut(x, filters[1])
    if starts_with_relu:
        x = layers.Activation("relu", name=f"{block}_sepconv1_act")(x)
    x = _separable(x, filters[0], f"{block}_sepconv1")
    x = layers.Activation("relu", name=f"{block}_sepconv2_act")(x)
    x = _separable(x, filters[1], f"{block}_sepconv2")
    x = layers.MaxPooling2D(3, 2, padding="same", name=f"{block}_pool")(x)
    return layers.add([x, residual])


def _middle(x: Any, block: str) -> Any:
    residual = x
    for number in range(1, 4):
        x = layers.Activation("relu", name=f"{block}_sepconv{number}_act")(x)
        x = _separable(x, 728, f"{block}_sepconv{number}")
    return layers.add([x, residual])


def _build(arguments: _architecture.Arguments) -> Any:
    axis = _architecture.channel_axis()
    images = x = arguments.images(299, 71)
    for number, (filters, strides) in enumerate(((32, 2), (64, 1)), 1):
        name = f"block1_conv{number}"
        x = layers.Conv2D(filters, 3, strides, use_bias=False, name=name)(x)
        x = layers.BatchNormalization(axis, name=f"{name}_bn")(x)
        x = layers.Activation("relu", name=f"{name}_act")(x)
    for number, width in enumerate((128, 256, 728), 2):
        x = _shrinking(x, f"block{number}", (width, width), starts_with_relu=number > 2)
    for number in range(5, 13):
        x = _middle(x, f"block{number}")
    x = _shrinking(x, "block13", (728, 1024), starts_with_relu=True)
    for number, filters in enumerate((1536, 2048), 1):
        x = _separable(x, filters, f"block14_sepconv{number}")
        x = layers.Activation("relu", name=f"block14_sepconv{number}_act")(x)
    x = arguments.classified(x, "predictions")
    return arguments.model(images, x, "xception", _FILES)


Xception = _architecture.public("Xception", _build)


def preprocess_input(x: Any, data_format: str | None = None) -> Any:
    """Return images of the values 0 to 255 as this network needs them: as "tf" in
    `tf.keras.applications.imagenet_utils.preprocess_input`.
    """
    return _imagenet_utils.preprocess_input(x, data_format, mode="tf")


decode_predictions = _imagenet_utils.decode_predictions


def __getattr__(name: str) -> Any:
    raise absent("tf.keras.applications.xception", name)
