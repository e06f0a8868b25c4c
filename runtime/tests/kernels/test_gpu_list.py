"""The table of GPU kernels agrees with TensorFlow 1.15 (`tensorflow_gpu_kernels.txt`)."""

import pathlib
from collections.abc import Mapping

import pytest

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
    **dict.fromkeys(
        ("MatrixDiagPartV3", "MatrixDiagV3", "MatrixSetDiagV3"), "TensorFlow 1.15 has only V2"
    ),
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
MORE_TYPES = dict.fromkeys(
    _ARRAYS, "elements of these types are in host memory, or need no arithmetic"
)
"""Operations whose kernels serve more types than TensorFlow's, with the reason."""
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
ON_HOST = frozenset({"int32", "string", "resource", "variant"})
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


def served(op: str) -> dict[str, set[dtypes.DType]]:
    found: dict[str, set[dtypes.DType]] = {}
    for row in registry.rows(op, "GPU"):
        for name, allowed in row.types.items():
            found.setdefault(name, set()).update(allowed)
    return found


@pytest.mark.parametrize("op", SHARED)
def test_a_gpu_kernel_serves_no_type_that_tensorflow_has_no_kernel_for(op: str) -> None:
    more = {
        (name, dtype.name)
        for name, allowed in served(op).items()
        for dtype in allowed
        if name in TYPES[op] and dtype.name not in TYPES[op][name]
    }
    assert bool(more) == (op in MORE_TYPES), more


@pytest.mark.parametrize("op", SHARED)
def test_the_arguments_in_host_memory_are_those_of_tensorflow(op: str) -> None:
    row = opdef.lookup(op)
    arguments = (*row.input_arguments, *row.output_arguments)
    implied = {argument.name for argument in arguments if argument.type in ON_HOST}
    # On the host runs a node all of whose data are 32-bit integers.
    types = served(op).get("T")
    if types == {dtypes.int32}:
        implied |= {argument.name for argument in arguments if argument.type == "T"}
    differs = HOSTS[op] - implied != set(row.host) - implied
    assert differs == (op in OTHER_HOSTS), (HOSTS[op], row.host)
