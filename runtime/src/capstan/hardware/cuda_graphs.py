"""Work of a GPU as a CUDA graph, which the host starts with one call."""

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

from capstan.core.arrays import Array
from capstan.hardware import device


def capture(
    cupy: Any, number: int, work: Callable[[], Sequence[Array]]
) -> tuple[Sequence[Array], Callable[[], None]]:
    """Note the work that `work` gives to a GPU, as `Device.record` describes.

    `cupy` is the module, and `number` is CUDA's number of the GPU. The memory of the graph comes
    from a pool of its own, so no other work gets it. This pool takes memory from CuPy's pool, and
    gives it back when the graph and its arrays are garbage.

    Raises:
        NotRepeatable: `work` raised an error, or CUDA cannot capture its work.
    """
    compute = cupy.cuda.Stream.null

    def allocate(size: int) -> Any:
        with compute:  # The pool keeps memory apart for each stream.
            return cupy.get_default_memory_pool().malloc(size)

    with cupy.cuda.Device(number):
        cupy.cuda.device.get_cublas_handle()  # A thread cannot make its handle in a capture.
        pool = cupy.cuda.MemoryPool(allocate)
        stream = cupy.cuda.Stream(non_blocking=True)
        with cupy.cuda.using_allocator(pool.malloc), stream:
            stream.begin_capture()
            try:
                results = work()
            except Exception as fault:
                with contextlib.suppress(Exception):  # CUDA may have ended the capture already.
                    stream.end_capture()
                raise device.NotRepeatable(str(fault)) from fault
            try:
                graph = stream.end_capture()
            except Exception as fault:
                raise device.NotRepeatable(str(fault)) from fault

    def launch(_: Any = pool) -> None:
        with cupy.cuda.Device(number):
            graph.launch(compute)

    return results, launch
