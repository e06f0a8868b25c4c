"""`tf.keras.applications.densenet`: Densely Connected Convolutional Networks,
https://arxiv.org/abs/1608.06993 (keras_applications/densenet.py).
"""

from typing import Any

from capstan.api.absent import absent
from capstan.keras import layers
from capstan.keras.applications import architecture as _architecture
from capstan.keras.applications import imagenet_utils as _imagenet_utils

_ORIGIN = "https://github.com/keras-team/keras-applications/releases/download/densenet/"


def _blocks(x: Any, count: int, name: str) -> Any:
    """Return `count` blocks, each of which adds 32 channels to those before it."""
    axis = _architecture.channel_axis()
    for number in range(1, count + 1):
        block = f"{name}_block{number}"
        new = _normalized(x, f"{block}_0_bn", f"{block}_0_relu")
        new = layers.Conv2D(128, 1, use_bias=False, name=f"{block}_1_conv")(new)
        new = _normalized(new, f"{block}_1_bn", f"{block}_1_relu")
        new = layers.Conv2D(32, 3, padding="same", use_bias=False, name=f"{block}_2_conv")(new)
        x = layers.Concatenate(axis, name=f"{block}_concat")([x, new])
    return x


def _transition(x: Any, name: str) -> Any:
    """Return half of the channels, and half of the height and the width."""
    x = _normalized(x, f"{name}_bn", f"{name}_relu")
    channels = _architecture.sizes(x)[2] // 2
    x = layers.Conv2D(channels, 1, use_bias=False, name=f"{name}_conv")(x)
    return layers.AveragePooling2D(2, 2, name=f"{name}_pool")(x)


def _normalized(x: Any, name: str, relu: str) -> Any:
    axis = _architecture.channel_axis()
    x = layers.BatchNormalization(axis, epsilon=1.001e-5, name=name)(x)
    return layers.Activation("relu", name=relu)(x)


def _network(
    arguments: _architecture.Arguments, counts: tuple[int, ...], name: str, hashes: tuple[str, str]
) -> Any:
    images = x = arguments.images(224, 32)
    x = layers.ZeroPadding2D(((3, 3), (3, 3)))(x)
    x = layers.Conv2D(64, 7, 2, use_bias=False, name="conv1/conv")(x)
    x = _normalized(x, "conv1/bn", "conv1/relu")
    x = layers.ZeroPadding2D(((1, 1), (1, 1)))(x)
    x = layers.MaxPooling2D(3, 2, name="pool1")(x)
    for number, count in enumerate(counts, 2):
        x = _blocks(x, count, f"conv{number}")
        if number < len(counts) + 1:
            x = _transition(x, f"pool{number}")
    x = _normalized(x, "bn", "relu")
    x = arguments.classified(x, "fc1000", largest="max_pool")
    return arguments.model(images, x, name, _architecture.Files.of(_ORIGIN, name, hashes))


DenseNet121 = _architecture.public(
    "DenseNet121",
    lambda arguments: _network(
        arguments,
        (6, 12, 24, 16),
        "densenet121",
        ("9d60b8095a5708f2dcce2bca79d332c7", "30ee3e1110167f948a6b9946edeeb738"),
    ),
)
DenseNet169 = _architecture.public(
    "DenseNet169",
    lambda arguments: _network(
        arguments,
        (6, 12, 32, 32),
        "densenet169",
        ("d699b8f76981ab1b30698df4c175e90b", "b8c4d4c20dd625c148057b9ff1c1176b"),
    ),
)
DenseNet201 = _architecture.public(
    "DenseNet201",
    lambda arguments: _network(
        arguments,
        (6, 12, 48, 32),
        "densenet201",
        ("1ceb130c1ea1b78c3bf6114dbdfd8807", "c13680b51ded0fb44dff2d8f86ac8bb1"),
    ),
)


def preprocess_input(x: Any, data_format: str | None = None) -> Any:
    """Return images of the values 0 to 255 as this network needs them: as "torch" in
    `tf.keras.applications.imagenet_utils.preprocess_input`.
    """
    return _imagenet_utils.preprocess_input(x, data_format, mode="torch")


decode_predictions = _imagenet_utils.decode_predictions


def __getattr__(name: str) -> Any:
    raise absent("tf.keras.applications.densenet", name)
