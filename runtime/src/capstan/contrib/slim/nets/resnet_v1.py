"""Residual networks, version 1 (contrib/slim/python/slim/nets/resnet_v1.py)."""

from typing import Any

from capstan.api import nn, scope_block
from capstan.contrib import layers
from capstan.contrib.framework import argument_scopes
from capstan.contrib.layers import collecting
from capstan.contrib.slim.nets import residual, resnet_utils

resnet_arg_scope = resnet_utils.resnet_arg_scope


@argument_scopes.add_arg_scope
def bottleneck(
    inputs: Any,
    depth: int,
    depth_bottleneck: int,
    stride: int,
    rate: int = 1,
    outputs_collections: Any = None,
    scope: Any = None,
) -> Any:
    """Return the output of a unit: three convolutions, and a shortcut around them.

    Normalization follows after the convolutions.
    """
    with scope_block.variable_scope(scope, "bottleneck_v1", [inputs]) as opened:
        if depth == inputs.shape.as_list()[-1]:
            shortcut = resnet_utils.subsample(inputs, stride, "shortcut")
        else:
            shortcut = layers.conv2d(
                inputs, depth, 1, stride=stride, activation_fn=None, scope="shortcut"
            )
        net = layers.conv2d(inputs, depth_bottleneck, 1, stride=1, scope="conv1")
        net = resnet_utils.conv2d_same(net, depth_bottleneck, 3, stride, rate, scope="conv2")
        net = layers.conv2d(net, depth, 1, stride=1, activation_fn=None, scope="conv3")
        return collecting.collected(outputs_collections, opened.name, nn.relu(shortcut + net))


def resnet_v1_block(scope: str, base_depth: int, num_units: int, stride: int) -> resnet_utils.Block:
    """Return a block of units, of which the last has the stride."""
    return residual.block(bottleneck, scope, base_depth, num_units, stride)


def _root(inputs: Any) -> Any:
    return resnet_utils.conv2d_same(inputs, 64, 7, stride=2, scope="conv1")


resnet_v1 = residual.of_version(residual.Version("resnet_v1", _root, bottleneck, lambda net: net))
resnet_v1_50 = residual.of_depth(resnet_v1, bottleneck, 50)
resnet_v1_101 = residual.of_depth(resnet_v1, bottleneck, 101)
resnet_v1_152 = residual.of_depth(resnet_v1, bottleneck, 152)
resnet_v1_200 = residual.of_depth(resnet_v1, bottleneck, 200)
