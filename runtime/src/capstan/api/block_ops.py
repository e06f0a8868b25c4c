"""TensorFlow 1's functions that move blocks of pixels to other axes (python/ops/array_ops.py)."""

from typing import Any

import numpy as np

from capstan.api import deprecation
from capstan.framework.raw import raw

__all__ = [
    "batch_to_space", "batch_to_space_nd", "depth_to_space", "space_to_batch",
    "space_to_batch_nd", "space_to_depth",
]  # fmt: skip


def space_to_batch_nd(input: Any, block_shape: Any, paddings: Any, name: str | None = None) -> Any:
    """Add margins of zeros to the axes after the batch, and make their blocks examples.

    `block_shape` has the size of a block for each of these axes, and `paddings` a row (size before,
    size after). The result has the element (i, j) of all blocks in one example.
    """
    return raw.SpaceToBatchND(input, block_shape, paddings, name=name)


def batch_to_space_nd(input: Any, block_shape: Any, crops: Any, name: str | None = None) -> Any:
    """Undo `space_to_batch_nd`. `crops` has the sizes of the margins that are cut off."""
    return raw.BatchToSpaceND(input, block_shape, crops, name=name)


def space_to_batch(
    input: Any,
    paddings: Any,
    block_size: int | None = None,
    name: str | None = None,
    block_shape: Any = None,
) -> Any:
    """Make examples of the blocks of images, as `space_to_batch_nd`.

    A block has `block_size` rows and columns. `block_shape` is a newer name of it.
    """
    result = raw.SpaceToBatchND(input, _square(block_size, block_shape), paddings, name=name)
    result.set_shape(result.shape.with_rank(4))
    return result


def batch_to_space(
    input: Any,
    crops: Any,
    block_size: int | None,
    name: str | None = None,
    block_shape: Any = None,
) -> Any:
    """Undo `space_to_batch`."""
    result = raw.BatchToSpaceND(input, _square(block_size, block_shape), crops, name=name)
    result.set_shape(result.shape.with_rank(4))
    return result


def _square(block_size: int | None, block_shape: Any) -> Any:
    size = deprecation.deprecated_argument_lookup(
        "block_shape", block_shape, "block_size", block_size
    )
    return np.broadcast_to(np.asarray(size, np.int64), 2)


def space_to_depth(
    input: Any, block_size: int, name: str | None = None, data_format: str = "NHWC"
) -> Any:
    """Make one pixel of each square of `block_size` pixels, with all their channels."""
    return raw.SpaceToDepth(input, block_size=block_size, data_format=data_format, name=name)


def depth_to_space(
    input: Any, block_size: int, name: str | None = None, data_format: str = "NHWC"
) -> Any:
    """Undo `space_to_depth`."""
    return raw.DepthToSpace(input, block_size=block_size, data_format=data_format, name=name)
