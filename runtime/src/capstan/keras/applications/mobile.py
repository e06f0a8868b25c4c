"""The sizes of images for which MobileNets have weights of ImageNet."""

from typing import Any

from capstan.api import logging
from capstan.keras.applications import architecture


def size(input_shape: Any, known: tuple[int, ...]) -> int:
    """Return the size of the images if the shape has one of the known sizes, else 224."""
    if input_shape is None:
        return 224
    is_first = architecture.is_channels_first()
    rows, columns = input_shape[1:] if is_first else input_shape[:2]
    return rows if rows == columns and rows in known else 224


def rows(images: Any, weights: Any, known: tuple[int, ...]) -> Any:
    """Return the height of the images. For weights of ImageNet, it is one of the known sizes."""
    height, width, _ = architecture.sizes(images)
    if weights == "imagenet" and (height != width or height not in known):
        logging.warning(
            "`input_shape` is undefined or non-square, or `rows` is not in %s. Weights for input "
            "shape (224, 224) will be loaded as the default.",
            list(known),
        )
        return 224
    return height
