"""TensorFlow 1's functions that clip values and gradients (python/ops/clip_ops.py)."""

from collections.abc import Sequence
from typing import Any

from capstan.api import reduce_ops
from capstan.api.scoped import scoped
from capstan.framework import convert, indexed_slices
from capstan.framework.raw import raw

__all__ = [
    "clip_by_average_norm", "clip_by_global_norm", "clip_by_norm", "clip_by_value", "global_norm",
]  # fmt: skip


def clip_by_value(t: Any, clip_value_min: Any, clip_value_max: Any, name: str | None = None) -> Any:
    """Replace what is below the minimum by it, and what is above the maximum by that.

    Raises:
        ValueError: the bounds have a larger shape than `t`.
    """
    with scoped(name, "clip_by_value", (t, clip_value_min, clip_value_max)) as scope:
        t = convert.convert_to_tensor(t, name="t")
        below = raw.Minimum(t, clip_value_max)
        clipped = raw.Maximum(below, clip_value_min, name=scope)
        for bounded in (below, clipped):
            t.shape.merge_with(bounded.shape)
        return clipped


def clip_by_norm(t: Any, clip_norm: Any, axes: Any = None, name: str | None = None) -> Any:
    """Scale down what has a larger L2 norm (over `axes`, default: all) than `clip_norm`."""
    with scoped(name, "clip_by_norm", (t, clip_norm)) as scope:
        t = convert.convert_to_tensor(t, name="t")
        squares = reduce_ops.reduce_sum(raw.Square(t), axes, keepdims=True)
        # The square root of 0 has no slope: a 1 takes its place there.
        is_positive = raw.Greater(squares, 0)
        safe = raw.SelectV2(is_positive, squares, raw.OnesLike(squares))
        norm = raw.SelectV2(is_positive, raw.Sqrt(safe), squares)
        scaled = raw.Mul(t, clip_norm)
        return raw.RealDiv(scaled, raw.Maximum(norm, clip_norm), name=scope)


def clip_by_average_norm(t: Any, clip_norm: Any, name: str | None = None) -> Any:
    """Scale down what has a larger L2 norm per element than `clip_norm`."""
    with scoped(name, "clip_by_average_norm", (t, clip_norm)) as scope:
        t = convert.convert_to_tensor(t, name="t")
        count = raw.Cast(raw.Size(t), DstT=t.dtype.base_dtype)
        inverse = raw.Mul(count, raw.Rsqrt(reduce_ops.reduce_sum(raw.Square(t))))
        bound = raw.RealDiv(raw.OnesLike(inverse), clip_norm)
        return raw.Mul(raw.Mul(t, clip_norm), raw.Minimum(inverse, bound), name=scope)


def global_norm(t_list: Sequence[Any], name: str | None = None) -> Any:
    """Return the L2 norm of all tensors together; None among them is left out.

    Raises:
        TypeError: no sequence of tensors.
    """
    items = _sequence(t_list)
    with scoped(name, "global_norm", items) as scope:
        halves = [raw.L2Loss(_values(item)) for item in items if item is not None]
        total = raw.Mul(reduce_ops.reduce_sum(raw.Pack(halves)), 2)
        return raw.Sqrt(total, name=scope)


def clip_by_global_norm(
    t_list: Sequence[Any], clip_norm: Any, use_norm: Any = None, name: str | None = None
) -> tuple[list[Any], Any]:
    """Scale all tensors down together when their common norm is larger than `clip_norm`.

    Returns the tensors (IndexedSlices and None stay what they are) and the norm before.

    Raises:
        TypeError: no sequence of tensors.
    """
    items = _sequence(t_list)
    norm = global_norm(items, name) if use_norm is None else use_norm
    with scoped(name, "clip_by_global_norm", (*items, clip_norm)) as scope:
        smaller = raw.Minimum(raw.RealDiv(1.0, norm), raw.RealDiv(1.0, clip_norm))
        scale = raw.Mul(smaller, clip_norm)
        clipped = [_scaled(item, scale, f"{scope}_{index}") for index, item in enumerate(items)]
    return clipped, norm


def _sequence(t_list: Any) -> list[Any]:
    if not isinstance(t_list, list | tuple):
        raise TypeError("t_list should be a sequence")
    return [
        item
        if item is None or isinstance(item, indexed_slices.IndexedSlices)
        else convert.convert_to_tensor(item)
        for item in t_list
    ]


def _values(item: Any) -> Any:
    return item.values if isinstance(item, indexed_slices.IndexedSlices) else item


def _scaled(item: Any, scale: Any, name: str) -> Any:
    if item is None:
        return None
    values = _values(item)
    with values.graph.colocate_with(values.op):
        scaled = raw.Identity(raw.Mul(values, scale), name=name)
    if isinstance(item, indexed_slices.IndexedSlices):
        return indexed_slices.IndexedSlices(scaled, item.indices, item.dense_shape)
    return scaled
