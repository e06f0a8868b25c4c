"""The cells of NASNet-A, whose inputs are the outputs of the two cells before
(keras_applications/nasnet.py).
"""

from typing import Any

from capstan.keras import layers
from capstan.keras.applications import architecture

Pair = tuple[Any, Any]


def normal(x: Any, before: Any, filters: int, block: str) -> Pair:
    """Return a cell that keeps the height and the width, and its first input."""
    p = _adjusted(before, x, filters, block)
    h = _squeezed(x, filters, f"normal_conv_1_{block}", f"normal_bn_1_{block}")

    def separable(source: Any, size: int, name: str) -> Any:
        return _separable(source, filters, size, 1, f"normal_{name}_{block}")

    def average(source: Any, name: str) -> Any:
        return layers.AveragePooling2D(3, 1, padding="same", name=f"normal_{name}_{block}")(source)

    sums = [
        [separable(h, 5, "left1"), separable(p, 3, "right1")],
        [separable(p, 5, "left2"), separable(p, 3, "right2")],
        [average(h, "left3"), p],
        [average(p, "left4"), average(p, "right4")],
        [separable(h, 3, "left5"), h],
    ]
    added = [
        layers.add(parts, name=f"normal_add_{number}_{block}")
        for number, parts in enumerate(sums, 1)
    ]
    axis = architecture.channel_axis()
    joined = layers.concatenate([p, *added], axis=axis, name=f"normal_concat_{block}")
    return joined, x


def reduction(x: Any, before: Any, filters: int, block: str) -> Pair:
    """Return a cell that halves the height and the width, and its first input."""
    p = _adjusted(before, x, filters, block)
    h = _squeezed(x, filters, f"reduction_conv_1_{block}", f"reduction_bn_1_{block}")
    padded = layers.ZeroPadding2D(architecture.correct_pad(h, 3), name=f"reduction_pad_1_{block}")(
        h
    )

    def separable(source: Any, size: int, name: str, strides: int = 2) -> Any:
        return _separable(source, filters, size, strides, f"reduction_{name}_{block}")

    x1 = layers.add(
        [separable(h, 5, "left1"), separable(p, 7, "right1")], name=f"reduction_add_1_{block}"
    )
    pooled = layers.MaxPooling2D(3, 2, name=f"reduction_left2_{block}")(padded)
    x2 = layers.add([pooled, separable(p, 7, "right2")], name=f"reduction_add_2_{block}")
    pooled = layers.AveragePooling2D(3, 2, name=f"reduction_left3_{block}")(padded)
    x3 = layers.add([pooled, separable(p, 5, "right3")], name=f"reduction_add3_{block}")
    averaged = layers.AveragePooling2D(3, 1, padding="same", name=f"reduction_left4_{block}")(x1)
    x4 = layers.add([x2, averaged])
    last = separable(x1, 3, "left4", strides=1)
    pooled = layers.MaxPooling2D(3, 2, name=f"reduction_right5_{block}")(padded)
    x5 = layers.add([last, pooled], name=f"reduction_add4_{block}")
    axis = architecture.channel_axis()
    return layers.concatenate([x2, x3, x4, x5], axis=axis, name=f"reduction_concat_{block}"), x


def normalized(x: Any, name: str) -> Any:
    """Return normalized images."""
    axis = architecture.channel_axis()
    return layers.BatchNormalization(axis, momentum=0.9997, epsilon=1e-3, name=name)(x)


def _convolution(x: Any, filters: int, name: str) -> Any:
    return layers.Conv2D(
        filters, 1, padding="same", use_bias=False, kernel_initializer="he_normal", name=name
    )(x)


def _squeezed(x: Any, filters: int, name: str, norm: str) -> Any:
    return normalized(_convolution(layers.Activation("relu")(x), filters, name), norm)


def _separable(x: Any, filters: int, size: int, strides: int, block: str) -> Any:
    """Return two separable convolutions, the first one with strides."""
    x = layers.Activation("relu")(x)
    if strides == 2:
        padding = architecture.correct_pad(x, size)
        x = layers.ZeroPadding2D(padding, name=f"separable_conv_1_pad_{block}")(x)
    for number, step in enumerate((strides, 1), 1):
        x = layers.Activation("relu")(x) if number == 2 else x
        x = layers.SeparableConv2D(
            filters,
            size,
            step,
            padding="valid" if step == 2 else "same",
            use_bias=False,
            name=f"separable_conv_{number}_{block}",
        )(x)
        x = normalized(x, f"separable_conv_{number}_bn_{block}")
    return x


def _adjusted(before: Any, x: Any, filters: int, block: str) -> Any:
    """Return the output of the cell before the last one, in the size of the last one."""
    if before is None:
        return x
    (height, *_), (size, _, channels) = architecture.sizes(x), architecture.sizes(before)
    if size != height:
        before = layers.Activation("relu", name=f"adjust_relu_1_{block}")(before)
        first = layers.AveragePooling2D(1, 2, name=f"adjust_avg_pool_1_{block}")(before)
        first = _convolution(first, filters // 2, f"adjust_conv_1_{block}")
        # The second half sees the pixels beside those of the first half.
        second = layers.ZeroPadding2D(((0, 1), (0, 1)))(before)
        second = layers.Cropping2D(((1, 0), (1, 0)))(second)
        second = layers.AveragePooling2D(1, 2, name=f"adjust_avg_pool_2_{block}")(second)
        second = _convolution(second, filters // 2, f"adjust_conv_2_{block}")
        joined = layers.concatenate([first, second], axis=architecture.channel_axis())
        return normalized(joined, f"adjust_bn_{block}")
    if channels != filters:
        return _squeezed(before, filters, f"adjust_conv_projection_{block}", f"adjust_bn_{block}")
    return before
