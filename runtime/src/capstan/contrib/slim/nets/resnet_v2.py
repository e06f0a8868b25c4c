"""Residual networks, version 2 (contrib/slim/python/slim/nets/resnet_v2.py)."""

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

    Normalization and ReLU come before the convolutions.
    """
    with scope_block.variable_scope(scope, "bottleneck_v2", [inputs]) as opened:
        ready = layers.batch_norm(inputs, activation_fn=nn.relu, scope="preact")
        plain = {"activation_fn": None, "normalizer_fn": None}
        if depth == inputs.shape.as_list()[-1]:
            shortcut = resnet_utils.subsample(inputs, stride, "shortcut")
        else:
            shortcut = layers.conv2d(ready, depth, 1, stride=stride, scope="shortcut", **plain)
        net = layers.conv2d(ready, depth_bottleneck, 1, stride=1, scope="conv1")
        net = resnet_utils.conv2d_same(net, depth_bottleneck, 3, stride, rate, scope="conv2")
        net = layers.conv2d(net, depth, 1, stride=1, scope="conv3", **plain)
        return collecting.collected(outputs_collections, opened.name, shortcut + net)


def resnet_v2_block(scope: str, base_depth: int, num_units: int, stride: int) -> resnet_utils.Block:
    """Return a block of units, of which the last has the stride."""
    return residual.block(bottleneck, scope, base_depth, num_units, stride)


def _root(inputs: Any) -> Any:
    # The first unit normalizes its input itself.
    with argument_scopes.arg_scope([layers.conv2d], activation_fn=None, normalizer_fn=None):
        return resnet_utils.conv2d_same(inputs, 64, 7, stride=2, scope="conv1")


def _end(net: Any) -> Any:
    return layers.batch_norm(net, activation_fn=nn.relu, scope="postnorm")


resnet_v2 = residual.of_version(residual.Version("resnet_v2", _root, bottleneck, _end))
resnet_v2_50 = residual.of_depth(resnet_v2, bottleneck, 50)
resnet_v2_101 = residual.of_depth(resnet_v2, bottleneck, 101)
resnet_v2_152 = residual.of_depth(resnet_v2, bottleneck, 152)
resnet_v2_200 = residual.of_depth(resnet_v2, bottleneck, 200)
