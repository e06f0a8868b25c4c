"""The parts of residual networks (contrib/slim/python/slim/nets/resnet_utils.py)."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from capstan.api import array_ops, nn, scope_block
from capstan.contrib import layers
from capstan.contrib.framework import argument_scopes
from capstan.contrib.layers import collecting
from capstan.framework import collections


class Block(NamedTuple):
    """Units of a network in one scope: the function of a unit, and the arguments of each unit."""

    scope: str
    unit_fn: Callable[..., Any]
    args: Sequence[dict[str, Any]]


def subsample(inputs: Any, factor: int, scope: Any = None) -> Any:
    """Return every `factor`-th row and column of images."""
    return inputs if factor == 1 else layers.max_pool2d(inputs, 1, stride=factor, scope=scope)


def conv2d_same(
    inputs: Any, num_outputs: int, kernel_size: int, stride: int, rate: int = 1, scope: Any = None
) -> Any:
    """Return a convolution whose margins do not depend on the size of the images.

    The result is that of a convolution with a stride of 1 and the padding "SAME" of which
    `subsample` takes every `stride`-th row and column. For images of even sizes, a convolution with
    this stride and padding is another one.
    """
    if stride == 1:
        return layers.conv2d(
            inputs, num_outputs, kernel_size, stride=1, rate=rate, padding="SAME", scope=scope
        )
    total = kernel_size + (kernel_size - 1) * (rate - 1) - 1
    margin = [total // 2, total - total // 2]
    inputs = array_ops.pad(inputs, [[0, 0], margin, margin, [0, 0]])
    return layers.conv2d(
        inputs, num_outputs, kernel_size, stride=stride, rate=rate, padding="VALID", scope=scope
    )


@argument_scopes.add_arg_scope
def stack_blocks_dense(
    net: Any,
    blocks: Sequence[Block],
    output_stride: int | None = None,
    outputs_collections: Any = None,
) -> Any:
    """Return the output of blocks, one after the other.

    `output_stride` is the number of rows of the input for each row of the output. From the unit on
    that would go beyond it, units have a stride of 1, and their convolutions leave out rows between
    those that they read instead.

    Raises:
        ValueError: no product of the strides of the first units is `output_stride`.
    """
    stride = rate = 1
    for block in blocks:
        with scope_block.variable_scope(block.scope, "block", [net]) as scope:
            for number, unit in enumerate(block.args, 1):
                if output_stride is not None and stride > output_stride:
                    raise ValueError("The target output_stride cannot be reached.")
                with scope_block.variable_scope(f"unit_{number}", values=[net]):
                    if stride == output_stride:
                        net = block.unit_fn(net, rate=rate, **{**unit, "stride": 1})
                        rate *= unit.get("stride", 1)
                    else:
                        net = block.unit_fn(net, rate=1, **unit)
                        stride *= unit.get("stride", 1)
            net = collecting.collected(outputs_collections, scope.name, net)
    if output_stride is not None and stride != output_stride:
        raise ValueError("The target output_stride cannot be reached.")
    return net


def resnet_arg_scope(
    weight_decay: float = 0.0001,
    batch_norm_decay: float = 0.997,
    batch_norm_epsilon: float = 1e-5,
    batch_norm_scale: bool = True,
) -> Any:
    """Return the default arguments of the layers, for `arg_scope`."""
    normalization = {
        "decay": batch_norm_decay,
        "epsilon": batch_norm_epsilon,
        "scale": batch_norm_scale,
        "updates_collections": collections.GraphKeys.UPDATE_OPS,
    }
    with (
        argument_scopes.arg_scope(
            [layers.conv2d],
            weights_regularizer=layers.l2_regularizer(weight_decay),
            weights_initializer=layers.variance_scaling_initializer(),
            activation_fn=nn.relu,
            normalizer_fn=layers.batch_norm,
            normalizer_params=normalization,
        ),
        argument_scopes.arg_scope([layers.batch_norm], **normalization),
        argument_scopes.arg_scope([layers.max_pool2d], padding="SAME") as found,
    ):
        return found
