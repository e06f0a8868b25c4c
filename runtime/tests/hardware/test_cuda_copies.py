"""Copies to a GPU, by a CuPy whose stream reads page-locked memory late, as CUDA does."""

import contextlib
import ctypes
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from capstan.hardware import cuda_streams


class Cuda:
    """Page-locked memory, and a stream that reads it when somebody synchronises.

    CUDA takes the bytes of other memory before it returns from a copy.
    """

    def __init__(self) -> None:
        self.late: list[Callable[[], None]] = []
        self.pinned: list[np.ndarray] = []

    def empty_pinned(self, shape: Any, dtype: Any) -> np.ndarray:
        memory = ctypes.create_string_buffer(int(np.prod(shape)) * np.dtype(dtype).itemsize)
        array = np.frombuffer(memory, dtype).reshape(shape)
        self.pinned.append(array)
        return array

    def array(self, shape: Any, dtype: Any) -> Any:
        memory = np.zeros(shape, dtype)

        def copy_from_host_async(address: int, size: int, stream: Any) -> None:
            def copy() -> None:
                ctypes.memmove(memory.ctypes.data, address, size)

            is_late = any(
                array.ctypes.data <= address < array.ctypes.data + array.nbytes
                for array in self.pinned
            )
            self.late.append(copy) if is_late else copy()

        return SimpleNamespace(
            memory=memory, data=SimpleNamespace(copy_from_host_async=copy_from_host_async)
        )

    def synchronize(self) -> None:
        for copy in self.late:
            copy()
        self.late.clear()


class Stream(contextlib.nullcontext[None]):
    null: "Stream"

    def __init__(self, non_blocking: bool = True) -> None:
        super().__init__()

    def is_capturing(self) -> bool:
        return False


Stream.null = Stream()


@pytest.fixture
def cuda() -> Cuda:
    return Cuda()


@pytest.fixture
def streams(cuda: Cuda, monkeypatch: pytest.MonkeyPatch) -> cuda_streams.Streams:
    def event(**_: Any) -> Any:
        return SimpleNamespace(record=lambda stream: None, done=False)

    parts = SimpleNamespace(
        Device=lambda number: contextlib.nullcontext(),
        Stream=Stream,
        Event=event,
        MemoryPool=lambda allocate: SimpleNamespace(
            set_limit=lambda size: None, free_all_blocks=lambda: None
        ),
        get_current_stream=lambda: Stream.null,
        runtime=SimpleNamespace(getDevice=lambda: 0),
    )
    monkeypatch.setitem(sys.modules, "cupyx", SimpleNamespace(empty_pinned=cuda.empty_pinned))
    return cuda_streams.Streams(SimpleNamespace(cuda=parts, empty=cuda.array), 0)


@pytest.mark.parametrize("count", [3, 30_000], ids=["taken by CUDA", "staged"])
@pytest.mark.parametrize("kind", ["own", "page-locked", "view of page-locked", "turned"])
def test_an_array_may_change_as_soon_as_its_copy_has_returned(
    streams: cuda_streams.Streams, cuda: Cuda, kind: str, count: int
) -> None:
    """A program gets the tensors of a GPU as page-locked arrays, and may feed them again."""
    value = np.empty((count, 2), np.float32)
    if "locked" in kind:
        value = cuda.empty_pinned((count, 2), np.float32)
    value = {"view of page-locked": value[1:], "turned": value.T}.get(kind, value)
    value[...] = 5
    copied: Any = streams.copy_in(value)
    value[...] = 7
    cuda.synchronize()
    assert (copied.memory == 5).all()
