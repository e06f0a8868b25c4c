"""Memory of a GPU that is kept apart from other memory of the process."""

import weakref
from collections.abc import Callable
from typing import Any

Allocate = Callable[[int], Any]
"""Returns memory of a number of bytes (a `cupy.cuda.MemoryPointer`)."""


class Pool:
    """A pool of CuPy's own, which gives its memory back when it and its arrays are garbage.

    CuPy keeps the free memory of a pool that is garbage, and its process never gets it back. Each
    array of this pool therefore keeps the pool alive, and the pool frees its memory at the end.
    Thread-safe.
    """

    def __init__(
        self, cupy: Any, number: int, allocate: Allocate, leave: Callable[[], None] | None = None
    ) -> None:
        """`cupy` is the module, and `number` is CUDA's number of the GPU.

        `allocate` returns new memory of the GPU for the pool. It must not refer to the pool. The
        pool calls `leave` when an array is garbage, before another array may get its memory. Before
        such a pool takes more memory, it gives back the free memory that was too small. Otherwise,
        arrays that get longer and longer would leave all of their memory here. Without `leave`, the
        pool keeps its memory, because a CUDA graph may use memory that is free.
        """
        self._cupy, self._number, self._leave = cupy, number, leave
        with cupy.cuda.Device(number):
            self._pool = cupy.cuda.MemoryPool(self._grow(allocate) if leave else allocate)
            # `CUPY_GPU_MEMORY_LIMIT` is the limit of each pool. The memory of this pool comes from
            # CuPy's own pool, which keeps that limit. At its limit, a pool frees memory that a
            # CUDA graph still uses.
            self._pool.set_limit(size=0)
        weakref.finalize(self, _free, cupy, number, self._pool).atexit = False

    def malloc(self, size: int) -> Any:
        """Return memory for work of the current stream. The GPU must be the current device."""
        memory = self._pool.malloc(size)
        owner = _Owner()
        weakref.finalize(owner, self._take_back, [memory]).atexit = False
        unowned = self._cupy.cuda.UnownedMemory(memory.ptr, size, owner, self._number)
        return self._cupy.cuda.MemoryPointer(unowned, 0)

    def _take_back(self, held: list[Any]) -> None:
        if self._leave is not None:
            self._leave()
        held.clear()

    def _grow(self, allocate: Allocate) -> Allocate:
        """Return `allocate` with a call that gives back the free memory of the pool before it."""
        this = weakref.ref(self)

        def grow(size: int) -> Any:
            pool = this()
            if pool is not None:
                pool._pool.free_all_blocks()
            return allocate(size)

        return grow


def _free(cupy: Any, number: int, pool: Any) -> None:
    with cupy.cuda.Device(number):
        pool.free_all_blocks()


class _Owner:
    """Keeps memory in use as long as an array refers to it."""

    __slots__ = ("__weakref__",)
