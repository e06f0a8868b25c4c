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


def of_version(version: Version) -> Any:
    """Return the function that builds networks of any blocks."""

    @building.for_images_of(224)
    def network(
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
        """Return the output of the network, and the outputs of layers by their names.

        The output are the logits, as images of one pixel, or without `num_classes` the features
        before them. Without `global_pool`, the features of all pixels stay apart. `output_stride`
        is the number of rows of the input for each row of the output, by default 32. Without
        `include_root_block`, the blocks begin with the inputs.

        Raises:
            ValueError: the network cannot have this `output_stride`.
        """
        functions = [layers.conv2d, version.unit, resnet_utils.stack_blocks_dense]
        with scope_block.variable_scope(scope, version.name, [inputs], reuse=reuse) as opened:
            with (
                building.collecting_outputs(opened, functions) as outputs,
                argument_scopes.arg_scope([layers.batch_norm], is_training=is_training),
            ):
                net = inputs
                if include_root_block:
                    net, output_stride = _with_root(version, net, output_stride)
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

    network.__name__ = network.__qualname__ = version.name
    return network


def _with_root(version: Version, net: Any, stride: int | None) -> tuple[Any, int | None]:
    """Return the output of the first layers, and the stride that is left for the blocks."""
    if stride is not None and stride % 4:
        raise ValueError("The output_stride needs to be a multiple of 4.")
    pooled = layers.max_pool2d(version.root(net), 3, stride=2, scope="pool1")
    return pooled, stride and stride // 4


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
