"""What both versions of residual networks have in common."""

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from capstan.api import reduce_ops, scope_block
from capstan.contrib import layers
from capstan.contrib.framework import argument_scopes
from capstan.contrib.slim.nets import building, resnet_utils

UNITS = {50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3), 200: (3, 24, 36, 3)}
"""The number of units of each block, by the number of layers."""


class Version(NamedTuple):
    """A version of the network: its first layer, its units, and what follows after the units."""

    name: str
    root: Callable[[Any], Any]
    unit: Callable[..., Any]
    end: Callable[[Any], Any]


def network(
    version: Version,
    inputs: Any,
    blocks: Sequence[resnet_utils.Block],
    num_classes: int | None = None,
    is_training: Any = True,
    global_pool: bool = True,
    output_stride: int | None = None,
    include_root_block: bool = True,
    reuse: bool | None = None,
    scope: Any = None,
) -> tuple[Any, dict[str, Any]]:
    """Return the output of a network, and the outputs of its layers by their names."""
    functions = [layers.conv2d, version.unit, resnet_utils.stack_blocks_dense]
    with scope_block.variable_scope(scope, version.name, [inputs], reuse=reuse) as opened:
        with (
            building.collecting_outputs(opened, functions) as outputs,
            argument_scopes.arg_scope([layers.batch_norm], is_training=is_training),
        ):
            net = inputs
            if include_root_block:
                if output_stride is not None and output_stride % 4:
                    raise ValueError("The output_stride needs to be a multiple of 4.")
                output_stride = output_stride and output_stride // 4
                net = layers.max_pool2d(version.root(net), 3, stride=2, scope="pool1")
            net = resnet_utils.stack_blocks_dense(net, blocks, output_stride)
            net = version.end(net)
            if global_pool:
                net = reduce_ops.reduce_mean(net, [1, 2], name="pool5", keepdims=True)
            if num_classes is not None:
                net = layers.conv2d(
                    net, num_classes, 1, activation_fn=None, normalizer_fn=None, scope="logits"
                )
        if num_classes is not None:
            outputs["predictions"] = layers.softmax(net, scope="predictions")
        return net, outputs


def block(
    unit: Callable[..., Any], scope: str, base_depth: int, num_units: int, stride: int
) -> resnet_utils.Block:
    """Return a block of units, of which the last has the stride."""
    sizes = {"depth": base_depth * 4, "depth_bottleneck": base_depth}
    strides = [*[1] * (num_units - 1), stride]
    return resnet_utils.Block(scope, unit, [{**sizes, "stride": each} for each in strides])


def of_depth(build: Callable[..., Any], unit: Callable[..., Any], depth: int) -> Any:
    """Return the function that builds the network of this depth by `build`."""
    name = f"{build.__name__}_{depth}"
    blocks = [
        block(unit, f"block{number}", 32 * 2**number, count, 1 if number == 4 else 2)
        for number, count in enumerate(UNITS[depth], 1)
    ]

    @building.for_images_of(224)
    @functools.wraps(build)
    def built(
        inputs: Any,
        num_classes: int | None = None,
        is_training: Any = True,
        global_pool: bool = True,
        output_stride: int | None = None,
        reuse: bool | None = None,
        scope: Any = name,
    ) -> tuple[Any, dict[str, Any]]:
        return build(  # type: ignore[no-any-return]
            inputs,
            blocks,
            num_classes,
            is_training,
            global_pool,
            output_stride,
            include_root_block=True,
            reuse=reuse,
            scope=scope,
        )

    del built.__dict__["__wrapped__"]  # The arguments are others.
    built.__name__ = built.__qualname__ = name
    built.__doc__ = f"Return the network of {depth} layers. See `{build.__name__}`."
    return built
