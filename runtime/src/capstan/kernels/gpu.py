"""The table of the kernels of GPUs.

These ops have one kernel for both device types. The kernel calls NumPy's functions, which call the
functions of the array type of their arguments. The table needs no GPU and no CuPy: every task can
tell a placer which nodes a GPU would run. As in TensorFlow, a GPU has no variables of integers.
"""

from collections.abc import Mapping
from dataclasses import replace

from capstan.core import dtypes
from capstan.kernels import (
    arithmetic,
    control,
    control_flow,
    convolution,
    creation,
    depthwise,
    layout,
    logic,
    nn,
    pooling,
    reduction,
    resource,
    shape,
    slicing,
    stack,
    state,
    tensor_array,
    training,
    unary,
)
from capstan.kernels.registry import register, rows

_FAMILIES = (
    arithmetic,
    control,
    control_flow,
    convolution,
    creation,
    depthwise,
    layout,
    logic,
    nn,
    pooling,
    reduction,
    resource,
    shape,
    slicing,
    stack,
    state,
    tensor_array,
    training,
    unary,
)
"""The families whose rows this table repeats. They must be imported first."""

_FLOATS = frozenset({dtypes.float16, dtypes.float32, dtypes.float64})
_NUMBERS = _FLOATS | {dtypes.int32}
_PLAIN = _NUMBERS | {dtypes.int64, dtypes.bool_}

_TABLE: tuple[tuple[Mapping[str, frozenset[dtypes.DType]], str], ...] = (
    (
        # A branch passes on the handle of a resource variable of the same device.
        {"T": _PLAIN | {dtypes.resource}},
        "Enter Exit Identity NextIteration Switch",
    ),
    (
        {"T": _PLAIN},
        "BroadcastTo ConcatV2 ExpandDims Fill Merge OnesLike Pack Rank RefSwitch Reshape Shape "
        "ShapeN Size Slice Squeeze StopGradient StridedSlice StridedSliceGrad Tile Transpose "
        "ZerosLike",
    ),
    (
        {"T": _NUMBERS},
        "Abs Add AddN AddV2 DivNoNan Equal FloorMod Greater GreaterEqual Less LessEqual Max "
        "Maximum Mean Min Minimum Mul Neg NotEqual Pow Prod RealDiv Sign Square SquaredDifference "
        "Sub Sum",
    ),
    (
        {"T": _FLOATS},
        "ApplyAdadelta ApplyAdagrad ApplyAdam ApplyCenteredRMSProp ApplyGradientDescent "
        "ApplyMomentum ApplyRMSProp Assign AssignAdd AssignSub AvgPool AvgPoolGrad BiasAdd "
        "BiasAddGrad Conv2D Conv2DBackpropFilter Conv2DBackpropInput Cos DepthwiseConv2dNative "
        "DepthwiseConv2dNativeBackpropFilter DepthwiseConv2dNativeBackpropInput Exp L2Loss Log "
        "Log1p LogSoftmax MatMul MaxPool MaxPoolGrad MaxPoolGradGrad Reciprocal Relu ReluGrad "
        "ResourceApplyAdadelta ResourceApplyAdagrad ResourceApplyAdam "
        "ResourceApplyCenteredRMSProp ResourceApplyGradientDescent ResourceApplyMomentum "
        "ResourceApplyRMSProp ResourceStridedSliceAssign Rsqrt Sigmoid SigmoidGrad Sin Softmax "
        "SoftmaxCrossEntropyWithLogits Sqrt StridedSliceAssign Tanh TanhGrad",
    ),
    ({"dtype": _PLAIN}, "Const Placeholder PlaceholderWithDefault"),
    # The elements of stacks and TensorArrays are in the memory of the device.
    ({"T": _PLAIN}, "StackPushV2 TensorArrayScatterV3 TensorArraySplitV3 TensorArrayWriteV3"),
    ({"elem_type": _PLAIN}, "StackPopV2 StackV2"),
    (
        {"dtype": _PLAIN},
        "TensorArrayConcatV3 TensorArrayGatherV3 TensorArrayReadV3 TensorArrayV3",
    ),
    ({"Tidx": _NUMBERS | {dtypes.int64}}, "Range"),
    (
        {"dtype": _FLOATS},
        "AssignAddVariableOp AssignSubVariableOp AssignVariableOp IsVariableInitialized "
        "ReadVariableOp VarHandleOp VariableV2",
    ),
    (
        {
            "SrcT": _PLAIN,
            "DstT": _PLAIN - {dtypes.int32},
        },
        "Cast",
    ),
    (
        {},
        "BroadcastGradientArgs Case ControlTrigger IdentityN If LogicalAnd LogicalNot LogicalOr "
        "LoopCond NoOp PartitionedCall StackCloseV2 StatefulPartitionedCall StatelessCase "
        "StatelessIf StatelessWhile TensorArrayCloseV3 TensorArrayGradV3 TensorArrayGradWithShape "
        "TensorArraySizeV3 VarIsInitializedOp VariableShape While",
    ),
)
"""The dtypes that kernels of GPUs serve, by type attribute, and the ops of these kernels."""

for _types, _ops in _TABLE:
    for _op in _ops.split():
        for _row in rows(_op, "CPU"):
            _both = {**_row.types}
            for _name, _allowed in _types.items():
                _both[_name] = _allowed & _row.types.get(_name, _allowed)
            if all(_both.values()):
                register(replace(_row, device="GPU", types=_both))
