"""Work of a GPU as a CUDA graph, which the host starts with one call."""

import contextlib
import functools
from collections.abc import Callable, Sequence
from typing import Any

from capstan.core.arrays import Array
from capstan.hardware import cuda_current, cuda_pools, device


def capture(
    cupy: Any, number: int, work: Callable[[], Sequence[Array]]
) -> tuple[Sequence[Array], Callable[[], None]]:
    """Note the work that `work` gives to a GPU, as `Device.record` describes.

    `cupy` is the module, and `number` is CUDA's number of the GPU. The memory of the graph comes
    from a pool of its own, so no other work gets it. This pool takes memory from CuPy's pool, and
    gives it back when the graph and its arrays are garbage.

    Raises:
        NotRepeatable: `work` raised an Exception, or CUDA cannot capture its work. Other errors,
            such as KeyboardInterrupt, are raised as they are, when the capture has ended.
    """
    pool = cuda_pools.Pool(cupy, number, functools.partial(_allocate, cupy))
    with cupy.cuda.Device(number):
        stream = cupy.cuda.Stream(non_blocking=True)
        with cupy.cuda.using_allocator(pool.malloc), stream:
            try:
                stream.begin_capture()
                results = work()
                graph = stream.end_capture()
            except BaseException as fault:
                with contextlib.suppress(Exception):  # CUDA may have ended the capture already.
                    stream.end_capture()
                if isinstance(fault, Exception):
                    raise device.NotRepeatable(str(fault)) from fault
                raise
    return results, functools.partial(_launch, cupy, number, graph, pool)


def _allocate(cupy: Any, size: int) -> Any:
    with cupy.cuda.Stream.null:  # CuPy's pool keeps memory apart for each stream.
        return cupy.get_default_memory_pool().malloc(size)


def _launch(cupy: Any, number: int, graph: Any, _pool: cuda_pools.Pool) -> None:
    """Start a graph. The argument `_pool` has kept its memory."""
    with cuda_current.using(cupy, number):
        graph.launch(cupy.cuda.Stream.null)
