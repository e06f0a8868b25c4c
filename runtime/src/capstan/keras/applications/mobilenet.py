"""`tf.keras.applications.mobilenet`: Efficient Convolutional Neural Networks for Mobile Vision
Applications, https://arxiv.org/abs/1704.04861 (keras_applications/mobilenet.py).
"""

from typing import Any

from capstan.api.absent import absent
from capstan.keras import layers
from capstan.keras.applications import architecture as _architecture
from capstan.keras.applications import imagenet_utils as _imagenet_utils
from capstan.keras.applications import mobile as _mobile

_ORIGIN = "https://github.com/fchollet/deep-learning-models/releases/download/v0.6/"
_ALPHAS = {0.25: "2_5", 0.5: "5_0", 0.75: "7_5", 1.0: "1_0"}
_BLOCKS = ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *5 * ((512, 1),),
           (1024, 2), (1024, 1))  # fmt: skip


def MobileNet(
    input_shape: Any = None,
    alpha: float = 1.0,
    depth_multiplier: int = 1,
    dropout: float = 1e-3,
    include_top: bool = True,
    weights: Any = "imagenet",
    input_tensor: Any = None,
    pooling: str | None = None,
    classes: int = 1000,
) -> Any:
    """Return the network MobileNet. `tf.keras.applications` describes the other arguments.

    `alpha` is the number of channels of the layers, as a part of the usual number.
    `depth_multiplier` is the number of channels that a depthwise convolution makes of each.
    `dropout` is the part of the values before the classes that a step of training leaves out.

    Raises:
        ValueError: there are no weights for ImageNet with these arguments.
    """
    arguments = _architecture.Arguments(
        include_top, weights, input_tensor, input_shape, pooling, classes
    )
    images = x = arguments.images(_mobile.size(input_shape, (128, 160, 192, 224)), 32)
    rows = _mobile.rows(images, weights, (128, 160, 192, 224))
    if weights == "imagenet" and depth_multiplier != 1:
        raise ValueError("If imagenet weights are being loaded, depth multiplier must be 1")
    if weights == "imagenet" and alpha not in _ALPHAS:
        raise ValueError(
            "If imagenet weights are being loaded, alpha can be one of`0.25`, `0.50`, `0.75` or "
            "`1.0` only."
        )
    x = layers.ZeroPadding2D(((0, 1), (0, 1)), name="conv1_pad")(x)
    x = layers.Conv2D(int(32 * alpha), 3, 2, use_bias=False, name="conv1")(x)
    x = _activated(x, "conv1")
    for number, (filters, strides) in enumerate(_BLOCKS, 1):
        x = _block(x, int(filters * alpha), depth_multiplier, strides, number)
    if include_top:
        channels = int(1024 * alpha)
        is_first = _architecture.is_channels_first()
        x = layers.GlobalAveragePooling2D()(x)
        x = layers.Reshape((channels, 1, 1) if is_first else (1, 1, channels), name="reshape_1")(x)
        x = layers.Dropout(dropout, name="dropout")(x)
        x = layers.Conv2D(classes, 1, padding="same", name="conv_preds")(x)
        x = layers.Reshape((classes,), name="reshape_2")(x)
        x = layers.Activation("softmax", name="act_softmax")(x)
    else:
        x = arguments.pooled(x)
    name = f"mobilenet_{_ALPHAS.get(alpha)}_{rows}_tf"
    files = _architecture.Files(_ORIGIN, (f"{name}.h5", f"{name}_no_top.h5"))
    return arguments.model(images, x, f"mobilenet_{alpha:0.2f}_{rows}", files)


def _block(x: Any, filters: int, depth_multiplier: int, strides: int, number: int) -> Any:
    """Return a depthwise convolution, and a convolution of single pixels."""
    if strides > 1:
        x = layers.ZeroPadding2D(((0, 1), (0, 1)), name=f"conv_pad_{number}")(x)
    padding = "same" if strides == 1 else "valid"
    x = layers.DepthwiseConv2D(
        3, strides, padding, depth_multiplier, use_bias=False, name=f"conv_dw_{number}"
    )(x)
    x = _activated(x, f"conv_dw_{number}")
    x = layers.Conv2D(filters, 1, padding="same", use_bias=False, name=f"conv_pw_{number}")(x)
    return _activated(x, f"conv_pw_{number}")


def _activated(x: Any, name: str) -> Any:
    x = layers.BatchNormalization(_architecture.channel_axis(), name=f"{name}_bn")(x)
    return layers.ReLU(6.0, name=f"{name}_relu")(x)


def preprocess_input(x: Any, data_format: str | None = None) -> Any:
    """Return images of the values 0 to 255 as this network needs them: as "tf" in
    `tf.keras.applications.imagenet_utils.preprocess_input`.
    """
    return _imagenet_utils.preprocess_input(x, data_format, mode="tf")


decode_predictions = _imagenet_utils.decode_predictions


def __getattr__(name: str) -> Any:
    raise absent("tf.keras.applications.mobilenet", name)
