"""Random valid calls of every op, for the property tests of the registry.

Numbers are distinct, a tenth apart and never 0. No case therefore lies on a kink of `Abs` or a tie
of `Max`, where a difference quotient is not the gradient.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from capstan.core import dtypes, elementwise, tensor_shape, windows
from capstan.framework import opdef
from capstan.framework.ops import training


@dataclass(frozen=True)
class Case:
    """The arguments of one call: arrays, or lists of them.

    `structural` holds the positions of shapes, axes and indices.
    """

    inputs: Sequence[Any]
    attrs: dict[str, Any] = field(default_factory=dict)
    structural: frozenset[int] = frozenset()


Draw = Callable[[Any], Any]
Strategy = Callable[..., st.SearchStrategy[Case]]

small_shapes = arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3)
solid_shapes = arrays.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=3)


class Numbers:
    """Gives out distinct pseudo-random numbers of one type."""

    def __init__(self, seed: int, dtype: Any, count: int = 200) -> None:
        self.random = np.random.default_rng(seed)
        self.dtype = np.dtype(dtype)
        pool = self.random.permutation(count)
        if elementwise.is_number(self.dtype):
            self.pool = ((pool + 0.5 - count / 2) * 0.1).astype(self.dtype)
        elif self.dtype.kind == "b":
            self.pool = pool % 2 == 0
        elif self.dtype.kind == "O":
            self.pool = np.array([b"%d" % number for number in pool], object)
        else:
            # The numbers fit int8 and are never 0.
            self.pool = (pool % 90 + 1).astype(self.dtype)
        self.at = 0

    def array(self, shape: Sequence[int]) -> Any:
        count = int(np.prod(shape))
        self.at += count
        assert self.at <= len(self.pool)
        return self.pool[self.at - count : self.at].reshape(tuple(shape))


def element_types(row: opdef.OpDef, attribute: str = "T") -> tuple[dtypes.DType, ...]:
    """Return the types to test: for ops that take any type, a selection of types.

    `oracle/test_complex_arithmetic.py` tests complex numbers, which have no order.
    """
    common = (dtypes.float32, dtypes.float64, dtypes.int32, dtypes.bool_, dtypes.string)
    allowed = row.types.get(attribute, common)
    return tuple(each for each in allowed if each is not dtypes.variant and not each.is_complex)


@st.composite
def numbers(
    draw: Draw, row: opdef.OpDef, dtype: dtypes.DType | None, attribute: str = "T"
) -> Numbers:
    kind = dtype or draw(st.sampled_from(element_types(row, attribute)))
    return Numbers(draw(st.integers(0, 1000)), kind.as_numpy_dtype)


@st.composite
def unary(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    return Case([draw(numbers(row, dtype)).array(draw(small_shapes))])


@st.composite
def ranked(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    """Draw one operand that is not a scalar."""
    shape = draw(arrays.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=3))
    return Case([draw(numbers(row, dtype)).array(shape)])


@st.composite
def positive(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    """Draw one operand above 0."""
    return Case([np.asarray(np.abs(draw(numbers(row, dtype)).array(draw(small_shapes))))])


@st.composite
def binary(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    """Draw two operands that broadcast. They are bool if the op takes only bool."""
    if row.inputs[0].endswith("bool"):
        dtype = dtypes.bool_
    give = draw(numbers(row, dtype))
    pair = draw(
        arrays.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, min_side=0, max_side=3)
    )
    return Case([give.array(shape) for shape in pair.input_shapes])


@st.composite
def modulo(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    """Draw operands that are not multiples of each other. At a multiple the remainder jumps."""
    x, y = draw(binary(row, dtype)).inputs
    return Case([np.asarray(x + x.dtype.type(0.0137)) if elementwise.is_number(x.dtype) else x, y])


@st.composite
def times_logarithm(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    x, y = draw(binary(row, dtype)).inputs
    return Case([x, np.asarray(np.abs(y) + y.dtype.type(0.125))])


@st.composite
def power(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    case = draw(binary(row, dtype))
    base, exponent = case.inputs
    if elementwise.is_number(base.dtype):
        return Case([np.asarray(np.abs(base) / 4), np.asarray(exponent / 4)])
    return Case([np.asarray(base % 3), np.asarray(exponent % 4)])


@st.composite
def shifted(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    """Draw numbers of either sign, and distances that are less than 0, or more than all bits."""
    x, y = draw(binary(row, dtype)).inputs
    return Case([np.asarray(np.where(x % 3, x, ~x)), np.asarray(y % 80 - (y.dtype.kind == "i"))])


@st.composite
def signed(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    """Draw one operand with numbers of either sign."""
    (x,) = draw(unary(row, dtype)).inputs
    return Case([np.asarray(np.where(x % 2, x, ~x))])


@st.composite
def alike(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    """Draw two operands of one shape."""
    give, shape = draw(numbers(row, dtype)), draw(small_shapes)
    return Case([give.array(shape), give.array(shape)])


@st.composite
def several(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    """Draw a list of operands of one shape."""
    give, shape = draw(numbers(row, dtype)), draw(small_shapes)
    return Case([[give.array(shape) for _ in range(draw(st.integers(1, 4)))]])


@st.composite
def select(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    give, shape = draw(numbers(row, dtype)), draw(small_shapes)
    choices = [shape, ()] + ([shape[:1]] if shape else [])
    condition = Numbers(draw(st.integers(0, 99)), bool).array(draw(st.sampled_from(choices)))
    return Case([condition, give.array(shape), give.array(shape)])


@st.composite
def select_v2(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    give = draw(numbers(row, dtype))
    trio = draw(
        arrays.mutually_broadcastable_shapes(num_shapes=3, max_dims=3, min_side=0, max_side=3)
    )
    first, second, third = trio.input_shapes
    condition = Numbers(draw(st.integers(0, 99)), bool).array(first)
    return Case([condition, give.array(second), give.array(third)])


@st.composite
def cast(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    source = draw(numbers(row, dtype, "SrcT"))
    choices = (dtypes.float64,) if dtype else element_types(row, "DstT")
    return Case([source.array(draw(small_shapes))], {"DstT": draw(st.sampled_from(choices))})


@st.composite
def reduction(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    if row.inputs[0].endswith("bool"):
        dtype = dtypes.bool_
    shape = draw(solid_shapes if dtype is dtypes.float64 else small_shapes)
    axes = draw(st.lists(st.sampled_from(range(len(shape))), unique=True) if shape else st.just([]))
    signed = [axis - draw(st.sampled_from([0, len(shape)])) for axis in axes]
    index = draw(st.sampled_from([np.int32, np.int64]))
    value = draw(numbers(row, dtype)).array(shape)
    if row.name == "Prod":
        value = np.asarray(value / 4 if elementwise.is_number(value.dtype) else value % 3)
    if row.name == "EuclideanNorm" and not elementwise.is_number(value.dtype):
        value = np.asarray(value % 3)  # The sum of the squares fits all types.
    attrs = {"keep_dims": draw(st.booleans())}
    return Case([value, np.array(signed, index)], attrs, frozenset({1}))


@st.composite
def along_axis(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    """Draw an operand and one axis, as for ArgMax and Cumsum."""
    value = draw(numbers(row, dtype)).array(draw(solid_shapes))
    axis = np.int32(draw(st.integers(-value.ndim, value.ndim - 1)))
    attrs = {}
    if "exclusive" in row.attrs:
        attrs = {"exclusive": draw(st.booleans()), "reverse": draw(st.booleans())}
    if "output_type" in row.attrs:
        attrs = {"output_type": draw(st.sampled_from([dtypes.int32, dtypes.int64]))}
    return Case([value, np.asarray(axis)], attrs, frozenset({1}))


@st.composite
def matmul(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    give = draw(numbers(row, dtype))
    rows, inner, columns = (draw(st.integers(0, 4)) for _ in range(3))
    turn_a, turn_b = draw(st.booleans()), draw(st.booleans())
    a = give.array((inner, rows) if turn_a else (rows, inner))
    b = give.array((columns, inner) if turn_b else (inner, columns))
    return Case([a, b], {"transpose_a": turn_a, "transpose_b": turn_b})


@st.composite
def batch_matmul(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    give = draw(numbers(row, dtype))
    rows, inner, columns, size = (draw(st.integers(0, 3)) for _ in range(4))
    turn_x, turn_y = draw(st.booleans()), draw(st.booleans())
    batches = [((size,), (size,)), ((), ())]
    if row.name == "BatchMatMulV2":
        batches += [((size,), ()), ((1,), (2, size)), ((size, 1), (1, 2))]
    first, second = draw(st.sampled_from(batches))
    x = give.array((*first, *((inner, rows) if turn_x else (rows, inner))))
    y = give.array((*second, *((columns, inner) if turn_y else (inner, columns))))
    return Case([x, y], {"adj_x": turn_x, "adj_y": turn_y})


@st.composite
def biased(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    give = draw(numbers(row, dtype))
    layout = draw(st.sampled_from(["NHWC", "NCHW"]))
    rank = 3 if layout == "NCHW" else 2
    shape = draw(arrays.array_shapes(min_dims=rank, max_dims=4, min_side=0, max_side=3))
    bias = give.array((shape[1 if layout == "NCHW" else -1],))
    operands = [give.array(shape)] + ([bias] if len(row.inputs) == 2 else [])
    return Case(operands, {"data_format": layout})


@st.composite
def rows_of_logits(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    shape = draw(arrays.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=4))
    return Case([draw(numbers(row, dtype)).array(shape)])


@st.composite
def dense_loss(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    give, shape = draw(numbers(row, dtype)), (draw(st.integers(0, 4)), draw(st.integers(1, 4)))
    # The gradient rule of the op assumes that the labels are a distribution.
    labels = np.abs(give.array(shape)) + give.dtype.type(1)
    return Case([give.array(shape), labels / labels.sum(1, keepdims=True)])


@st.composite
def sparse_loss(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    give, shape = draw(numbers(row, dtype)), (draw(st.integers(0, 4)), draw(st.integers(1, 4)))
    index = draw(st.sampled_from([np.int32, np.int64]))
    labels = give.random.integers(0, shape[1], shape[0]).astype(index)
    return Case([give.array(shape), labels], structural=frozenset({1}))


@st.composite
def top_k(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    give, shape = Numbers(draw(st.integers(0, 99)), np.float32), (4, draw(st.integers(1, 4)))
    targets = give.random.integers(-1, shape[1] + 1, shape[0]).astype(np.int32)
    k = draw(st.integers(0, 5))
    operands = [give.array(shape), targets]
    if row.name == "InTopK":
        return Case(operands, {"k": k})
    return Case([*operands, np.asarray(np.int32(k))])


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
def bands(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    """Draw matrices and a band of their diagonals, or a band that becomes part of matrices."""
    give = draw(numbers(row, dtype))
    rows, columns = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    lower = draw(st.integers(1 - rows, columns - 1))
    # TensorFlow 2.21 aligns the gradients of bands of V2 as those of V3.
    is_single = row.name.endswith("V2") and dtype is not None
    upper = lower if is_single else draw(st.integers(lower, columns - 1))
    # TensorFlow ends its process if a band of several diagonals has one axis.
    batch = draw(st.sampled_from([(), (2,)])) if lower == upper else (2,)
    attrs = {}
    if row.name.endswith("V3"):
        attrs["align"] = draw(st.sampled_from(row.choices["align"]))
    count = () if lower == upper else (upper - lower + 1,)
    length = min(rows + min(upper, 0), columns - max(lower, 0))
    ends = [lower, upper] if count else draw(st.sampled_from([lower, [lower], [lower, lower]]))
    k, matrix = np.array(ends, np.int32), (*batch, rows, columns)
    band, padding = (*batch, *count, length), give.array(())
    if row.name.startswith("MatrixDiagPart"):
        return Case([give.array(matrix), k, padding], attrs, frozenset({1, 2}))
    if row.name.startswith("MatrixSetDiag"):
        return Case([give.array(matrix), give.array(band), k], attrs, frozenset({2}))
    # The least matrix may be too small for the shorter diagonals, and then has no gradient.
    least_rows, least_columns = length - min(upper, 0), length + max(lower, 0)
    side = max(least_rows, least_columns)
    choices = [
        given
        for given, size in (
            ((rows, columns), (rows, columns)),
            ((rows, -1), (rows, least_columns)),
            ((-1, columns), (least_rows, columns)),
            ((-1, -1), (side, side)),
        )
        if -size[0] < lower and upper < size[1]
    ]
    sizes = [np.asarray(np.int32(size)) for size in draw(st.sampled_from(choices))]
    return Case([give.array(band), k, *sizes, padding], attrs, frozenset({1, 2, 3, 4}))


@st.composite
def clipped(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    """Draw a tensor and two bounds, both scalars or of the shape of the tensor."""
    give, shape = draw(numbers(row, dtype)), draw(small_shapes)
    sizes = draw(st.sampled_from([(), shape]))
    value, one, other = give.array(shape), give.array(sizes), give.array(sizes)
    return Case([value, np.asarray(np.minimum(one, other)), np.asarray(np.maximum(one, other))])


@st.composite
def accumulated(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    give, shape = draw(numbers(row, dtype)), draw(small_shapes)
    parts = [give.array(shape) for _ in range(draw(st.integers(1, 3)))]
    return Case([parts], {"shape": tensor_shape.TensorShape(shape)})


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


@st.composite
def largest(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    value = draw(numbers(row, dtype)).array(draw(solid_shapes))
    k = np.asarray(np.int32(draw(st.integers(1, value.shape[-1]))))
    return Case([value, k], structural=frozenset({1}))


def _factors(count: int, draw: Draw) -> list[int]:
    """Draw sizes whose product is `count`."""
    sizes = []
    for _ in range(draw(st.integers(0, 3))):
        options = [size for size in range(1, count + 1) if count and count % size == 0] or [0]
        sizes.append(draw(st.sampled_from(options)))
        count = count // sizes[-1] if sizes[-1] else 0
    return [*sizes, count] if count != 1 or not sizes else sizes


@st.composite
def reshape(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    value = draw(numbers(row, dtype)).array(draw(small_shapes))
    sizes = _factors(value.size, draw)
    if value.size and draw(st.booleans()):
        sizes[draw(st.integers(0, len(sizes) - 1))] = -1
    index = draw(st.sampled_from([np.int32, np.int64]))
    return Case([value, np.array(sizes, index)], structural=frozenset({1}))


@st.composite
def expand_dims(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    value = draw(numbers(row, dtype)).array(draw(small_shapes))
    axis = np.asarray(np.int32(draw(st.integers(-value.ndim - 1, value.ndim))))
    return Case([value, axis], structural=frozenset({1}))


@st.composite
def squeeze(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    value = draw(numbers(row, dtype)).array(draw(small_shapes))
    ones = [axis for axis, size in enumerate(value.shape) if size == 1]
    axes = draw(st.lists(st.sampled_from(ones), unique=True)) if ones else []
    return Case([value], {"squeeze_dims": axes})


@st.composite
def broadcast_to(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    pair = draw(arrays.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=3))
    value = draw(numbers(row, dtype)).array(pair.input_shapes[0])
    return Case([value, np.array(pair.result_shape, np.int32)], structural=frozenset({1}))


@st.composite
def gradient_args(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    pair = draw(arrays.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=3))
    sizes = [np.array(shape, np.int32) for shape in pair.input_shapes]
    return Case(sizes, structural=frozenset({0, 1}))


@st.composite
def transpose(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    value = draw(numbers(row, dtype)).array(draw(small_shapes))
    order = np.array(draw(st.permutations(range(value.ndim))), np.int32)
    return Case([value, order], structural=frozenset({1}))


@st.composite
def concat(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    give = draw(numbers(row, dtype))
    shape = draw(arrays.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=3))
    axis = draw(st.integers(-len(shape), len(shape) - 1))
    parts = []
    for _ in range(draw(st.integers(2, 3))):
        sizes = list(shape)
        sizes[axis] = draw(st.integers(0, 3))
        parts.append(give.array(sizes))
    return Case([parts, np.asarray(np.int32(axis))], structural=frozenset({1}))


@st.composite
def concat_offset(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    case = draw(concat(opdef.lookup("ConcatV2"), dtypes.float32))
    parts, axis = case.inputs
    axis = np.asarray(axis % parts[0].ndim)
    return Case(
        [axis, [np.array(part.shape, np.int32) for part in parts]], structural=frozenset({0, 1})
    )


@st.composite
def pack(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    case = draw(several(row, dtype))
    rank = case.inputs[0][0].ndim
    return Case(case.inputs, {"axis": draw(st.integers(-rank - 1, rank))})


@st.composite
def unpack(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    value = draw(numbers(row, dtype)).array(draw(solid_shapes))
    axis = draw(st.integers(-value.ndim, value.ndim - 1))
    return Case([value], {"num": value.shape[axis], "axis": axis})


@st.composite
def split(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    shape = list(draw(solid_shapes))
    axis, ways = draw(st.integers(-len(shape), len(shape) - 1)), draw(st.integers(1, 3))
    shape[axis] = ways * draw(st.integers(0, 2))
    value = draw(numbers(row, dtype)).array(shape)
    return Case([np.asarray(np.int32(axis)), value], {"num_split": ways}, frozenset({0}))


@st.composite
def split_v(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    shape, sizes = (
        list(draw(solid_shapes)),
        draw(st.lists(st.integers(0, 2), min_size=1, max_size=3)),
    )
    axis = draw(st.integers(-len(shape), len(shape) - 1))
    shape[axis] = sum(sizes)
    value = draw(numbers(row, dtype)).array(shape)
    if draw(st.booleans()):
        sizes[draw(st.integers(0, len(sizes) - 1))] = -1
    operands = [value, np.array(sizes, np.int64), np.asarray(np.int32(axis))]
    return Case(operands, {"num_split": len(sizes)}, frozenset({1, 2}))


@st.composite
def tile(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    value = draw(numbers(row, dtype)).array(draw(small_shapes))
    counts = [draw(st.integers(0, 2)) for _ in value.shape]
    return Case([value, np.array(counts, np.int32)], structural=frozenset({1}))


@st.composite
def pad(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    value = draw(numbers(row, dtype)).array(draw(small_shapes))
    margins = [[draw(st.integers(0, 2)), draw(st.integers(0, 2))] for _ in value.shape]
    return Case([value, np.array(margins, np.int32).reshape(-1, 2)], structural=frozenset({1}))


@st.composite
def slice_(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    value = draw(numbers(row, dtype)).array(draw(small_shapes))
    begin, size = [], []
    for axis_size in value.shape:
        begin.append(draw(st.integers(0, axis_size)))
        size.append(draw(st.integers(-1, axis_size - begin[-1])))
    bounds = [np.array(begin, np.int32), np.array(size, np.int32)]
    return Case([value, *bounds], structural=frozenset({1, 2}))


@st.composite
def strided(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    """Draw a value and an index of any form, as vectors and masks."""
    value = draw(numbers(row, dtype)).array(draw(solid_shapes))
    count = draw(st.integers(0, value.ndim))
    masks = dict.fromkeys(
        ["begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"], 0
    )
    begin, end, steps, axis = [], [], [], 0
    ellipsis_at = draw(st.integers(0, count * 2 + 1))
    for bit in range(count):
        size = value.shape[axis]
        if bit == ellipsis_at:
            masks["ellipsis_mask"] |= 1 << bit
            axis = value.ndim - (count - bit - 1)
        elif draw(st.booleans()) and size:
            masks["shrink_axis_mask"] |= 1 << bit
            axis += 1
        else:
            masks["begin_mask"] |= draw(st.integers(0, 1)) << bit
            masks["end_mask"] |= draw(st.integers(0, 1)) << bit
            axis += 1
        shrinks = masks["shrink_axis_mask"] >> bit & 1
        begin.append(draw(st.integers(-size, size - 1)) if size else 0)
        end.append(begin[-1] + 1 if shrinks else draw(st.integers(-size - 1, size + 1)))
        steps.append(1 if shrinks else draw(st.sampled_from([1, 2, -1, -2])))
    if draw(st.booleans()):
        masks["new_axis_mask"] |= 1 << len(begin)
        begin.append(0), end.append(0), steps.append(1)
    bounds = [np.array(numbers, np.int32) for numbers in (begin, end, steps)]
    return Case([value, *bounds], masks, frozenset({1, 2, 3}))


@st.composite
def strided_grad(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    case = draw(strided(row, dtype))
    value, *bounds = case.inputs
    index = []
    for bit, (first, last, step) in enumerate(zip(*bounds, strict=True)):
        flags = {name for name, mask in case.attrs.items() if mask >> bit & 1}
        index.append(
            ... if "ellipsis_mask" in flags
            else None if "new_axis_mask" in flags
            else int(first) if "shrink_axis_mask" in flags
            else slice(
                None if "begin_mask" in flags else first,
                None if "end_mask" in flags else last,
                step,
            )
        )  # fmt: skip
    part = np.asarray(value[tuple(index)])
    sizes = np.array(value.shape, np.int32)
    return Case([sizes, *bounds, part], case.attrs, frozenset({0, 1, 2, 3}))


@st.composite
def fill(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    sizes = np.array(draw(small_shapes), draw(st.sampled_from([np.int32, np.int64])))
    return Case([sizes, draw(numbers(row, dtype)).array(())], structural=frozenset({0}))


@st.composite
def range_(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    kind = (dtype or draw(st.sampled_from(row.types["Tidx"]))).as_numpy_dtype
    start, count = draw(st.integers(-5, 5)), draw(st.integers(0, 6))
    step = draw(st.sampled_from([1, 2, 3, -1, -2]))
    bounds = (start, start + step * count, step)
    return Case([np.asarray(kind(bound)) for bound in bounds], structural=frozenset({0, 1, 2}))


def _indices(draw: Draw, give: Numbers, bound: int) -> Any:
    shape = draw(small_shapes) if bound else (0,)
    kind = draw(st.sampled_from([np.int32, np.int64]))
    return np.asarray(give.random.integers(0, max(bound, 1), shape)).astype(kind)


@st.composite
def gather(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    give = draw(numbers(row, dtype, "Tparams"))
    params = give.array(draw(arrays.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=3)))
    if row.name == "Gather":
        return Case([params, _indices(draw, give, len(params))], structural=frozenset({1}))
    axis = draw(st.integers(-params.ndim, params.ndim - 1))
    indices = _indices(draw, give, params.shape[axis])
    attrs: dict[str, Any] = {}
    if axis % params.ndim and draw(st.booleans()):
        # Every batch of the leading axes has its own row of indices.
        batch = draw(st.integers(1, axis % params.ndim))
        form = (*params.shape[:batch], *(indices.shape if params.shape[axis] else (0,)))
        drawn = give.random.integers(0, max(params.shape[axis], 1), form)
        indices = np.asarray(drawn).astype(indices.dtype)
        # Negative numbers count from the rank of the indices, so 0 cannot stand for the rank.
        attrs["batch_dims"] = draw(st.sampled_from([batch, batch - indices.ndim or batch]))
    operands = [params, indices, np.asarray(np.int32(axis))]
    return Case(operands, attrs, structural=frozenset({1, 2}))


@st.composite
def segment_sum(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    give, shape, count = draw(numbers(row, dtype)), draw(small_shapes), draw(st.integers(1, 4))
    ids = give.random.integers(-1, count, shape[: draw(st.integers(0, len(shape)))])
    kind = draw(st.sampled_from([np.int32, np.int64]))
    operands = [give.array(shape), np.asarray(ids).astype(kind), np.asarray(np.int32(count))]
    return Case(operands, structural=frozenset({1, 2}))


@st.composite
def stitch(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    """Draw indices that name every position exactly once, in two lists, and data for each."""
    give, rest = (
        draw(numbers(row, dtype)),
        draw(arrays.array_shapes(min_dims=0, max_dims=2, max_side=2)),
    )
    places = draw(st.permutations(range(draw(st.integers(0, 6)))))
    cut = draw(st.integers(0, len(places)))
    ids = [np.array(part, np.int32) for part in (places[:cut], places[cut:])]
    data = [give.array((len(part), *rest)) for part in ids]
    return Case([ids, data], structural=frozenset({0}))


@st.composite
def permutation(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    kind = draw(st.sampled_from([np.int32, np.int64]))
    return Case([np.array(draw(st.permutations(range(draw(st.integers(0, 6))))), kind)])


@st.composite
def one_hot(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    give, depth = draw(numbers(row, dtype)), draw(st.integers(0, 4))
    kind = draw(st.sampled_from([np.uint8, np.int32, np.int64]))
    indices = np.asarray(give.random.integers(0, depth + 2, draw(small_shapes))).astype(kind)
    operands = [indices, np.asarray(np.int32(depth)), give.array(()), give.array(())]
    return Case(operands, {"axis": draw(st.integers(-1, indices.ndim))}, frozenset({0, 1}))


@st.composite
def unique(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    give = draw(numbers(row, dtype))
    values = give.array((draw(st.integers(0, 5)),))
    return Case([np.concatenate([values, values[::2]]).astype(values.dtype)])


@st.composite
def between(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    """Draw one operand between -1 and 1, or above 1 for Acosh."""
    value = np.asarray(draw(numbers(row, dtype)).array(draw(small_shapes)) / 10.5)
    return Case([np.asarray(np.abs(value) + 1.25 if row.name == "Acosh" else value)])


@st.composite
def off_integers(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    """Draw one operand that is no integer, because Digamma and Lgamma have poles there."""
    value = draw(numbers(row, dtype)).array(draw(small_shapes))
    return Case([np.asarray(np.abs(value) + value.dtype.type(0.3))])


@st.composite
def orders(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    """Draw a small integer above 1, and numbers that are no integers, of either sign."""
    give = draw(numbers(row, dtype))
    pair = draw(arrays.mutually_broadcastable_shapes(num_shapes=2, max_dims=2))
    first, second = (give.array(shape) for shape in pair.input_shapes)
    first = np.asarray(np.abs(np.rint(first)) % 4 + 2).astype(first.dtype)
    second = np.asarray(np.rint(second) % 9 - 3.7).astype(second.dtype)
    return Case([first, second], structural=frozenset({0}))


@st.composite
def gamma_operands(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    """Draw positive numbers below 6, of shapes that broadcast."""
    give = draw(numbers(row, dtype))
    pair = draw(arrays.mutually_broadcastable_shapes(num_shapes=2, max_dims=2))
    drawn = (np.asarray(give.random.uniform(0.4, 6, shape)) for shape in pair.input_shapes)
    return Case([each.astype(give.dtype) for each in drawn])


@st.composite
def beta_operands(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    """Draw two positive numbers and a number between 0 and 1, each as a scalar or for each x."""
    give, shape = draw(numbers(row, dtype)), draw(small_shapes)
    forms = [draw(st.sampled_from([(), shape])) for _ in range(2)]
    drawn = [np.asarray(give.random.uniform(0.6, 6, form)) for form in forms]
    drawn.append(np.asarray(give.random.uniform(0.05, 0.95, draw(st.sampled_from([(), shape])))))
    operands = [each.astype(give.dtype) for each in drawn]
    return Case(operands, structural=frozenset({0, 1}))


def _places(draw: Draw, give: Numbers, shape: Sequence[int], is_distinct: bool) -> Any:
    """Draw coordinates of slices of an array, as the last axis of an array."""
    depth = draw(st.integers(1, len(shape)))
    total = int(np.prod(shape[:depth]))
    flat = give.random.permutation(total)[: draw(st.integers(0, 3))]
    if not is_distinct and total and flat.size:
        flat = np.append(flat, flat[0])
    found = np.stack(np.unravel_index(flat, shape[:depth]), -1)
    return found.astype(draw(st.sampled_from([np.int32, np.int64])))


@st.composite
def gather_nd(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    give = draw(numbers(row, dtype, "Tparams"))
    params = give.array(draw(solid_shapes))
    return Case([params, _places(draw, give, params.shape, False)], structural=frozenset({1}))


@st.composite
def scatter_nd(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    kind = dtype or draw(st.sampled_from([dtypes.float32, dtypes.float64, dtypes.int32]))
    give, shape = draw(numbers(row, kind)), draw(solid_shapes)
    places = _places(draw, give, shape, False)
    updates = give.array((*places.shape[:-1], *shape[places.shape[-1] :]))
    sizes = np.array(shape, places.dtype)
    return Case([places, updates, sizes], structural=frozenset({0, 2}))


@st.composite
def changed_nd(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    kind = dtype or draw(st.sampled_from([dtypes.float32, dtypes.float64, dtypes.int32]))
    give, shape = draw(numbers(row, kind)), draw(solid_shapes)
    places = _places(draw, give, shape, row.name == "TensorScatterUpdate")
    updates = give.array((*places.shape[:-1], *shape[places.shape[-1] :]))
    return Case([give.array(shape), places, updates], structural=frozenset({1}))


@st.composite
def sorted_segments(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    give = draw(numbers(row, dtype))
    shape = draw(arrays.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=3))
    ids = np.sort(give.random.integers(0, 4, shape[0])).astype(np.int32)
    value = give.array(shape)
    if row.name == "SegmentProd":
        value = np.asarray(value / 4 if elementwise.is_number(value.dtype) else value % 3)
    return Case([value, ids], structural=frozenset({1}))


@st.composite
def unsorted_segments(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    """Draw rows of which each segment has at least one. An empty one would have a huge value."""
    give, shape = draw(numbers(row, dtype)), draw(solid_shapes)
    ids_shape = shape[: draw(st.integers(1, len(shape)))]
    size = int(np.prod(ids_shape))
    count = draw(st.integers(1, min(size, 4)))
    ids = give.random.permutation(np.arange(size) % count).reshape(ids_shape).astype(np.int32)
    value = give.array(shape)
    if row.name == "UnsortedSegmentProd":
        value = np.asarray(value / 4 if elementwise.is_number(value.dtype) else value % 3)
    return Case([value, ids, np.asarray(np.int32(count))], structural=frozenset({1, 2}))


@st.composite
def looked_up_segments(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    kind = dtype or draw(st.sampled_from([dtypes.float32, dtypes.float64]))
    give, shape = draw(numbers(row, kind)), draw(solid_shapes)
    count = draw(st.integers(1, 5))
    indices = give.random.integers(0, shape[0], count).astype(np.int32)
    ids = np.sort(give.random.integers(0, 3, count)).astype(np.int32)
    return Case([give.array(shape), indices, ids], structural=frozenset({1, 2}))


@st.composite
def partitions(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    give, shape, count = draw(numbers(row, dtype)), draw(small_shapes), draw(st.integers(1, 3))
    parts = give.random.integers(0, count, shape[: draw(st.integers(0, len(shape)))])
    operands = [give.array(shape), np.asarray(parts).astype(np.int32)]
    return Case(operands, {"num_partitions": count}, frozenset({1}))


@st.composite
def reversal(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    value = draw(numbers(row, dtype)).array(draw(small_shapes))
    axes = draw(st.lists(st.sampled_from(range(value.ndim)), unique=True)) if value.ndim else []
    signed = [axis - draw(st.sampled_from([0, value.ndim])) for axis in axes]
    return Case([value, np.array(signed, np.int32)], structural=frozenset({1}))


@st.composite
def sequences(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    kind = dtype or draw(st.sampled_from([dtypes.float32, dtypes.float64, dtypes.int32]))
    give = draw(numbers(row, kind))
    shape = draw(arrays.array_shapes(min_dims=2, max_dims=3, min_side=1, max_side=3))
    batch, along = draw(st.permutations(range(len(shape))))[:2]
    lengths = give.random.integers(0, shape[along] + 1, shape[batch])
    index = draw(st.sampled_from([np.int32, np.int64]))
    attrs = {"seq_dim": along, "batch_dim": batch}
    return Case([give.array(shape), lengths.astype(index)], attrs, frozenset({1}))


@st.composite
def rolled(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    """Draw shifts of several axes, some of them twice, or one shift."""
    value = draw(numbers(row, dtype)).array(draw(solid_shapes))
    axes = st.integers(-value.ndim, value.ndim - 1)
    pairs = draw(st.lists(st.tuples(st.integers(-4, 4), axes), min_size=1, max_size=3))
    index = draw(st.sampled_from([np.int32, np.int64]))
    shifts, names = (np.array(each, index) for each in zip(*pairs, strict=True))
    is_scalar = draw(st.booleans())
    bounds = [np.asarray(shifts[0]), np.asarray(names[0])] if is_scalar else [shifts, names]
    return Case([value, *bounds], structural=frozenset({1, 2}))


@st.composite
def vectors(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    """Draw two stacks of vectors with three elements."""
    give = draw(numbers(row, dtype))
    shape = (*draw(arrays.array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=3)), 3)
    return Case([give.array(shape), give.array(shape)])


@st.composite
def reinterpreted(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    give = draw(numbers(row, dtype))
    target = draw(st.sampled_from(row.types["type"]))
    if target.is_floating:  # Arbitrary bits may be NaN, which is not equal to itself.
        target = dtypes.uint16
    ratio = max(target.size // give.dtype.itemsize, 1)
    shape = draw(small_shapes)
    return Case([give.array((*shape, ratio) if ratio > 1 else shape)], {"type": target})


@st.composite
def unravelled(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    sizes = draw(arrays.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=4))
    random = np.random.default_rng(draw(st.integers(0, 99)))
    shape = draw(st.sampled_from([(), (1,), (4,)]))
    index = draw(st.sampled_from([np.int32, np.int64]))
    places = np.asarray(random.integers(0, int(np.prod(sizes)), shape)).astype(index)
    return Case([places, np.array(sizes, index)], structural=frozenset({1}))


@st.composite
def searched(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    """Draw rows in order, and values some of which are in the rows."""
    kind = dtype or draw(st.sampled_from([dtypes.float32, dtypes.float64, dtypes.int32]))
    give, count = draw(numbers(row, kind)), draw(st.integers(1, 3))
    lines = np.sort(give.array((count, draw(st.integers(1, 4)))), axis=1)
    values = np.concatenate([lines[:, :1], give.array((count, draw(st.integers(0, 3))))], 1)
    out_type = draw(st.sampled_from([dtypes.int32, dtypes.int64]))
    return Case([lines, values.astype(lines.dtype)], {"out_type": out_type})


@st.composite
def binned(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    """Draw values of which some are outside the range, and none is where two bins meet."""
    give = draw(numbers(row, dtype))
    values = give.array(draw(small_shapes))
    ends = np.array([-5.03, 4.12] if elementwise.is_number(give.dtype) else [20, 70], give.dtype)
    operands = [values, ends, np.asarray(np.int32(draw(st.integers(1, 7))))]
    out_type = draw(st.sampled_from([dtypes.int32, dtypes.int64]))
    if dtype is not None:
        out_type = dtypes.int32  # The only type of the kernel for GPUs.
    return Case(operands, {"dtype": out_type}, frozenset({1, 2}))


@st.composite
def line(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    give = draw(numbers(row, dtype))
    count = np.asarray(np.int32(draw(st.integers(1, 5))))
    return Case([give.array(()), give.array(()), count], structural=frozenset({0, 1, 2}))


@st.composite
def difference(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    x = draw(numbers(row, dtype)).array((draw(st.integers(0, 5)),))
    return Case([x, x[::2].copy()])


@st.composite
def bins(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    give, shape = draw(numbers(row, dtype)), draw(small_shapes)
    values = np.asarray(give.random.integers(0, 5, shape)).astype(np.int32)
    weights = give.array(draw(st.sampled_from([shape, (0,)])))
    size = np.asarray(np.int32(draw(st.integers(1, 6))))
    return Case([values, size, weights], structural=frozenset({1}))


@st.composite
def matrices(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    """Draw matrices, with the diagonal that MatrixSetDiag sets, or the width of a band."""
    give = draw(numbers(row, dtype))
    shape = draw(arrays.array_shapes(min_dims=2, max_dims=3, min_side=1, max_side=3))
    if row.name == "MatrixSetDiag":
        return Case([give.array(shape), give.array((*shape[:-2], min(shape[-2:])))])
    if row.name == "MatrixBandPart":
        widths = [np.asarray(np.int64(draw(st.integers(-1, side)))) for side in shape[-2:]]
        return Case([give.array(shape), *widths], structural=frozenset({1, 2}))
    return Case([give.array(shape)])


@st.composite
def square_matrices(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    """Draw matrices with an inverse: their diagonals outweigh all other elements."""
    give, side = draw(numbers(row, dtype)), draw(st.integers(1, 3))
    batch = draw(st.sampled_from([(), (2,)]))
    matrix = give.array((*batch, side, side)) / 20 + np.eye(side) * 3
    inputs = [matrix.astype(give.dtype)]
    if "Solve" in row.name:
        inputs.append(give.array((*batch, side, draw(st.integers(1, 3)))))
    flags = [name for name in ("adjoint", "lower") if name in row.attrs]
    return Case(inputs, {name: draw(st.booleans()) for name in flags})


@st.composite
def doubled(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    """Draw a tensor whose shape has two equal halves."""
    half = draw(arrays.array_shapes(min_dims=1, max_dims=2, min_side=1, max_side=3))
    return Case([draw(numbers(row, dtype)).array(half * 2)])


@st.composite
def checked(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    value = draw(numbers(row, dtype)).array(draw(small_shapes))
    if row.name == "CheckNumerics":
        return Case([value], {"message": b"values"})
    sizes = [draw(st.sampled_from([size, None])) for size in value.shape]
    return Case([value], {"shape": tensor_shape.TensorShape(sizes)})


def _sorted_places(draw: Draw, give: Numbers, shape: Sequence[int]) -> Any:
    """Draw distinct places of a sparse tensor, in order, as a matrix of int64."""
    total = int(np.prod(shape))
    flat = np.sort(give.random.permutation(total)[: draw(st.integers(1, 4))])
    return np.stack(np.unravel_index(flat, shape), -1).astype(np.int64)


@st.composite
def dense(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    give, shape = draw(numbers(row, dtype)), draw(solid_shapes)
    places = _sorted_places(draw, give, shape)
    operands = [places, np.array(shape, np.int64), give.array((len(places),)), give.array(())]
    return Case(operands, structural=frozenset({0, 1}))


@st.composite
def sparse_product(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    give, shape = draw(numbers(row, dtype)), (draw(st.integers(1, 3)), draw(st.integers(1, 3)))
    places = _sorted_places(draw, give, shape)
    turns_a, turns_b = draw(st.booleans()), draw(st.booleans())
    b_shape = (shape[0] if turns_a else shape[1], draw(st.integers(1, 3)))
    b = give.array(b_shape[::-1] if turns_b else b_shape)
    operands = [places, give.array((len(places),)), np.array(shape, np.int64), b]
    return Case(operands, {"adjoint_a": turns_a, "adjoint_b": turns_b}, frozenset({0, 2}))


@st.composite
def sparse_pair(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    """Draw two sparse tensors of one shape, or the gradient of the values of their sum."""
    give, shape = draw(numbers(row, dtype)), draw(solid_shapes)
    places = [_sorted_places(draw, give, shape) for _ in range(2)]
    if row.name == "SparseAddGrad":
        union = np.unique(np.concatenate(places), axis=0)
        return Case([give.array((len(union),)), *places, union], structural=frozenset({1, 2, 3}))
    sizes = np.array(shape, np.int64)
    operands = [part for each in places for part in (each, give.array((len(each),)), sizes)]
    if row.name == "SparseAdd":
        operands.append(np.zeros((), give.dtype))
    return Case(operands, structural=frozenset({0, 2, 3, 5, 6}) & frozenset(range(len(operands))))


@st.composite
def sparse_and_dense(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    """Draw a sparse tensor, alone or with a tensor that may broadcast to its shape."""
    give = draw(numbers(row, dtype))
    shape = draw(arrays.array_shapes(min_dims=2, max_dims=3, min_side=1, max_side=3))
    places = _sorted_places(draw, give, shape)
    operands = [places, give.array((len(places),)), np.array(shape, np.int64)]
    if row.name == "SparseTensorDenseAdd":
        operands.append(give.array(shape))
    elif row.name != "SparseSoftmax":
        sizes = [draw(st.sampled_from([1, size])) for size in shape]
        operands.append(give.array(sizes[draw(st.integers(0, len(sizes) - 1)) :]))
    return Case(operands, structural=frozenset({0, 2}))


@st.composite
def sparse(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    """Draw a sparse matrix, with the default value that fills its empty rows."""
    kind = dtype or draw(st.sampled_from([dtypes.float32, dtypes.float64, dtypes.int64]))
    give, shape = draw(numbers(row, kind)), (draw(st.integers(1, 4)), draw(st.integers(1, 3)))
    places = _sorted_places(draw, give, shape)
    if row.name == "SparseReorder":
        places = np.ascontiguousarray(places[::-1])
    operands = [places, give.array((len(places),)), np.array(shape, np.int64)]
    if row.name == "SparseFillEmptyRows":
        operands.append(give.array(()))
    return Case(operands, structural=frozenset({0, 2}))


@st.composite
def filled_grad(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    give, size = draw(numbers(row, dtype)), draw(st.integers(1, 4))
    places = np.sort(give.random.permutation(size)[: draw(st.integers(1, size))]).astype(np.int64)
    return Case([places, give.array((size,))], structural=frozenset({0}))


@st.composite
def accidental_hits(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    random = np.random.default_rng(draw(st.integers(0, 1000)))
    labels = random.integers(0, 5, (draw(st.integers(1, 3)), 1)).astype(np.int64)
    drawn = random.permutation(5)[: draw(st.integers(1, 4))].astype(np.int64)
    return Case([labels, drawn], {"num_true": 1})


def assertion(row: opdef.OpDef, dtype: Any = None) -> st.SearchStrategy[Case]:
    data = [np.array([1, 2], np.int32), np.array([b"x"], object)]
    return st.just(Case([np.asarray(np.bool_(True)), data]))


_IMAGE_OPS = (
    *(
        prefix + suffix
        for prefix in ("Conv2D", "DepthwiseConv2dNative")
        for suffix in ("", "BackpropInput", "BackpropFilter")
    ),
    *("MaxPool", "MaxPoolGrad", "MaxPoolGradGrad", "AvgPool", "AvgPoolGrad"),
    *("MaxPoolV2", "MaxPoolGradV2", "MaxPoolGradGradV2"),
    *("MaxPoolWithArgmax", "MaxPoolGradWithArgmax"),
)
CRASHING = frozenset({*_IMAGE_OPS, "ConjugateTranspose"})
"""Some calls of these ops, such as those with empty images, end the process of TensorFlow.

`oracle/test_convolutions.py` and `oracle/test_client_gradients.py` compare the ops with TensorFlow
on calls that it survives.
"""

CASES: dict[str, Strategy] = {
    **dict.fromkeys(
        (
            "Neg", "Abs", "Sign", "Square", "Exp", "Tanh", "Cos", "Sin", "Sigmoid", "Reciprocal",
            "Inv", "Floor", "Ceil", "Round", "IsFinite", "IsInf", "IsNan", "Identity",
            "StopGradient", "Relu", "L2Loss", "Relu6", "Elu", "Selu", "LeakyRelu",
            "Softplus", "Softsign", "Shape", "Size", "Rank", "ZerosLike", "OnesLike",
            "GuaranteeConst",
        ),
        unary,
    ),
    **dict.fromkeys(("Log", "Log1p", "Sqrt", "Rsqrt"), positive),
    **dict.fromkeys(
        (
            "Add", "AddV2", "Sub", "Mul", "RealDiv", "Div", "FloorDiv", "DivNoNan",
            "Maximum", "Minimum", "SquaredDifference", "Equal", "NotEqual", "Less", "LessEqual",
            "Greater", "GreaterEqual", "LogicalAnd", "LogicalOr",
            "MulNoNan", "Xdivy", "TruncateDiv", "BitwiseAnd", "BitwiseOr", "BitwiseXor",
        ),
        binary,
    ),
    **dict.fromkeys(("Invert", "PopulationCount"), signed),
    "HistogramFixedWidth": binned, "Roll": rolled, "Cross": vectors, "Bitcast": reinterpreted,
    "UnravelIndex": unravelled,
    **dict.fromkeys(("LowerBound", "UpperBound"), searched),
    **dict.fromkeys(("LeftShift", "RightShift"), shifted),
    **dict.fromkeys(
        (
            "TanhGrad", "SigmoidGrad", "ReluGrad", "Relu6Grad", "EluGrad", "SeluGrad",
            "SoftplusGrad", "SoftsignGrad", "LeakyReluGrad", "SqrtGrad", "RsqrtGrad",
            "ReciprocalGrad", "InvGrad",
        ),
        alike,
    ),
    **dict.fromkeys(
        ("Sum", "Mean", "Prod", "Max", "Min", "All", "Any", "EuclideanNorm"), reduction
    ),
    **dict.fromkeys(
        ("ArgMax", "ArgMin", "Cumsum", "Cumprod", "CumulativeLogsumexp"), along_axis
    ),
    **dict.fromkeys(("BiasAdd", "BiasAddGrad"), biased),
    **dict.fromkeys(("Softmax", "LogSoftmax"), rows_of_logits),
    **dict.fromkeys(("InTopK", "InTopKV2"), top_k),
    **dict.fromkeys(("Gather", "GatherV2"), gather),
    **dict.fromkeys(_IMAGE_OPS[:6], convolution),
    **dict.fromkeys(_IMAGE_OPS[6:], pool),
    **dict.fromkeys(
        (
            "Dilation2D", "Dilation2DBackpropFilter", "Dilation2DBackpropInput",
            "ExtractImagePatches",
        ),
        morphology,
    ),
    "TopKV2": largest, "FloorMod": modulo, "TruncateMod": modulo, "Xlogy": times_logarithm,
    "Where": ranked,
    "AddN": several, "Pow": power, "Select": select, "SelectV2": select_v2, "Cast": cast,
    "LogicalNot": lambda row, dtype=None: unary(row, dtypes.bool_),
    "MatMul": matmul, "BatchMatMul": batch_matmul, "BatchMatMulV2": batch_matmul,
    "SoftmaxCrossEntropyWithLogits": dense_loss,
    "SparseSoftmaxCrossEntropyWithLogits": sparse_loss, "Reshape": reshape,
    "ExpandDims": expand_dims, "Squeeze": squeeze, "BroadcastTo": broadcast_to,
    "BroadcastGradientArgs": gradient_args, "Transpose": transpose, "ConcatV2": concat,
    "ConcatOffset": concat_offset, "Pack": pack, "Unpack": unpack, "Split": split,
    "SplitV": split_v, "Tile": tile, "Pad": pad, "Slice": slice_, "StridedSlice": strided,
    "StridedSliceGrad": strided_grad, "Fill": fill, "Range": range_,
    "UnsortedSegmentSum": segment_sum, "DynamicStitch": stitch, "InvertPermutation": permutation,
    "OneHot": one_hot, "Unique": unique, "Assert": assertion,
    **dict.fromkeys(
        (
            "Asinh", "Atan", "BesselI0e", "BesselI1e", "Cosh", "Erf", "Erfc", "Expm1", "Rint",
            "Sinh",
        ),
        unary,
    ),
    **dict.fromkeys(("Acos", "Acosh", "Asin", "Atanh", "Tan"), between),
    **dict.fromkeys(("Digamma", "Lgamma"), off_integers),
    **dict.fromkeys(("Polygamma", "Zeta"), orders),
    **dict.fromkeys(("Igamma", "Igammac"), gamma_operands), "Betainc": beta_operands,
    **dict.fromkeys(("TensorScatterUpdate", "TensorScatterAdd", "TensorScatterSub"), changed_nd),
    **dict.fromkeys(
        ("SegmentSum", "SegmentMean", "SegmentProd", "SegmentMax", "SegmentMin"), sorted_segments
    ),
    **dict.fromkeys(
        ("UnsortedSegmentMax", "UnsortedSegmentMin", "UnsortedSegmentProd"), unsorted_segments
    ),
    **dict.fromkeys(
        ("SparseSegmentSum", "SparseSegmentMean", "SparseSegmentSqrtN"), looked_up_segments
    ),
    **dict.fromkeys(("MatrixDiagPart", "MatrixSetDiag", "MatrixBandPart"), matrices),
    **dict.fromkeys(
        (
            "LogMatrixDeterminant", "MatrixDeterminant", "MatrixInverse", "MatrixSolve",
            "MatrixTriangularSolve",
        ),
        square_matrices,
    ),
    **dict.fromkeys(("CheckNumerics", "EnsureShape"), checked),
    "Atan2": binary, "NextAfter": binary, "GatherNd": gather_nd, "ScatterNd": scatter_nd,
    "DynamicPartition": partitions, "ReverseV2": reversal, "ReverseSequence": sequences,
    "LinSpace": line, "UniqueWithCounts": unique, "ListDiff": difference, "Bincount": bins,
    **dict.fromkeys(("SparseFillEmptyRows", "SparseReorder"), sparse),
    **dict.fromkeys(
        ("SparseAdd", "SparseAddGrad", "SparseSparseMaximum", "SparseSparseMinimum"), sparse_pair
    ),
    **dict.fromkeys(
        (
            "SparseDenseCwiseAdd", "SparseDenseCwiseDiv", "SparseDenseCwiseMul", "SparseSoftmax",
            "SparseTensorDenseAdd",
        ),
        sparse_and_dense,
    ),
    "SparseToDense": dense, "SparseTensorDenseMatMul": sparse_product,
    "SparseFillEmptyRowsGrad": filled_grad, "ComputeAccidentalHits": accidental_hits,
    "BroadcastArgs": gradient_args, "ConjugateTranspose": transpose, "ClipByValue": clipped,
    "ParallelDynamicStitch": stitch, "AccumulateNV2": accumulated,
    **dict.fromkeys(
        (
            "MatrixDiagV2", "MatrixDiagV3", "MatrixDiagPartV2", "MatrixDiagPartV3",
            "MatrixSetDiagV2", "MatrixSetDiagV3",
        ),
        bands,
    ),
    "MatrixDiag": ranked, "Diag": ranked, "DiagPart": doubled,
    **dict.fromkeys(
        ("ResizeBilinearGrad", "ResizeNearestNeighborGrad", "ResizeBicubicGrad"), resized
    ),
}  # fmt: skip

_READERS = (
    "FixedLengthRecordReader", "IdentityReader", "ReaderNumRecordsProduced",
    "ReaderNumWorkUnitsCompleted", "ReaderRead", "ReaderReadUpTo", "ReaderReset",
    "ReaderRestoreState", "ReaderSerializeState", "TFRecordReader", "TextLineReader",
    "WholeFileReader",
)  # fmt: skip

ELSEWHERE = {
    "compiler": {"Const", "Switch", "RefSwitch", "Merge"},
    "compiler/test_loops.py": {"_While"},
    "oracle/test_loops.py": {
        "Enter", "Exit", "NextIteration", "LoopCond", "While", "StatelessWhile",
        "PartitionedCall",
        "RefEnter", "ControlTrigger", "If", "StatelessIf", "Case",
        "StatelessCase", "StatefulPartitionedCall", "StackV2", "StackPushV2", "StackPopV2",
    },
    "oracle/test_linear_algebra.py": {
        "Cholesky", "CholeskyGrad", "MatrixSolveLs", "Qr", "SelfAdjointEigV2", "Svd",
    },
    "oracle/test_nccl.py": {"NcclAllReduce", "NcclBroadcast", "NcclReduce"},
    "oracle/test_sparse_layout.py": {"SparseConcat", "SparseSplit"},
    "oracle/test_scenarios.py": {
        "IdentityN",
        *(prefix + row.name for row in training.UPDATES for prefix in ("", "Resource")),
    },
    "oracle/test_references.py": {
        "RefExit", "RefIdentity", "RefMerge", "RefNextIteration", "RefSelect",
    },
    "oracle/test_functional_control_flow.py": {"FakeParam", "ShapeN"},
    "oracle/test_tensor_lists.py": {
        "EmptyTensorList", "TensorListConcat", "TensorListConcatLists", "TensorListConcatV2",
        "TensorListElementShape", "TensorListFromTensor", "TensorListGather", "TensorListGetItem",
        "TensorListLength", "TensorListPopBack", "TensorListPushBack", "TensorListPushBackBatch",
        "TensorListReserve", "TensorListResize", "TensorListScatter",
        "TensorListScatterIntoExistingList", "TensorListScatterV2", "TensorListSetItem",
        "TensorListSplit", "TensorListStack", "OptionalFromValue", "OptionalGetValue",
        "OptionalHasValue", "OptionalNone", "ToBool",
    },
    "oracle/test_datasets.py": {
        "BatchDataset", "BatchDatasetV2", "CacheDataset", "ConcatenateDataset",
        "DatasetCardinality", "DatasetToSingleElement", "DenseToSparseBatchDataset",
        "DeserializeIterator", "DeserializeSparse", "ExperimentalDatasetCardinality",
        "ExperimentalDenseToSparseBatchDataset", "ExperimentalGroupByReducerDataset",
        "GroupByReducerDataset",
        "DirectedInterleaveDataset", "ExperimentalDirectedInterleaveDataset",
        "ExperimentalIgnoreErrorsDataset", "ExperimentalMapAndBatchDataset",
        "ExperimentalParallelInterleaveDataset", "ExperimentalRandomDataset",
        "ExperimentalUnbatchDataset", "ExperimentalUniqueDataset", "FilterDataset",
        "FinalizeDataset", "FixedLengthRecordDataset", "FixedLengthRecordDatasetV2",
        "FlatMapDataset", "GeneratorDataset", "GroupByWindowDataset", "IgnoreErrorsDataset",
        "InterleaveDataset", "Iterator", "IteratorFromStringHandle", "IteratorFromStringHandleV2",
        "IteratorGetNext", "IteratorGetNextAsOptional", "IteratorGetNextSync",
        "IteratorToStringHandle", "IteratorV2", "LegacyParallelInterleaveDatasetV2", "MakeIterator",
        "MapAndBatchDataset", "MapDataset", "ModelDataset", "OneShotIterator", "OptimizeDataset",
        "OptionsDataset", "PaddedBatchDataset", "PaddedBatchDatasetV2", "ParallelBatchDataset",
        "ParallelInterleaveDataset", "ParallelInterleaveDatasetV2", "ParallelInterleaveDatasetV4",
        "ParallelMapDataset", "ParallelMapDatasetV2", "PrefetchDataset", "RandomDataset",
        "RangeDataset", "ReduceDataset", "RepeatDataset", "RewriteDataset", "ScanDataset",
        "SerializeIterator", "ShardDataset", "ShuffleAndRepeatDataset", "ShuffleDataset",
        "SkipDataset", "TFRecordDataset", "TakeDataset", "TakeWhileDataset", "TensorDataset",
        "TensorSliceDataset", "TextLineDataset", "UnbatchDataset", "UniqueDataset", "WindowDataset",
        "ZipDataset",
    },
    "api/test_beam_search.py": {"GatherTree"},
    "train/test_saved_queues.py": {"DeserializeQueue", "SerializeQueue"},
    "train/test_sync_replicas.py": {
        "ResourceAccumulatorTakeGradientUpTo", "SparseAccumulatorTakeGradientUpTo",
    },
    "oracle/test_functions.py": {"SymbolicGradient", "PyFunc", "PyFuncStateless"},
    "oracle/test_warm_start.py": {"GenerateVocabRemapping", "LoadAndRemapMatrix"},
    "kernels/test_io.py": {
        "SaveV2", "RestoreV2", "MergeV2Checkpoints", "ShardedFilename", "StringJoin",
    },
    "oracle/test_partitioned_variables.py": {
        "Save", "SaveSlices", "Restore", "RestoreSlice", "ShardedFilespec",
    },
    "kernels/test_control.py": {"NoOp", "Placeholder", "PlaceholderWithDefault"},
    "cluster/test_cond.py": {"Print"},
    "kernels/test_state.py": {
        "VariableV2", "IsVariableInitialized", "Assign", "AssignAdd", "AssignSub", "ScatterAdd",
        "ScatterDiv", "ScatterMax", "ScatterMin", "ScatterMul", "ScatterSub", "ScatterUpdate",
    },
    "oracle/test_sliced_assignment.py": {"ResourceStridedSliceAssign", "StridedSliceAssign"},
    "oracle/test_nd_ops.py": {
        f"{prefix}ScatterNd{kind}"
        for prefix in ("", "Resource")
        for kind in ("Add", "Sub", "Update")
    },
    "kernels/test_resource.py": {
        "VarHandleOp", "ReadVariableOp", "VarIsInitializedOp", "VariableShape", "DestroyResourceOp",
        "AssignVariableOp", "AssignAddVariableOp", "AssignSubVariableOp", "ResourceGather",
        "ResourceScatterAdd", "ResourceScatterDiv", "ResourceScatterMax", "ResourceScatterMin",
        "ResourceScatterMul", "ResourceScatterSub", "ResourceScatterUpdate",
    },
    "oracle/test_queues.py": {
        *(
            name + version
            for version in ("", "V2")
            for name in (
                "FIFOQueue", "PaddingFIFOQueue", "PriorityQueue", "RandomShuffleQueue",
                "QueueClose", "QueueDequeue", "QueueDequeueMany", "QueueDequeueUpTo",
                "QueueEnqueue", "QueueEnqueueMany", "QueueIsClosed", "QueueSize",
            )
        ),
        *(
            prefix + name
            for prefix in ("", "Resource")
            for name in (
                "ConditionalAccumulator", "AccumulatorApplyGradient", "AccumulatorTakeGradient",
                "AccumulatorNumAccumulated", "AccumulatorSetGlobalStep",
            )
        ),
        "SparseConditionalAccumulator", "SparseAccumulatorApplyGradient",
        "SparseAccumulatorTakeGradient", "Barrier", "BarrierInsertMany", "BarrierTakeMany",
        "BarrierClose", "BarrierReadySize", "BarrierIncompleteSize", "Stage", "Unstage",
        "StagePeek", "StageSize", "StageClear",
        *(
            prefix + name
            for prefix in ("", "Ordered")
            for name in (
                "MapStage", "MapPeek", "MapUnstage", "MapUnstageNoKey", "MapSize",
                "MapIncompleteSize", "MapClear",
            )
        ),
        "GetSessionHandle", "GetSessionTensor", "DeleteSessionTensor",
    },
    "oracle/test_control_flow.py": {
        "ControlTrigger", "Enter", "Exit", "LoopCond", "NextIteration", "RefEnter", "StackCloseV2",
        "StackPopV2", "StackPushV2", "StackV2", "TensorArrayCloseV3", "TensorArrayConcatV3",
        "TensorArrayGatherV3", "TensorArrayGradV3", "TensorArrayGradWithShape",
        "TensorArrayReadV3", "TensorArrayScatterV3", "TensorArraySizeV3", "TensorArraySplitV3",
        "TensorArrayV3", "TensorArrayWriteV3",
    },
    "kernels/test_summary.py": {
        "AudioSummary", "HistogramSummary", "MergeSummary", "ScalarSummary", "TensorSummary",
    },
    "oracle/test_summaries.py": {"AudioSummaryV2", "ImageSummary", "TensorSummaryV2"},
    "kernels/test_strings.py": {"StaticRegexFullMatch", "AsString"},
    "kernels/test_readers.py": {*_READERS},
    "oracle/test_readers.py": {
        *(f"{name}V2" for name in _READERS),
        *("MatchingFiles", "ReadFile", "WriteFile"),
    },
    "oracle/test_input.py": {
        "CountUpTo", "DeserializeManySparse", "RandomShuffle", "ResourceCountUpTo",
        "SerializeManySparse", "SerializeSparse",
    },
    "oracle/test_layers.py": {
        "LRN", "LRNGrad",
        *(
            f"FusedBatchNorm{grad}{version}"
            for grad in ("", "Grad")
            for version in ("", "V2", "V3")
        ),
    },
    "oracle/test_parsing.py": {
        "ParseExample", "ParseSequenceExample", "ParseSingleExample",
        "ParseSingleSequenceExample",
    },
    "oracle/test_images.py": {
        "AdjustContrastv2", "AdjustHue", "AdjustSaturation", "DecodeBmp", "DecodeGif",
        "DecodeAndCropJpeg", "DecodeImage", "DecodeJpeg", "DecodePng", "DrawBoundingBoxes",
        "DrawBoundingBoxesV2", "EncodeJpeg", "EncodePng", "ExtractJpegShape", "HSVToRGB",
        "RGBToHSV", "ResizeArea", "ResizeBicubic", "ResizeBilinear", "ResizeNearestNeighbor",
        "SampleDistortedBoundingBoxV2",
    },
    "oracle/test_custom_gradient.py": {"PreventGradient"},
    "oracle/test_margins.py": {
        "BatchToSpaceND", "DepthToSpace", "MirrorPad", "MirrorPadGrad", "PadV2", "SpaceToBatchND",
        "SpaceToDepth",
    },
    "oracle/test_text.py": {
        "ReduceJoin", "RegexFullMatch", "RegexReplace", "StaticRegexReplace", "StringLength",
        "StringLower", "StringSplit",
        "StringSplitV2", "StringStrip", "StringToHashBucket", "StringToHashBucketFast",
        "StringToHashBucketStrong", "StringUpper", "Substr",
    },
    "oracle/test_decoding.py": {
        "DecodeCSV", "DecodePaddedRaw", "DecodeRaw", "ParseTensor", "SerializeTensor",
        "StringToNumber",
    },
    "oracle/test_feature_columns.py": {
        "Bucketize", "SparseCross", "SparseReshape", "SparseSlice", "SparseSliceGrad",
        *(
            f"SparseSegment{kind}Grad{version}"
            for kind in ("Mean", "SqrtN", "Sum")
            for version in ("", "V2")
        ),
    },
    "oracle/test_volumes.py": {
        "AvgPool3D", "AvgPool3DGrad", "Conv3D", "Conv3DBackpropFilterV2", "Conv3DBackpropInputV2",
        "MaxPool3D", "MaxPool3DGrad", "MaxPool3DGradGrad",
    },
    "oracle/test_printing.py": {"PrintV2", "StringFormat", "Timestamp"},
    "oracle/test_sparse_reductions.py": {
        "ParallelConcat",
        *(f"SparseReduce{kind}{form}" for kind in ("Max", "Sum") for form in ("", "Sparse")),
    },
    "oracle/test_sparse_strings.py": {"EditDistance"},
    "oracle/test_spectral.py": {
        f"{kind}FFT{rank}" for kind in ("", "I", "R", "IR") for rank in ("", "2D", "3D")
    },
    "oracle/test_complex.py": {"Angle", "Complex", "ComplexAbs", "Conj", "Imag", "Real"},
    "oracle/test_incomplete.py": {"IgammaGradA", "RandomGammaGrad"},
    "oracle/test_random_parameters.py": {"RandomGamma", "RandomPoissonV2"},
    "oracle/test_bounded_normal.py": {"ParameterizedTruncatedNormal"},
    "oracle/test_ctc.py": {"CTCGreedyDecoder", "CTCLoss"},
    "oracle/test_sets.py": {
        "DenseToDenseSetOperation", "DenseToSparseSetOperation", "SetSize",
        "SparseToSparseSetOperation",
    },
    "oracle/test_lookup.py": {
        "LookupTableRemoveV2", "MutableDenseHashTableV2",
        *(
            name + version
            for version in ("", "V2")
            for name in (
                "HashTable", "InitializeTable", "InitializeTableFromTextFile", "LookupTableExport",
                "LookupTableFind", "LookupTableImport", "LookupTableInsert", "LookupTableSize",
                "MutableHashTable", "MutableHashTableOfTensors",
            )
        ),
    },
    "oracle/test_candidates.py": {
        "AllCandidateSampler", "FixedUnigramCandidateSampler", "LearnedUnigramCandidateSampler",
        "LogUniformCandidateSampler", "Multinomial", "UniformCandidateSampler",
    },
    "kernels/test_sampling.py": {
        "RandomUniform", "RandomStandardNormal", "TruncatedNormal", "RandomUniformInt",
    },
}  # fmt: skip
"""Rows that one random call cannot test, by the file that tests them."""
