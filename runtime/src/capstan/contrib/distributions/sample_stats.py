"""`percentile` (contrib/distributions/python/ops/sample_stats.py)."""

from collections.abc import Sequence
from typing import Any, Final

from capstan.api import check_ops, check_ranks, control_flow_ops, known_values, math_ops
from capstan.api.scoped import scoped
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework.raw import raw

_ROUNDED: Final = {"lower": raw.Ceil, "higher": raw.Floor, "nearest": raw.Round}
"""How a place is rounded that lies between two elements. Places count from the largest element."""


def percentile(
    x: Any,
    q: Any,
    axis: Any = None,
    interpolation: str | None = None,
    keep_dims: bool = False,
    validate_args: bool = False,
    name: str | None = None,
) -> Any:
    """Return the elements of `x` at `q` percent of the way from the smallest to the largest.

    Each result is an element of `x`: the nearest one, or the one that `interpolation` names,
    "lower" or "higher". `axis` has the axes of the samples. They are dropped, or kept with the size
    1. By default, all elements are samples. With `validate_args`, steps check that `q` is in
    [0, 100].

    Raises:
        ValueError: the interpolation is unknown, `q` is not a scalar, or the axes are not known
            before the step, or `x` does not have them.
    """
    method = interpolation or "nearest"
    if method not in _ROUNDED:
        raise ValueError(
            f"Argument 'interpolation' must be in {sorted(_ROUNDED)}.  Found {interpolation}"
        )
    with scoped(None, name or "percentile", (x, q)):
        x = convert.convert_to_tensor(x, name="x")
        q = _percent(q, validate_args=validate_args)
        axes = _axes(x, axis)
        samples = raw.Reshape(x, [-1]) if axes is None else _flat_behind(x, axes)
        count = raw.Shape(samples)[-1]
        last = raw.Cast(count, DstT=dtypes.float64) - 1.0
        place = raw.Cast(_ROUNDED[method](last * (1.0 - q / 100.0)), DstT=dtypes.int32)
        place = raw.Maximum(raw.Minimum(place, count - 1), 0)
        descending, _ = raw.TopKV2(samples, count)
        result = raw.GatherV2(descending, place, -1)
        result.set_shape(samples.shape[:-1])
        if not keep_dims:
            return result
        if axes is not None:
            for each in sorted(axes):
                result = raw.ExpandDims(result, each)
            return result
        ndims = x.shape.ndims
        ones = [1] * ndims if ndims is not None else raw.Fill([raw.Rank(x)], 1)
        return raw.Reshape(result, ones)


def _percent(q: Any, *, validate_args: bool) -> Any:
    q = math_ops.cast(q, dtypes.float64, name="q")
    if q.shape.ndims not in (None, 0):
        raise ValueError(f"Expected argument 'q' to have ndims 0.  Found tensor {q}")
    if not validate_args:
        return q
    checks = [
        check_ranks.assert_rank(q, 0),
        check_ops.assert_greater_equal(q, 0.0),
        check_ops.assert_less_equal(q, 100.0),
    ]
    return control_flow_ops.with_dependencies(checks, q)


def _axes(x: Any, axis: Any) -> list[int] | None:
    """Return the axes of the samples as non-negative numbers, or None for all.

    Raises:
        ValueError: `x` does not have an axis, or its rank or the axes are not known.
    """
    if axis is None:
        return None
    known = known_values.constant_value(convert.convert_to_tensor(axis, name="axis"))
    if known is None:
        raise ValueError(f"Expected argument 'axis' to be statically available.  Found: {axis}")
    if known.ndim > 1:
        raise ValueError(f"Expected argument 'axis' to have ndims <= 1.  Found: {axis}")
    ndims = x.shape.ndims
    if ndims is None:
        raise ValueError(f"Expected argument 'x' to have statically defined 'ndims'.  Found: {x}")
    axes = []
    for each in known.reshape(-1).tolist():
        if each >= ndims:
            raise ValueError(f"dim {each} not in the interval [0, {ndims - 1}].")
        if each < -ndims:
            raise ValueError(f"Negatively indexed dim {each} not in the interval [-{ndims}, -1]")
        axes.append(each % ndims)
    return axes


def _flat_behind(x: Any, axes: Sequence[int]) -> Any:
    """Return `x` with the elements of some axes in one last axis."""
    others = [axis for axis in range(x.shape.ndims) if axis not in axes]
    turned = raw.Transpose(x, [*others, *axes])
    kept = x.shape.as_list()
    shape: Any = [kept[axis] for axis in others]
    if None in shape:
        shape = raw.Shape(turned)[: len(others)]
    flat = raw.Reshape(turned, raw.ConcatV2([shape, [-1]], 0) if others else [-1])
    flat.set_shape([*(kept[axis] for axis in others), None])
    return flat
