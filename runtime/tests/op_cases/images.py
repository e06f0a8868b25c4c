"""Convolutions and pools of images, their patches, and the gradients of their sizes."""

from typing import Any

import numpy as np
from hypothesis import strategies as st

from capstan.core import dtypes, elementwise, windows
from capstan.framework import opdef
from op_cases.drawing import Case, Draw, Numbers, Strategy, element_types, numbers


@st.composite
def convolution(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    """Draw a convolution or one of its gradients."""
    kind = dtype or draw(st.sampled_from(element_types(row)))
    give = Numbers(draw(st.integers(0, 1000)), kind.as_numpy_dtype, 600)
    depth, units = draw(st.integers(1, 2)), draw(st.integers(1, 2))
    kernel = (draw(st.integers(1, 3)), draw(st.integers(1, 2)), depth, units)
    image = (draw(st.integers(0, 2)), draw(st.integers(5, 6)), draw(st.integers(3, 4)), depth)
    stride, is_depthwise = draw(st.integers(1, 2)), row.name.startswith("Depthwise")
    rate = 1 if is_depthwise or stride > 1 else draw(st.integers(1, 2))
    padding, margins = draw(st.sampled_from(["SAME", "VALID", "EXPLICIT"])), [0] * 8
    if padding == "EXPLICIT":
        margins[2:6] = [draw(st.integers(0, 1)) for _ in range(4)]
    attrs: dict[str, Any] = {"strides": [1, stride, stride, 1], "padding": padding}
    attrs |= {"dilations": [1, rate, rate, 1]}
    if padding == "EXPLICIT":
        attrs["explicit_paddings"] = margins
    bounds = [
        windows.padding_of({"padding": padding, "explicit_paddings": margins}, axis)
        for axis in (1, 2)
    ]
    sizes = [
        windows.count(image[axis], kernel[axis - 1], stride, rate, bounds[axis - 1])
        for axis in (1, 2)
    ]
    slope = (image[0], *sizes, depth * units if is_depthwise else units)
    if row.name.endswith("Input"):
        operands = [np.array(image, np.int32), give.array(kernel), give.array(slope)]
        return Case(operands, attrs, frozenset({0}))
    if row.name.endswith("Filter"):
        operands = [give.array(image), np.array(kernel, np.int32), give.array(slope)]
        return Case(operands, attrs, frozenset({1}))
    return Case([give.array(image), give.array(kernel)], attrs)


@st.composite
def morphology(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    """Draw the dilation of images, its gradient, or their patches."""
    kind = dtype or draw(st.sampled_from(element_types(row)))
    give = Numbers(draw(st.integers(0, 1000)), kind.as_numpy_dtype)
    if not elementwise.is_number(give.dtype):
        give.pool = give.pool // 2  # sums fit int8
    image = (draw(st.integers(1, 2)), draw(st.integers(4, 5)), draw(st.integers(3, 4)), 2)
    sides = (draw(st.integers(1, 2)), draw(st.integers(1, 2)))
    steps, rates = ([1, *(draw(st.integers(1, 2)) for _ in range(2)), 1] for _ in range(2))
    padding = draw(st.sampled_from([b"SAME", b"VALID"]))
    attrs: dict[str, Any] = {"strides": steps, "rates": rates, "padding": padding}
    if row.name == "ExtractImagePatches":
        return Case([give.array(image)], {**attrs, "ksizes": [1, *sides, 1]})
    operands = [give.array(image), give.array((*sides, 2))]
    if row.name == "Dilation2D":
        if kind is dtypes.float64:  # No two sums are equal: a quotient needs a single largest one.
            operands[1] = operands[1] + 0.013 * np.arange(operands[1].size).reshape(*sides, 2)
        return Case(operands, attrs)
    counts = [
        windows.count(image[axis], sides[axis - 1], steps[axis], rates[axis], padding)
        for axis in (1, 2)
    ]
    slope = give.array((image[0], *counts, 2))
    # TensorFlow rounds each sum of small types.
    slope = np.sign(slope) if kind in (dtypes.bfloat16, dtypes.float16) else slope
    return Case([*operands, slope], attrs)


@st.composite
def volume_patches(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    give = draw(numbers(row, dtype))
    shape = [draw(st.integers(1, 2)), *(draw(st.integers(2, 3)) for _ in range(3)), 2]
    sizes, steps = ([1, *(draw(st.integers(1, 2)) for _ in range(3)), 1] for _ in range(2))
    padding = draw(st.sampled_from([b"SAME", b"VALID"]))
    return Case([give.array(shape)], {"ksizes": sizes, "strides": steps, "padding": padding})


@st.composite
def pool(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    """Draw a pool or its gradient. The elements of an image are distinct."""
    give = draw(numbers(row, dtype))
    shape = (draw(st.integers(0, 2)), draw(st.integers(2, 4)), draw(st.integers(2, 4)), 2)
    sides = [draw(st.integers(1, 2)) for _ in range(4)]
    padding = draw(st.sampled_from([b"SAME", b"VALID"]))
    attrs = {"ksize": [1, *sides[:2], 1], "strides": [1, *sides[2:], 1], "padding": padding}
    counts = [
        windows.count(shape[axis], attrs["ksize"][axis], attrs["strides"][axis], 1, padding)
        for axis in (1, 2, 3)
    ]
    outputs = (shape[0], *counts)
    if row.name == "AvgPoolGrad":
        operands = [np.array(shape, np.int32), give.array(outputs)]
        return Case(operands, attrs, frozenset({0}))
    image = give.array(shape)
    windows_given = [np.array(attrs[name], np.int32) for name in ("ksize", "strides")]
    if row.name in ("MaxPool", "AvgPool"):
        return Case([image], attrs)
    if row.name == "MaxPoolV2":
        return Case([image, *windows_given], {"padding": padding}, frozenset({1, 2}))
    if "Argmax" in row.name:
        attrs["include_batch_in_index"] = draw(st.booleans())
    if row.name == "MaxPoolWithArgmax":
        return Case([image], attrs)
    if row.name == "MaxPoolGradWithArgmax":
        count = image.size if attrs["include_batch_in_index"] else int(np.prod(shape[1:]))
        argmax = give.random.integers(0, max(count, 1), outputs)
        return Case([image, give.array(outputs), argmax], attrs, frozenset({0, 2}))
    places = [
        windows.over(shape[axis], attrs["ksize"][axis], attrs["strides"][axis], 1, padding)
        for axis in (1, 2)
    ]
    largest = np.empty(outputs, image.dtype)
    for row_at, column_at in np.ndindex(outputs[1:3]):
        starts = [
            at * axis.stride - axis.before
            for at, axis in zip((row_at, column_at), places, strict=True)
        ]
        rows, columns = (
            slice(max(start, 0), start + axis.width)
            for start, axis in zip(starts, places, strict=True)
        )
        largest[:, row_at, column_at] = image[:, rows, columns].max((1, 2))
    grad = give.array(shape if row.name.startswith("MaxPoolGradGrad") else outputs)
    if row.name.endswith("V2"):
        operands = [image, largest, grad, *windows_given]
        return Case(operands, {"padding": padding}, frozenset({0, 1, 3, 4}))
    # The gradients by the image and by its largest elements are 0, but quotients are not.
    return Case([image, largest, grad], attrs, frozenset({0, 1}))


@st.composite
def resized(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    """Draw the gradient of a resized image, with the image or its size."""
    batch, *sides = (draw(st.integers(1, most)) for most in (2, 4, 4, 4, 4))
    attrs = draw(st.sampled_from([{}, {"align_corners": True}, {"half_pixel_centers": True}]))
    if row.name == "ResizeNearestNeighborGrad":
        grads = draw(numbers(row, dtype)).array((batch, *sides[:2], 2))
        return Case([grads, np.array(sides[2:], np.int32)], attrs, frozenset({1}))
    # For float64, TensorFlow rounds the weights to float32, which `oracle/test_images.py` compares.
    give = draw(numbers(row, dtypes.float32))
    grads, image = give.array((batch, *sides[:2], 2)), give.array((batch, *sides[2:], 2))
    return Case([grads, image], attrs)


CONVOLUTIONS = tuple(
    prefix + suffix
    for prefix in ("Conv2D", "DepthwiseConv2dNative")
    for suffix in ("", "BackpropInput", "BackpropFilter")
)
POOLS = (
    "MaxPool", "MaxPoolGrad", "MaxPoolGradGrad", "AvgPool", "AvgPoolGrad", "MaxPoolV2",
    "MaxPoolGradV2", "MaxPoolGradGradV2", "MaxPoolWithArgmax", "MaxPoolGradWithArgmax",
)  # fmt: skip

CASES: dict[str, Strategy] = {
    **dict.fromkeys(CONVOLUTIONS, convolution),
    **dict.fromkeys(POOLS, pool),
    **dict.fromkeys(
        (
            "Dilation2D", "Dilation2DBackpropFilter", "Dilation2DBackpropInput",
            "ExtractImagePatches",
        ),
        morphology,
    ),
    "ExtractVolumePatches": volume_patches,
    **dict.fromkeys(
        ("ResizeBilinearGrad", "ResizeNearestNeighborGrad", "ResizeBicubicGrad"), resized
    ),
}  # fmt: skip
