"""TensorFlow 1's functions for slices at multi-dimensional indices.

The last axis of `indices` holds the coordinates of one slice. Sources: python/ops/array_ops.py,
python/ops/state_ops.py.
"""

from typing import Any

from capstan.api import plain
from capstan.framework.raw import raw

__all__ = [
    "gather_nd", "scatter_nd", "scatter_nd_add", "scatter_nd_sub", "scatter_nd_update",
    "tensor_scatter_add", "tensor_scatter_nd_add", "tensor_scatter_nd_sub",
    "tensor_scatter_nd_update", "tensor_scatter_sub", "tensor_scatter_update",
]  # fmt: skip


def gather_nd(params: Any, indices: Any, name: str | None = None, batch_dims: int = 0) -> Any:
    """Return the slices of `params` at `indices`.

    An index out of range makes the step raise InvalidArgumentError.

    Raises:
        ValueError: `batch_dims` is not 0.
    """
    if batch_dims != 0:
        raise ValueError(f"batch_dims must be 0, not {batch_dims}")
    return raw.GatherNd(params, indices, name=name)


scatter_nd = plain.function(
    "scatter_nd",
    "ScatterNd",
    "Return zeros of `shape` with `updates` at `indices`. Values of a repeated index are summed.",
)


def tensor_scatter_nd_update(
    tensor: Any, indices: Any, updates: Any, name: str | None = None
) -> Any:
    """Return a copy of `tensor` with `updates` at `indices`."""
    return raw.TensorScatterUpdate(tensor, indices, updates, name=name)


def tensor_scatter_nd_add(tensor: Any, indices: Any, updates: Any, name: str | None = None) -> Any:
    """Return a copy of `tensor` to whose slices at `indices` the updates are added."""
    return raw.TensorScatterAdd(tensor, indices, updates, name=name)


def tensor_scatter_nd_sub(tensor: Any, indices: Any, updates: Any, name: str | None = None) -> Any:
    """Return a copy of `tensor` from whose slices at `indices` the updates are subtracted."""
    return raw.TensorScatterSub(tensor, indices, updates, name=name)


tensor_scatter_update = tensor_scatter_nd_update
tensor_scatter_add = tensor_scatter_nd_add
tensor_scatter_sub = tensor_scatter_nd_sub


def scatter_nd_update(
    ref: Any, indices: Any, updates: Any, use_locking: bool = True, name: str | None = None
) -> Any:
    """Set slices of a variable. A slice that is repeated gets one of its values."""
    if _is_resource(ref):
        return ref.scatter_nd_update(indices, updates, name=name)
    return raw.ScatterNdUpdate(ref, indices, updates, use_locking=use_locking, name=name)


def scatter_nd_add(
    ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None
) -> Any:
    """Add to slices of a variable. The values of a repeated slice are summed."""
    if _is_resource(ref):
        return ref.scatter_nd_add(indices, updates, name=name)
    return raw.ScatterNdAdd(ref, indices, updates, use_locking=use_locking, name=name)


def scatter_nd_sub(
    ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None
) -> Any:
    """Subtract from slices of a variable. The values of a repeated slice are summed."""
    if _is_resource(ref):
        return ref.scatter_nd_sub(indices, updates, name=name)
    return raw.ScatterNdSub(ref, indices, updates, use_locking=use_locking, name=name)


def _is_resource(ref: Any) -> bool:
    # An argument that is not a variable is left to the op, whose error names it.
    return hasattr(ref, "is_initialized")
