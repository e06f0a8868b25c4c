"""The pools of `tf.contrib.layers` (contrib/layers/python/layers/layers.py)."""

from typing import Any

from capstan.api import nn
from capstan.api.layers import convolutional
from capstan.api.scoped import scoped
from capstan.contrib.framework import argument_scopes
from capstan.contrib.layers import collecting


@argument_scopes.add_arg_scope
def max_pool2d(
    inputs: Any,
    kernel_size: Any,
    stride: Any = 2,
    padding: str = "VALID",
    data_format: str | None = "NHWC",
    outputs_collections: Any = None,
    scope: str | None = None,
) -> Any:
    """Return the largest element of each window of the images."""
    with scoped(scope, "MaxPool2D", (inputs,)) as name:
        outputs = nn.max_pool(inputs, *_window(kernel_size, stride), padding, data_format or "NHWC")
        return collecting.collected(outputs_collections, name, outputs)


@argument_scopes.add_arg_scope
def avg_pool2d(
    inputs: Any,
    kernel_size: Any,
    stride: Any = 2,
    padding: str = "VALID",
    data_format: str | None = "NHWC",
    outputs_collections: Any = None,
    scope: str | None = None,
) -> Any:
    """Return the mean of each window of the images."""
    with scoped(scope, "AvgPool2D", (inputs,)) as name:
        outputs = nn.avg_pool(inputs, *_window(kernel_size, stride), padding, data_format or "NHWC")
        return collecting.collected(outputs_collections, name, outputs)


def _window(kernel_size: Any, stride: Any) -> tuple[Any, Any]:
    sides = convolutional.numbers(kernel_size, 2, "kernel_size")
    return sides, convolutional.numbers(stride, 2, "stride")
