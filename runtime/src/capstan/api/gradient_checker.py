"""`tf.test.compute_gradient`: compares gradients with differences (ops/gradient_checker.py).

All functions need a default session.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from capstan.api import array_ops, testing_compare
from capstan.core.arrays import Array
from capstan.framework import convert, gradients, indexed_slices

Jacobians = tuple[Array, Array]
"""The Jacobian by `tf.gradients`, and by differences: rows of inputs, columns of outputs."""


def compute_gradient(
    x: Any,
    x_shape: Any,
    y: Any,
    y_shape: Any,
    x_init_value: Any = None,
    delta: float = 1e-3,
    init_targets: Iterable[Any] | None = None,
    extra_feed_dict: Mapping[Any, Any] | None = None,
) -> Any:
    """Return the two Jacobians of `y` by `x`, or a list of pairs if `x` is a list.

    `x_init_value` is where the gradient is taken, by default random numbers from 0 to 1.
    `init_targets` are run first. A real number counts once, and a complex number twice. Blocks.
    """
    for target in init_targets or ():
        target.run()
    feeds = dict(extra_feed_dict or {})
    if not isinstance(x, list):
        dx, dy = _gradient(x, y, y_shape)
        return _pair(x, x_shape, dx, y, y_shape, dy, x_init_value, delta, feeds)
    grown = [_gradient(each, y, y_shape) for each in x]
    starts = x_init_value or [None] * len(x)
    return [
        _pair(each, shape, dx, y, y_shape, dy, start, delta, feeds)
        for each, shape, (dx, dy), start in zip(x, x_shape, grown, starts, strict=True)
    ]


def compute_gradient_error(
    x: Any,
    x_shape: Any,
    y: Any,
    y_shape: Any,
    x_init_value: Any = None,
    delta: float = 1e-3,
    init_targets: Iterable[Any] | None = None,
    extra_feed_dict: Mapping[Any, Any] | None = None,
) -> Any:
    """Return the largest difference between the two Jacobians of `compute_gradient`.

    It is a scalar of NumPy, or 0 if the Jacobians have no elements.
    """
    found = compute_gradient(
        x, x_shape, y, y_shape, x_init_value, delta, init_targets, extra_feed_dict
    )
    pairs = found if isinstance(found, list) else [found]
    return max((np.abs(a - b).max() for a, b in pairs if a.size or b.size), default=0)


def _gradient(x: Any, y: Any, y_shape: Any) -> tuple[Any, Any]:
    """Return the gradient of `y` by `x`, and the tensor to feed with the gradient of `y`."""
    with x.graph.as_default():
        grad_y = convert.constant(1.0, shape=y_shape, dtype=y.dtype)
        # Because of the identity, the gradient is not the tensor that is fed.
        return gradients.gradients(y, x, array_ops.identity(grad_y))[0], grad_y


def _pair(
    x: Any,
    x_shape: Any,
    dx: Any,
    y: Any,
    y_shape: Any,
    dy: Any,
    start: Any,
    delta: float,
    feeds: dict[Any, Any],
) -> Jacobians:
    for name, tensor in (("x", x), ("y", y)):
        if not testing_compare.is_floating(tensor.dtype):
            raise AssertionError(f"Don't support type {tensor.dtype.base_dtype.name} for {name}")
    if start is None:
        start = np.random.random_sample(x_shape).astype(x.dtype.as_numpy_dtype)
        if np.iscomplexobj(start):
            start.imag = np.random.random_sample(x_shape)
    elif list(x_shape) != list(start.shape):
        raise AssertionError(f"x_shape = {x_shape}, init_data shape = {list(start.shape)}")
    # np.ascontiguousarray would make a vector of a scalar.
    at = np.array(start, x.dtype.as_numpy_dtype, order="C")
    return (
        _by_gradients(x, at, dx, y, y_shape, dy, feeds),
        _by_differences(x, at, y, y_shape, delta, feeds),
    )


def _by_gradients(
    x: Any, at: Array, dx: Any, y: Any, y_shape: Sequence[int], dy: Any, feeds: dict[Any, Any]
) -> Array:
    column = np.zeros(y_shape, y.dtype.as_numpy_dtype)
    flat = _parts(column)
    jacobian = np.zeros((_parts(at).size, flat.size), _parts(at).dtype)
    if not flat.size:
        empty = dx.eval(feed_dict={**feeds, x: at, dy: column})
        if empty.shape != at.shape:
            raise ValueError(
                f"Empty gradient has wrong shape: expected {at.shape}, got {empty.shape}"
            )
        if np.any(empty):
            raise ValueError("Empty tensor with nonzero gradients")
    for index in range(flat.size):
        flat[index] = 1
        gradient = _dense(dx, at, {**feeds, x: at, dy: column})
        jacobian[:, index] = _parts(np.ascontiguousarray(gradient, at.dtype))
        flat[index] = 0
    return jacobian


def _dense(dx: Any, at: Array, feeds: dict[Any, Any]) -> Array:
    if not isinstance(dx, indexed_slices.IndexedSlices):
        value: Array = dx.eval(feed_dict=feeds)
        return value
    total = np.zeros_like(at)
    session_values = dx.values.eval(feed_dict=feeds)
    np.add.at(total, dx.indices.eval(feed_dict=feeds), session_values)
    return total


def _by_differences(
    x: Any, at: Array, y: Any, y_shape: Sequence[int], delta: float, feeds: dict[Any, Any]
) -> Array:
    rows = []
    for index in range(_parts(at).size):
        sides = []
        for step in (delta, -delta):
            moved = at.copy()
            _parts(moved)[index] += step
            value = y.eval(feed_dict={**feeds, x: moved})
            sides.append(_parts(np.ascontiguousarray(value)))
        rows.append((sides[0] - sides[1]) / sides[0].dtype.type(2 * delta))
    width = _parts(np.zeros(y_shape, y.dtype.as_numpy_dtype)).size
    return np.array(rows, _parts(at).dtype).reshape(_parts(at).size, width)


def _parts(array: Array) -> Array:
    """Return a flat view of the real numbers of an array, which is contiguous."""
    flat = array.reshape(-1)
    return flat.view(flat.real.dtype) if np.iscomplexobj(flat) else flat
