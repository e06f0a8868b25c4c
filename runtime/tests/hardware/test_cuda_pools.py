"""Pools of memory of a GPU, on a module that keeps the free memory of its pools as CuPy does."""

import gc
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from capstan.hardware import cuda_pools


class Memory:
    """Memory of the GPU, or a pointer to it."""

    def __init__(self, ptr: int, size: int, owner: object = None, device: int = 0) -> None:
        self.ptr, self.size, self.owner = ptr, size, owner


class MemoryPool:
    """Gives memory again that is garbage. A pool that is garbage never frees such memory."""

    kept: list[list[Memory]] = []  # noqa: RUF012 - the memory that CuPy loses

    def __init__(self, allocate: Any) -> None:
        self.allocate = allocate
        self.limit: int | None = 1
        self.free: list[Memory] = []
        self.kept.append(self.free)

    def set_limit(self, size: int) -> None:
        self.limit = size or None

    def malloc(self, size: int) -> Memory:
        assert self.limit is None
        block = self.free.pop() if self.free else self.allocate(size)
        pointer = Memory(block.ptr, size)
        weakref.finalize(pointer, self.free.append, block)
        return pointer

    def free_all_blocks(self) -> None:
        self.free.clear()


@contextmanager
def on_device(number: int) -> Iterator[None]:
    assert number == 3
    yield


@pytest.fixture
def cupy() -> Any:
    pointer = SimpleNamespace(
        Device=on_device,
        MemoryPool=MemoryPool,
        UnownedMemory=Memory,
        MemoryPointer=lambda memory, offset: memory,
    )
    return SimpleNamespace(cuda=pointer)


class Source:
    """Allocates memory, and counts what is not garbage."""

    def __init__(self) -> None:
        self.made: list[weakref.ref[Memory]] = []

    def __call__(self, size: int) -> Memory:
        memory = Memory(len(self.made) + 1, size)
        self.made.append(weakref.ref(memory))
        return memory

    @property
    def in_use(self) -> int:
        gc.collect()
        return sum(made() is not None for made in self.made)


def test_a_pool_gives_its_memory_back_when_it_and_its_arrays_are_garbage(cupy: Any) -> None:
    source = Source()
    pool = cuda_pools.Pool(cupy, 3, source)
    first, last = pool.malloc(8), pool.malloc(8)
    del first
    assert source.in_use == 2
    del pool
    assert source.in_use == 2
    del last
    assert source.in_use == 0


def test_an_array_gets_memory_again_after_the_call_of_leave(cupy: Any) -> None:
    source, calls = Source(), []
    pool = cuda_pools.Pool(cupy, 3, source, lambda: calls.append(pool._pool.free[:]))
    first = pool.malloc(8)
    place = first.ptr
    assert calls == []
    del first
    assert calls == [[]]
    assert pool.malloc(8).ptr == place
    assert source.in_use == 1
