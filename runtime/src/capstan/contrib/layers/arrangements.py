"""Layers that arrange or choose values (contrib/layers/python/layers/layers.py)."""

from typing import Any

import numpy as np

from capstan.api import array_ops, counting_ops, init_ops, nn, reduce_ops, scope_block
from capstan.api.custom_gradient import custom_gradient
from capstan.api.scoped import scoped
from capstan.contrib.framework import argument_scopes, variables
from capstan.contrib.layers import collecting
from capstan.core import dtypes
from capstan.framework import convert, sparse_tensor
from capstan.framework.raw import raw


@argument_scopes.add_arg_scope
def dense_to_sparse(
    tensor: Any, eos_token: int = 0, outputs_collections: Any = None, scope: Any = None
) -> Any:
    """Return the elements that are not `eos_token` as a SparseTensor."""
    with scope_block.variable_scope(scope, "dense_to_sparse", [tensor]) as block:
        tensor = convert.convert_to_tensor(tensor)
        indices = raw.Where(raw.NotEqual(tensor, eos_token))
        outputs = sparse_tensor.SparseTensor(
            indices, raw.GatherNd(tensor, indices), raw.Shape(tensor, out_type=dtypes.int64)
        )
        return collecting.collected(outputs_collections, block.name, outputs)


@argument_scopes.add_arg_scope
def images_to_sequence(
    inputs: Any,
    data_format: str = "NHWC",
    outputs_collections: Any = None,
    scope: str | None = None,
) -> Any:
    """Return images as a sequence of their columns: (width, images * height, channels).

    Raises:
        ValueError: `data_format` is neither NHWC nor NCHW.
    """
    _check_format(data_format)
    with scoped(scope, "ImagesToSequence", (inputs,)) as name:
        inputs = convert.convert_to_tensor(inputs)
        if data_format == "NCHW":
            inputs = raw.Transpose(inputs, [0, 2, 3, 1])
        *_, width, channels = inputs.shape.as_list()
        columns = raw.Transpose(inputs, [2, 0, 1, 3])
        rows = -1 if width is not None else raw.Prod(raw.Shape(inputs)[:2], [0])
        outputs = raw.Reshape(columns, [-1 if width is None else width, rows, channels])
        return collecting.collected(outputs_collections, name, outputs)


@argument_scopes.add_arg_scope
def sequence_to_images(
    inputs: Any,
    height: int,
    output_data_format: str = "channels_last",
    outputs_collections: Any = None,
    scope: str | None = None,
) -> Any:
    """Return the images of `height` rows whose `images_to_sequence` is `inputs`."""
    with scoped(scope, "SequenceToImages", (inputs,)) as name:
        inputs = convert.convert_to_tensor(inputs)
        width, rows, channels = inputs.shape.as_list()
        images = -1 if rows is None else rows // height
        columns = raw.Reshape(inputs, [width, images, height, channels])
        is_first = output_data_format == "channels_first"
        outputs = raw.Transpose(columns, [1, 3, 2, 0] if is_first else [1, 2, 0, 3])
        return collecting.collected(outputs_collections, name, outputs)


@argument_scopes.add_arg_scope
def maxout(inputs: Any, num_units: int, axis: int = -1, scope: Any = None) -> Any:
    """Return the largest element of each group of features (https://arxiv.org/abs/1302.4389).

    The features are along `axis`, and `num_units` features remain.

    Raises:
        ValueError: the number of features is unknown or no multiple of `num_units`.
    """
    with scope_block.variable_scope(scope, "MaxOut", [inputs]):
        inputs = convert.convert_to_tensor(inputs)
        features = inputs.shape.as_list()[axis]
        if features is None or features % num_units:
            raise ValueError(
                f"number of features({features}) is not a multiple of num_units({num_units})"
            )
        sizes: list[Any] = inputs.shape.as_list()
        sizes[axis] = num_units
        shape = raw.Shape(inputs)
        known = [shape[at] if size is None else size for at, size in enumerate(sizes)]
        return reduce_ops.reduce_max(array_ops.reshape(inputs, [*known, features // num_units]), -1)


def scale_gradient(inputs: Any, gradient_multiplier: Any) -> Any:
    """Return the inputs. Their gradient is multiplied by `gradient_multiplier`."""

    @custom_gradient
    def scaled(values: Any) -> Any:
        return raw.Identity(values), lambda grad: raw.Mul(grad, gradient_multiplier)

    return scaled(convert.convert_to_tensor(inputs))


@argument_scopes.add_arg_scope
def spatial_softmax(
    features: Any,
    temperature: float | None = None,
    name: Any = None,
    variables_collections: Any = None,
    trainable: bool = True,
    data_format: str = "NHWC",
) -> Any:
    """Return where each channel of images is large: pairs of coordinates from -1 to 1.

    The coordinates are the means by the softmax over the pixels of a channel. The features are
    divided by the variable `temperature` before, whose first value is `temperature` or 1. The
    result has the shape (images, 2 * channels). The first coordinate of a pair counts rows.

    Raises:
        ValueError: `data_format` is neither NHWC nor NCHW, or the number of channels is unknown.
    """
    _check_format(data_format)
    with scope_block.variable_scope(name, "spatial_softmax"):
        features = convert.convert_to_tensor(features)
        if data_format == "NHWC":
            features = raw.Transpose(features, [0, 3, 1, 2])
        channels, shape = features.shape.as_list()[1], raw.Shape(features)
        if channels is None:
            raise ValueError(
                "The num_channels dimension of the inputs to `spatial_softmax` should be defined. "
                "Found `None`."
            )
        start = init_ops.Ones() if temperature is None else init_ops.Constant(temperature)
        divisor = variables.model_variable(
            "temperature", (), dtypes.float32, start, trainable=trainable,
            collections=collecting.collections_for(variables_collections, "temperature"),
        )  # fmt: skip
        pixels = raw.Reshape(features, raw.Pack([-1, shape[2] * shape[3]]))
        weights = nn.softmax(raw.RealDiv(pixels, divisor))
        sides = (counting_ops.linspace(-1.0, 1.0, shape[axis]) for axis in (2, 3))
        places = [
            reduce_ops.reduce_sum(weights * raw.Reshape(grid, [-1]), 1, keepdims=True)
            for grid in counting_ops.meshgrid(*sides, indexing="ij")
        ]
        return raw.Reshape(array_ops.concat(places, 1), np.array([-1, 2 * channels], np.int32))


def _check_format(data_format: str) -> None:
    if data_format not in ("NHWC", "NCHW"):
        raise ValueError("data_format has to be either NCHW or NHWC.")
