"""`tf.keras.applications.mobilenet_v2`: Inverted Residuals and Linear Bottlenecks,
https://arxiv.org/abs/1801.04381 (keras_applications/mobilenet_v2.py).
"""

from typing import Any

from capstan.api.absent import absent
from capstan.keras import layers
from capstan.keras.applications import architecture as _architecture
from capstan.keras.applications import imagenet_utils as _imagenet_utils
from capstan.keras.applications import mobile as _mobile

_ORIGIN = "https://github.com/JonathanCMitchell/mobilenet_v2_keras/releases/download/v1.1/"
_STACKS = ((16, 1, 1), (24, 2, 2), (32, 2, 3), (64, 2, 4), (96, 1, 3), (160, 2, 3), (320, 1, 1))
"""The channels, the strides of the first block, and the number of blocks."""


def MobileNetV2(
    input_shape: Any = None,
    alpha: float = 1.0,
    include_top: bool = True,
    weights: Any = "imagenet",
    input_tensor: Any = None,
    pooling: str | None = None,
    classes: int = 1000,
) -> Any:
    """Return the network MobileNetV2. `tf.keras.applications` describes the other arguments.

    `alpha` is the number of channels of the layers, as a part of the usual number.

    Raises:
        ValueError: there are no weights for ImageNet with these arguments.
    """
    arguments = _architecture.Arguments(
        include_top, weights, input_tensor, input_shape, pooling, classes
    )
    known = (96, 128, 160, 192, 224)
    given = input_shape
    if input_shape is None and input_tensor is not None:
        given = tuple(input_tensor.shape.as_list()[1:])
    images = x = arguments.images(_mobile.size(given, known), 32)
    rows = _mobile.rows(images, weights, known)
    if weights == "imagenet" and alpha not in (0.35, 0.5, 0.75, 1.0, 1.3, 1.4):
        raise ValueError(
            "If imagenet weights are being loaded, alpha can be one of `0.35`, `0.50`, `0.75`, "
            "`1.0`, `1.3` or `1.4` only."
        )
    x = layers.ZeroPadding2D(_architecture.correct_pad(x, 3), name="Conv1_pad")(x)
    x = layers.Conv2D(_divisible(32 * alpha), 3, 2, use_bias=False, name="Conv1")(x)
    x = layers.ReLU(6.0, name="Conv1_relu")(_normalized(x, "bn_Conv1"))
    number = 0
    for filters, strides, count in _STACKS:
        for place in range(count):
            x = _block(x, int(filters * alpha), 1 if place else strides, number)
            number += 1
    last = _divisible(1280 * alpha) if alpha > 1.0 else 1280
    x = layers.Conv2D(last, 1, use_bias=False, name="Conv_1")(x)
    x = layers.ReLU(6.0, name="out_relu")(_normalized(x, "Conv_1_bn"))
    x = arguments.classified(x, "Logits", average=None)
    name = f"mobilenet_v2_weights_tf_dim_ordering_tf_kernels_{alpha}_{rows}"
    files = _architecture.Files(_ORIGIN, (f"{name}.h5", f"{name}_no_top.h5"))
    return arguments.model(images, x, f"mobilenetv2_{alpha:0.2f}_{rows}", files)


def _block(x: Any, filters: int, strides: int, number: int) -> Any:
    """Return an inverted residual block: more channels, a depthwise convolution, fewer channels."""
    inputs, (_, _, channels) = x, _architecture.sizes(x)
    prefix = f"block_{number}_" if number else "expanded_conv_"
    if number:
        x = layers.Conv2D(6 * channels, 1, padding="same", use_bias=False,
                          name=f"{prefix}expand")(x)  # fmt: skip
        x = layers.ReLU(6.0, name=f"{prefix}expand_relu")(_normalized(x, f"{prefix}expand_BN"))
    if strides == 2:
        x = layers.ZeroPadding2D(_architecture.correct_pad(x, 3), name=f"{prefix}pad")(x)
    padding = "same" if strides == 1 else "valid"
    x = layers.DepthwiseConv2D(3, strides, padding, use_bias=False, name=f"{prefix}depthwise")(x)
    x = layers.ReLU(6.0, name=f"{prefix}depthwise_relu")(_normalized(x, f"{prefix}depthwise_BN"))
    outputs = _divisible(filters)
    x = layers.Conv2D(outputs, 1, padding="same", use_bias=False, name=f"{prefix}project")(x)
    x = _normalized(x, f"{prefix}project_BN")
    if channels == outputs and strides == 1:
        return layers.Add(name=f"{prefix}add")([inputs, x])
    return x


def _normalized(x: Any, name: str) -> Any:
    axis = _architecture.channel_axis()
    return layers.BatchNormalization(axis, momentum=0.999, epsilon=1e-3, name=name)(x)


def _divisible(count: float) -> int:
    """Return the multiple of 8 that is close to a number, and at least 90 % of it."""
    found = max(8, int(count + 4) // 8 * 8)
    return found + 8 if found < 0.9 * count else found


def preprocess_input(x: Any, data_format: str | None = None) -> Any:
    """Return images of the values 0 to 255 as this network needs them: as "tf" in
    `tf.keras.applications.imagenet_utils.preprocess_input`.
    """
    return _imagenet_utils.preprocess_input(x, data_format, mode="tf")


decode_predictions = _imagenet_utils.decode_predictions


def __getattr__(name: str) -> Any:
    raise absent("tf.keras.applications.mobilenet_v2", name)
