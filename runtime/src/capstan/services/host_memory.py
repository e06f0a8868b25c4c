"""The memory that the C library of this process keeps for later allocations.

glibc maps an array of more than 128 KiB by itself, and returns free memory at the end of the heap
to the system. The system clears each page that a process gets, which takes longer than many an
operation that then fills the array. A step of a model frees arrays of the same sizes as the step
before, so a process with a session of its own keeps this memory.

A server does not, because it returns the memory of large requests. glibc would keep free memory in
the heap of each of the many threads of gRPC, and `malloc_trim` does not return the end of a heap.
"""

import ctypes
import functools
import os
from typing import Final

_TRIM_THRESHOLD: Final = -1
_MMAP_THRESHOLD: Final = -3
"""Parameters of `mallopt` (malloc.h)."""

_KEPT_BYTES: Final = 1 << 27
"""The most free memory at the end of a heap that is not returned. The number is a guess."""
_MAPPED_BYTES: Final = 1 << 25
"""Larger arrays are mapped by themselves. glibc accepts no larger number."""

_VARIABLES: Final = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES")


@functools.cache
def keep() -> None:
    """Let this process keep memory that it frees.

    If the user chose a limit in the environment, or the C library has no such limits, nothing
    changes.
    """
    if any(name in os.environ for name in _VARIABLES):
        return
    set_limit = getattr(ctypes.CDLL(None), "mallopt", None)
    if set_limit is not None:
        set_limit(_TRIM_THRESHOLD, _KEPT_BYTES)
        set_limit(_MMAP_THRESHOLD, _MAPPED_BYTES)
