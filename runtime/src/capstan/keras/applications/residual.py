"""The residual networks of both versions: Deep Residual Learning for Image Recognition,
https://arxiv.org/abs/1512.03385, and Identity Mappings in Deep Residual Networks,
https://arxiv.org/abs/1603.05027 (keras_applications/resnet_common.py).
"""

from typing import Any

from capstan.keras import layers
from capstan.keras.applications import architecture

_ORIGIN = "https://github.com/keras-team/keras-applications/releases/download/resnet/"


def first(
    arguments: architecture.Arguments, name: str, depths: tuple[int, ...], hashes: tuple[str, str]
) -> Any:
    """Return a network whose blocks normalize and activate after each convolution."""
    images = x = arguments.images(224, 32)
    x = _started(x)
    x = _activated(x, "conv1")
    x = _first_pool(x)
    for number, depth in enumerate(depths):
        for block in range(1, depth + 1):
            strides = 1 if number == 0 or block > 1 else 2
            x = _first_block(
                x, 64 * 2**number, strides, f"conv{number + 2}_block{block}", block == 1
            )
    return _ended(arguments, images, x, name, hashes)


def second(
    arguments: architecture.Arguments, name: str, depths: tuple[int, ...], hashes: tuple[str, str]
) -> Any:
    """Return a network whose blocks normalize and activate before each convolution."""
    images = x = arguments.images(224, 32)
    x = _first_pool(_started(x))
    for number, depth in enumerate(depths):
        for block in range(1, depth + 1):
            strides = 2 if block == depth and number < len(depths) - 1 else 1
            x = _second_block(
                x, 64 * 2**number, strides, f"conv{number + 2}_block{block}", block == 1
            )
    x = _activated(x, "post")
    return _ended(arguments, images, x, name, hashes)


def _started(x: Any) -> Any:
    x = layers.ZeroPadding2D(((3, 3), (3, 3)), name="conv1_pad")(x)
    return layers.Conv2D(64, 7, 2, name="conv1_conv")(x)


def _first_pool(x: Any) -> Any:
    x = layers.ZeroPadding2D(((1, 1), (1, 1)), name="pool1_pad")(x)
    return layers.MaxPooling2D(3, 2, name="pool1_pool")(x)


def _first_block(x: Any, filters: int, strides: int, name: str, has_convolution: bool) -> Any:
    """Return a block. The shortcut of the first one in a stack has a convolution."""
    shortcut = x
    if has_convolution:
        shortcut = layers.Conv2D(4 * filters, 1, strides, name=f"{name}_0_conv")(x)
        shortcut = _normalized(shortcut, f"{name}_0_bn")
    x = layers.Conv2D(filters, 1, strides, name=f"{name}_1_conv")(x)
    x = _activated(x, f"{name}_1")
    x = layers.Conv2D(filters, 3, padding="same", name=f"{name}_2_conv")(x)
    x = _activated(x, f"{name}_2")
    x = layers.Conv2D(4 * filters, 1, name=f"{name}_3_conv")(x)
    x = _normalized(x, f"{name}_3_bn")
    x = layers.Add(name=f"{name}_add")([shortcut, x])
    return layers.Activation("relu", name=f"{name}_out")(x)


def _second_block(x: Any, filters: int, strides: int, name: str, has_convolution: bool) -> Any:
    """Return a block. The shortcut of the first one in a stack has a convolution."""
    before = _activated(x, f"{name}_preact")
    shortcut = x
    if has_convolution:
        shortcut = layers.Conv2D(4 * filters, 1, strides, name=f"{name}_0_conv")(before)
    elif strides > 1:
        shortcut = layers.MaxPooling2D(1, strides)(x)
    x = layers.Conv2D(filters, 1, 1, use_bias=False, name=f"{name}_1_conv")(before)
    x = _activated(x, f"{name}_1")
    x = layers.ZeroPadding2D(((1, 1), (1, 1)), name=f"{name}_2_pad")(x)
    x = layers.Conv2D(filters, 3, strides, use_bias=False, name=f"{name}_2_conv")(x)
    x = _activated(x, f"{name}_2")
    x = layers.Conv2D(4 * filters, 1, name=f"{name}_3_conv")(x)
    return layers.Add(name=f"{name}_out")([shortcut, x])


def _normalized(x: Any, name: str) -> Any:
    axis = architecture.channel_axis()
    return layers.BatchNormalization(axis, epsilon=1.001e-5, name=name)(x)


def _activated(x: Any, name: str) -> Any:
    return layers.Activation("relu", name=f"{name}_relu")(_normalized(x, f"{name}_bn"))


def _ended(
    arguments: architecture.Arguments, images: Any, x: Any, name: str, hashes: tuple[str, str]
) -> Any:
    x = arguments.classified(x, "probs", largest="max_pool")
    return arguments.model(images, x, name, architecture.Files.of(_ORIGIN, name, hashes))
