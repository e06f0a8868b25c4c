"""The pools of `tf.contrib.layers` (contrib/layers/python/layers/layers.py)."""

from typing import Any

from capstan.api import nn
from capstan.api.layers import plain_arguments, volumes
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
        outputs = nn.max_pool(
            inputs, *_window(kernel_size, stride), padding.upper(), data_format or "NHWC"
        )
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
        outputs = nn.avg_pool(
            inputs, *_window(kernel_size, stride), padding.upper(), data_format or "NHWC"
        )
        return collecting.collected(outputs_collections, name, outputs)


@argument_scopes.add_arg_scope
def max_pool3d(
    inputs: Any,
    kernel_size: Any,
    stride: Any = 2,
    padding: str = "VALID",
    data_format: str | None = "NDHWC",
    outputs_collections: Any = None,
    scope: str | None = None,
) -> Any:
    """Return the largest element of each window of the volumes."""
    with scoped(scope, "MaxPool3D", (inputs,)) as name:
        layer = volumes.MaxPooling3D(kernel_size, stride, padding, _axes(data_format), _scope=name)
        return collecting.collected(outputs_collections, name, layer.apply(inputs))


@argument_scopes.add_arg_scope
def avg_pool3d(
    inputs: Any,
    kernel_size: Any,
    stride: Any = 2,
    padding: str = "VALID",
    data_format: str | None = "NDHWC",
    outputs_collections: Any = None,
    scope: str | None = None,
) -> Any:
    """Return the mean of each window of the volumes."""
    with scoped(scope, "AvgPool3D", (inputs,)) as name:
        layer = volumes.AveragePooling3D(
            kernel_size, stride, padding, _axes(data_format), _scope=name
        )
        return collecting.collected(outputs_collections, name, layer.apply(inputs))


def _axes(data_format: str | None) -> str:
    if data_format not in (None, "NDHWC", "NCDHW"):
        raise ValueError("data_format has to be either NCDHW or NDHWC.")
    return "channels_first" if data_format == "NCDHW" else "channels_last"


def _window(kernel_size: Any, stride: Any) -> tuple[Any, Any]:
    sides = plain_arguments.normalize_tuple(kernel_size, 2, "kernel_size")
    return sides, plain_arguments.normalize_tuple(stride, 2, "stride")
