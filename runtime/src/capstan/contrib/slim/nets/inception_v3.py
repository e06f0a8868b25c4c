"""Inception, version 3 (contrib/slim/python/slim/nets/inception_v3.py)."""

import functools
from collections.abc import Iterator
from typing import Any

from capstan.api import array_ops, scope_block
from capstan.contrib import layers
from capstan.contrib.framework import argument_scopes
from capstan.contrib.slim.nets import building, inception_blocks
from capstan.framework import collections


def _long(filters: int) -> tuple[str, ...]:
    """Return the branches of a block with windows of 7 by 1."""
    n = filters
    return (
        "1x1:192",
        f"1x1:{n} 1x7:{n} 7x1:192",
        f"1x1:{n} 7x1:{n} 1x7:{n} 7x1:{n} 1x7:192",
        "avg 1x1:192",
    )


def _wide(name: str) -> tuple[str, ...]:
    """Return the branches of one of the last blocks. `name` is that of one convolution."""
    return (
        "1x1:320",
        f"1x1:384 1x3:384|3x1:384@{name}",
        "1x1:448 3x3:384 1x3:384|3x1:384@Conv2d_0d_3x1",
        "avg 1x1:192",
    )


# Some names do not follow from their layers. Checkpoints have these names.
_BLOCKS: inception_blocks.Blocks = {
    "Mixed_5b": ("1x1:64", "1x1:48 5x5:64", "1x1:64 3x3:96 3x3:96", "avg 1x1:32"),
    "Mixed_5c": (
        "1x1:64", "1x1:48@Conv2d_0b_1x1 5x5:64@Conv_1_0c_5x5", "1x1:64 3x3:96 3x3:96",
        "avg 1x1:64",
    ),
    "Mixed_5d": ("1x1:64", "1x1:48 5x5:64", "1x1:64 3x3:96 3x3:96", "avg 1x1:64"),
    "Mixed_6a": (
        "3x3:384/2@Conv2d_1a_1x1", "1x1:64 3x3:96 3x3:96/2@Conv2d_1a_1x1", "max/2",
    ),
    "Mixed_6b": _long(128),
    "Mixed_6c": _long(160),
    "Mixed_6d": _long(160),
    "Mixed_6e": _long(192),
    "Mixed_7a": ("1x1:192 3x3:320/2", "1x1:192 1x7:192 7x1:192 3x3:192/2", "max/2"),
    "Mixed_7b": _wide("Conv2d_0b_3x1"),
    "Mixed_7c": _wide("Conv2d_0c_3x1"),
}  # fmt: skip
_FUNCTIONS = [layers.conv2d, layers.max_pool2d, layers.avg_pool2d]


def _steps(min_depth: int, depth_multiplier: float) -> Iterator[tuple[str, Any]]:
    depth = inception_blocks.depth_of(depth_multiplier, min_depth)
    style = inception_blocks.Style(depth, padding="VALID")

    def convolution(filters: int, size: int, **more: Any) -> Any:
        return lambda net, name: layers.conv2d(net, depth(filters), size, scope=name, **more)

    def pool(net: Any, name: str) -> Any:
        return layers.max_pool2d(net, 3, stride=2, scope=name)

    def mixed(branches: Any, net: Any, name: str) -> Any:
        with argument_scopes.arg_scope(_FUNCTIONS, stride=1, padding="SAME"):
            return inception_blocks.mixed(net, name, branches, style)

    yield "Conv2d_1a_3x3", convolution(32, 3, stride=2)
    yield "Conv2d_2a_3x3", convolution(32, 3)
    yield "Conv2d_2b_3x3", convolution(64, 3, padding="SAME")
    yield "MaxPool_3a_3x3", pool
    yield "Conv2d_3b_1x1", convolution(80, 1)
    yield "Conv2d_4a_3x3", convolution(192, 3)
    yield "MaxPool_5a_3x3", pool
    for name, branches in _BLOCKS.items():
        yield name, functools.partial(mixed, branches)


def inception_v3_base(
    inputs: Any,
    final_endpoint: str = "Mixed_7c",
    min_depth: int = 16,
    depth_multiplier: float = 1.0,
    scope: Any = None,
) -> tuple[Any, dict[str, Any]]:
    """Return the output of the layer `final_endpoint`, and the outputs up to it by their names.

    `depth_multiplier` scales the numbers of filters, which are at least `min_depth`.

    Raises:
        ValueError: no layer has the name, or the multiplier is not positive.
    """
    if depth_multiplier <= 0:
        raise ValueError("depth_multiplier is not greater than zero.")
    with (
        scope_block.variable_scope(scope, "InceptionV3", [inputs]),
        argument_scopes.arg_scope(_FUNCTIONS, stride=1, padding="VALID"),
    ):
        return inception_blocks.until(final_endpoint, inputs, _steps(min_depth, depth_multiplier))


def _auxiliary(net: Any, num_classes: int, depth: Any, spatial_squeeze: bool) -> Any:
    """Return logits of an inner layer, whose loss helps the training."""
    with scope_block.variable_scope("AuxLogits"):
        net = layers.avg_pool2d(net, 5, stride=3, padding="VALID", scope="AvgPool_1a_5x5")
        net = layers.conv2d(net, depth(128), 1, scope="Conv2d_1b_1x1")
        size = inception_blocks.reduced_size(net, 5)
        net = layers.conv2d(
            net, depth(768), size, weights_initializer=inception_blocks.normal(0.01),
            padding="VALID", scope=f"Conv2d_2a_{size[0]}x{size[1]}",
        )  # fmt: skip
        net = layers.conv2d(
            net, num_classes, 1, activation_fn=None, normalizer_fn=None,
            weights_initializer=inception_blocks.normal(0.001), scope="Conv2d_2b_1x1",
        )  # fmt: skip
        return array_ops.squeeze(net, [1, 2], name="SpatialSqueeze") if spatial_squeeze else net


@building.for_images_of(299)
def inception_v3(
    inputs: Any,
    num_classes: int = 1000,
    is_training: bool = True,
    dropout_keep_prob: float = 0.8,
    min_depth: int = 16,
    depth_multiplier: float = 1.0,
    prediction_fn: Any = layers.softmax,
    spatial_squeeze: bool = True,
    reuse: Any = None,
    scope: Any = "InceptionV3",
) -> tuple[Any, dict[str, Any]]:
    """Return the logits, and the outputs of layers by their names, of images of 299 by 299.

    The outputs have further logits, `AuxLogits`. With `spatial_squeeze`, logits lose their axes of
    size 1.

    Raises:
        ValueError: the multiplier is not positive.
    """
    if depth_multiplier <= 0:
        raise ValueError("depth_multiplier is not greater than zero.")
    depth = inception_blocks.depth_of(depth_multiplier, min_depth)
    with (
        scope_block.variable_scope(
            scope, "InceptionV3", [inputs, num_classes], reuse=reuse
        ) as opened,
        argument_scopes.arg_scope([layers.batch_norm, layers.dropout], is_training=is_training),
    ):
        net, end_points = inception_v3_base(
            inputs, min_depth=min_depth, depth_multiplier=depth_multiplier, scope=opened
        )
        with argument_scopes.arg_scope(_FUNCTIONS, stride=1, padding="SAME"):
            end_points["AuxLogits"] = _auxiliary(
                end_points["Mixed_6e"], num_classes, depth, spatial_squeeze
            )
        with scope_block.variable_scope("Logits"):
            size = inception_blocks.reduced_size(net, 8)
            net = layers.avg_pool2d(
                net, size, padding="VALID", scope=f"AvgPool_1a_{size[0]}x{size[1]}"
            )
            net = layers.dropout(net, keep_prob=dropout_keep_prob, scope="Dropout_1b")
            end_points["PreLogits"] = net
            logits = inception_blocks.classify(
                net, end_points, num_classes, "Conv2d_1c_1x1", spatial_squeeze
            )
        end_points["Predictions"] = prediction_fn(logits, scope="Predictions")
    return logits, end_points


def inception_v3_arg_scope(
    weight_decay: float = 0.00004,
    batch_norm_var_collection: str = "moving_vars",
    batch_norm_decay: float = 0.9997,
    batch_norm_epsilon: float = 0.001,
    updates_collections: Any = collections.GraphKeys.UPDATE_OPS,
    use_fused_batchnorm: bool = True,
) -> Any:
    """Return the default arguments of the layers, for `arg_scope`."""
    return inception_blocks.scope_of_arguments(
        weight_decay, batch_norm_var_collection, decay=batch_norm_decay,
        epsilon=batch_norm_epsilon, updates_collections=updates_collections,
        fused=use_fused_batchnorm,
    )  # fmt: skip
