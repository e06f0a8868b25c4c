"""Kernels of pools whose windows have random sizes (core/kernels/fractional_*_pool_op.cc).

A sequence has the edges of the windows over an axis: window `i` begins at element `sequence[i]`,
and ends before element `sequence[i + 1]`. If the windows overlap, it has this element, too. The
random numbers are those of TensorFlow (core/kernels/fractional_pool_common.cc).
"""

import itertools
import math
import secrets
from collections.abc import Callable, Iterator

import numpy as np

from capstan import errors
from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid
from capstan.resources import philox

_AXES = (1, 2)


def sequence(size: int, count: int, is_pseudo_random: bool, numbers: Iterator[int]) -> list[int]:
    """Return the edges of `count` windows over an axis of `size` elements, `count` + 1 numbers.

    The windows have `size // count` elements or one more. If `is_pseudo_random`, one random number
    decides on all edges. Else the windows with one more element are chosen at random. `numbers`
    yields TensorFlow's random numbers of 32 bits, from which TensorFlow takes groups of four.
    """
    if is_pseudo_random:
        high, low, *_ = itertools.islice(numbers, 4)
        return _evenly(size, count, ((high & 0xFFFFF) << 32 | low) / (1 << 52))
    drawn = list(itertools.islice(numbers, (count + 3) // 4 * 4))
    least, rest = divmod(size, count)
    widths = [least + 1] * rest + [least] * (count - rest)
    for place in range(count - 1):
        other = place + drawn[place] % (count - place)
        widths[place], widths[other] = widths[other], widths[place]
    return list(itertools.accumulate(widths, initial=0))


def _evenly(size: int, count: int, share: float) -> list[int]:
    """Return the edges that follow from a random number in [0, 1).

    The bounds of the offset keep the first and the last window at the width of the others (Graham,
    "Fractional Max-Pooling", 2014).
    """
    width, least = size / count, size // count
    bound = min((least + 2) / width - 1, (size + 1 - least) / width - (count - 1))
    offset = share * bound
    return [0, *(math.ceil(width * (at + offset)) - 1 for at in range(1, count)), size]


def _draws(node: NodeContext) -> Callable[[], Iterator[int]]:
    """Return the function that gives each call its random numbers.

    A deterministic node draws the same numbers in each call.

    Raises:
        InvalidArgumentError: the node has seeds, and is not deterministic.
    """
    seeds = int(node.attrs["seed"]), int(node.attrs["seed2"])
    if not node.attrs["deterministic"]:
        if seeds != (0, 0):
            raise invalid("Both seed and seed2 should be 0 if deterministic is false.")
        return lambda: philox.numbers(*_fresh())
    kept = node.resources.keep(node.name, _fresh) if seeds == (0, 0) else seeds
    return lambda: philox.numbers(*kept)


def _fresh() -> tuple[int, int]:
    return secrets.randbits(64), secrets.randbits(64)


def _counts(node: NodeContext, value: Array) -> list[int]:
    """Return the numbers of windows over the two axes of images.

    Raises:
        InvalidArgumentError: the tensor has no four axes, or an axis is too small for a window.
    """
    if value.ndim != 4:
        raise invalid("tensor_in must be 4-dimensional")
    ratios = np.asarray(node.attrs["pooling_ratio"], np.float32)
    counts: list[int] = np.floor(np.asarray(value.shape, np.float32) / ratios).astype(int).tolist()
    if not all(counts):
        raise invalid(
            f"pooling_ratio {ratios.tolist()} leaves no window over an axis of the input "
            f"{show(value.shape)}"
        )
    return [counts[axis] for axis in _AXES]


def _check(node: NodeContext) -> None:
    """Refuse ratios for which TensorFlow has no kernel.

    Raises:
        InvalidArgumentError: there are not four ratios, or one is below 1.
        UnimplementedError: windows would reach over images or channels.
    """
    ratios = node.attrs["pooling_ratio"]
    if len(ratios) != 4:
        raise invalid("pooling_ratio field must specify 4 dimensions")
    if not all(ratio >= 1 for ratio in ratios):
        raise invalid(f"pooling_ratio cannot be smaller than 1, got: {min(ratios)}")
    if ratios[0] != 1 or ratios[3] != 1:
        raise errors.UnimplementedError(
            None, None, f"{node.op} is not yet supported on the batch nor channel dimension."
        )


def _pool(
    reduce: np.ufunc, finish: Callable[[Array, Array], Array]
) -> Callable[[NodeContext], Function]:
    """Return the kernel of a pool. `finish` gets the reduced windows, and their sizes."""

    def make(node: NodeContext) -> Function:
        _check(node)
        draws, overlaps = _draws(node), bool(node.attrs["overlapping"])
        is_pseudo_random = bool(node.attrs["pseudo_random"])

        def pool(value: Array) -> tuple[Array, ...]:
            counts, numbers = _counts(node, value), draws()
            result = value
            sequences, widths = [], []
            for axis, count in zip(_AXES, counts, strict=True):
                edges = sequence(value.shape[axis], count, is_pseudo_random, numbers)
                result = _reduced(reduce, result, edges, axis, overlaps)
                sequences.append(np.array(edges, np.int64))
                starts, ends = _bounds(sequences[-1], value.shape[axis], overlaps)
                widths.append(ends - starts)
            sizes = np.multiply.outer(*widths)[..., np.newaxis].astype(value.dtype)
            return (finish(result, sizes), *sequences)

        return pool

    return make


def _reduced(reduce: np.ufunc, value: Array, edges: list[int], axis: int, overlaps: bool) -> Array:
    """Reduce each window over an axis to one element."""
    result: Array = reduce.reduceat(value, edges[:-1], axis, value.dtype)
    if overlaps and len(edges) > 2:
        before = (slice(None),) * axis
        shared = result[(*before, slice(-1))]
        reduce(shared, value.take(edges[1:-1], axis), shared)
    return result


def _largest(result: Array, _: Array) -> Array:
    """TensorFlow starts with the lowest finite number, and a NaN is not above any number."""
    kind = np.finfo if result.dtype.kind == "f" else np.iinfo
    np.fmax(result, result.dtype.type(kind(result.dtype).min), result)
    return result


def _mean(result: Array, sizes: Array) -> Array:
    if result.dtype.kind == "f":
        np.divide(result, sizes, result)
        return result
    # C++ rounds quotients of integers towards 0.
    quotient: Array = (result - np.fmod(result, sizes)) // sizes
    return quotient


def _bounds(edges: Array, size: int, overlaps: bool) -> tuple[Array, Array]:
    """Return the first element of each window, and the element behind its last."""
    starts, ends = edges[:-1], edges[1:] + overlaps
    return starts, np.maximum(np.minimum(ends, size), starts)


def _checked_bounds(
    node: NodeContext, shape: tuple[int, ...], grad: Array, *sequences: Array
) -> list[tuple[Array, Array]]:
    """Return the bounds of the windows over each axis, as `_bounds`.

    Raises:
        InvalidArgumentError: the sequences do not fit the gradient, or have negative edges.
    """
    for name, edges, axis in zip(("row", "col"), sequences, _AXES, strict=True):
        if edges.shape != (grad.shape[axis] + 1,):
            raise invalid(
                f"{name}_pooling_sequence must have {grad.shape[axis] + 1} elements for "
                f"out_backprop {show(grad.shape)}, but its shape is {show(edges.shape)}"
            )
        if (edges < 0).any():
            raise invalid(f"{name}_pooling_sequence must not be negative: {edges.tolist()}")
    if (shape[0], shape[3]) != (grad.shape[0], grad.shape[3]):
        raise invalid(f"out_backprop {show(grad.shape)} does not fit the input {show(shape)}")
    overlaps = bool(node.attrs["overlapping"])
    return [
        _bounds(edges, shape[axis], overlaps) for edges, axis in zip(sequences, _AXES, strict=True)
    ]


def _max_grad(node: NodeContext) -> Function:
    def max_grad(value: Array, largest: Array, grad: Array, rows: Array, cols: Array) -> Array:
        for name, other in (
            ("orig_input", value),
            ("orig_output", largest),
            ("out_backprop", grad),
        ):
            if other.ndim != 4:
                raise invalid(f"{name} must be 4-dimensional, but has shape {show(other.shape)}")
        if largest.shape != grad.shape:
            raise invalid(
                f"orig_output {show(largest.shape)} and out_backprop {show(grad.shape)} must have "
                "the same shape"
            )
        bounds = _checked_bounds(node, value.shape, grad, rows, cols)
        places = _places_of_largest(value, *bounds)
        if (places < 0).any():
            raise invalid(f"a window is empty in an input of shape {show(value.shape)}")
        result = np.zeros_like(value)
        np.add.at(result.reshape(-1), places.reshape(-1), grad.reshape(-1))
        return result

    return max_grad


def _places_of_largest(value: Array, rows: tuple[Array, Array], cols: tuple[Array, Array]) -> Array:
    """Return the number of the first largest element of each window, or -1 for an empty one."""
    batch, _, _, channels = value.shape
    positions, images = np.arange(value.size).reshape(value.shape), np.arange(batch)
    best = np.zeros((batch, len(rows[0]), len(cols[0]), channels), value.dtype)
    places = np.full(best.shape, -1, np.int64)
    for (rows_at, row), (cols_at, col) in itertools.product(_steps(*rows), _steps(*cols)):
        there = np.ix_(images, row, col)
        here = np.ix_(images, rows_at, cols_at)
        part, held, known = value[there], best[here], places[here]
        # A NaN counts only as the first element of a window.
        is_better = (held < part) | (known < 0)
        best[here] = np.where(is_better, part, held)
        places[here] = np.where(is_better, positions[there], known)
    return places


def _steps(starts: Array, ends: Array) -> Iterator[tuple[Array, Array]]:
    """For each offset in a window, yield the windows that have it, and their elements there."""
    for offset in range(int((ends - starts).max(initial=0))):
        windows = np.flatnonzero(starts + offset < ends)
        yield windows, starts[windows] + offset


def _mean_grad(node: NodeContext) -> Function:
    def mean_grad(sizes: Array, grad: Array, rows: Array, cols: Array) -> Array:
        if sizes.shape != (4,):
            raise invalid("original input tensor shape must be 1-dimensional and 4 elements")
        if grad.ndim != 4:
            raise invalid(f"out_backprop must be 4-dimensional, but has {show(grad.shape)}")
        shape = tuple(sizes.tolist())
        if min(shape) < 0:
            raise invalid(f"original input tensor shape must not be negative: {show(shape)}")
        bounds = _checked_bounds(node, shape, grad, rows, cols)
        widths = [ends - starts for starts, ends in bounds]
        counts = np.maximum(np.multiply.outer(*widths), 1)[..., np.newaxis]
        share: Array = grad.astype(np.float64) / counts
        for axis, (starts, ends) in zip(_AXES, bounds, strict=True):
            share = _spread(share, axis, shape[axis], starts, ends)
        return share.astype(grad.dtype)

    return mean_grad


def _spread(share: Array, axis: int, size: int, starts: Array, ends: Array) -> Array:
    """Return the sum of the windows that have an element, for each element of an axis."""
    turned = np.moveaxis(share, axis, 0)
    result = np.zeros((size, *turned.shape[1:]), share.dtype)
    for windows, elements in _steps(starts, ends):
        np.add.at(result, elements, turned[windows])
    return np.moveaxis(result, 0, axis)


register(Kernel("FractionalMaxPool", _pool(np.fmax, _largest)))
register(Kernel("FractionalAvgPool", _pool(np.add, _mean)))
register(Kernel("FractionalMaxPoolGrad", _max_grad))
register(Kernel("FractionalAvgPoolGrad", _mean_grad))
