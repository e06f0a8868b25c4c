"""The table of the kernels of GPUs.

These ops have one kernel for both device types. The kernel calls NumPy's functions, which call the
functions of the array type of their arguments. The table needs no GPU and no CuPy: every task can
tell a placer which nodes a GPU would run. As in TensorFlow, a GPU has variables of 64-bit integers,
but none of 32-bit integers, which are in host memory on every device.
"""

from collections.abc import Mapping
from dataclasses import replace

from capstan.core import dtypes
from capstan.kernels import (
    activations,
    arithmetic,
    arrays,
    batch_matmul,
    control,
    control_flow,
    convolution,
    creation,
    cross_entropy,
    depthwise,
    diagonals,
    feature_columns,
    image,
    image_colours,
    indexing,
    joining,
    layout,
    linear_algebra,
    logic,
    margins,
    multinomial,
    nd,
    nn,
    normalization,
    optional,
    pooling,
    reduction,
    resource,
    sampling,
    segments,
    session_tensors,
    shape,
    slicing,
    sparse,
    special,
    stack,
    staging,
    state,
    tensor_array,
    tensor_list,
    tensor_list_pieces,
    tensor_list_values,
    training,
    unary,
    volumes,
    zeta,
)
from capstan.kernels.registry import register, rows

_FAMILIES = (
    activations,
    arithmetic,
    arrays,
    batch_matmul,
    control,
    control_flow,
    convolution,
    creation,
    cross_entropy,
    depthwise,
    diagonals,
    feature_columns,
    image,
    image_colours,
    indexing,
    joining,
    layout,
    linear_algebra,
    logic,
    margins,
    multinomial,
    nd,
    nn,
    normalization,
    optional,
    pooling,
    reduction,
    resource,
    sampling,
    segments,
    session_tensors,
    shape,
    slicing,
    sparse,
    special,
    stack,
    staging,
    state,
    tensor_array,
    tensor_list,
    tensor_list_pieces,
    tensor_list_values,
    training,
    unary,
    volumes,
    zeta,
)
"""The families whose rows this table repeats. They must be imported first."""

_FLOATS = frozenset({dtypes.bfloat16, dtypes.float16, dtypes.float32, dtypes.float64})
_NUMBERS = _FLOATS | {dtypes.int32}
_SIGNED = _NUMBERS | {dtypes.int64}
_PLAIN = _SIGNED | {dtypes.bool_}
_SMALL = frozenset({dtypes.int8, dtypes.int16, dtypes.uint8, dtypes.uint16})
_MOVED = _PLAIN | _SMALL
_COMPARED = _SIGNED | {dtypes.int8, dtypes.int16, dtypes.uint8}
_NARROW = frozenset({dtypes.bfloat16, dtypes.float16, dtypes.float32})
_WIDE = frozenset({dtypes.float32, dtypes.float64})
_SINGLE = frozenset({dtypes.float32})
_INDEX = frozenset({dtypes.int32, dtypes.int64})
_VARIANT = frozenset({dtypes.variant})

_TABLE: tuple[tuple[Mapping[str, frozenset[dtypes.DType]], str], ...] = (
    (
        # A branch passes on the handle of a resource variable of the same device.
        {"T": _MOVED | _VARIANT | {dtypes.resource}},
        "Enter Exit Identity NextIteration",
    ),
    ({"T": _MOVED | _VARIANT | {dtypes.resource, dtypes.uint64}}, "Switch"),
    ({"T": _MOVED | _VARIANT | {dtypes.uint64}}, "Merge"),
    ({"T": _MOVED | _VARIANT}, "StopGradient"),
    ({"T": _VARIANT}, "AddN ZerosLike"),
    (
        {"T": _MOVED},
        "ConjugateTranspose EnsureShape ExpandDims Fill Rank RefEnter RefExit RefIdentity RefMerge "
        "RefNextIteration RefSwitch Reshape Shape ShapeN Size Squeeze Transpose",
    ),
    ({"T": _PLAIN}, "OneHot OnesLike Select SelectV2 ZerosLike"),
    ({"T": _PLAIN | {dtypes.uint8}}, "ConcatV2 Unpack"),
    ({"T": _PLAIN | {dtypes.int16}}, "Pack Tile"),
    (
        {"T": _PLAIN | {dtypes.int8}},
        "ResourceStridedSliceAssign Slice StridedSlice StridedSliceAssign StridedSliceGrad",
    ),
    ({"T": _NUMBERS | {dtypes.bool_}}, "BroadcastTo"),
    ({"T": _NUMBERS | {dtypes.bool_, dtypes.int8, dtypes.uint8}}, "Pad PadV2 ReverseV2"),
    (
        {"T": _NUMBERS},
        "Min Prod ResourceScatterNdAdd ResourceScatterNdSub ResourceScatterNdUpdate ScatterNd "
        "ScatterNdAdd ScatterNdSub ScatterNdUpdate SplitV UnsortedSegmentMax UnsortedSegmentMin "
        "UnsortedSegmentProd UnsortedSegmentSum",
    ),
    (
        {"T": _SIGNED},
        "Abs AddN Cumprod Cumsum DynamicStitch Max Maximum Minimum Neg ParallelDynamicStitch Round "
        "Sign Square SquaredDifference Sub Sum",
    ),
    ({"T": _SIGNED | {dtypes.uint8}}, "Add AddV2"),
    ({"T": _SIGNED | _SMALL}, "ClipByValue Mul TopKV2"),
    ({"T": (_SIGNED | _SMALL) - {dtypes.int8}}, "Div FloorDiv"),
    ({"T": _COMPARED}, "Greater GreaterEqual Less LessEqual"),
    ({"T": _COMPARED | {dtypes.bool_}}, "Equal NotEqual"),
    ({"T": _WIDE | _INDEX}, "Diag DiagPart"),
    ({"T": _INDEX}, "InTopKV2 InvertPermutation"),
    ({"T": frozenset({dtypes.int32})}, "FloorMod TruncateMod"),
    ({"T": (_SMALL - {dtypes.int8}) | {dtypes.int64}}, "TruncateDiv"),
    ({"T": _FLOATS | {dtypes.int64}}, "AssignAdd AssignSub Inv Pow Reciprocal"),
    ({"T": _FLOATS | {dtypes.int64, dtypes.bool_}}, "Assign"),
    ({"T": _FLOATS | {dtypes.int64} | _SMALL}, "PreventGradient"),
    (
        {"T": _FLOATS},
        "ApplyAdadelta ApplyAdagrad ApplyAdam ApplyCenteredRMSProp ApplyGradientDescent "
        "ApplyMomentum ApplyRMSProp ArgMax ArgMin AvgPool AvgPoolGrad "
        "BatchMatMul BatchMatMulV2 BatchToSpaceND BiasAdd BiasAddGrad Ceil CheckNumerics Conv2D "
        "Conv2DBackpropFilter Conv2DBackpropInput Conv3D Conv3DBackpropFilterV2 "
        "Conv3DBackpropInputV2 Cos DepthwiseConv2dNative DepthwiseConv2dNativeBackpropFilter "
        "DepthwiseConv2dNativeBackpropInput Digamma DivNoNan DynamicPartition Elu EluGrad Erf Erfc "
        "Exp Expm1 Floor InvGrad IsFinite IsInf IsNan L2Loss LeakyRelu LeakyReluGrad Log Log1p "
        "MatMul MaxPool MaxPoolGrad "
        "MaxPoolGradGrad MaxPoolGradGradV2 MaxPoolGradV2 MaxPoolV2 Mean MirrorPad MirrorPadGrad "
        "MulNoNan ParallelConcat "
        "RealDiv ReciprocalGrad Relu Relu6 Relu6Grad ReluGrad ResizeNearestNeighbor "
        "ResizeNearestNeighborGrad ResourceApplyAdadelta ResourceApplyAdagrad ResourceApplyAdam "
        "ResourceApplyCenteredRMSProp ResourceApplyGradientDescent ResourceApplyMomentum "
        "ResourceApplyRMSProp Rsqrt RsqrtGrad "
        "ScatterMax ScatterMin SegmentSum Selu SeluGrad Sigmoid SigmoidGrad Sin Softmax "
        "SoftmaxCrossEntropyWithLogits Softplus SoftplusGrad Softsign SoftsignGrad SpaceToBatchND "
        "Split Sqrt SqrtGrad Tan Tanh TanhGrad Xdivy Xlogy",
    ),
    (
        {"T": _NARROW},
        "AvgPool3D AvgPool3DGrad DepthToSpace FusedBatchNormGradV2 FusedBatchNormGradV3 "
        "FusedBatchNormV2 FusedBatchNormV3 LogSoftmax MaxPool3D MaxPool3DGrad MaxPool3DGradGrad "
        "SparseSoftmaxCrossEntropyWithLogits",
    ),
    ({"T": _NARROW - {dtypes.bfloat16}}, "AdjustContrastv2 AdjustHue AdjustSaturation"),
    ({"T": _NARROW | {dtypes.uint8}}, "SpaceToDepth"),
    (
        {"T": _WIDE},
        "Acos Acosh Asin Asinh Atan Atan2 Atanh Cosh HSVToRGB LinSpace RGBToHSV ResizeBilinear "
        "ResizeBilinearGrad Rint ScatterAdd ScatterDiv ScatterMul ScatterSub ScatterUpdate Sinh "
        "TensorScatterAdd TensorScatterSub TensorScatterUpdate",
    ),
    (
        {"T": _FLOATS | {dtypes.bool_}},
        "MatrixBandPart MatrixDiag MatrixDiagPart MatrixDiagPartV2 MatrixDiagPartV3 MatrixDiagV2 "
        "MatrixDiagV3 MatrixSetDiag MatrixSetDiagV2 MatrixSetDiagV3 ReverseSequence",
    ),
    (
        {"T": _FLOATS, "Targmax": frozenset({dtypes.int64})},
        "MaxPoolGradWithArgmax MaxPoolWithArgmax",
    ),
    ({"T": _WIDE | _INDEX | {dtypes.bool_, dtypes.int8, dtypes.uint8}}, "Where"),
    ({"T": _FLOATS}, "Lgamma"),
    ({"T": _WIDE}, "Polygamma Zeta"),
    ({"T": _SINGLE | {dtypes.int32}}, "Bincount"),
    ({"T": _SINGLE}, "SparseTensorDenseMatMul"),
    ({"T": _WIDE | _INDEX}, "Bucketize"),
    ({"T": _INDEX}, "Unique"),
    (
        {"T": _WIDE},
        "Cholesky LogMatrixDeterminant MatrixDeterminant MatrixInverse MatrixSolve "
        "MatrixTriangularSolve Qr SelfAdjointEigV2 Svd",
    ),
    ({"T": _SINGLE}, "FusedBatchNorm FusedBatchNormGrad LRN LRNGrad"),
    ({"Tparams": _PLAIN}, "Gather GatherV2"),
    ({"Tparams": _SIGNED}, "GatherNd"),
    (
        {"dtype": _FLOATS, "T": frozenset({dtypes.int32})},
        "RandomStandardNormal RandomUniform TruncatedNormal",
    ),
    ({"Tout": _INDEX, "T": frozenset({dtypes.int32})}, "RandomUniformInt"),
    ({"T": _FLOATS, "output_dtype": _INDEX}, "Multinomial"),
    (
        {"dtype": _WIDE},
        "ResourceScatterAdd ResourceScatterDiv ResourceScatterMax ResourceScatterMin "
        "ResourceScatterMul ResourceScatterSub",
    ),
    ({"dtype": _WIDE | {dtypes.bool_}}, "ResourceScatterUpdate"),
    ({"dtype": _MOVED | {dtypes.uint32, dtypes.uint64}}, "Const"),
    ({"dtype": _MOVED}, "GetSessionTensor PlaceholderWithDefault"),
    ({"T": _MOVED}, "GetSessionHandle"),
    # The elements of stacks and TensorArrays are in the memory of the device.
    ({"T": _MOVED}, "StackPushV2"),
    ({"elem_type": _MOVED}, "StackPopV2 StackV2"),
    ({"T": _PLAIN}, "TensorArrayScatterV3 TensorArraySplitV3 TensorArrayWriteV3"),
    (
        {"dtype": _PLAIN},
        "TensorArrayConcatV3 TensorArrayGatherV3 TensorArrayReadV3 TensorArrayV3",
    ),
    # A list is a variant, and its elements are in the memory of the device too.
    (
        {"element_dtype": _PLAIN | _VARIANT},
        "EmptyTensorList TensorListConcatLists TensorListPopBack TensorListPushBack "
        "TensorListReserve",
    ),
    (
        {"element_dtype": _PLAIN},
        "TensorListConcat TensorListConcatV2 TensorListFromTensor TensorListGather "
        "TensorListGetItem TensorListPushBackBatch TensorListScatter "
        "TensorListScatterIntoExistingList TensorListScatterV2 TensorListSetItem TensorListSplit "
        "TensorListStack",
    ),
    (
        {},
        "FakeParam OptionalFromValue OptionalGetValue OptionalHasValue OptionalNone "
        "TensorListElementShape TensorListLength TensorListResize",
    ),
    ({"Tidx": _WIDE | _INDEX}, "Range"),
    (
        {"dtype": _FLOATS | {dtypes.int64}},
        "AssignAddVariableOp AssignSubVariableOp IsVariableInitialized VariableV2",
    ),
    (
        {"dtype": _FLOATS | {dtypes.int64, dtypes.bool_}},
        "AssignVariableOp ReadVariableOp VarHandleOp",
    ),
    ({"dtype": _FLOATS}, "ResourceGather"),
    (
        {
            "SrcT": _MOVED | {dtypes.uint32, dtypes.uint64},
            "DstT": _MOVED | {dtypes.uint32, dtypes.uint64},
        },
        "Cast",
    ),
    (
        {},
        "MapClear MapIncompleteSize MapPeek MapSize MapStage MapUnstage MapUnstageNoKey "
        "OrderedMapClear OrderedMapIncompleteSize OrderedMapPeek OrderedMapSize OrderedMapStage "
        "OrderedMapUnstage OrderedMapUnstageNoKey Stage StageClear StagePeek StageSize Unstage",
    ),
    (
        {},
        "All Any BroadcastArgs BroadcastGradientArgs Case ConcatOffset ControlTrigger "
        "DeleteSessionTensor DestroyResourceOp IdentityN If LogicalAnd LogicalNot LogicalOr "
        "LoopCond NoOp PartitionedCall Placeholder StackCloseV2 StatefulPartitionedCall "
        "StatelessCase StatelessIf StatelessWhile TensorArrayCloseV3 TensorArrayGradV3 "
        "TensorArrayGradWithShape TensorArraySizeV3 VarIsInitializedOp VariableShape While",
    ),
)
"""The dtypes that kernels of GPUs serve, by type attribute, and the ops of these kernels."""

_NEEDS_HOST = (
    # These decide what runs, or keep something between calls.
    "Case DeleteSessionTensor DestroyResourceOp Enter Exit GetSessionHandle GetSessionTensor If "
    "IsVariableInitialized LoopCond Merge NextIteration "
    "PartitionedCall RefEnter RefExit RefMerge RefNextIteration RefSwitch StackCloseV2 "
    "StackPopV2 StackPushV2 StackV2 StatefulPartitionedCall StatelessCase StatelessIf "
    "StatelessWhile Switch VarIsInitializedOp While "
    "MapClear MapIncompleteSize MapPeek MapSize MapStage MapUnstage MapUnstageNoKey "
    "OrderedMapClear OrderedMapIncompleteSize OrderedMapPeek OrderedMapSize OrderedMapStage "
    "OrderedMapUnstage OrderedMapUnstageNoKey Stage StageClear StagePeek StageSize Unstage "
    "TensorArrayCloseV3 TensorArrayConcatV3 TensorArrayGatherV3 TensorArrayGradV3 "
    "TensorArrayGradWithShape TensorArrayReadV3 TensorArrayScatterV3 TensorArraySizeV3 "
    "TensorArraySplitV3 TensorArrayV3 TensorArrayWriteV3 "
    "EmptyTensorList FakeParam OptionalFromValue OptionalGetValue OptionalHasValue "
    "OptionalNone TensorListConcat TensorListConcatLists TensorListConcatV2 "
    "TensorListElementShape TensorListFromTensor TensorListGather TensorListGetItem "
    "TensorListLength TensorListPopBack TensorListPushBack TensorListPushBackBatch "
    "TensorListReserve TensorListResize TensorListScatter TensorListScatterIntoExistingList "
    "TensorListScatterV2 TensorListSetItem TensorListSplit TensorListStack "
    # These wait for the device.
    "Bincount Bucketize CheckNumerics Cholesky MatrixDiagPartV2 MatrixDiagPartV3 MatrixDiagV2 "
    "MatrixDiagV3 MatrixInverse MatrixSolve MatrixTriangularSolve MaxPoolGradWithArgmax "
    "SelfAdjointEigV2 SparseTensorDenseMatMul Svd TopKV2 Where "
    # The shapes of its results differ from step to step.
    "Unique "
    # CuPy calls neither cuBLAS nor cuSOLVER in the capture of a CUDA graph.
    "LogMatrixDeterminant MatrixDeterminant Qr "
    # These copy indices from or to the host, or wait for the device and check them.
    "DynamicPartition MatrixSetDiagV2 MatrixSetDiagV3 ResourceScatterAdd ResourceScatterDiv "
    "ResourceScatterMax ResourceScatterMin ResourceScatterMul ResourceScatterNdAdd "
    "ResourceScatterNdSub ResourceScatterNdUpdate ResourceScatterSub ResourceScatterUpdate "
    "ReverseSequence ScatterAdd ScatterDiv ScatterMax ScatterMin ScatterMul ScatterNd "
    "ScatterNdAdd ScatterNdSub ScatterNdUpdate ScatterSub ScatterUpdate SegmentSum "
    "TensorScatterAdd TensorScatterSub TensorScatterUpdate UnsortedSegmentMax "
    "UnsortedSegmentMin UnsortedSegmentProd"
)
"""The ops whose work a device cannot repeat without the host (`Kernel.repeats`)."""

_LONG = frozenset({dtypes.int64})
_SHORT = frozenset({dtypes.int32})

_REPEATS_WITH: tuple[tuple[Mapping[str, frozenset[dtypes.DType]], str], ...] = (
    # 32-bit integers are in host memory.
    ({"T": _PLAIN - _SHORT}, "Select SelectV2"),
    ({"T": _PLAIN - _SHORT, "TI": _LONG}, "OneHot"),
    ({"T": _LONG}, "InTopKV2"),
    ({"Tlabels": _LONG}, "SparseSoftmaxCrossEntropyWithLogits"),
    ({"Tout": _LONG}, "RandomUniformInt"),
    ({"output_dtype": _LONG}, "Multinomial"),
    ({"output_type": _LONG}, "ArgMax ArgMin"),
    # The host does all of this, with indices in its memory.
    ({"T": _SHORT}, "DynamicStitch InvertPermutation ParallelDynamicStitch"),
    ({"Tindices": _SHORT, "Tparams": _SHORT}, "Gather GatherNd GatherV2"),
    # The device finds the indices that are out of range.
    ({"Tindices": _LONG, "Tparams": _PLAIN - _SHORT}, "Gather GatherV2"),
    ({"Tindices": _LONG}, "ResourceGather"),
    ({"Tindices": _LONG, "T": _FLOATS}, "UnsortedSegmentSum"),
)
"""The dtypes with which a device can repeat an op that otherwise needs the host.

Any one entry of an op is enough.
"""

_unrepeatable = frozenset(_NEEDS_HOST.split())
for _types, _ops in _TABLE:
    for _op in _ops.split():
        for _row in rows(_op, "CPU"):
            _both = {**_row.types}
            for _name, _allowed in _types.items():
                _both[_name] = _allowed & _row.types.get(_name, _allowed)
            if all(_both.values()):
                _repeats = _row.make is not None and _op not in _unrepeatable
                _with = tuple(some for some, names in _REPEATS_WITH if _op in names.split())
                register(
                    replace(_row, device="GPU", types=_both, repeats=_repeats, repeats_with=_with)
                )
