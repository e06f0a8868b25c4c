"""TensorFlow 1's functions that clip values and gradients (python/ops/clip_ops.py)."""

from collections.abc import Sequence
from typing import Any

from capstan.api import array_ops, creation_ops, reduce_ops
from capstan.api.scoped import scoped
from capstan.framework import convert, indexed_slices
from capstan.framework.raw import raw

__all__ = [
    "clip_by_average_norm", "clip_by_global_norm", "clip_by_norm", "clip_by_value", "global_norm",
]  # fmt: skip


def clip_by_value(t: Any, clip_value_min: Any, clip_value_max: Any, name: str | None = None) -> Any:
    """Limit each element to the range from `clip_value_min` to `clip_value_max`.

    IndexedSlices stay IndexedSlices.

    Raises:
        ValueError: a bound does not broadcast to the shape of `t`.
    """
    with scoped(name, "clip_by_value", (t, clip_value_min, clip_value_max)) as scope:
        values = convert.convert_to_tensor(_values(t), name="t")
        below = raw.Minimum(values, clip_value_max)
        clipped = raw.Maximum(below, clip_value_min, name=scope)
        for bounded in (below, clipped):
            values.shape.merge_with(bounded.shape)
        return _like(t, clipped)


def clip_by_norm(t: Any, clip_norm: Any, axes: Any = None, name: str | None = None) -> Any:
    """Scale a tensor down if its L2 norm over `axes` (default: all) is above `clip_norm`.

    IndexedSlices stay IndexedSlices. Their norm is the norm of their values.

    Raises:
        ValueError: `clip_norm` does not broadcast to the shape of `t`.
    """
    with scoped(name, "clip_by_norm", (t, clip_norm)) as scope:
        values = convert.convert_to_tensor(_values(t), name="t")
        squares = reduce_ops.reduce_sum(values * values, axes, keepdims=True)
        # The gradient of the square root is infinite at 0, so 0 becomes 1 before the root is taken.
        is_positive = squares > 0
        safe = raw.Select(is_positive, squares, creation_ops.ones_like(squares))
        norm = raw.Select(is_positive, raw.Sqrt(safe), squares)
        scaled = values * clip_norm
        values.shape.merge_with(scaled.shape)
        return _like(t, raw.Identity(scaled / raw.Maximum(norm, clip_norm), name=scope))


def clip_by_average_norm(t: Any, clip_norm: Any, name: str | None = None) -> Any:
    """Scale a tensor down if its L2 norm divided by its size is above `clip_norm`."""
    with scoped(name, "clip_by_average_norm", (t, clip_norm)) as scope:
        t = convert.convert_to_tensor(t, name="t")
        count = raw.Cast(array_ops.size(t), DstT=t.dtype.base_dtype)
        inverse = raw.Rsqrt(reduce_ops.reduce_sum(t * t))
        one = convert.constant(1.0, t.dtype.base_dtype)
        scale = raw.Minimum(inverse * count, one / clip_norm)
        return raw.Identity(t * clip_norm * scale, name=scope)


def global_norm(t_list: Sequence[Any], name: str | None = None) -> Any:
    """Return the L2 norm of all tensors together. Members that are None are left out.

    Raises:
        TypeError: `t_list` is not a list or tuple.
    """
    tensors = _sequence(t_list)
    with scoped(name, "global_norm", tensors):
        halves = [raw.L2Loss(_values(tensor)) for tensor in tensors if tensor is not None]
        total = reduce_ops.reduce_sum(raw.Pack(halves, name="stack"))
        two = convert.constant(2.0, total.dtype)
        return raw.Sqrt(total * two, name="global_norm")


def clip_by_global_norm(
    t_list: Sequence[Any], clip_norm: Any, use_norm: Any = None, name: str | None = None
) -> tuple[list[Any], Any]:
    """Scale all tensors down by the same factor if their global norm is above `clip_norm`.

    Return the scaled tensors and the global norm before scaling. IndexedSlices stay IndexedSlices,
    and None stays None. If the norm is infinite or NaN, all scaled elements are NaN.

    Raises:
        TypeError: `t_list` is not a list or tuple.
    """
    tensors = _sequence(t_list)
    norm = global_norm(tensors, name) if use_norm is None else use_norm
    with scoped(name, "clip_by_global_norm", (*tensors, clip_norm)) as scope:
        inverse = 1.0 / norm
        one = convert.constant(1.0, inverse.dtype)
        scale = clip_norm * raw.Minimum(inverse, one / clip_norm)
        nan = convert.constant(float("nan"), inverse.dtype)
        scale = raw.Select(raw.IsFinite(norm), scale, nan)
        clipped = [
            _scaled(tensor, scale, f"{scope}_{index}") for index, tensor in enumerate(tensors)
        ]
    return clipped, norm


def _sequence(t_list: Any) -> list[Any]:
    if not isinstance(t_list, list | tuple):
        raise TypeError("t_list should be a sequence")
    return [
        tensor
        if tensor is None or isinstance(tensor, indexed_slices.IndexedSlices)
        else convert.convert_to_tensor(tensor)
        for tensor in t_list
    ]


def _values(tensor: Any) -> Any:
    return tensor.values if isinstance(tensor, indexed_slices.IndexedSlices) else tensor


def _scaled(tensor: Any, scale: Any, name: str) -> Any:
    if tensor is None:
        return None
    values = _values(tensor)
    with values.graph.colocate_with(values.op):
        scaled = raw.Identity(values * scale, name=name)
    return _like(tensor, scaled)


def _like(tensor: Any, values: Any) -> Any:
    """Return `values` as IndexedSlices if `tensor` is IndexedSlices."""
    if isinstance(tensor, indexed_slices.IndexedSlices):
        return indexed_slices.IndexedSlices(values, tensor.indices, tensor.dense_shape)
    return values
