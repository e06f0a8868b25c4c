"""A CuPy for tests whose streams work as late as they may, on memory of the host.

It has the part of CuPy's interface that `capstan.hardware` uses for streams, copies and memory.
Work is done when somebody waits for it, and an adversary chooses what else is done then. As with
CUDA, only events order the work of two streams, and a copy reads and writes page-locked memory when
it is done. As with CuPy, memory that is garbage serves the next array at once: memory of the GPU an
array of the same stream, and page-locked memory any array.
"""

import contextlib
import ctypes
import math
import types
import weakref
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

_GARBAGE = 0xA5

Choose = Callable[[int], int]
"""Returns a number below its argument."""


class OutOfMemoryError(MemoryError):
    """`cupy.cuda.memory.OutOfMemoryError`."""


class Work:
    """One piece of work of a stream. It begins when its stream has done all before, and `after`."""

    def __init__(self, stream: "Stream", run: Callable[[], object], after: "Work | None") -> None:
        self._stream, self._run, self._after, self.done = stream, run, after, False

    def finish(self) -> None:
        """Do this work now, and all that comes before it."""
        while not self.done:
            first = self._stream.queue[0]
            if first._after is not None:
                first._after.finish()
            self._stream.queue.pop(0)
            first._run()
            first.done = True


class Stream:
    """A queue of work (`cupy.cuda.Stream`)."""

    def __init__(self, cuda: "Cuda") -> None:
        self._cuda = cuda
        self.queue: list[Work] = []
        self._outer: list[Stream] = []

    def __enter__(self) -> None:
        self._outer.append(self._cuda.current)
        self._cuda.current = self

    def __exit__(self, *_: object) -> None:
        self._cuda.current = self._outer.pop()

    def add(self, run: Callable[[], object], after: Work | None = None) -> Work:
        work = Work(self, run, after)
        self.queue.append(work)
        return work

    def finish(self) -> None:
        """Do all work now."""
        while self.queue:
            self.queue[0].finish()

    def wait_event(self, event: "Event") -> None:
        self.add(lambda: None, event.work)

    def is_capturing(self) -> bool:
        return False


class Event:
    """The end of the work that a stream had (`cupy.cuda.Event`)."""

    def __init__(self, cuda: "Cuda") -> None:
        self._cuda = cuda
        self.work: Work | None = None

    def record(self, stream: Stream) -> None:
        self.work = stream.add(lambda: None)

    @property
    def done(self) -> bool:
        self._cuda.work_somewhere()
        return self.work is None or self.work.done

    def synchronize(self) -> None:
        if self.work is not None:
            self._cuda.work_somewhere()
            self.work.finish()


class Pool:
    """Memory of the GPU that is garbage serves again (`cupy.cuda.MemoryPool`)."""

    def __init__(self, cuda: "Cuda", allocate: Callable[[int], Any]) -> None:
        self._cuda, self._allocate = cuda, allocate
        self.free: list[tuple[Stream, Any]] = []

    def set_limit(self, size: int) -> None:
        pass

    def malloc(self, size: int) -> "Pointer":
        stream = self._cuda.current
        fits = [free for free in self.free if free[0] is stream and free[1].size >= size]
        if fits:
            self.free.remove(fits[0])
        memory = fits[0][1] if fits else self._allocate(size)
        owner = _Owner()
        weakref.finalize(owner, self.free.append, (stream, memory)).atexit = False
        return Pointer(self._cuda, memory.ptr, memory.size, owner)

    def free_all_blocks(self) -> None:
        self.free.clear()


class _Owner:
    """Keeps memory in use."""


class Pointer:
    """A place in the memory of the GPU (`cupy.cuda.MemoryPointer`)."""

    def __init__(self, cuda: "Cuda", ptr: int, size: int, owner: object) -> None:
        self._cuda, self.ptr, self.size, self._owner = cuda, ptr, size, owner

    def copy_from_host_async(self, address: int, size: int, stream: Stream) -> None:
        is_late = self._cuda.is_pinned(address)  # CUDA takes the bytes of other memory at once.
        source = address if is_late else ctypes.string_at(address, size)
        stream.add(partial(ctypes.memmove, self.ptr, source, size))

    def copy_to_host_async(self, address: int, size: int, stream: Stream) -> None:
        assert self._cuda.is_pinned(address)
        stream.add(partial(ctypes.memmove, address, self.ptr, size))

    def copy_from_device_async(self, source: "Pointer", size: int, stream: Stream) -> None:
        stream.add(partial(ctypes.memmove, self.ptr, source.ptr, size))


class Array:
    """An array of the GPU, in C order (`cupy.ndarray`)."""

    flags = types.SimpleNamespace(c_contiguous=True)

    def __init__(self, shape: tuple[int, ...], dtype: Any, memory: Pointer) -> None:
        self.shape, self.dtype, self.data = shape, np.dtype(dtype), memory
        self.nbytes = math.prod(shape) * self.dtype.itemsize


class Cuda:
    """The module `cupy`. Its function `empty_pinned` is that of `cupyx`."""

    ndarray = Array

    def __init__(self, choose: Choose = lambda count: 0, limit: int = 1 << 30) -> None:
        """The adversary does `choose(n + 1)` of the n pieces of work that a stream has.

        `limit` is the memory of the GPU in bytes.
        """
        self._choose, self._left = choose, limit
        self.streams: list[Stream] = []
        self._pinned: list[Any] = []
        self._free_pinned: list[Any] = []
        self.null = self.current = self._stream()
        self.pool = Pool(self, self._allocate)
        self.cuda = types.SimpleNamespace(
            Device=lambda number: contextlib.nullcontext(),
            Stream=_Streams(self._stream, self.null),
            Event=lambda **_: Event(self),
            MemoryPool=lambda allocate: Pool(self, allocate),
            UnownedMemory=lambda ptr, size, owner, device: Pointer(self, ptr, size, owner),
            MemoryPointer=lambda memory, offset: memory,
            get_current_stream=lambda: self.current,
            runtime=types.SimpleNamespace(getDevice=lambda: 0, CUDARuntimeError=RuntimeError),
        )

    def get_default_memory_pool(self) -> Pool:
        return self.pool

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Array:
        return Array(shape, dtype, self.pool.malloc(math.prod(shape) * np.dtype(dtype).itemsize))

    def add(self, array: Array, number: int, result: Array) -> None:
        """Compute `result = array + number`. As on a GPU, the work does not keep the arrays."""
        facts = [(each.data.ptr, each.nbytes, each.dtype, each.shape) for each in (array, result)]

        def work() -> None:
            source, target = (
                np.frombuffer((ctypes.c_char * size).from_address(ptr), dtype).reshape(shape)
                for ptr, size, dtype, shape in facts
            )
            np.add(source, number, target)

        self.null.add(work)

    def empty_pinned(self, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        size = math.prod(shape) * np.dtype(dtype).itemsize
        memory = next((free for free in self._free_pinned if len(free) >= size), None)
        if memory is None:
            memory = bytearray([_GARBAGE]) * size
            self._pinned.append(memory)
        else:
            self._free_pinned.remove(memory)
        lent = (ctypes.c_char * size).from_buffer(memory)
        weakref.finalize(lent, self._free_pinned.append, memory).atexit = False
        return np.frombuffer(lent, dtype).reshape(shape)

    def is_pinned(self, address: int) -> bool:
        starts = ((_address(memory), len(memory)) for memory in self._pinned)
        return any(start <= address < start + size for start, size in starts)

    def work_somewhere(self) -> None:
        """Let the adversary do some work."""
        for stream in self.streams:
            for _ in range(self._choose(len(stream.queue) + 1)):
                if stream.queue:
                    stream.queue[0].finish()

    def _stream(self, non_blocking: bool = True) -> Stream:
        self.streams.append(Stream(self))
        return self.streams[-1]

    def _allocate(self, size: int) -> Pointer:
        if size > self._left:  # At its limit, CuPy's default pool gives its free memory back.
            self.pool.free_all_blocks()
        if size > self._left:
            raise OutOfMemoryError(f"{size} bytes, where {self._left} are left")
        self._left -= size
        memory = bytearray([_GARBAGE]) * size
        found = Pointer(self, _address(memory), size, memory)
        weakref.finalize(found, self._free, size).atexit = False
        return found

    def _free(self, size: int) -> None:
        self._left += size


class _Streams:
    """The class `cupy.cuda.Stream`, which has the default stream as an attribute."""

    def __init__(self, make: Callable[..., Stream], null: Stream) -> None:
        self._make, self.null = make, null

    def __call__(self, non_blocking: bool) -> Stream:
        return self._make(non_blocking)


def _address(memory: bytearray) -> int:
    return ctypes.addressof(ctypes.c_char.from_buffer(memory))
