"""The errors of kernels and of graph construction for values that an op cannot use."""

from typing import Any

import interpreter
import numpy as np
import pytest

from capstan import errors
from capstan.core import dtypes, tensor_shape
from capstan.framework import graph as graphs
from capstan.framework.raw import raw


def run(op: str, *arguments: Any, **attrs: Any) -> Any:
    """Run an op on arguments whose shapes and values are unknown before the step."""
    feeds: dict[Any, Any] = {}

    def unknown(value: Any) -> Any:
        array = np.asarray(value)
        if array.dtype == np.int64:
            array = array.astype(np.int32)
        if array.dtype == np.float64:
            array = array.astype(np.float32)
        tensor = raw.Placeholder(
            dtype=dtypes.as_dtype(array.dtype), shape=tensor_shape.TensorShape(None)
        )
        feeds[tensor] = array
        return tensor

    with graphs.Graph().as_default():
        tensors = [
            [unknown(element) for element in value] if isinstance(value, tuple) else unknown(value)
            for value in arguments
        ]
        return interpreter.Interpreter().run(getattr(raw, op)(*tensors, **attrs), feeds)


PAIR, ROW = np.ones((2, 3)), np.ones(3)

REFUSALS = [
    ("FloorDiv", ([1, 2], [1, 0]), {}, "Integer division by zero"),
    (
        "TensorListReserve",
        (np.zeros(0, np.int32), 1 << 30),
        {"element_dtype": dtypes.float32},
        "A list of 1073741824 elements is too long",
    ),
    ("Div", ([1], 0), {}, "Integer division by zero"),
    ("FloorMod", ([1], 0), {}, "Integer division by zero"),
    ("AddN", ((PAIR, ROW),), {}, "same size and shape.  Input 0: [2,3] != input 1: [3]"),
    ("Pack", ((ROW, ROW),), {"axis": 2}, "axis = 2 not in [-2, 2)"),
    ("Unpack", (ROW,), {"num": 3, "axis": -2}, "axis = -2 not in [-1, 1)"),
    ("MatMul", (PAIR, PAIR), {}, "Matrix size-incompatible: In[0]: [2,3], In[1]: [2,3]"),
    ("BatchMatMulV2", (PAIR, PAIR), {}, "size-incompatible: In[0]: [2,3], In[1]: [2,3]"),
    ("BatchMatMulV2", (ROW, PAIR), {}, "In[0] ndims must be >= 2: 1"),
    ("BatchMatMul", ([PAIR], PAIR.T), {}, "batch dimensions: [1,2,3] vs. [3,2]"),
    (
        "BatchMatMulV2",
        ([PAIR] * 2, [PAIR.T] * 3),
        {},
        "must have compatible batch dimensions: [2,2,3] vs. [3,3,2]",
    ),
    ("MatMul", (ROW, PAIR), {}, "In[0] is not a matrix. Instead it has shape [3]"),
    ("BiasAdd", (PAIR, [1.0]), {}, "last dimension of the input tensor: [1] vs. [2,3]"),
    ("BiasAdd", (ROW, ROW), {}, "Input tensor must be at least 2D: [3]"),
    ("ReluGrad", (PAIR, ROW), {}, "[2,3] and [3]"),
    ("Select", ([True], PAIR, PAIR), {}, "Number of batches of 'then' must match"),
    ("SelectV2", ([True] * 2, ROW, 1.0), {}, "condition [2], then [3], and else [] must be"),
    ("SelectV2", (True, ROW, ROW[:2]), {}, "condition [], then [3], and else [2] must be"),
    ("Select", (True, PAIR, ROW), {}, "must have the same size and shape"),
    ("SparseSoftmaxCrossEntropyWithLogits", (PAIR, [0, 3]), {},
     "Received a label value of 3 which is outside the valid range of [0, 3).  Label values: 0 3"),
    ("SparseSoftmaxCrossEntropyWithLogits", (PAIR, [-1, 0]), {}, "label value of -1"),
    ("SparseSoftmaxCrossEntropyWithLogits", (PAIR, [0]), {}, "[2,3] and labels shape [1]"),
    ("SparseSoftmaxCrossEntropyWithLogits", (PAIR, 0), {}, "labels must be 1-D, but got shape []"),
    ("SparseSoftmaxCrossEntropyWithLogits", (ROW, [0]), {},
     "logits must be 2-D, but got shape [3]"),
    ("SoftmaxCrossEntropyWithLogits", (PAIR, np.float32([[1, 2]])), {},
     "logits and labels must be broadcastable: logits_size=[2,3] labels_size=[1,2]"),
    ("Pad", (PAIR, [[0, 0, 0], [0, 0, 0]]), {}, "a matrix with 2 columns: [2,3]"),
    ("ConcatOffset", (0, ([1, 2], [1])), {}, "input 1 should contain 2 elements, but got 1"),
    ("ConcatOffset", (1, ([1], [1])), {}, "Concat dim is out of range: 1 vs. 1"),
    ("ConcatOffset", (0, ([1, 2], [1, 3])), {}, "All dimensions except 0 must match."),
    ("BroadcastTo", (ROW, 3), {}, "the shape must be 1-D, got []"),
    ("SplitV", (ROW, [1, 2], 0), {"num_split": 3}, "must have shape [3], like num_split, not [2]"),
    ("StridedSlice", (ROW, [[0]], [1], [1]), {}, "begin, end, and strides to be 1D"),
    ("ArgMin", (np.float32(1), 0), {}, "Expected dimension in the range [0, 0), but got 0"),
    ("Where", (np.float32(1),), {}, "Unhandled input dimensions: 0"),
    ("Fill", ([[1]], np.float32(1)), {}, "a shape must be a vector, but has shape [1,1]"),
    ("OneHot", ([0], 2, np.float32([1]), np.float32(0)), {}, "on_value must be a scalar"),
    ("BroadcastGradientArgs", ([2], [3]), {}, "Incompatible shapes: [2] vs. [3]"),
    ("Reshape", (PAIR, [4]), {},
     "Input to reshape is a tensor with 6 values, but the requested shape has 4"),
    ("Reshape", (PAIR, [-1, 4]), {}, "requires a multiple of 4"),
    ("Reshape", (PAIR, [-1, -1]), {}, "Only one input size may be -1"),
    ("ExpandDims", (ROW, 5), {}, "Tried to expand dim index 5 for tensor with 1 dimensions."),
    ("Squeeze", (PAIR,), {"squeeze_dims": [0]}, "Can not squeeze dim[0]"),
    ("BroadcastTo", (PAIR, [2, 2]), {}, "Incompatible shapes: [2,3] vs. [2,2]"),
    ("Transpose", (PAIR, [0, 0]), {}, "expects a permutation"),
    ("ConcatV2", ((PAIR, ROW), 0), {},
     "ConcatOp : Dimensions of inputs should match: shape[0] = [2,3] vs. shape[1] = [3]"),
    ("ConcatV2", ((ROW, ROW), 1), {}, "in the range [-1, 1), but got 1"),
    ("Pack", ((PAIR, ROW),), {}, "values[0].shape = [2,3] != values[1].shape = [3]"),
    ("Unpack", (PAIR,), {"num": 3}, "Input shape axis 0 must equal 3, got shape [2,3]"),
    ("Split", (1, PAIR), {"num_split": 2}, "split_dim 1 (size = 3) and num_split 2"),
    ("SplitV", (ROW, [1, 1], 0), {"num_split": 2}, "must either match input shape"),
    ("Tile", (PAIR, [1]), {}, "vector of length 2 but got length 1"),
    ("Tile", (ROW, [-1]), {}, "Expected multiples[0] >= 0, but got -1"),
    ("Pad", (ROW, [[-1, 0]]), {}, "Paddings must be non-negative"),
    ("Pad", (PAIR, [[1, 0]]), {}, "must be the rank of inputs"),
    ("Slice", (ROW, [4], [0]), {}, "Expected begin[0] in [0, 3], but got 4"),
    ("Slice", (ROW, [1], [3]), {}, "Expected size[0] in [0, 2], but got 3"),
    ("Slice", (PAIR, [1], [3]), {}, "1-D tensors of size 2"),
    ("StridedSlice", (ROW, [3], [4], [1]), {"shrink_axis_mask": 1},
     "slice index 3 of dimension 0 out of bounds."),
    ("StridedSlice", (ROW, [0], [1], [0]), {}, "strides[0] must be non-zero"),
    ("StridedSlice", (ROW, [0], [1], [-1]), {"shrink_axis_mask": 1}, "only stride 1 allowed"),
    ("StridedSlice", (ROW, [0, 0], [1, 1], [1, 1]), {}, "Index out of range"),
    ("StridedSliceGrad", ([3], [3], [4], [1], 1.0), {"shrink_axis_mask": 1}, "slice index 3"),
    ("Fill", ([-1], 0.0), {}, "Dimension -1 must be >= 0"),
    ("Range", (0, 3, 0), {}, "Requires delta != 0: 0"),
    ("Range", (5, 3, 1), {}, "Requires start <= limit when delta > 0: 5/3"),
    ("Range", (3, 5, -1), {}, "Requires start >= limit when delta < 0: 3/5"),
    ("Gather", (ROW, [[0, 3]]), {}, "indices[0,1] = 3 is not in [0, 3)"),
    ("Gather", (ROW, -1), {}, "indices = -1 is not in [0, 3)"),
    ("GatherV2", (ROW, 0, 1), {}, "Expected axis in the range [-1, 1), but got 1"),
    ("UnsortedSegmentSum", (ROW, [0, 1, 2], 2), {}, "segment_ids[2] = 2 is out of range [0, 2)"),
    ("UnsortedSegmentSum", (ROW, [0], 2), {}, "does not start with segment_ids.shape = [1]"),
    ("DynamicStitch", (([0],), (PAIR,)), {}, "does not start with indices[0].shape = [1]"),
    ("InvertPermutation", ([1, 0, 0],), {}, "0 is duplicated in the input."),
    ("InvertPermutation", ([0, 2],), {}, "2 is not between 0 and 2"),
    ("OneHot", (0, -1, 1.0, 0.0), {}, "depth must be non-negative, got: -1"),
    ("Unique", (PAIR,), {}, "unique expects a 1D vector"),
    ("InTopK", (PAIR, [0]), {"k": 1}, "predictions 2 must match length of targets 1"),
    ("RandomUniformInt", ([2], 5, 5), {}, "Need minval < maxval, got 5 >= 5"),
    ("RandomUniformInt", ([2], [4], 5), {}, "minval must be 0-D, got shape [1]"),
    ("RandomUniformInt", ([2], 4, [5, 6]), {}, "maxval must be 0-D, got shape [2]"),
    (
        "MaxPool",
        (np.ones((1, 3, 3, 1)),),
        {"ksize": [1, 0, 1, 1], "strides": [1, 1, 1, 1], "padding": b"VALID"},
        "A window must have at least one element, but its size is 0",
    ),
    (
        "AvgPool3D",
        (np.ones((1, 3, 3, 3, 1)),),
        {"ksize": [1, 1, 1, 1, 1], "strides": [1, 1, -1, 1, 1], "padding": b"SAME"},
        "Stride must be > 0, but got -1",
    ),
    (
        "Conv3D",
        (np.ones((1, 3, 3, 3, 1)), np.ones((1, 0, 1, 1, 1))),
        {"strides": [1, 1, 1, 1, 1], "padding": b"VALID"},
        "A window must have at least one element, but its size is 0",
    ),
]  # fmt: skip


@pytest.mark.e2e
@pytest.mark.parametrize(
    "op, arguments, attrs, words", REFUSALS, ids=[f"{row[0]}-{n}" for n, row in enumerate(REFUSALS)]
)
def test_a_kernel_refuses_invalid_values_in_tensorflows_words(
    op: str, arguments: tuple[Any, ...], attrs: dict[str, Any], words: str
) -> None:
    with pytest.raises(errors.InvalidArgumentError) as raised:
        run(op, *arguments, **attrs)
    assert words in str(raised.value)


STATIC = [
    ("Add", (PAIR, np.ones((2, 2))), {}, "Dimensions must be equal, but are 3 and 2"),
    ("MatMul", (PAIR, PAIR), {}, "Dimensions must be equal, but are 3 and 2"),
    ("MatMul", (ROW, PAIR), {}, "Shape must be rank 2 but is rank 1"),
    ("SoftmaxCrossEntropyWithLogits", (PAIR, PAIR[None]), {},
     "Shape must be broadcasted with rank 2, but is rank 3"),
    ("SoftmaxCrossEntropyWithLogits", (ROW, ROW), {},
     "Shape must be broadcasted with rank 2, but is rank 1"),
    ("BiasAdd", (PAIR, np.ones(2)), {}, "Dimensions must be equal, but are 3 and 2"),
    ("Reshape", (PAIR, [4]), {}, "a tensor with 6 elements to shape [4] (4 elements)"),
    ("Reshape", (PAIR, [-1, -1]), {}, "Only one input size may be -1"),
    ("Squeeze", (PAIR,), {"squeeze_dims": [0]}, "Can not squeeze dim[0], expected a"),
    ("BroadcastTo", (PAIR, [2, 2]), {}, "Dimensions must be equal"),
    ("BroadcastTo", (PAIR, [3]), {}, "Incompatible shapes: [2,3] vs. [3]"),
    ("Sum", (ROW, [1]), {}, "Invalid reduction dimension 1 for input with 1 dimensions"),
    ("Transpose", (PAIR, [0, 0]), {}, "is not a permutation of 2 axes"),
    ("Split", (1, PAIR), {"num_split": 2}, "must be evenly divisible by 2 but is 3"),
    ("SplitV", (ROW, np.int64([1, 1]), 0), {"num_split": 2}, "must match the size 3, got 2"),
    ("Unpack", (PAIR,), {"num": 3}, "Dimension must be 3 but is 2"),
    ("Slice", (ROW, [1], [3]), {}, "Expected size in [0, 2], but got 3"),
    ("StridedSlice", (ROW, [3], [4], [1]), {"shrink_axis_mask": 1}, "slice index 3 of dimension 0"),
    ("StridedSlice", (ROW, [0, 0], [1, 1], [1, 1]), {}, "input has only 1 dims"),
    ("StridedSlice", (PAIR, [0, 0], [1, 1], [1, 1]), {"ellipsis_mask": 3}, "Multiple ellipses"),
    ("GatherV2", (ROW, 0, 0), {"batch_dims": 1}, "batch_dims in the range [0, 0], but got 1"),
    ("GatherV2", (PAIR, [[0], [1]], 0), {"batch_dims": 1}, "must be less than or equal to axis"),
    ("GatherV2", (ROW, [0], 0), {"batch_dims": 1}, "batch_dims (1) must be less than rank(params)"),
    ("GatherV2", (PAIR, [[0]], 1), {"batch_dims": 1}, "must be equal, but are 2 and 1"),
    ("Range", (0, 3, 0), {}, "Requires delta != 0"),
    ("RandomUniformInt", ([2], [4, 5], 6), {}, "Shape must be rank 0 but is rank 1"),
    ("RandomUniformInt", ([2], 4, [5, 6]), {}, "Shape must be rank 0 but is rank 1"),
    ("OneHot", (0, -1, 1.0, 0.0), {}, "depth must be non-negative"),
    ("Tile", (PAIR, [1]), {}, "Shape must be rank 1 but is rank 2"),
    ("Pad", (PAIR, [[1, 0]]), {}, "Shape must be rank 1 but is rank 2"),
]  # fmt: skip


@pytest.mark.parametrize(
    "op, arguments, attrs, words", STATIC, ids=[f"{row[0]}-{n}" for n, row in enumerate(STATIC)]
)
def test_an_op_with_invalid_constants_is_refused_when_the_graph_is_built(
    op: str, arguments: tuple[Any, ...], attrs: dict[str, Any], words: str
) -> None:
    with graphs.Graph().as_default(), pytest.raises(ValueError) as raised:
        getattr(raw, op)(*arguments, **attrs)
    assert words in str(raised.value)
    assert f"(op: '{op}') with input shapes: " in str(raised.value)


def test_a_sparse_tensor_has_no_negative_sizes() -> None:
    with graphs.Graph().as_default():
        softmax = raw.SparseSoftmax([[0, 0]], [1.0], [-2, 2])
    with pytest.raises(errors.InvalidArgumentError, match=r"negative sizes, but is \[-2, 2\]"):
        interpreter.Interpreter().run(softmax, {})
