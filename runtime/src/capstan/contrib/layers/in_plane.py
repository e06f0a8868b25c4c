"""One convolution for all channels (contrib/layers/python/layers/layers.py)."""

from typing import Any

from capstan.api import init_ops, nn, scope_block
from capstan.contrib.framework import argument_scopes, variables
from capstan.contrib.layers import collecting
from capstan.contrib.layers.initializers import XAVIER
from capstan.framework import convert
from capstan.framework.raw import raw


@argument_scopes.add_arg_scope
def convolution2d_in_plane(
    inputs: Any,
    kernel_size: Any,
    stride: Any = 1,
    padding: str = "SAME",
    activation_fn: Any = nn.relu,
    normalizer_fn: Any = None,
    normalizer_params: Any = None,
    weights_initializer: Any = XAVIER,
    weights_regularizer: Any = None,
    biases_initializer: Any = init_ops.Zeros,
    biases_regularizer: Any = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
) -> Any:
    """Return a convolution of each channel with the same weights, plus a bias for each channel.

    `inputs` has the shape [batch, height, width, channels]. With `normalizer_fn` there are no
    biases.

    Raises:
        ValueError: the number of channels is not known.
    """
    with scope_block.variable_scope(scope, "ConvInPlane", [inputs], reuse=reuse) as block:
        inputs = convert.convert_to_tensor(inputs)
        channels, dtype = inputs.shape.as_list()[3], inputs.dtype.base_dtype
        if channels is None:
            raise ValueError(f"The number of channels of {inputs.name} must be known")
        height, width = _pair(kernel_size)
        rows, columns = _pair(stride)
        weights = variables.model_variable(
            "weights", [height, width, 1, 1], dtype, weights_initializer, weights_regularizer,
            trainable, collecting.collections_for(variables_collections, "weights"),
        )  # fmt: skip
        tiled = raw.Tile(weights, [1, 1, channels, 1])
        outputs = nn.depthwise_conv2d(inputs, tiled, [1, rows, columns, 1], padding)
        if normalizer_fn is None and biases_initializer is not None:
            biases = variables.model_variable(
                "biases", [channels], dtype, biases_initializer, biases_regularizer, trainable,
                collecting.collections_for(variables_collections, "biases"),
            )  # fmt: skip
            outputs = nn.bias_add(outputs, biases)
        return collecting.finished(
            outputs, activation_fn, outputs_collections, block.name, normalizer_fn,
            normalizer_params,
        )  # fmt: skip


def _pair(sizes: Any) -> tuple[int, int]:
    if isinstance(sizes, list | tuple):
        first, second = sizes
        return int(first), int(second)
    return int(sizes), int(sizes)


conv2d_in_plane = convolution2d_in_plane
