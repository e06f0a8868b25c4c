"""Inception, version 2 (contrib/slim/python/slim/nets/inception_v2.py)."""

import functools
from collections.abc import Iterator
from typing import Any

from capstan.api import scope_block
from capstan.contrib import layers
from capstan.contrib.framework import argument_scopes
from capstan.contrib.slim.nets import building, inception_blocks

_BLOCKS: inception_blocks.Blocks = {
    "Mixed_3b": ("1x1:64", "1x1:64 3x3:64", "1x1:64 3x3:96 3x3:96", "avg 1x1:32"),
    "Mixed_3c": ("1x1:64", "1x1:64 3x3:96", "1x1:64 3x3:96 3x3:96", "avg 1x1:64"),
    "Mixed_4a": ("1x1:128 3x3:160/2", "1x1:64 3x3:96 3x3:96/2", "max/2"),
    "Mixed_4b": ("1x1:224", "1x1:64 3x3:96", "1x1:96 3x3:128 3x3:128", "avg 1x1:128"),
    "Mixed_4c": ("1x1:192", "1x1:96 3x3:128", "1x1:96 3x3:128 3x3:128", "avg 1x1:128"),
    "Mixed_4d": ("1x1:160", "1x1:128 3x3:160", "1x1:128 3x3:160 3x3:160", "avg 1x1:96"),
    "Mixed_4e": ("1x1:96", "1x1:128 3x3:192", "1x1:160 3x3:192 3x3:192", "avg 1x1:96"),
    "Mixed_5a": ("1x1:128 3x3:192/2", "1x1:192 3x3:256 3x3:256/2", "max/2"),
    "Mixed_5b": ("1x1:352", "1x1:192 3x3:320", "1x1:160 3x3:224 3x3:224", "avg 1x1:128"),
    "Mixed_5c": ("1x1:352", "1x1:192 3x3:320", "1x1:192 3x3:224 3x3:224", "max 1x1:128"),
}


def _steps(min_depth: int, depth_multiplier: float) -> Iterator[tuple[str, Any]]:
    depth = inception_blocks.depth_of(depth_multiplier, min_depth)
    style = inception_blocks.Style(
        depth,
        first={"weights_initializer": inception_blocks.normal(0.09)},
        pooled={"weights_initializer": inception_blocks.normal(0.1)},
    )

    def pool(net: Any, name: str) -> Any:
        return layers.max_pool2d(net, 3, stride=2, scope=name)

    yield (
        "Conv2d_1a_7x7",
        lambda net, name: layers.separable_conv2d(
            net, depth(64), 7, min(int(depth(64) / 3), 8), stride=2,
            weights_initializer=inception_blocks.normal(1.0), scope=name,
        ),
    )  # fmt: skip
    yield "MaxPool_2a_3x3", pool
    yield (
        "Conv2d_2b_1x1",
        lambda net, name: layers.conv2d(
            net, depth(64), 1, weights_initializer=inception_blocks.normal(0.1), scope=name
        ),
    )
    yield "Conv2d_2c_3x3", lambda net, name: layers.conv2d(net, depth(192), 3, scope=name)
    yield "MaxPool_3a_3x3", pool
    for name, branches in _BLOCKS.items():
        yield name, functools.partial(inception_blocks.mixed, branches=branches, style=style)


def inception_v2_base(
    inputs: Any,
    final_endpoint: str = "Mixed_5c",
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
    functions = [
        layers.conv2d, layers.max_pool2d, layers.avg_pool2d, layers.separable_conv2d
    ]  # fmt: skip
    with (
        scope_block.variable_scope(scope, "InceptionV2", [inputs]),
        argument_scopes.arg_scope(functions, stride=1, padding="SAME"),
    ):
        return inception_blocks.until(final_endpoint, inputs, _steps(min_depth, depth_multiplier))


@building.for_images_of(224)
def inception_v2(
    inputs: Any,
    num_classes: int = 1000,
    is_training: bool = True,
    dropout_keep_prob: float = 0.8,
    min_depth: int = 16,
    depth_multiplier: float = 1.0,
    prediction_fn: Any = layers.softmax,
    spatial_squeeze: bool = True,
    reuse: Any = None,
    scope: Any = "InceptionV2",
) -> tuple[Any, dict[str, Any]]:
    """Return the logits, and the outputs of layers by their names, of images of 224 by 224.

    With `spatial_squeeze`, the logits lose their axes of size 1.

    Raises:
        ValueError: the multiplier is not positive.
    """
    if depth_multiplier <= 0:
        raise ValueError("depth_multiplier is not greater than zero.")
    with (
        scope_block.variable_scope(
            scope, "InceptionV2", [inputs, num_classes], reuse=reuse
        ) as opened,
        argument_scopes.arg_scope([layers.batch_norm, layers.dropout], is_training=is_training),
    ):
        net, end_points = inception_v2_base(
            inputs, min_depth=min_depth, depth_multiplier=depth_multiplier, scope=opened
        )
        with scope_block.variable_scope("Logits"):
            size = inception_blocks.reduced_size(net, 7)
            net = layers.avg_pool2d(
                net, size, padding="VALID", scope=f"AvgPool_1a_{size[0]}x{size[1]}"
            )
            net = layers.dropout(net, keep_prob=dropout_keep_prob, scope="Dropout_1b")
            logits = inception_blocks.classify(
                net, end_points, num_classes, "Conv2d_1c_1x1", spatial_squeeze
            )
        end_points["Predictions"] = prediction_fn(logits, scope="Predictions")
    return logits, end_points


def inception_v2_arg_scope(
    weight_decay: float = 0.00004, batch_norm_var_collection: str = "moving_vars"
) -> Any:
    """Return the default arguments of the layers, for `arg_scope`."""
    return inception_blocks.scope_of_arguments(weight_decay, batch_norm_var_collection)
