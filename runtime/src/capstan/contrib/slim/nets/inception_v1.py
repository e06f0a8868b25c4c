"""Inception, version 1, also called GoogLeNet (contrib/slim/python/slim/nets/inception_v1.py)."""

import functools
from collections.abc import Iterator
from typing import Any

from capstan.api import scope_block
from capstan.contrib import layers
from capstan.contrib.framework import argument_scopes
from capstan.contrib.slim.nets import building, inception_blocks

_BLOCKS: inception_blocks.Blocks = {
    "Mixed_3b": ("1x1:64", "1x1:96 3x3:128", "1x1:16 3x3:32", "max 1x1:32"),
    "Mixed_3c": ("1x1:128", "1x1:128 3x3:192", "1x1:32 3x3:96", "max 1x1:64"),
    "MaxPool_4a_3x3": (),
    "Mixed_4b": ("1x1:192", "1x1:96 3x3:208", "1x1:16 3x3:48", "max 1x1:64"),
    "Mixed_4c": ("1x1:160", "1x1:112 3x3:224", "1x1:24 3x3:64", "max 1x1:64"),
    "Mixed_4d": ("1x1:128", "1x1:128 3x3:256", "1x1:24 3x3:64", "max 1x1:64"),
    "Mixed_4e": ("1x1:112", "1x1:144 3x3:288", "1x1:32 3x3:64", "max 1x1:64"),
    "Mixed_4f": ("1x1:256", "1x1:160 3x3:320", "1x1:32 3x3:128", "max 1x1:128"),
    "MaxPool_5a_2x2": (),
    "Mixed_5b": ("1x1:256", "1x1:160 3x3:320", "1x1:32 3x3:128@Conv2d_0a_3x3", "max 1x1:128"),
    "Mixed_5c": ("1x1:384", "1x1:192 3x3:384", "1x1:48 3x3:128", "max 1x1:128"),
}


def _steps() -> Iterator[tuple[str, Any]]:
    style = inception_blocks.Style(int)

    def pool(net: Any, name: str, size: int = 3) -> Any:
        return layers.max_pool2d(net, size, stride=2, scope=name)

    yield "Conv2d_1a_7x7", lambda net, name: layers.conv2d(net, 64, 7, stride=2, scope=name)
    yield "MaxPool_2a_3x3", pool
    yield "Conv2d_2b_1x1", lambda net, name: layers.conv2d(net, 64, 1, scope=name)
    yield "Conv2d_2c_3x3", lambda net, name: layers.conv2d(net, 192, 3, scope=name)
    yield "MaxPool_3a_3x3", pool
    for name, branches in _BLOCKS.items():
        if branches:
            yield name, functools.partial(inception_blocks.mixed, branches=branches, style=style)
        else:
            yield name, functools.partial(pool, size=int(name[-1]))


def inception_v1_base(
    inputs: Any, final_endpoint: str = "Mixed_5c", scope: Any = "InceptionV1"
) -> tuple[Any, dict[str, Any]]:
    """Return the output of the layer `final_endpoint`, and the outputs up to it by their names.

    Raises:
        ValueError: no layer has the name.
    """
    with (
        scope_block.variable_scope(scope, "InceptionV1", [inputs]),
        argument_scopes.arg_scope(
            [layers.conv2d, layers.fully_connected],
            weights_initializer=inception_blocks.normal(0.01),
        ),
        argument_scopes.arg_scope([layers.conv2d, layers.max_pool2d], stride=1, padding="SAME"),
    ):
        return inception_blocks.until(final_endpoint, inputs, _steps())


@building.for_images_of(224)
def inception_v1(
    inputs: Any,
    num_classes: int = 1000,
    is_training: bool = True,
    dropout_keep_prob: float = 0.8,
    prediction_fn: Any = layers.softmax,
    spatial_squeeze: bool = True,
    reuse: Any = None,
    scope: Any = "InceptionV1",
) -> tuple[Any, dict[str, Any]]:
    """Return the logits, and the outputs of layers by their names, of images of 224 by 224.

    With `spatial_squeeze`, the logits lose their axes of size 1.
    """
    with (
        scope_block.variable_scope(
            scope, "InceptionV1", [inputs, num_classes], reuse=reuse
        ) as opened,
        argument_scopes.arg_scope([layers.batch_norm, layers.dropout], is_training=is_training),
    ):
        net, end_points = inception_v1_base(inputs, scope=opened)
        with scope_block.variable_scope("Logits"):
            net = layers.avg_pool2d(net, 7, stride=1, scope="MaxPool_0a_7x7")
            net = layers.dropout(net, dropout_keep_prob, scope="Dropout_0b")
            logits = inception_blocks.classify(
                net, end_points, num_classes, "Conv2d_0c_1x1", spatial_squeeze
            )
            end_points["Predictions"] = prediction_fn(logits, scope="Predictions")
    return logits, end_points


def inception_v1_arg_scope(
    weight_decay: float = 0.00004,
    use_batch_norm: bool = True,
    batch_norm_var_collection: str = "moving_vars",
) -> Any:
    """Return the default arguments of the layers, for `arg_scope`."""
    return inception_blocks.scope_of_arguments(
        weight_decay, batch_norm_var_collection, use_batch_norm
    )
