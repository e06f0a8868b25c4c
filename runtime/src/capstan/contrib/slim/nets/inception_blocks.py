"""What the Inception networks have in common: blocks of branches, written as text.

A branch is a list of layers. `3x3:96` is a convolution of 96 filters, `avg` and `max` are pools of
3 by 3. `/2` halves the image. A name after `@` takes the place of the name that follows from the
layer and its position, such as `Conv2d_0b_3x3`. `1x3:384|3x1:384` are convolutions side by side.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from capstan.api import array_ops, init_ops, nn, scope_block
from capstan.contrib import layers
from capstan.contrib.framework import argument_scopes
from capstan.framework import collections

_CONVOLUTION = re.compile(r"(\d)x(\d):(\d+)(/2)?(?:@(\w+))?")
_POOLS = {"avg": (layers.avg_pool2d, "AvgPool"), "max": (layers.max_pool2d, "MaxPool")}
Blocks = Mapping[str, Sequence[str]]
"""For the name of a block, its branches."""


@dataclass(frozen=True, slots=True)
class Style:
    """How a network writes its blocks.

    `depth` scales numbers of filters. `padding` is that of layers that halve the image. `first` are
    arguments of a convolution of 1 by 1 that others follow, `pooled` of one that follows a pool.
    """

    depth: Callable[[int], int]
    padding: str = "SAME"
    first: Mapping[str, Any] | None = None
    pooled: Mapping[str, Any] | None = None


def depth_of(depth_multiplier: float, min_depth: int) -> Callable[[int], int]:
    """Return the function that scales numbers of filters."""
    return lambda filters: max(int(filters * depth_multiplier), min_depth)


def normal(stddev: float) -> Any:
    return init_ops.truncated_normal_initializer(0.0, stddev)


def _convolution(net: Any, text: str, letter: str, style: Style, more: Mapping[str, Any]) -> Any:
    match = _CONVOLUTION.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is no layer of a block")
    height, width, filters, halves, name = match.groups()
    arguments = {"stride": 2, "padding": style.padding, **more} if halves else more
    scope = name or f"Conv2d_{'1a' if halves else f'0{letter}'}_{height}x{width}"
    size = [int(height), int(width)]
    return layers.conv2d(net, style.depth(int(filters)), size, scope=scope, **arguments)


def _branch(net: Any, text: str, style: Style) -> Any:
    parts = text.split()
    for index, part in enumerate(parts):
        letter = "abcdef"[index]
        kind, _, halves = part.partition("/")
        if kind in _POOLS:
            pool, name = _POOLS[kind]
            more: dict[str, Any] = {"stride": 2, "padding": style.padding} if halves else {}
            net = pool(net, 3, scope=f"{name}_{'1' if halves else '0'}{letter}_3x3", **more)
            continue
        given = style.pooled if index and parts[index - 1] in _POOLS else None
        if not index and len(parts) > 1:
            given = style.first
        made = [_convolution(net, one, letter, style, given or {}) for one in part.split("|")]
        net = made[0] if len(made) == 1 else array_ops.concat(made, 3)
    return net


def mixed(net: Any, name: str, branches: Sequence[str], style: Style) -> Any:
    """Return the outputs of the branches of a block, joined along the last axis."""
    with scope_block.variable_scope(name):
        outputs = []
        for index, text in enumerate(branches):
            with scope_block.variable_scope(f"Branch_{index}"):
                outputs.append(_branch(net, text, style))
        return array_ops.concat(outputs, 3)


def until(
    final_endpoint: str, net: Any, steps: Iterable[tuple[str, Callable[[Any, str], Any]]]
) -> tuple[Any, dict[str, Any]]:
    """Apply layers up to that of a name. Return its output, and all outputs by their names.

    Raises:
        ValueError: no layer has the name.
    """
    end_points: dict[str, Any] = {}
    for name, layer in steps:
        net = end_points[name] = layer(net, name)
        if name == final_endpoint:
            return net, end_points
    raise ValueError(f"Unknown final endpoint {final_endpoint}")


def reduced_size(net: Any, size: int) -> list[int]:
    """Return the window of a pool, which is no larger than the image if that is known."""
    _, height, width, _ = net.shape.as_list()
    if height is None or width is None:
        return [size, size]
    return [min(height, size), min(width, size)]


def classify(
    net: Any,
    end_points: dict[str, Any],
    num_classes: int,
    scope: str,
    spatial_squeeze: bool,
) -> Any:
    """Return the logits, and add them to the end points."""
    logits = layers.conv2d(net, num_classes, 1, activation_fn=None, normalizer_fn=None, scope=scope)
    if spatial_squeeze:
        logits = array_ops.squeeze(logits, [1, 2], name="SpatialSqueeze")
    end_points["Logits"] = logits
    return logits


def scope_of_arguments(
    weight_decay: float, collection: str, use_batch_norm: bool = True, **normalization: Any
) -> Any:
    """Return the arguments of layers with ReLU, weight decay and batch normalization.

    The moving averages are in a collection of variables. `normalization` are further arguments.
    """
    parameters = {
        "decay": 0.9997,
        "epsilon": 0.001,
        "updates_collections": collections.GraphKeys.UPDATE_OPS,
        "variables_collections": {
            "beta": None, "gamma": None,
            "moving_mean": [collection], "moving_variance": [collection],
        },
    }  # fmt: skip
    with (
        argument_scopes.arg_scope(
            [layers.conv2d, layers.fully_connected],
            weights_regularizer=layers.l2_regularizer(weight_decay),
        ),
        argument_scopes.arg_scope(
            [layers.conv2d],
            weights_initializer=layers.variance_scaling_initializer(),
            activation_fn=nn.relu,
            normalizer_fn=layers.batch_norm if use_batch_norm else None,
            normalizer_params=parameters | normalization if use_batch_norm else {},
        ) as found,
    ):
        return found
