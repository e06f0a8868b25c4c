"""TensorFlow 1's functions for slices at multi-dimensional indices.

The last axis of `indices` holds the coordinates of one slice. Sources: python/ops/array_ops.py,
python/ops/state_ops.py.
"""

from typing import Any

import numpy as np

from capstan.api import plain
from capstan.api.scoped import scoped
from capstan.framework import convert
from capstan.framework.raw import raw

__all__ = [
    "batch_scatter_update",
    "gather_nd", "scatter_nd", "scatter_nd_add", "scatter_nd_sub", "scatter_nd_update",
    "tensor_scatter_add", "tensor_scatter_nd_add", "tensor_scatter_nd_sub",
    "tensor_scatter_nd_update", "tensor_scatter_sub", "tensor_scatter_update",
]  # fmt: skip


def gather_nd(params: Any, indices: Any, name: str | None = None, batch_dims: int = 0) -> Any:
    """Return the slices of `params` at `indices`.

    The first `batch_dims` axes of `params` and of `indices` are equal, and each batch selects from
    its own slices. An index out of range makes the step raise InvalidArgumentError.

    Raises:
        TypeError: `batch_dims` is not an int.
        ValueError: `batch_dims` is negative, or not below the ranks of `params` and `indices`.
    """
    if batch_dims == 0:
        if hasattr(params, "gather_nd"):
            return params.gather_nd(indices, name=name)
        return raw.GatherNd(params, indices, name=name)
    with scoped(name, "BatchGatherND", (params, indices)) as scope:
        params = convert.convert_to_tensor(params, name="params")
        indices = convert.convert_to_tensor(indices, name="indices")
        _check_batch_dims(batch_dims, params, indices)
        places = _batch_coordinates(params, indices, batch_dims)
        return raw.GatherNd(params, raw.ConcatV2([*places, indices], -1), name=scope)


def _check_batch_dims(batch_dims: Any, params: Any, indices: Any) -> None:
    if not isinstance(batch_dims, int):
        raise TypeError(f"batch_dims must be an int; got {batch_dims!r}")
    if batch_dims < 0:
        raise ValueError("tf.gather_nd does not allow negative batch_dims.")
    for name, tensor in (("indices", indices), ("params", params)):
        rank = tensor.shape.ndims
        if rank is not None and batch_dims >= rank:
            raise ValueError(f"batch_dims = {batch_dims} must be less than rank({name}) = {rank}")


def _batch_coordinates(params: Any, indices: Any, batch_dims: int) -> list[Any]:
    """Return the coordinate of each index along each axis of the batch."""
    kind, sizes, form = indices.dtype.base_dtype, raw.Shape(params), raw.Shape(indices)
    one = np.array([1], np.int32)
    outer = raw.StridedSlice(form, [0], [-1], [1])
    full = raw.ConcatV2([outer, one], 0)
    coordinates = []
    for axis in range(batch_dims):
        size = raw.StridedSlice(sizes, [axis], [axis + 1], [1], shrink_axis_mask=1)
        along = raw.Cast(raw.Range(np.int32(0), size, np.int32(1)), DstT=kind)
        inner = raw.OnesLike(raw.StridedSlice(form, [axis + 1], [0], [1], end_mask=1))
        thin = raw.ConcatV2([np.array([1] * axis + [-1], np.int32), inner], 0)
        coordinates.append(raw.BroadcastTo(raw.Reshape(along, thin), full))
    return coordinates


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


def batch_scatter_update(
    ref: Any, indices: Any, updates: Any, use_locking: bool = True, name: str | None = None
) -> Any:
    """Set elements of each batch of a variable: `ref[b, indices[b, i]] = updates[b, i]`.

    `indices` has any number of leading batch axes. The elements of a batch are along its last axis.

    Raises:
        ValueError: the rank of `indices` is unknown.
    """
    with scoped(name, "batch_scatter_update", (ref, indices, updates)):
        indices = convert.convert_to_tensor(indices, name="indices")
        rank = indices.shape.ndims
        if rank is None:
            raise ValueError("batch_scatter_update needs indices of known rank; call set_shape")
        sizes, last = raw.Shape(indices), raw.ExpandDims(indices, -1)
        places = []
        for axis in range(rank - 1):
            count = raw.Cast(raw.Range(0, sizes[axis], 1), DstT=indices.dtype)
            turned = raw.Reshape(count, [-1 if place == axis else 1 for place in range(rank + 1)])
            places.append(turned * raw.OnesLike(last))
        whole = raw.ConcatV2([*places, last], -1) if places else last
        return scatter_nd_update(ref, whole, updates, use_locking)


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
