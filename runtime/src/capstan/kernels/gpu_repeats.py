"""The operations whose work a GPU can repeat without the host (`Kernel.repeats`).

This holds for all operations of `gpu_table` whose kernels return at once, except those that are
listed here.
"""

from typing import Final

from capstan.core import dtypes
from capstan.kernels import gpu_table

_NEEDS_HOST: Final = (
    # These decide what runs, or keep something between calls.
    "Case DeleteSessionTensor DestroyResourceOp DisableCopyOnRead Enter Exit GetSessionHandle "
    "GetSessionTensor If "
    "DebugNanCount DestroyTemporaryVariable TemporaryVariable "
    "IsVariableInitialized LoopCond Merge NextIteration "
    "ConsumeMutexLock MutexLock MutexV2 "
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
    "Bincount Bucketize CheckNumerics Cholesky HistogramFixedWidth Lu MatrixDiagPartV2 "
    "MatrixDiagPartV3 MatrixDiagV2 MatrixDiagV3 MatrixInverse MatrixSolve MatrixTriangularSolve "
    "MaxPoolGradGradWithArgmax MaxPoolGradWithArgmax "
    "SelfAdjointEigV2 SparseTensorDenseMatMul Svd TopKV2 Where "
    # The shapes of its results differ from step to step.
    "Unique "
    # The host computes the key of the numbers, and a program gives another seed in each step.
    "StatelessMultinomial StatelessRandomNormal StatelessRandomUniform StatelessRandomUniformInt "
    "StatelessTruncatedNormal "
    # CuPy calls neither cuBLAS nor cuSOLVER in the capture of a CUDA graph.
    "LogMatrixDeterminant MatrixDeterminant Qr "
    # These copy indices from or to the host, or wait for the device and check them.
    "DynamicPartition InplaceAdd InplaceSub InplaceUpdate MatrixSetDiagV2 MatrixSetDiagV3 "
    "ResourceScatterAdd ResourceScatterDiv ResourceScatterMax ResourceScatterMin "
    "ResourceScatterMul ResourceScatterNdAdd ResourceScatterNdSub ResourceScatterNdUpdate "
    "ResourceScatterSub ResourceScatterUpdate ResourceGatherNd ReverseSequence ScatterAdd "
    "ScatterDiv ScatterMax ScatterMin ScatterMul ScatterNd ScatterNdAdd "
    "ScatterNdNonAliasingAdd ScatterNdSub ScatterNdUpdate ScatterSub ScatterUpdate SegmentSum "
    "TensorScatterAdd TensorScatterSub TensorScatterUpdate UnsortedSegmentMax "
    "UnsortedSegmentMin UnsortedSegmentProd "
    # These compute with numbers in host memory.
    "BlockLSTM BlockLSTMGrad BlockLSTMGradV2 BlockLSTMV2 "
    "FakeQuantWithMinMaxVars FakeQuantWithMinMaxVarsGradient FakeQuantWithMinMaxVarsPerChannel "
    "FakeQuantWithMinMaxVarsPerChannelGradient QuantizeAndDequantizeV2 QuantizeAndDequantizeV3"
)


_INT64 = frozenset({dtypes.int64})
_INT32 = frozenset({dtypes.int32})

_REPEATS_WITH: Final[tuple[tuple[gpu_table.Types, str], ...]] = (
    # 32-bit integers are in host memory.
    ({"T": gpu_table.PLAIN - _INT32}, "Select SelectV2"),
    ({"T": gpu_table.PLAIN - _INT32, "TI": _INT64}, "OneHot"),
    ({"T": _INT64}, "InTopKV2"),
    ({"Tlabels": _INT64}, "SparseSoftmaxCrossEntropyWithLogits"),
    ({"Tout": _INT64}, "RandomUniformInt"),
    ({"output_dtype": _INT64}, "Multinomial"),
    ({"output_type": _INT64}, "ArgMax ArgMin"),
    ({"out_type": _INT64}, "LowerBound UpperBound"),
    ({"type": gpu_table.FLOATS | _INT64}, "Bitcast"),
    # The host does all of this, with indices in its memory.
    ({"T": _INT32}, "DynamicStitch InvertPermutation ParallelDynamicStitch"),
    ({"Tindices": _INT32, "Tparams": _INT32}, "Gather GatherNd GatherV2"),
    # The device finds the indices that are out of range.
    ({"Tindices": _INT64, "Tparams": gpu_table.PLAIN - _INT32}, "Gather GatherV2"),
    ({"Tindices": _INT64}, "ResourceGather"),
    ({"Tindices": _INT64, "T": gpu_table.FLOATS}, "UnsortedSegmentSum"),
)
"""The dtypes with which a device can repeat an op that otherwise needs the host.

Any one entry of an op is enough.
"""

UNREPEATABLE: Final = frozenset(_NEEDS_HOST.split())
"""The ops that need the host with every type."""


def types(op: str) -> tuple[gpu_table.Types, ...]:
    """Return the entries of which a node of `op` must fit one (`Kernel.repeats_with`)."""
    return tuple(allowed for allowed, ops in _REPEATS_WITH if op in ops.split())
