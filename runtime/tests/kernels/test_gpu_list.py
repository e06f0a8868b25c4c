"""The table of GPU kernels agrees with TensorFlow 1.15 (`tensorflow_gpu_kernels.txt`)."""

import pathlib
from collections.abc import Mapping

from capstan.core import dtypes
from capstan.framework import opdef, ops  # noqa: F401 - fills the registry
from capstan.kernels import registry

LIST = pathlib.Path(__file__).parents[1] / "tensorflow_gpu_kernels.txt"

ANY_DEVICE = frozenset({"ControlTrigger", "IdentityN", "LoopCond", "NoOp", "Placeholder"})
"""TensorFlow has kernels of these operations for any type of device."""
OTHERS = {
    **dict.fromkeys(ANY_DEVICE, "a kernel for any device"),
    **dict.fromkeys(
        ("StackCloseV2", "StackPopV2", "StackPushV2", "StackV2"),
        "TensorFlow's list leaves out the kernels that keep their elements on the host",
    ),
    "DisableCopyOnRead": "TensorFlow 1.15 has no such operation",
    **dict.fromkeys(
        ("MatrixDiagPartV3", "MatrixDiagV3", "MatrixSetDiagV3"), "TensorFlow 1.15 has only V2"
    ),
    **dict.fromkeys(
        (
            *("BatchMatMulV3", "BesselI0", "BesselI1", "Erfinv", "Ndtri", "Xlog1py"),
            *("BesselJ0", "BesselJ1", "BesselK0", "BesselK0e", "BesselK1", "BesselK1e"),
            *("BesselY0", "BesselY1", "Dawsn", "Expint", "FresnelCos", "FresnelSin", "Spence"),
            *("StatelessRandomGetAlg", "StatelessRandomGetKeyCounter"),
            *("StatelessRandomGetKeyCounterAlg", "StatelessRandomNormalV2"),
            *("StatelessRandomUniformFullInt", "StatelessRandomUniformFullIntV2"),
            *("StatelessRandomUniformIntV2", "StatelessRandomUniformV2"),
            "StatelessTruncatedNormalV2",
        ),
        "TensorFlow 2 has kernels of GPUs of it",
    ),
    "AccumulateNV2": "TensorFlow replaces it by operations with kernels of GPUs",
    "GatherTree": "TensorFlow's list leaves out the kernels of contrib",
    "StatelessCase": "TensorFlow 1.15 has only Case",
    "_BroadcastAcross": "the compiler of Capstan makes it",
    "_CopyAcross": "the compiler of Capstan makes it",
    "_CopyToDevice": "the compiler of Capstan makes it",
    "_CopyToHost": "the compiler of Capstan makes it",
    "_ReduceAcross": "the compiler of Capstan makes it",
    "_Elementwise": "the executor of Capstan makes it of elementwise nodes",
}
"""Operations with GPU kernels that are not in TensorFlow's list, with the reason."""
_ARRAYS = (
    "TensorArrayConcatV3", "TensorArrayGatherV3", "TensorArrayReadV3", "TensorArrayScatterV3",
    "TensorArraySplitV3", "TensorArrayV3", "TensorArrayWriteV3",
)  # fmt: skip
MORE_TYPES = {
    **dict.fromkeys(_ARRAYS, "elements of these types are in host memory, or need no arithmetic"),
    "Einsum": "TensorFlow 2 has the kernel of float16",
    "TensorListSetItem": "TensorFlow has the other kernels of lists of truth values",
}
"""Operations whose kernels serve more types than TensorFlow's, with the reason."""
LATER = frozenset({"bfloat16"})
"""Types of the kernels of TensorFlow 2, wherever it has kernels of float16.

TF_CALL_GPU_NUMBER_TYPES of TensorFlow 2.21 (core/framework/register_types.h) has bfloat16. That of
TensorFlow 1.15 does not have it.
"""
OTHER_HOSTS = {
    **dict.fromkeys(
        ("If", "StatelessIf"), "the compiler replaces the node by branches of its graph"
    ),
    "InTopKV2": "k is a number that the host reads",
    "Qr": "TensorFlow computes on the host, because the cuSOLVER of its time had a bug",
    **dict.fromkeys(
        (*_ARRAYS, "TensorArrayGradV3", "TensorArrayGradWithShape", "TensorArraySizeV3"),
        "the flow carries no value, so it needs no memory of a device",
    ),
}
"""Operations with other arguments in host memory than TensorFlow's, with the reason."""
FEWER_TYPES = {
    "complex64": "only the CPU computes complex numbers",
    "complex128": "only the CPU computes complex numbers",
    "resource": "only branches pass on the handles of a GPU's variables",
    "string": "only the CPU uses strings",
    "variant": "control flow passes on lists, and no such operation uses what is in them",
}
"""Types that kernels of GPUs serve less often than TensorFlow's, with the reason."""
_OF_DATASETS = (
    "AnonymousIterator", "AnonymousIteratorV2", "DeleteIterator", "ExperimentalMapDataset",
    "ExperimentalSleepDataset", "GeneratorDataset", "IteratorFromStringHandleV2", "IteratorGetNext",
    "IteratorGetNextAsOptional", "IteratorGetNextSync", "IteratorToStringHandle", "IteratorV2",
    "MakeIterator", "PrefetchDataset", "SleepDataset", "UnwrapDatasetVariant", "WrapDatasetVariant",
)  # fmt: skip
_OF_COMPLEX_NUMBERS = (
    *("Angle", "Complex", "ComplexAbs", "Conj", "Imag", "Real"),
    *(f"{kind}FFT{rank}" for kind in ("", "I", "R", "IR") for rank in ("", "2D", "3D")),
)
ONLY_ON_CPU = {
    **dict.fromkeys(_OF_COMPLEX_NUMBERS, FEWER_TYPES["complex64"]),
    **dict.fromkeys(
        _OF_DATASETS,
        "a dataset and its iterator are on the host, and a step copies the element to the GPU",
    ),
    **dict.fromkeys(
        ("Betainc", "Igamma", "IgammaGradA", "Igammac", "RandomGammaGrad"),
        "the host ends a sum when it sees that no element changes any more",
    ),
    **dict.fromkeys(
        ("CropAndResize", "CropAndResizeGradBoxes", "CropAndResizeGradImage"),
        "the host checks that each box belongs to an image",
    ),
    **dict.fromkeys(
        ("NonMaxSuppressionV2", "NonMaxSuppressionV3"), "the host chooses one box after another"
    ),
    **dict.fromkeys(
        (
            *("BatchFFT", "BatchFFT2D", "BatchFFT3D", "BatchIFFT", "BatchIFFT2D", "BatchIFFT3D"),
            *("BatchMatrixBandPart", "BatchMatrixDiag", "BatchMatrixDiagPart"),
            *("BatchMatrixSetDiag", "BatchMatrixTriangularSolve", "BatchSvd"),
            *("BatchNormWithGlobalNormalization", "BatchNormWithGlobalNormalizationGrad"),
            *("BatchToSpace", "BiasAddV1", "Concat", "Mod", "Reverse", "SpaceToBatch", "TileGrad"),
            *("ApproximateEqual", "DataFormatDimMap", "DataFormatVecPermute", "TopK"),
            *("TensorArrayGradV2", "TensorArrayPack", "TensorArrayUnpack"),
            *(
                f"TensorArray{part}{version}"
                for part in (
                    *("", "Close", "Concat", "Gather", "Read", "Scatter", "Size"),
                    *("Split", "Write"),
                )
                for version in ("", "V2")
            ),
            *("DebugGradientIdentity", "DebugNumericSummary", "QuantizeAndDequantize"),
        ),
        "only old graphs have it, or few, and the operations of today have kernels",
    ),
    **dict.fromkeys(
        (
            *("RngSkip", "StatefulStandardNormalV2", "StatefulTruncatedNormal"),
            *("StatefulUniform", "StatefulUniformFullInt", "StatefulUniformInt"),
        ),
        "the host moves the counter of a generator, and draws on the device only without a state",
    ),
    "EagerPyFunc": "a Python function gets arrays of NumPy",
    "ParameterizedTruncatedNormal": "the host draws again until each number is between its bounds",
    "_While": "the host starts the iterations of a loop, and the compiler puts this node there",
}
"""Operations that have kernels of GPUs only in TensorFlow, with the reason."""
ON_HOST = frozenset({"int32", "string", "resource"})
"""The types that are in host memory on every device (`partition.memories`)."""


def read() -> tuple[Mapping[str, Mapping[str, set[str]]], Mapping[str, set[str]]]:
    """Return the types and the host arguments of each operation in TensorFlow's list."""
    types: dict[str, dict[str, set[str]]] = {}
    hosts: dict[str, set[str]] = {}
    for line in LIST.read_text().splitlines():
        if line.startswith("#"):
            continue
        op, served, host = (part.strip() for part in line.split("|"))
        pairs = (part.partition(":") for part in served.split(";") if part)
        types[op] = {name.strip(): set(names.split()) for name, _, names in pairs}
        hosts[op] = set(host.split())
    return types, hosts


TYPES, HOSTS = read()
GPU = sorted({kernel.op for kernel in registry.listed() if kernel.device_type == "GPU"})
SHARED = [op for op in GPU if op in TYPES]


def test_each_operation_with_a_gpu_kernel_has_one_in_tensorflow() -> None:
    assert {op for op in GPU if op not in TYPES} == OTHERS.keys()


def test_each_operation_that_tensorflow_runs_on_gpus_has_a_gpu_kernel() -> None:
    cpu = {kernel.op for kernel in registry.listed() if kernel.device_type == "CPU"}
    assert {op for op in TYPES if op in cpu} - set(GPU) == ONLY_ON_CPU.keys()


def served(op: str, device: str = "GPU") -> dict[str, set[dtypes.DType]]:
    """Return the types that the kernels of a device type serve, by type attribute.

    An attribute that is left out may have any type that the operation allows.
    """
    rows = registry.rows(op, device)
    limited = [name for row in rows for name in row.types]
    every = {name: opdef.lookup(op).types.get(name, dtypes.BASE_DTYPES) for name in limited}
    return {
        name: set().union(*(row.types.get(name, allowed) for row in rows))
        for name, allowed in every.items()
    }


def on_cpu(op: str, attribute: str) -> set[str]:
    """Return the names of the types that a CPU serves."""
    allowed = set(opdef.lookup(op).types.get(attribute, dtypes.BASE_DTYPES))
    return {dtype.name for dtype in allowed & served(op, "CPU").get(attribute, allowed)}


def lacking(op: str) -> set[str]:
    """Return the names of the types that the CPU and TensorFlow's GPUs serve, and GPUs do not."""
    return {
        dtype
        for attribute, allowed in served(op).items()
        for dtype in TYPES[op].get(attribute, set()) & on_cpu(op, attribute)
        if dtype not in {each.name for each in allowed}
    }


# These tests loop over all operations. pytest would need more time for a test of each operation.
def test_a_gpu_kernel_serves_each_type_of_the_cpu_that_tensorflow_has_a_kernel_for() -> None:
    found = {op: lacking(op) for op in SHARED}
    assert not {op: types for op, types in found.items() if types - FEWER_TYPES.keys()}
    assert set().union(*found.values()) == FEWER_TYPES.keys(), "a reason is not needed"


def test_a_gpu_kernel_serves_no_type_that_tensorflow_has_no_kernel_for() -> None:
    more = {
        op: {
            (name, dtype.name)
            for name, allowed in served(op).items()
            for dtype in allowed
            if name in TYPES[op] and dtype.name not in TYPES[op][name] | LATER
        }
        for op in SHARED
    }
    assert {op for op, types in more.items() if types} == MORE_TYPES.keys()


def test_a_gpu_kernel_serves_bfloat16_if_it_serves_float16_and_the_op_takes_it() -> None:
    for op in SHARED:
        for name, allowed in served(op).items():
            known = opdef.lookup(op).types.get(name)
            takes_it = known is None or dtypes.bfloat16 in known
            expected = dtypes.float16 in allowed and takes_it
            assert (dtypes.bfloat16 in allowed) == expected, (op, name)


def test_the_arguments_in_host_memory_are_those_of_tensorflow() -> None:
    differing = set()
    for op in SHARED:
        row = opdef.lookup(op)
        arguments = (*row.input_arguments, *row.output_arguments)
        implied = {argument.name for argument in arguments if argument.type in ON_HOST}
        # On the host runs a node all of whose data are 32-bit integers.
        if served(op).get("T") == {dtypes.int32}:
            implied |= {argument.name for argument in arguments if argument.type == "T"}
        if HOSTS[op] - implied != set(row.host) - implied:
            differing.add(op)
    assert differing == OTHER_HOSTS.keys()
