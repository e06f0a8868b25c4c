"""A capture of a CUDA graph ends in every case, with a stream that notes the calls."""

import contextlib
from types import SimpleNamespace
from typing import Any

import pytest

from capstan.hardware import cuda_graphs, device


class Stream(contextlib.nullcontext[None]):
    """A stream that can capture work. Only a stream that captures can end a capture."""

    def __init__(self, non_blocking: bool = True) -> None:
        super().__init__()
        self.is_capturing = False

    def begin_capture(self) -> None:
        self.is_capturing = True

    def end_capture(self) -> Any:
        if not self.is_capturing:
            raise RuntimeError("cudaErrorIllegalState")
        self.is_capturing = False
        return SimpleNamespace(launch=lambda stream: None)


@pytest.fixture
def stream() -> Stream:
    return Stream()


@pytest.fixture
def cupy(stream: Stream) -> Any:
    return SimpleNamespace(
        cuda=SimpleNamespace(
            Device=lambda number: contextlib.nullcontext(),
            Stream=lambda non_blocking: stream,
            MemoryPool=lambda allocate: SimpleNamespace(
                malloc=allocate, set_limit=lambda size: None, free_all_blocks=lambda: None
            ),
            using_allocator=lambda allocate: contextlib.nullcontext(),
        )
    )


@pytest.mark.parametrize(
    ("fault", "raised"),
    [
        (KeyboardInterrupt("stop"), KeyboardInterrupt),
        (SystemExit(3), SystemExit),
        (ValueError("a copy to the host"), device.NotRepeatable),
    ],
)
def test_every_error_ends_the_capture(
    cupy: Any, stream: Stream, fault: BaseException, raised: type[BaseException]
) -> None:
    def work() -> Any:
        assert stream.is_capturing
        raise fault

    with pytest.raises(raised, match=str(fault)):
        cuda_graphs.capture(cupy, 0, work)
    assert not stream.is_capturing


def test_a_capture_that_cuda_has_ended_is_not_repeatable(cupy: Any, stream: Stream) -> None:
    def work() -> Any:
        stream.is_capturing = False
        return []

    with pytest.raises(device.NotRepeatable, match="cudaErrorIllegalState"):
        cuda_graphs.capture(cupy, 0, work)
