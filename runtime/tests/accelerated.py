"""A GPU for the tasks of a test: the one of this machine, or else a simulated one.

A test that uses it runs on every machine in `make test`, and on the real GPU in `make gpu`.
"""

import gc
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from unittest import mock

import strict

from capstan.hardware import cuda, cuda_streams

IS_REAL = bool(cuda.usable())

WITHOUT_CUPY = "CuPy is not installed: .venv/bin/pip install -r requirements/cuda.txt, and make gpu"
"""Why a test that needs a real GPU is skipped. `cuda.missing` gives the reason if there is CuPy."""


@dataclass(frozen=True)
class Memory:
    """The memory of the GPUs of all tasks that this process has started."""

    used_bytes: Callable[[], int]
    """Returns the sum of the sizes of all arrays. It first frees those that nothing refers to."""


@contextmanager
def gpu(memory_limit: int = 1 << 30) -> Iterator[Memory]:
    """Give each task that starts within the block a GPU. Yield its memory.

    The tasks of the block can use `memory_limit` bytes more than they use now.
    """
    if IS_REAL:
        yield from _real(memory_limit)
        return
    with strict.installed(memory_limit=memory_limit) as made:

        def used_bytes() -> int:
            for device in made:
                device.stream.synchronize()
            gc.collect()
            return sum(device.used_bytes for device in made)

        yield Memory(used_bytes)


def _real(memory_limit: int) -> Iterator[Memory]:
    import cupy

    pool = cupy.get_default_memory_pool()

    def used_bytes() -> int:
        gc.collect()
        for item in gc.get_objects():
            if type(item) is cuda_streams.Streams:
                item.synchronize()  # The streams then let go of the arrays that they have copied.
        return int(pool.used_bytes())

    before = pool.get_limit()
    # Several processes share the GPU.
    with mock.patch.dict(os.environ, TF_FORCE_GPU_ALLOW_GROWTH="true"), cupy.cuda.Device(0):
        used_bytes()
        pool.free_all_blocks()
        pool.set_limit(size=pool.total_bytes() + memory_limit)
        try:
            yield Memory(used_bytes)
        finally:
            pool.set_limit(size=before)
