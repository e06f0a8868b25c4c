"""Calls of NCCL that fail, with a library that notes what it is asked for."""

import contextlib
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from capstan.hardware import cuda_collectives


class Nccl:
    """The module `cupy.cuda.nccl`. `asked` has its calls. The first call named `fails` fails."""

    available, NCCL_SUM, NCCL_FLOAT32 = True, 0, 7

    def __init__(self, fails: str) -> None:
        self.asked: list[str] = []
        self._fails = fails
        self.NcclCommunicator = SimpleNamespace(initAll=self._connect)
        self.groupStart = lambda: self._ask("start")
        self.groupEnd = lambda: self._ask("end")

    def _ask(self, name: str) -> None:
        self.asked.append(name)
        if name == self._fails and self.asked.count(name) == 1:
            raise KeyboardInterrupt(name)

    def _connect(self, numbers: list[int]) -> list[Any]:
        self._ask("connect")
        return [
            SimpleNamespace(
                allReduce=lambda *_, number=number: self._ask(f"sum on {number}"),
                abort=lambda number=number: self._ask(f"abort {number}"),
            )
            for number in numbers
        ]


class Array(np.ndarray[Any, Any]):
    """An array with a place in the memory of a GPU."""

    data = property(lambda self: SimpleNamespace(ptr=1))  # type: ignore[assignment]


def allocate(shape: tuple[int, ...], dtype: Any) -> Array:
    return np.empty(shape, dtype).view(Array)


CUPY = SimpleNamespace(
    ascontiguousarray=lambda array: array,
    cuda=SimpleNamespace(
        Device=lambda number: contextlib.nullcontext(),
        Stream=SimpleNamespace(null=SimpleNamespace(ptr=0)),
    ),
)


@pytest.mark.parametrize("fails", ["sum on 3", "end"])
def test_a_call_that_fails_ends_for_all_gpus_and_the_next_call_connects_them_again(
    fails: str,
) -> None:
    nccl, values = Nccl(fails), [allocate((2,), np.float32)] * 2
    group: Any = cuda_collectives.group(CUPY, nccl, [1, 3], [allocate] * 2)
    with pytest.raises(KeyboardInterrupt, match=fails):
        group.all_reduce("sum", values)
    call = ["start", "sum on 1", "sum on 3", "end"]
    assert nccl.asked == ["connect", *call, "abort 1", "abort 3"]
    for _ in range(2):
        group.all_reduce("sum", values)
    assert nccl.asked[7:] == ["connect", *call, *call]
