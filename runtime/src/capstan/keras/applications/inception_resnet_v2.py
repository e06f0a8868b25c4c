"""`tf.keras.applications.inception_resnet_v2`: Inception-v4, Inception-ResNet and the Impact of
Residual Connections on Learning, https://arxiv.org/abs/1602.07261
(keras_applications/inception_resnet_v2.py).
"""

from typing import Any

from capstan.api.absent import absent
from capstan.keras import layers
from capstan.keras.applications import architecture as _architecture
from capstan.keras.applications import imagenet_utils as _imagenet_utils

_FILES = _architecture.Files.of(
    "https://github.com/fchollet/deep-learning-models/releases/download/v0.7/",
    "inception_resnet_v2",
    ("e693bd0210a403b3192acc6073ad2e96", "d19885ff4a710c122648d3b5c3b684e4"),
)
_BLOCK_35 = (((32, 1),), ((32, 1), (32, 3)), ((32, 1), (48, 3), (64, 3)))
_BLOCK_17 = (((192, 1),), ((128, 1), (160, (1, 7)), (192, (7, 1))))
_BLOCK_8 = (((192, 1),), ((192, 1), (224, (1, 3)), (256, (3, 1))))
"""The convolutions of each branch, as the number of filters and the size."""


def _convolution(
    x: Any,
    filters: int,
    size: Any,
    strides: int = 1,
    padding: str = "same",
    name: str | None = None,
) -> Any:
    x = layers.Conv2D(filters, size, strides, padding, use_bias=False, name=name)(x)
    named = (None, None) if name is None else (f"{name}_bn", f"{name}_ac")
    x = layers.BatchNormalization(_architecture.channel_axis(), scale=False, name=named[0])(x)
    return layers.Activation("relu", name=named[1])(x)


def _chain(x: Any, *steps: Any) -> Any:
    """Return convolutions one after another, each of `(filters, size)`."""
    for filters, size in steps:
        x = _convolution(x, filters, size)
    return x


def _joined(branches: list[Any], name: str) -> Any:
    return layers.Concatenate(_architecture.channel_axis(), name=name)(branches)


def _block(x: Any, name: str, scale: float, chains: Any, activation: str | None = "relu") -> Any:
    """Return the inputs plus `scale` times a convolution of several branches."""
    mixed = _joined([_chain(x, *steps) for steps in chains], f"{name}_mixed")
    up = layers.Conv2D(_architecture.sizes(x)[2], 1, padding="same", name=f"{name}_conv")(mixed)
    x = layers.Lambda(
        _scaled_sum,
        output_shape=tuple(x.shape.as_list()[1:]),
        arguments={"scale": scale},
        name=name,
    )([x, up])
    return x if activation is None else layers.Activation(activation, name=f"{name}_ac")(x)


def _scaled_sum(inputs: Any, scale: float) -> Any:
    return inputs[0] + inputs[1] * scale


def _start(x: Any) -> Any:
    x = _convolution(x, 32, 3, 2, "valid")
    x = _convolution(x, 32, 3, padding="valid")
    x = _convolution(x, 64, 3)
    x = layers.MaxPooling2D(3, 2)(x)
    x = _convolution(x, 80, 1, padding="valid")
    x = _convolution(x, 192, 3, padding="valid")
    x = layers.MaxPooling2D(3, 2)(x)
    branches = [
        _chain(x, (96, 1)),
        _chain(x, (48, 1), (64, 5)),
        _chain(x, (64, 1), (96, 3), (96, 3)),
        _chain(layers.AveragePooling2D(3, 1, padding="same")(x), (64, 1)),
    ]
    return _joined(branches, "mixed_5b")


def _shrinking(x: Any, chains: Any, name: str) -> Any:
    """Return branches that halve the height and the width in their last convolution."""
    branches = [
        _convolution(_chain(x, *steps), filters, 3, 2, "valid") for *steps, filters in chains
    ]
    return _joined([*branches, layers.MaxPooling2D(3, 2)(x)], name)


def _build(arguments: _architecture.Arguments) -> Any:
    images = arguments.images(299, 75)
    x = _start(images)
    for number in range(1, 11):
        x = _block(x, f"block35_{number}", 0.17, _BLOCK_35)
    x = _shrinking(x, [(384,), ((256, 1), (256, 3), 384)], "mixed_6a")
    for number in range(1, 21):
        x = _block(x, f"block17_{number}", 0.1, _BLOCK_17)
    chains = [((256, 1), 384), ((256, 1), 288), ((256, 1), (288, 3), 320)]
    x = _shrinking(x, chains, "mixed_7a")
    for number in range(1, 10):
        x = _block(x, f"block8_{number}", 0.2, _BLOCK_8)
    x = _block(x, "block8_10", 1.0, _BLOCK_8, activation=None)
    x = _convolution(x, 1536, 1, name="conv_7b")
    x = arguments.classified(x, "predictions")
    return arguments.model(images, x, "inception_resnet_v2", _FILES)


InceptionResNetV2 = _architecture.public("InceptionResNetV2", _build)


def preprocess_input(x: Any, data_format: str | None = None) -> Any:
    """Return images of the values 0 to 255 as this network needs them: as "tf" in
    `tf.keras.applications.imagenet_utils.preprocess_input`.
    """
    return _imagenet_utils.preprocess_input(x, data_format, mode="tf")


decode_predictions = _imagenet_utils.decode_predictions


def __getattr__(name: str) -> Any:
    raise absent("tf.keras.applications.inception_resnet_v2", name)
