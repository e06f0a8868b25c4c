"""Broadcasting of tensors and of shapes (python/ops/array_ops.py)."""

from typing import Any

from capstan.api import plain
from capstan.core import shapes, tensor_shape
from capstan.framework.raw import raw

__all__ = ["broadcast_dynamic_shape", "broadcast_static_shape", "broadcast_to"]

broadcast_to = plain.function(
    "broadcast_to", "BroadcastTo", "Repeat a tensor along axes of size 1 so that it has `shape`."
)


def broadcast_static_shape(shape_x: Any, shape_y: Any) -> tensor_shape.TensorShape:
    """Return the static shape of `x + y` for tensors x and y of two static shapes.

    Raises:
        ValueError: the shapes do not broadcast.
    """
    x, y = tensor_shape.TensorShape(shape_x), tensor_shape.TensorShape(shape_y)
    try:
        return tensor_shape.TensorShape(shapes.broadcast(x.internal, y.internal))
    except ValueError:
        raise ValueError(f"Incompatible shapes for broadcasting: {x} and {y}") from None


def broadcast_dynamic_shape(shape_x: Any, shape_y: Any) -> Any:
    """Return the shape of `x + y`, as a tensor, for tensors x and y of two shapes."""
    return raw.BroadcastArgs(shape_x, shape_y)
