"""Kernels of reductions, arg-reductions and running sums."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.kernels import sums
from capstan.kernels.memory import into, is_on_host, on_host
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid, number

_SHORT: Final = 16
_MANY: Final = 1_024
"""From so many short rows on, a transposed copy is reduced faster than the rows."""


def _axes(node: NodeContext) -> Callable[[Array, Array], tuple[int, ...]]:
    """Return a function that reads the axes of an array. Constant axes are read once, here."""
    shape, known = node.input_shapes[0], node.constants.get(1)
    if known is None or shape is None:
        return lambda x, axes: _distinct(axes, x.ndim)
    axes = _distinct(known, len(shape))
    return lambda *_: axes


def _distinct(axes: Array, rank: int) -> tuple[int, ...]:
    """Return the axes. An axis that repeats, such as 1 and -1, counts once, as in TensorFlow 1."""
    places = {axis + rank if axis < 0 else axis: axis for axis in axes.ravel().tolist()}
    return tuple(places.values())


def _reduction(ufunc: np.ufunc) -> Callable[[NodeContext], Function]:
    def make(node: NodeContext) -> Function:
        # Without a dtype NumPy widens small integers.
        dtype = node.output_dtypes[0].as_numpy_dtype
        keep, axes_in = bool(node.attrs["keep_dims"]), _axes(node)
        reduce: Function = sums.total if ufunc is np.add else ufunc.reduce

        def run(x: Array, axes: Array, out: Array | None = None) -> Any:
            return reduce(x, axes_in(x, axes), dtype, out, keep)

        return run

    return make


def _extremum(method: str, bound: str) -> Callable[[NodeContext], Function]:
    def make(node: NodeContext) -> Function:
        dtype = node.output_dtypes[0]
        # `start` is the result if there are no elements.
        start: Any = getattr(dtype, bound)
        if dtype.is_floating:
            start = np.inf if bound == "max" else -np.inf
        keep, axes_in = bool(node.attrs["keep_dims"]), _axes(node)
        ufunc = np.maximum if method == "max" else np.minimum

        def run(x: Array, axes: Array, out: Array | None = None) -> Any:
            if x.size:
                if _has_short_rows(x, axes_in(x, axes)):
                    # NumPy calls a loop for each row, but not for each column.
                    found = ufunc.reduce(x.reshape(-1, x.shape[-1]).T.copy(), 0)
                    return into(found.reshape(x.shape[:-1] + (1,) * keep), out)
                if out is None or is_on_host(out):
                    return getattr(x, method)(axes_in(x, axes), out, keep)
                # With `out`, CuPy 14.2 takes the result of `min` for its dtype.
                np.copyto(out, getattr(x, method)(axes_in(x, axes), None, keep))
                return out
            # A sum has the right shape.
            nothing = np.asarray(x.sum(axes_in(x, axes), x.dtype, out, keepdims=keep), like=x)
            nothing.fill(start)
            return nothing

        return run

    return make


def _has_short_rows(x: Array, axes: tuple[int, ...]) -> bool:
    """Return whether `axes` are the last axis, along which there are many times few elements."""
    return (
        type(x) is np.ndarray
        and x.ndim > 1
        and axes in ((-1,), (x.ndim - 1,))
        and x.shape[-1] <= _SHORT
        and x.size >= _MANY
        and x.flags.c_contiguous
    )


def _mean(node: NodeContext) -> Function:
    dtype = node.output_dtypes[0]
    numpy_type = dtype.as_numpy_dtype
    divide: Function = _integer_mean if dtype.is_integer else np.true_divide
    keep, axes_in = bool(node.attrs["keep_dims"]), _axes(node)
    reduce: Function = sums.total
    # The sum of small integers may overflow their type. The mean cannot overflow it.
    is_narrow = dtype.is_integer and dtype.size < 8

    def mean(x: Array, axes: Array, out: Array | None = None) -> Any:
        if is_narrow:
            total = np.asarray(reduce(x, axes_in(x, axes), np.int64, None, keep))
            quotient = _integer_mean(total, x.size // total.size if total.size else 1)
            if out is None:
                return np.asarray(quotient).astype(numpy_type)
            np.copyto(out, quotient, casting="unsafe")
            return out
        # The sum is `out`, a new array or a scalar, so it may be divided in place.
        total = reduce(x, axes_in(x, axes), numpy_type, out, keep)
        count = x.size // total.size if total.size else 1
        return divide(total, count, out)

    return mean


def _integer_mean(total: Array, count: int, out: Array | None = None) -> Any:
    """Divide integers, rounding towards zero. The mean of no elements is 0."""
    count = max(count, 1)
    return np.floor_divide(total - np.fmod(total, count), count, out)


def _truth(method: str) -> Callable[[NodeContext], Function]:
    def make(node: NodeContext) -> Function:
        keep, axes_in = bool(node.attrs["keep_dims"]), _axes(node)

        def run(x: Array, axes: Array, out: Array | None = None) -> Any:
            # The order of these arguments differs between array types.
            return getattr(x, method)(axis=axes_in(x, axes), out=out, keepdims=keep)

        return run

    return make


def _arg(method: str) -> Callable[[NodeContext], Function]:
    worst = np.float16(-np.inf if method == "argmax" else np.inf)

    def make(node: NodeContext) -> Function:
        dtype = node.output_dtypes[0].as_numpy_dtype

        def run(x: Any, axis: Array, out: Array | None = None) -> Any:
            along = number(axis, "axis")
            if not -x.ndim <= along < x.ndim:
                raise invalid(
                    f"Expected dimension in the range [{-x.ndim}, {x.ndim}), but got {along}"
                )
            if not x.shape[along]:
                raise invalid(f"Reduction axis {along} is empty in shape {show(x.shape)}")
            # NumPy finds the first NaN, and TensorFlow on a CPU the best number.
            if x.dtype.kind == "f" and x.size and isinstance(x, np.ndarray) and np.isnan(x.min()):
                x = np.where(np.isnan(x), worst, x)
            positions = getattr(x, method)(along)
            if dtype is np.int32:
                positions = on_host(positions)
            if out is None:
                return positions.astype(dtype, copy=False)
            np.copyto(out, positions, casting="unsafe")
            return out

        return run

    return make


def _scan_axis(x: Array, axis: Array) -> int:
    if axis.ndim:
        raise invalid(f"ScanOp: axis must be a scalar, not {show(axis.shape)}")
    along = int(axis) + x.ndim if axis < 0 else int(axis)
    if not 0 <= along < x.ndim:
        raise invalid(
            f"ScanOp: Expected scan axis in the range [{-x.ndim}, {x.ndim}), but got {along}"
        )
    return along


def _running(ufunc: np.ufunc) -> Callable[[NodeContext], Function]:
    start = ufunc.identity

    def make(node: NodeContext) -> Function:
        dtype = node.output_dtypes[0].as_numpy_dtype
        exclusive, reverse = node.attrs["exclusive"], node.attrs["reverse"]

        def run(x: Array, axis: Array) -> Array:
            along = _scan_axis(x, axis)
            forward = np.moveaxis(x, along, 0)
            if reverse:
                forward = forward[::-1]
            result = np.empty_like(x)
            target = np.moveaxis(result, along, 0)
            if reverse:
                target = target[::-1]
            if exclusive:
                target[:1] = start
                forward, target = forward[:-1], target[1:]
            ufunc.accumulate(forward, 0, dtype, target)
            return result

        return run

    return make


def _euclidean_norm(node: NodeContext) -> Function:
    dtype = node.output_dtypes[0]
    target, keep, axes_in = dtype.as_numpy_dtype, bool(node.attrs["keep_dims"]), _axes(node)
    reduce: Function = sums.total

    def norm(x: Array, axes: Array) -> Any:
        square = np.multiply(x, np.conjugate(x) if dtype.is_complex else x)
        total = reduce(square, axes_in(x, axes), target, None, keep)
        if dtype.is_floating or dtype.is_complex:
            return np.sqrt(total)
        return np.sqrt(np.asarray(total).astype(np.float64)).astype(target)

    return norm


def _running_logarithm(node: NodeContext) -> Function:
    """Return the logarithms of running sums of exponentials.

    Each round adds to every element the sum of as many elements before it as it already has.
    """
    exclusive, reverse = node.attrs["exclusive"], node.attrs["reverse"]

    def run(x: Array, axis: Array) -> Array:
        result = np.empty_like(x)
        along = _scan_axis(x, axis)
        source, target = (np.moveaxis(each, along, 0) for each in (x, result))
        if reverse:
            source, target = source[::-1], target[::-1]
        if exclusive:
            target[:1] = -np.inf
            target[1:] = source[:-1]
        else:
            target[...] = source
        width = 1
        while width < len(target):
            target[width:] = np.logaddexp(target[width:], target[:-width])
            width *= 2
        return result

    return run


for _op, _make in (
    ("Sum", _reduction(np.add)),
    ("Mean", _mean),
    ("Prod", _reduction(np.multiply)),
    ("Max", _extremum("max", "min")),
    ("Min", _extremum("min", "max")),
    ("All", _truth("all")),
    ("Any", _truth("any")),
    ("ArgMax", _arg("argmax")),
    ("ArgMin", _arg("argmin")),
):
    register(Kernel(_op, _make, out=True))
register(Kernel("Cumsum", _running(np.add)))
register(Kernel("Cumprod", _running(np.multiply)))
register(Kernel("EuclideanNorm", _euclidean_norm))
register(Kernel("CumulativeLogsumexp", _running_logarithm))
