"""Kernels of pools: one pass over the outputs for each place in a window."""

import functools
import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from capstan import errors
from capstan.core import windows
from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.kernels import largest_in_windows, pool_passes
from capstan.kernels.memory import is_on_host
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid, vector

Places = tuple[slice, ...]


def windows_over(node: NodeContext, shape: tuple[int, ...]) -> tuple[windows.Windows, ...]:
    """Return the windows over each axis of a tensor.

    Raises:
        InvalidArgumentError: the tensor is not a batch of images or volumes, or a window is too
            wide.
        UnimplementedError: a max pool has a window over channels for which TensorFlow has no
            kernel.
    """
    ksize, strides = node.attrs["ksize"], node.attrs["strides"]
    if len(shape) != len(ksize):
        raise invalid(f"tensor_in must be {len(ksize)}-dimensional, but has shape {show(shape)}")
    if len(ksize) == 4 and node.op.startswith("MaxPool"):
        _check_channels(node, shape)
    try:
        return tuple(
            windows.over(size, ksize[at], strides[at], 1, windows.padding_of(node.attrs, at))
            for at, size in enumerate(shape)
        )
    except ValueError as error:
        raise invalid(str(error)) from None


def _check_channels(node: NodeContext, shape: tuple[int, ...]) -> None:
    height, width, channels = windows.axes_of(node.attrs.get("data_format", b"NHWC"))
    ksize, strides = node.attrs["ksize"], node.attrs["strides"]
    if ksize[channels] == 1:
        return
    if ksize[height] != 1 or ksize[width] != 1:
        fault = (
            "MaxPooling supports exactly one of pooling across depth or pooling across "
            "width/height."
        )
    elif shape[channels] % ksize[channels]:
        fault = "Depthwise max pooling requires the depth window to evenly divide the input depth"
    elif strides[channels] != ksize[channels]:
        fault = "Depthwise max pooling requires the depth window to equal the depth stride"
    else:
        return
    raise errors.UnimplementedError(None, None, fault)


def within_images(make: Callable[[NodeContext], Function]) -> Callable[[NodeContext], Function]:
    """Return a `make` that refuses a node with windows over several images or volumes.

    The node fails before the step runs, as in TensorFlow.
    """

    def make_checked(node: NodeContext) -> Function:
        if node.attrs["ksize"][0] != 1 or node.attrs["strides"][0] != 1:
            raise errors.UnimplementedError(
                None, None, "Pooling is not yet supported on the batch dimension."
            )
        return make(node)

    return make_checked


def output_shape(axes: tuple[windows.Windows, ...]) -> tuple[int, ...]:
    """Return the number of windows along each axis."""
    return tuple(axis.count for axis in axes)


def places_in(axes: tuple[windows.Windows, ...]) -> Iterator[tuple[Places, Places]]:
    """For each place in a window, yield the outputs that have it, and the elements there."""
    for parts in itertools.product(*(tuple(axis.inside()) for axis in axes)):
        yield tuple(part[1] for part in parts), tuple(part[2] for part in parts)


def check_like(name: str, value: Array, shape: tuple[int, ...]) -> None:
    """Raise InvalidArgumentError, which says `name`, if an array does not have the shape."""
    if value.shape != shape:
        raise invalid(f"{name} must have the shape {show(shape)}, but has {show(value.shape)}")


def _max(node: NodeContext) -> Function:
    dtype = node.output_dtypes[0]
    lowest = dtype.as_numpy_dtype(dtype.min)

    def max_pool(x: Array) -> Array:
        axes = windows_over(node, x.shape)
        if is_on_host(x) and any(axis.width > axis.stride for axis in axes):
            return largest_in_windows.largest(x, axes, lowest)
        result = np.empty_like(x, shape=output_shape(axes))
        is_first = True
        for outputs, elements in places_in(axes):
            part, target = x[elements], result[outputs]
            # TensorFlow starts with the lowest finite number, and a NaN is not above any number.
            if is_first and part.shape == result.shape:
                np.fmax(part, lowest, out=result)
            elif is_first:
                result[...] = lowest
                np.fmax(target, part, out=target)
            else:
                np.fmax(target, part, out=target)
            is_first = False
        return result

    return max_pool


def _firsts(axes: tuple[windows.Windows, ...]) -> Iterator[tuple[Places, Places]]:
    """Yield the outputs, and the first element of the window of each output."""
    for parts in itertools.product(*(tuple(axis.first_inside()) for axis in axes)):
        yield tuple(part[0] for part in parts), tuple(part[1] for part in parts)


def _chosen(
    axes: tuple[windows.Windows, ...], x: Array, largest: Array, is_left: Array
) -> Iterator[tuple[Places, Places, Array]]:
    """For each place in a window, yield also whether its element is the first of the largest.

    `is_left` is true for the windows whose element is looked for. In the end it is true for those
    of them that hold no element like the largest.
    """
    for outputs, elements in places_in(axes):
        left = is_left[outputs]
        is_chosen = np.equal(x[elements], largest[outputs])
        np.logical_and(is_chosen, left, is_chosen)
        np.logical_xor(left, is_chosen, left)
        yield outputs, elements, is_chosen


def _max_grad(node: NodeContext) -> Function:
    """Return the gradient of a pool over volumes. The gradient of a window of NaN goes nowhere."""

    def max_grad(x: Array, largest: Array, grad: Array) -> Array:
        axes = _checked_windows(node, x, largest, grad)
        is_left = np.ones_like(largest, dtype=bool)
        return _largest_grad(axes, x, largest, grad, is_left)

    return max_grad


def _max_grad_of_images(node: NodeContext) -> Function:
    """Return the gradient of a pool over images.

    TensorFlow looks for the largest element again. Nothing is above a NaN, so if the first element
    of a window is a NaN, it gets the gradient. It also gets the gradient if no other element can.
    """
    spread = pool_passes.Spread()

    def max_grad(x: Array, largest: Array, grad: Array) -> Array:
        axes = _checked_windows(node, x, largest, grad)
        if spread.serves(x, axes):
            return spread(x, largest, grad, axes)
        takes_first = np.zeros_like(largest, dtype=bool)
        for outputs, elements in _firsts(axes):
            np.not_equal(x[elements], x[elements], takes_first[outputs])
        is_left = np.logical_not(takes_first)
        result = _largest_grad(axes, x, largest, grad, is_left)
        np.logical_or(takes_first, is_left, takes_first)
        if not is_on_host(x) or takes_first.any():
            for outputs, elements in _firsts(axes):
                _add_chosen(result[elements], grad[outputs], takes_first[outputs])
        return result

    return max_grad


def _checked_windows(
    node: NodeContext, x: Array, largest: Array, grad: Array
) -> tuple[windows.Windows, ...]:
    axes = windows_over(node, x.shape)
    for name, value in (("orig_output", largest), ("grad", grad)):
        check_like(name, value, output_shape(axes))
    return axes


def _largest_grad(
    axes: tuple[windows.Windows, ...], x: Array, largest: Array, grad: Array, is_left: Array
) -> Array:
    """Return the gradient of the windows in `is_left`, which goes to their largest elements.

    In the end, `is_left` is as for `_chosen`.
    """
    if is_on_host(x) and largest_in_windows.is_search_faster(x, axes):
        places = largest_in_windows.first_largest(x, largest, axes)
        places[~is_left] = x.size
        np.equal(places, x.size, is_left)
        slopes = np.zeros(x.size + 1, x.dtype)
        np.add.at(slopes, places.reshape(-1), grad.reshape(-1))
        return slopes[:-1].reshape(x.shape)
    result = np.zeros_like(x)
    for outputs, elements, is_chosen in _chosen(axes, x, largest, is_left):
        _add_chosen(result[elements], grad[outputs], is_chosen)
    return result


def _add_chosen(target: Array, grad: Array, is_chosen: Array) -> None:
    # A product with zeros would be NaN for an infinite gradient, and `where` takes twice as long.
    word = np.dtype(f"i{grad.dtype.itemsize}")
    mask = np.negative(is_chosen.view(np.int8)).astype(word)
    np.add(target, np.bitwise_and(grad.view(word), mask).view(grad.dtype), target)


def _max_grad_grad(node: NodeContext) -> Function:
    def max_grad_grad(x: Array, largest: Array, grad: Array) -> Array:
        axes = windows_over(node, x.shape)
        check_like("orig_output", largest, output_shape(axes))
        check_like("grad", grad, x.shape)
        result = np.zeros_like(largest)
        is_left = np.ones_like(largest, dtype=bool)
        for outputs, elements, is_chosen in _chosen(axes, x, largest, is_left):
            target = result[outputs]
            _add_chosen(target, grad[elements], is_chosen)
        return result

    return max_grad_grad


def _sizes(node: NodeContext, axes: tuple[windows.Windows, ...], dtype: Any) -> Any:
    """Return how many elements each window has, without padding, in a shape that broadcasts."""
    full_size, counts = 1, []
    for at, axis in enumerate(axes):
        inside = [outputs for _, outputs, _ in axis.inside()]
        if inside == [slice(0, axis.count)] * axis.width:
            full_size *= axis.width
            continue
        elements = node.hardware.arrays.zeros(axis.count, dtype)
        for outputs in inside:
            np.add(elements[outputs], dtype(1), elements[outputs])
        counts.append(elements.reshape([-1 if at == other else 1 for other in range(len(axes))]))
    return functools.reduce(np.multiply, counts, dtype(full_size))


def _mean(node: NodeContext) -> Function:
    dtype = node.output_dtypes[0].as_numpy_dtype

    def mean(x: Array) -> Array:
        axes = windows_over(node, x.shape)
        wide = np.float32 if dtype is np.float16 else dtype
        result = np.zeros_like(x, shape=output_shape(axes), dtype=wide)
        for outputs, elements in places_in(axes):
            target = result[outputs]
            np.add(target, x[elements], target)
        np.divide(result, _sizes(node, axes, wide), result)
        return result.astype(dtype, copy=False)

    return mean


def _mean_grad(node: NodeContext) -> Function:
    dtype = node.output_dtypes[0].as_numpy_dtype

    def mean_grad(sizes: Array, grad: Array) -> Array:
        axes = windows_over(node, tuple(vector(sizes, "orig_input_shape")))
        check_like("grad", grad, output_shape(axes))
        share = np.divide(grad, _sizes(node, axes, dtype))
        result = np.zeros_like(grad, shape=tuple(axis.size for axis in axes))
        for outputs, elements in places_in(axes):
            target = result[elements]
            np.add(target, share[outputs], target)
        return result

    return mean_grad


def _sizes_given(make: Callable[[NodeContext], Function]) -> Callable[[NodeContext], Function]:
    """Return the `make` of an op that takes the sizes and strides of windows as inputs."""

    def make_given(node: NodeContext) -> Function:
        def pool(*inputs: Array) -> Any:
            *operands, ksize, strides = inputs
            attrs = dict(node.attrs)
            for name, text, sizes in (("ksize", "ksize", ksize), ("strides", "stride", strides)):
                if sizes.size != 4:
                    raise invalid(f"Sliding window {text} field must specify 4 dimensions")
                attrs[name] = sizes.reshape(-1).tolist()
            return within_images(make)(replace(node, attrs=attrs))(*operands)

        return pool

    return make_given


for _op, _make in (
    ("MaxPool{}", _max),
    ("MaxPool{}GradGrad", _max_grad_grad),
    ("AvgPool{}", _mean),
    ("AvgPool{}Grad", _mean_grad),
):
    for _kind in ("", "3D"):
        register(Kernel(_op.format(_kind), within_images(_make)))
register(Kernel("MaxPoolGrad", within_images(_max_grad_of_images)))
register(Kernel("MaxPool3DGrad", within_images(_max_grad)))
for _op, _make in (
    ("MaxPoolV2", _max),
    ("MaxPoolGradV2", _max_grad_of_images),
    ("MaxPoolGradGradV2", _max_grad_grad),
):
    register(Kernel(_op, _sizes_given(_make)))
