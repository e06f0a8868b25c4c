"""Grids of images for summaries (contrib/gan/python/eval/python/eval_utils_impl.py)."""

import math
from collections.abc import Sequence
from typing import Any

from capstan.api import array_ops, creation_ops
from capstan.framework import graph as graphs

__all__ = ["image_grid", "image_reshaper"]


def image_grid(
    input_tensor: Any,
    grid_shape: Sequence[int],
    image_shape: Sequence[int] = (32, 32),
    num_channels: int = 3,
) -> Any:
    """Return one image, [1, height, width, channels], of a batch of images in rows.

    `grid_shape` has the numbers of rows and columns, `image_shape` the height and the width of an
    image. A batch may also be a matrix with an image in each row.

    Raises:
        ValueError: the batch has another size or another shape.
    """
    rows, columns = grid_shape
    height, width = image_shape
    sizes = input_tensor.shape.as_list()
    if rows * columns != sizes[0]:
        raise ValueError(f"Grid shape {grid_shape} incompatible with minibatch size {sizes[0]}.")
    if len(sizes) not in (2, 4):
        raise ValueError("Unrecognized input tensor format.")
    wanted = [height, width, num_channels]
    if sizes[1:] != (wanted if len(sizes) == 4 else [math.prod(wanted)]):
        raise ValueError("Image shape and number of channels incompatible with input tensor.")
    apart = array_ops.reshape(input_tensor, [rows, columns, *wanted])
    beside = array_ops.transpose(apart, [0, 2, 1, 3, 4])
    return array_ops.reshape(beside, [1, rows * height, columns * width, num_channels])


def image_reshaper(images: Any, num_cols: int | None = None) -> Any:
    """Return one image, [1, height, width, channels], of images in rows.

    The images are a batch or a list. The number of columns is by default about the number of
    rows. Black images fill the last row.

    Raises:
        ValueError: an image is not of a known shape with 1 or 3 channels.
    """
    tiles = array_ops.unstack(images) if isinstance(images, graphs.Tensor) else list(images)
    for tile in tiles:
        tile.shape.assert_has_rank(3)
        tile.shape.assert_is_fully_defined()
        if tile.shape.as_list()[-1] not in (1, 3):
            raise ValueError("image_reshaper only supports 1 or 3 channel images.")
    columns = num_cols or math.ceil(math.sqrt(len(tiles)))
    missing = -len(tiles) % columns
    if missing:
        tiles += [creation_ops.zeros_like(tiles[-1])] * missing
    rows = [
        array_ops.concat(tiles[start : start + columns], 1)
        for start in range(0, len(tiles), columns)
    ]
    return array_ops.expand_dims(array_ops.concat(rows, 0), 0)
