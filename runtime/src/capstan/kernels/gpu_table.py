"""The operations that have kernels of GPUs, and the types that these kernels serve.

As in TensorFlow, a GPU has variables of 64-bit integers, but none of 32-bit integers, which are in
host memory on every device.
"""

from collections.abc import Mapping
from typing import Final

from capstan.core import dtypes

Types = Mapping[str, frozenset[dtypes.DType]]
"""The dtypes that are allowed, by type attribute. An attribute that is left out may have any."""

FLOATS = frozenset({dtypes.bfloat16, dtypes.float16, dtypes.float32, dtypes.float64})
_NUMBERS = FLOATS | {dtypes.int32}
_SIGNED = _NUMBERS | {dtypes.int64}
PLAIN = _SIGNED | {dtypes.bool_}
_SMALL = frozenset({dtypes.int8, dtypes.int16, dtypes.uint8, dtypes.uint16})
_MOVED = PLAIN | _SMALL
_COMPARED = _SIGNED | {dtypes.int8, dtypes.int16, dtypes.uint8}
_NARROW = frozenset({dtypes.bfloat16, dtypes.float16, dtypes.float32})
_WIDE = frozenset({dtypes.float32, dtypes.float64})
_SINGLE = frozenset({dtypes.float32})
_INDEX = frozenset({dtypes.int32, dtypes.int64})
_INTEGERS = _INDEX | _SMALL
_VARIANT = frozenset({dtypes.variant})

TABLE: Final[tuple[tuple[Types, str], ...]] = (
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
    ({"T": PLAIN}, "InplaceUpdate OneHot OnesLike Select SelectV2 ZerosLike"),
    ({"T": PLAIN | {dtypes.uint8}}, "ConcatV2 Unpack"),
    ({"T": PLAIN | {dtypes.int16}}, "Pack Tile"),
    (
        {"T": PLAIN | {dtypes.int8}},
        "ResourceStridedSliceAssign Slice StridedSlice StridedSliceAssign StridedSliceGrad "
        "TensorStridedSliceUpdate",
    ),
    ({"T": _NUMBERS | {dtypes.bool_}}, "BroadcastTo"),
    ({"T": _NUMBERS | {dtypes.bool_, dtypes.int8, dtypes.uint8}}, "Pad PadV2 ReverseV2"),
    (
        {"T": _NUMBERS},
        "Min Prod ResourceScatterNdAdd ResourceScatterNdSub ResourceScatterNdUpdate ScatterNd "
        "ScatterNdAdd ScatterNdNonAliasingAdd ScatterNdSub ScatterNdUpdate SplitV "
        "UnsortedSegmentMax UnsortedSegmentMin UnsortedSegmentProd UnsortedSegmentSum",
    ),
    (
        {"T": _SIGNED},
        "Abs AccumulateNV2 AddN Cumprod Cumsum DynamicStitch Max Maximum Minimum Neg "
        "ParallelDynamicStitch Round Sign Square SquaredDifference Sub Sum",
    ),
    ({"T": _SIGNED | {dtypes.uint8}}, "Add AddV2"),
    ({"T": _SIGNED | _SMALL}, "ClipByValue Mul TopKV2"),
    ({"T": (_SIGNED | _SMALL) - {dtypes.int8}}, "Div FloorDiv"),
    ({"T": _COMPARED}, "Greater GreaterEqual Less LessEqual"),
    ({"T": _COMPARED | {dtypes.bool_}}, "Equal NotEqual"),
    ({"T": _WIDE | _INDEX}, "Diag DiagPart"),
    ({"T": _INDEX}, "InTopKV2 InvertPermutation"),
    ({"T": _INTEGERS}, "PopulationCount"),
    ({"T": _SIGNED}, "DeepCopy InplaceAdd InplaceSub Roll"),
    ({"dtype": _SIGNED}, "Empty"),
    ({"T": _WIDE, "dtype": frozenset({dtypes.int32})}, "HistogramFixedWidth"),
    ({"T": _SIGNED | _SMALL}, "Cross LowerBound UpperBound"),
    (
        {
            "T": (_SIGNED | _SMALL | {dtypes.uint32, dtypes.uint64}),
            "type": (_SIGNED | _SMALL | {dtypes.uint32, dtypes.uint64}),
        },
        "Bitcast",
    ),
    (
        {"T": _INTEGERS | {dtypes.uint32, dtypes.uint64}},
        "BitwiseAnd BitwiseOr BitwiseXor Invert LeftShift RightShift",
    ),
    ({"T": frozenset({dtypes.int32})}, "FloorMod GatherTree TruncateMod"),
    ({"T": (_SMALL - {dtypes.int8}) | {dtypes.int64}}, "TruncateDiv"),
    ({"T": FLOATS | {dtypes.int64}}, "AssignAdd AssignSub Inv Pow Reciprocal"),
    ({"T": FLOATS | {dtypes.int64, dtypes.bool_}}, "Assign"),
    ({"T": FLOATS | {dtypes.int64} | _SMALL}, "PreventGradient"),
    (
        {"T": FLOATS},
        "ApplyAdaMax ApplyAdadelta ApplyAdagrad ApplyAdagradV2 ApplyAdam ApplyAddSign "
        "ApplyCenteredRMSProp ApplyPowerSign "
        "ApplyGradientDescent "
        "ApplyMomentum ApplyRMSProp ArgMax ArgMin AvgPool AvgPoolGrad "
        "BatchMatMul BatchMatMulV2 BatchToSpaceND BiasAdd BiasAddGrad Ceil CheckNumerics Conv2D "
        "Conv2DBackpropFilter Conv2DBackpropInput Conv3D Conv3DBackpropFilterV2 "
        "Conv3DBackpropInputV2 Cos DepthwiseConv2dNative DepthwiseConv2dNativeBackpropFilter "
        "Einsum "
        "DepthwiseConv2dNativeBackpropInput Digamma Dilation2D Dilation2DBackpropFilter "
        "Dilation2DBackpropInput DivNoNan DynamicPartition Elu EluGrad Erf Erfc "
        "Exp Expm1 ExtractImagePatches ExtractVolumePatches Floor InvGrad IsFinite IsInf IsNan "
        "L2Loss LeakyRelu LeakyReluGrad Log Log1p MatMul MaxPool MaxPoolGrad "
        "MaxPoolGradGrad MaxPoolGradGradV2 MaxPoolGradV2 MaxPoolV2 Mean MirrorPad MirrorPadGrad "
        "MulNoNan ParallelConcat "
        "RealDiv ReciprocalGrad Relu Relu6 Relu6Grad ReluGrad ResizeNearestNeighbor "
        "ResizeNearestNeighborGrad ResourceApplyAdaMax ResourceApplyAdadelta ResourceApplyAdagrad "
        "ResourceApplyAdagradV2 ResourceApplyAdam ResourceApplyAdamWithAmsgrad "
        "ResourceApplyAddSign ResourceApplyPowerSign "
        "ResourceApplyCenteredRMSProp ResourceApplyGradientDescent ResourceApplyKerasMomentum "
        "ResourceApplyMomentum ResourceApplyRMSProp Rsqrt RsqrtGrad "
        "ScatterMax ScatterMin SegmentSum Selu SeluGrad Sigmoid SigmoidGrad Sin Softmax "
        "SoftmaxCrossEntropyWithLogits Softplus SoftplusGrad Softsign SoftsignGrad SpaceToBatchND "
        "Split Sqrt SqrtGrad Tan Tanh TanhGrad Xdivy "
        "Xlog1py Xlogy",
    ),
    (
        {"T": _NARROW},
        "AvgPool3D AvgPool3DGrad DepthToSpace FusedBatchNormGradV2 FusedBatchNormGradV3 "
        "FusedBatchNormV2 FusedBatchNormV3 LogSoftmax MaxPool3D MaxPool3DGrad MaxPool3DGradGrad "
        "SparseSoftmaxCrossEntropyWithLogits",
    ),
    (
        {"T": _NARROW - {dtypes.bfloat16}},
        "AdjustContrastv2 AdjustHue AdjustSaturation BlockLSTM BlockLSTMGrad BlockLSTMGradV2 "
        "BlockLSTMV2 LSTMBlockCell LSTMBlockCellGrad",
    ),
    ({"T": _NARROW | {dtypes.uint8}}, "SpaceToDepth"),
    (
        {"T": _WIDE},
        "Acos Acosh Asin Asinh Atan Atan2 Atanh Cosh HSVToRGB LinSpace RGBToHSV ResizeBilinear "
        "ResizeBilinearGrad Rint ScatterAdd ScatterDiv ScatterMul ScatterSub ScatterUpdate Sinh "
        "TensorScatterAdd TensorScatterSub TensorScatterUpdate",
    ),
    (
        {"T": FLOATS | {dtypes.bool_}},
        "MatrixBandPart MatrixDiag MatrixDiagPart MatrixDiagPartV2 MatrixDiagPartV3 MatrixDiagV2 "
        "MatrixDiagV3 MatrixSetDiag MatrixSetDiagV2 MatrixSetDiagV3 ReverseSequence",
    ),
    (
        {"T": FLOATS, "Targmax": frozenset({dtypes.int64})},
        "MaxPoolGradGradWithArgmax MaxPoolGradWithArgmax MaxPoolWithArgmax",
    ),
    ({"T": _WIDE | _INDEX | {dtypes.bool_, dtypes.int8, dtypes.uint8}}, "Where"),
    (
        {"T": FLOATS},
        "BesselJ0 BesselJ1 BesselK0 BesselK0e BesselK1 BesselK1e BesselY0 BesselY1 Dawsn Expint "
        "FresnelCos FresnelSin Spence "
        "BesselI0 BesselI0e BesselI1 BesselI1e CumulativeLogsumexp Erfinv EuclideanNorm "
        "Lgamma Ndtri",
    ),
    ({"T": _WIDE}, "NextAfter Polygamma Zeta"),
    ({"Ta": FLOATS, "Tb": FLOATS, "Tout": FLOATS}, "BatchMatMulV3"),
    ({"T": _SINGLE | {dtypes.int32}}, "Bincount"),
    ({"T": _WIDE | {dtypes.float16}}, "Conv3DBackpropFilter Conv3DBackpropInput"),
    (
        {"T": _WIDE | {dtypes.uint8, dtypes.int8, dtypes.int16, dtypes.int32}},
        "AdjustContrast",
    ),
    ({"T": _SINGLE}, "GRUBlockCell GRUBlockCellGrad SparseTensorDenseMatMul"),
    ({"T": _WIDE | _INDEX}, "Bucketize"),
    ({"T": _INDEX}, "Unique"),
    (
        {"T": _WIDE},
        "Cholesky LogMatrixDeterminant MatrixDeterminant MatrixInverse MatrixSolve "
        "MatrixTriangularSolve Qr SelfAdjointEigV2 Svd TridiagonalMatMul TridiagonalSolve",
    ),
    ({"T": _WIDE}, "QuantizeAndDequantizeV2 QuantizeAndDequantizeV3"),
    (
        {},
        "FakeQuantWithMinMaxArgs FakeQuantWithMinMaxArgsGradient FakeQuantWithMinMaxVars "
        "FakeQuantWithMinMaxVarsGradient FakeQuantWithMinMaxVarsPerChannel "
        "FakeQuantWithMinMaxVarsPerChannelGradient",
    ),
    ({"T": _WIDE, "output_idx_type": _INDEX}, "Lu"),
    ({"T": _SINGLE}, "FusedBatchNorm FusedBatchNormGrad LRN LRNGrad"),
    ({"Tparams": PLAIN}, "Gather GatherV2"),
    ({"Tparams": _SIGNED}, "GatherNd"),
    (
        {"dtype": FLOATS, "T": frozenset({dtypes.int32})},
        "RandomStandardNormal RandomUniform TruncatedNormal",
    ),
    ({"Tout": _INDEX, "T": frozenset({dtypes.int32})}, "RandomUniformInt"),
    ({"T": FLOATS, "output_dtype": _INDEX}, "Multinomial StatelessMultinomial"),
    (
        {"dtype": FLOATS},
        "StatelessRandomNormal StatelessRandomNormalV2 StatelessRandomUniform "
        "StatelessRandomUniformV2 StatelessTruncatedNormal StatelessTruncatedNormalV2",
    ),
    ({"dtype": _INDEX}, "StatelessRandomUniformInt StatelessRandomUniformIntV2"),
    (
        {"dtype": _INDEX | {dtypes.uint32, dtypes.uint64}},
        "StatelessRandomUniformFullInt StatelessRandomUniformFullIntV2",
    ),
    (
        {},
        "StatelessRandomGetAlg StatelessRandomGetKeyCounter StatelessRandomGetKeyCounterAlg",
    ),
    (
        {"dtype": _WIDE},
        "ResourceScatterAdd ResourceScatterDiv ResourceScatterMax ResourceScatterMin "
        "ResourceScatterMul ResourceScatterSub",
    ),
    ({"dtype": _WIDE | {dtypes.bool_}}, "ResourceScatterUpdate"),
    ({"dtype": _MOVED | {dtypes.uint32, dtypes.uint64}}, "Const"),
    ({"dtype": _MOVED}, "GetSessionTensor PlaceholderWithDefault"),
    ({"T": _MOVED}, "Copy CopyHost DebugIdentity GetSessionHandle"),
    ({"T": FLOATS | {dtypes.int64}}, "DestroyTemporaryVariable"),
    ({"T": FLOATS}, "DebugNanCount"),
    # The elements of stacks and TensorArrays are in the memory of the device.
    ({"T": _MOVED | _VARIANT}, "StackPushV2"),
    ({"elem_type": _MOVED | _VARIANT}, "StackPopV2 StackV2"),
    ({"T": PLAIN}, "TensorArrayScatterV3 TensorArraySplitV3 TensorArrayWriteV3"),
    (
        {"dtype": PLAIN},
        "TensorArrayConcatV3 TensorArrayGatherV3 TensorArrayReadV3 TensorArrayV3",
    ),
    # A list is a variant, and its elements are in the memory of the device too.
    (
        {"element_dtype": PLAIN | _VARIANT},
        "EmptyTensorList TensorListConcatLists TensorListPopBack TensorListPushBack "
        "TensorListReserve",
    ),
    (
        {"element_dtype": PLAIN},
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
        {"dtype": FLOATS | {dtypes.int64}},
        "AssignAddVariableOp AssignSubVariableOp IsVariableInitialized TemporaryVariable Variable "
        "VariableV2",
    ),
    (
        {"dtype": FLOATS | {dtypes.int64, dtypes.bool_}},
        "AssignVariableOp ReadVariableOp VarHandleOp",
    ),
    ({"dtype": FLOATS}, "ResourceGather ResourceGatherNd"),
    (
        {
            "SrcT": _MOVED | {dtypes.uint32, dtypes.uint64},
            "DstT": _MOVED | {dtypes.uint32, dtypes.uint64},
        },
        "Cast",
    ),
    (
        {},
        "ConsumeMutexLock MutexLock MutexV2 "
        "MapClear MapIncompleteSize MapPeek MapSize MapStage MapUnstage MapUnstageNoKey "
        "OrderedMapClear OrderedMapIncompleteSize OrderedMapPeek OrderedMapSize OrderedMapStage "
        "OrderedMapUnstage OrderedMapUnstageNoKey Stage StageClear StagePeek StageSize Unstage",
    ),
    (
        {},
        "All Any BroadcastArgs BroadcastGradientArgs Case ConcatOffset ControlTrigger "
        "DeleteSessionTensor DestroyResourceOp DisableCopyOnRead IdentityN If LogicalAnd "
        "LogicalNot LogicalOr LoopCond NoOp PartitionedCall Placeholder StackCloseV2 "
        "StatefulPartitionedCall StatelessCase StatelessIf StatelessWhile TensorArrayCloseV3 "
        "TensorArrayGradV3 TensorArrayGradWithShape TensorArraySizeV3 VarIsInitializedOp "
        "VariableShape While",
    ),
)
"""The dtypes that kernels of GPUs serve, by type attribute, and the ops of these kernels."""
