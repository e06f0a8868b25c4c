"""The order of copies and computing on the streams of a GPU, by a CuPy that works late."""

import gc
import sys
from random import Random
from types import SimpleNamespace
from typing import Any

import late_cuda
import numpy as np
import pytest

from capstan.hardware import cuda_streams

TAKEN, SHORT = 3, 40
SIZES = [3, 30, 40, 400, 500, 600]
"""Numbers of bytes: CUDA takes the first at once, and the last are copied beside the computing."""


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda_streams, "_TAKEN_BYTES", TAKEN)
    monkeypatch.setattr(cuda_streams, "_SHORT_BYTES", SHORT)


def streams_of(cuda: late_cuda.Cuda) -> cuda_streams.Streams:
    cupyx = SimpleNamespace(empty_pinned=cuda.empty_pinned)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "cupyx", cupyx)
        return cuda_streams.Streams(cuda, 0)


class Program:
    """Copies and computing, and the values that they have in the order of the program."""

    def __init__(self, choose: late_cuda.Choose) -> None:
        self._cuda = late_cuda.Cuda(choose)
        self._streams = streams_of(self._cuda)
        self._arrays: list[tuple[Any, int]] = []
        self._fetched: list[tuple[Any, np.ndarray, int]] = []
        self._waits: list[Any] = []
        self._count = 0

    def feed(self, size: int) -> None:
        """Copy new numbers to the GPU."""
        self._arrays.append((self._streams.copy_in(self._numbers(size)), self._count))

    def refill(self, number: int) -> None:
        """Copy new numbers to an array of the GPU, unless the program waits for its old ones."""
        index = number % max(len(self._arrays), 1)
        array = self._arrays[index][0] if self._arrays else None
        if array is not None and not any(array is each for each, _, _ in self._fetched):
            assert self._streams.copy_in(self._numbers(array.nbytes), array) is array
            self._arrays[index] = array, self._count

    def add(self, number: int) -> None:
        """Compute a new array, the sum of an array and 1."""
        if self._arrays:
            array, value = self._arrays[number % len(self._arrays)]
            result = self._cuda.empty(array.shape, array.dtype)
            self._cuda.add(array, 1, result)
            self._arrays.append((result, (value + 1) % 251))

    def fetch(self, number: int) -> None:
        if self._arrays:
            array, value = self._arrays[number % len(self._arrays)]
            self._fetched.append((array, self._streams.copy_out(array), value))

    def drop(self, number: int) -> None:
        """Let an array of the GPU be garbage."""
        if self._arrays:
            del self._arrays[number % len(self._arrays)]

    def forget(self, number: int) -> None:
        """End a step before it waits for its fetches."""
        fetched = tuple(self._fetched)
        self._streams.then(lambda _, held=fetched: None, lambda wait: None)
        self._fetched.clear()

    def wait(self, number: int) -> None:
        ended: list[Any] = []
        self._streams.then(ended.append, self._waits.append)
        self._waits.pop()()
        assert ended == [None]
        for _, found, value in self._fetched:
            assert set(found.tolist()) == {value}
        self._fetched.clear()

    def _numbers(self, size: int) -> np.ndarray:
        self._count = (self._count + 7) % 251
        return np.full(size, self._count, np.uint8)


COMMANDS = ["feed", "feed", "refill", "add", "add", "fetch", "fetch", "drop", "forget", "wait"]


@pytest.mark.parametrize("seed", range(40))
def test_copies_and_computing_have_the_values_of_their_order(seed: int) -> None:
    random = Random(seed)
    # Some adversaries do all other work early, some do none, and some change their mind.
    eager = random.choice([0.0, 0.1, 0.5])
    program = Program(lambda count: random.randrange(count) if random.random() < eager else 0)
    for _ in range(80):
        name = random.choice(COMMANDS)
        getattr(program, name)(random.choice(SIZES) if name == "feed" else random.randrange(8))
    program.wait(0)


def test_a_wait_sees_a_copy_whose_end_another_thread_looks_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cuda, waits = late_cuda.Cuda(), list[Any]()
    streams = streams_of(cuda)
    array = streams.copy_in(np.full(600, 5, np.uint8))
    total = cuda.empty(array.shape, array.dtype)
    cuda.add(array, 1, total)
    streams.synchronize()
    found = streams.copy_out(total)

    def look(event: Any) -> bool:
        # At this moment of the look, the thread of a step asks for the end of its copy.
        if not waits:
            streams.then(lambda _: None, waits.append)
        return bool(event.work.done)

    monkeypatch.setattr(late_cuda.Event, "done", property(look))
    streams.copy_in(np.zeros(1, np.uint8))
    waits[0]()
    assert set(found.tolist()) == {6}


def test_page_locked_memory_stays_in_use_until_the_copies_of_streams_that_are_garbage_end() -> None:
    cuda = late_cuda.Cuda()
    streams, other = streams_of(cuda), streams_of(cuda)
    array = streams.copy_in(np.full(600, 5, np.uint8))
    streams.synchronize()
    found = streams.copy_out(array)
    del streams, array, found
    gc.collect()
    fed = other.copy_in(np.full(600, 7, np.uint8))
    for stream in cuda.streams[1:3]:  # those of the garbage
        stream.finish()
    back = other.copy_out(fed)
    other.synchronize()
    assert set(back.tolist()) == {7}


def test_copies_that_get_longer_and_longer_take_no_more_memory_than_the_longest_two() -> None:
    streams = streams_of(late_cuda.Cuda(limit=1200))
    for size in range(100, 601, 100):
        found = streams.copy_out(streams.copy_in(np.full(size, 5, np.uint8)))
        streams.synchronize()
        assert set(found.tolist()) == {5}
