"""`tf.keras.applications.inception_v3`: Rethinking the Inception Architecture for Computer Vision,
https://arxiv.org/abs/1512.00567 (keras_applications/inception_v3.py).
"""

from typing import Any

from capstan.api.absent import absent
from capstan.keras import layers
from capstan.keras.applications import architecture as _architecture
from capstan.keras.applications import imagenet_utils as _imagenet_utils

_FILES = _architecture.Files.of(
    "https://github.com/fchollet/deep-learning-models/releases/download/v0.5/",
    "inception_v3",
    ("9a0d58056eeedaa3f26cb7ebd46da564", "bcbd6486424b2319ff4ef7d526e38f63"),
)


def _convolution(x: Any, filters: int, size: Any, strides: int = 1, padding: str = "same") -> Any:
    x = layers.Conv2D(filters, size, strides, padding, use_bias=False)(x)
    x = layers.BatchNormalization(_architecture.channel_axis(), scale=False)(x)
    return layers.Activation("relu")(x)


def _chain(x: Any, *steps: Any) -> Any:
    """Return convolutions one after another, each of `(filters, size)`."""
    for filters, size in steps:
        x = _convolution(x, filters, size)
    return x


def _joined(branches: list[Any], name: str | None = None) -> Any:
    return layers.Concatenate(_architecture.channel_axis(), name=name)(branches)


def _pooled(x: Any, filters: int) -> Any:
    return _convolution(layers.AveragePooling2D(3, 1, padding="same")(x), filters, 1)


def _first(x: Any, pool: int, name: str) -> Any:
    branches = [
        _chain(x, (64, 1)),
        _chain(x, (48, 1), (64, 5)),
        _chain(x, (64, 1), (96, 3), (96, 3)),
    ]
    return _joined([*branches, _pooled(x, pool)], name)


def _second(x: Any, width: int, name: str) -> Any:
    branches = [
        _chain(x, (192, 1)),
        _chain(x, (width, 1), (width, (1, 7)), (192, (7, 1))),
        _chain(x, (width, 1), (width, (7, 1)), (width, (1, 7)), (width, (7, 1)), (192, (1, 7))),
    ]
    return _joined([*branches, _pooled(x, 192)], name)


def _third(x: Any, number: int) -> Any:
    branches = [
        _chain(x, (320, 1)),
        _spread(_chain(x, (384, 1)), f"mixed9_{number - 9}"),
        _spread(_chain(x, (448, 1), (384, 3)), None),
    ]
    return _joined([*branches, _pooled(x, 192)], f"mixed{number}")


def _spread(x: Any, name: str | None) -> Any:
    return _joined([_convolution(x, 384, (1, 3)), _convolution(x, 384, (3, 1))], name)


def _build(arguments: _architecture.Arguments) -> Any:
    images = x = arguments.images(299, 75)
    x = _convolution(x, 32, 3, 2, "valid")
    x = _convolution(x, 32, 3, padding="valid")
    x = _convolution(x, 64, 3)
    x = layers.MaxPooling2D(3, 2)(x)
    x = _convolution(x, 80, 1, padding="valid")
    x = _convolution(x, 192, 3, padding="valid")
    x = layers.MaxPooling2D(3, 2)(x)
    for number, pool in enumerate((32, 64, 64)):
        x = _first(x, pool, f"mixed{number}")
    wide = _convolution(x, 384, 3, 2, "valid")
    deep = _convolution(_chain(x, (64, 1), (96, 3)), 96, 3, 2, "valid")
    x = _joined([wide, deep, layers.MaxPooling2D(3, 2)(x)], "mixed3")
    for number, width in enumerate((128, 160, 160, 192), 4):
        x = _second(x, width, f"mixed{number}")
    wide = _convolution(_chain(x, (192, 1)), 320, 3, 2, "valid")
    deep = _chain(x, (192, 1), (192, (1, 7)), (192, (7, 1)))
    deep = _convolution(deep, 192, 3, 2, "valid")
    x = _joined([wide, deep, layers.MaxPooling2D(3, 2)(x)], "mixed8")
    for number in (9, 10):
        x = _third(x, number)
    x = arguments.classified(x, "predictions")
    return arguments.model(images, x, "inception_v3", _FILES)


InceptionV3 = _architecture.public("InceptionV3", _build)


def preprocess_input(x: Any, data_format: str | None = None) -> Any:
    """Return images of the values 0 to 255 as this network needs them: as "tf" in
    `tf.keras.applications.imagenet_utils.preprocess_input`.
    """
    return _imagenet_utils.preprocess_input(x, data_format, mode="tf")


decode_predictions = _imagenet_utils.decode_predictions


def __getattr__(name: str) -> Any:
    raise absent("tf.keras.applications.inception_v3", name)
