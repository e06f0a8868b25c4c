"""The errors of a GPU that has too little memory, with a CuPy whose memory is always used up."""

import contextlib
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import capstan as tf
from capstan.core import config
from capstan.executor import faults
from capstan.hardware import cuda

GPU = "/job:localhost/replica:0/task:0/device:GPU:0"
LIMIT = 1 << 20


class OutOfMemoryError(MemoryError):
    """`cupy.cuda.memory.OutOfMemoryError` is a MemoryError, too."""


def refuse(*_: Any) -> Any:
    raise OutOfMemoryError("Out of memory allocating 512 bytes (allocated so far: 7,168 bytes).")


class Stream(contextlib.nullcontext[None]):
    null: "Stream"

    def __init__(self, non_blocking: bool = True) -> None:
        super().__init__()

    def is_capturing(self) -> bool:
        return False


Stream.null = Stream()


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> cuda.Cuda:
    pool = SimpleNamespace(
        get_limit=lambda: LIMIT, used_bytes=lambda: 6144, total_bytes=lambda: 7168, malloc=refuse
    )
    cupy = SimpleNamespace(
        empty=refuse,
        get_default_memory_pool=lambda: pool,
        cuda=SimpleNamespace(
            Device=lambda number: contextlib.nullcontext(),
            Stream=Stream,
            MemoryPool=lambda allocate: SimpleNamespace(
                malloc=allocate, set_limit=lambda size: None, free_all_blocks=lambda: None
            ),
            get_current_stream=lambda: Stream.null,
            memory=SimpleNamespace(OutOfMemoryError=OutOfMemoryError),
            runtime=SimpleNamespace(
                getDevice=lambda: 0,
                getDeviceProperties=lambda number: {"name": b"fake", "major": 9, "minor": 0},
                deviceGetPCIBusId=lambda number: "0000:01:00.0",
            ),
        ),
        ascontiguousarray=refuse,
    )
    monkeypatch.setitem(sys.modules, "cupyx", SimpleNamespace(empty_pinned=refuse))
    return cuda.Cuda(cupy, GPU, 0, config.GpuOptions())


@pytest.mark.parametrize("way", ["allocate", "copy_in", "copy_out", "duplicate"])
def test_every_way_to_memory_says_how_much_of_the_pool_is_used(gpu: cuda.Cuda, way: str) -> None:
    value = np.zeros((2, 3), np.float32)
    arguments = (value.shape, value.dtype) if way == "allocate" else (value,)
    with pytest.raises(tf.errors.ResourceExhaustedError) as raised:
        getattr(gpu, way)(*arguments)
    assert raised.value.message == (
        "OOM when allocating tensor with shape[2,3] and type float32: it takes 24 bytes "
        f"on {GPU}, where arrays use 6144 of the 7168 bytes of its pool. "
        "Out of memory allocating 512 bytes (allocated so far: 7,168 bytes)."
    )


def test_an_array_beyond_the_limit_is_refused_without_cupy(gpu: cuda.Cuda) -> None:
    for count in (LIMIT + 1, 1 << 62):
        with pytest.raises(tf.errors.ResourceExhaustedError, match=rf"the limit is {LIMIT} bytes"):
            gpu.allocate((count,), np.uint8)


@pytest.mark.parametrize(
    "fault",
    [
        OutOfMemoryError("Out of memory allocating 1 bytes (allocated so far: 2 bytes)."),
        RuntimeError("cudaErrorMemoryAllocation: out of memory"),
        RuntimeError("CUBLAS_STATUS_ALLOC_FAILED"),
    ],
    ids=str,
)
def test_a_kernel_without_memory_has_the_message_of_cupy_or_cuda(fault: Exception) -> None:
    code: Any = SimpleNamespace(lines={})
    for found in (faults.blame(fault, code, ""), tf.errors.from_exception(fault)):
        assert isinstance(found, tf.errors.ResourceExhaustedError)
        assert str(fault) in found.message
