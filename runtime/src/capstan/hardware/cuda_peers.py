"""Copies between the memories of two GPUs of a process.

Nobody has run this on several GPUs yet.
"""

import functools
import threading
from typing import Any

_ALREADY_ENABLED = 704
"""CUDA's error number for a pair of GPUs that another caller has connected."""


TURN = threading.Lock()
"""A thread holds this lock while it gives work to several GPUs that wait for each other.

The parts of a collective wait for each other on their GPUs. If a copy came between two parts, the
later part could wait for the copy, and the copy for the earlier part.
"""


def copy(cupy: Any, value: Any, source: int, result: Any, destination: int) -> None:
    """Copy the elements of an array of the GPU `source` to an array of the GPU `destination`.

    `source` and `destination` are CUDA's numbers. `result` is in C order, and has the shape and
    dtype of `value`. The default stream of the destination makes the copy when the default stream
    of the source has done its present work. `value` must stay alive and unchanged until the copy is
    done. If the GPUs cannot reach each other's memory, the driver copies over host memory.
    """
    if not value.nbytes:
        return
    _connect(cupy, *sorted((source, destination)))
    with cupy.cuda.Device(source):
        elements = cupy.ascontiguousarray(value)
        computed = cupy.cuda.Event(disable_timing=True)
    with TURN:
        with cupy.cuda.Device(source):
            computed.record(cupy.cuda.Stream.null)
        with cupy.cuda.Device(destination):
            stream = cupy.cuda.Stream.null
            stream.wait_event(computed)
            cupy.cuda.runtime.memcpyPeerAsync(
                result.data.ptr,
                destination,
                elements.data.ptr,
                source,
                value.nbytes,
                stream.ptr,
            )
            copied = stream.record()
        if elements is not value:
            # CuPy's pool gives the memory of `elements` to the next work of the source's stream.
            with cupy.cuda.Device(source):
                cupy.cuda.Stream.null.wait_event(copied)


@functools.cache
def _connect(cupy: Any, one: int, other: int) -> None:
    """Let two GPUs reach each other's memory, if their connection allows it."""
    runtime = cupy.cuda.runtime
    for reader, owner in ((one, other), (other, one)):
        if one != other and runtime.deviceCanAccessPeer(reader, owner):
            with cupy.cuda.Device(reader):
                try:
                    runtime.deviceEnablePeerAccess(owner)
                except runtime.CUDARuntimeError as fault:
                    if fault.status != _ALREADY_ENABLED:
                        raise
