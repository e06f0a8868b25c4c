"""Shapes in lists, tuples and dictionaries (`convert_shapes` of python/keras/utils/tf_utils.py)."""

from typing import Any

from capstan.core import tensor_shape
from capstan.framework import nest


def shapes(value: Any) -> Any:
    """Return the nest of TensorShapes for shapes in lists, tuples and dictionaries.

    A list or tuple of sizes is a shape, such as `(None, 3)`, and so is None.
    """
    if isinstance(value, dict):
        return {key: shapes(each) for key, each in value.items()}
    if isinstance(value, list | tuple) and any(map(_is_shape, value)):
        return nest.like(value, [*map(shapes, value)])
    return tensor_shape.as_shape(value)


def _is_shape(value: Any) -> bool:
    return isinstance(value, list | tuple | dict | tensor_shape.TensorShape)
