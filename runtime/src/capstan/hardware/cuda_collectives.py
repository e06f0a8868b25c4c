"""Sums, other reductions and broadcasts over several GPUs of a process, by NVIDIA's NCCL.

NCCL comes with CuPy, if its library is installed. Nobody has run this on several GPUs yet.
"""

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from capstan.hardware import cuda_peers

_TYPES = {
    "bfloat16": "NCCL_BFLOAT16",
    "float16": "NCCL_FLOAT16",
    "float32": "NCCL_FLOAT32",
    "float64": "NCCL_FLOAT64",
    "int64": "NCCL_INT64",
}
"""NCCL's names of types, by the names of dtypes."""

Allocate = Callable[[tuple[int, ...], Any], Any]
"""Returns an array of a GPU (`Device.allocate`)."""


def group(
    cupy: Any, nccl: Any, numbers: Sequence[int], allocate: Sequence[Allocate]
) -> "Group | None":
    """Return the collectives of the GPUs with these numbers of CUDA, or None if there are none.

    `nccl` is CuPy's module. `allocate` has a function for each GPU.
    """
    if not nccl.available or not 1 < len(numbers) == len(set(numbers)):
        return None
    return Group(cupy, nccl, numbers, allocate)


class Group:
    """Several GPUs, as `collectives.Group` describes them. All work is on their default streams."""

    def __init__(
        self, cupy: Any, nccl: Any, numbers: Sequence[int], allocate: Sequence[Allocate]
    ) -> None:
        self._cupy, self._nccl = cupy, nccl
        self._numbers, self._allocate = numbers, allocate
        self._ranks = sorted(numbers)
        self._stream = cupy.cuda.Stream.null.ptr

    def reduce(self, reduction: str, values: Sequence[Any], root: int) -> Any:
        result = self._like(values[root], root)
        operation = getattr(self._nccl, f"NCCL_{reduction.upper()}")

        def send(place: int, communicator: Any, value: Any, count: int, dtype: int) -> None:
            target = result.data.ptr if place == root else 0
            rank = self._ranks.index(self._numbers[root])
            communicator.reduce(value.data.ptr, target, count, dtype, operation, rank, self._stream)

        self._call(values, send)
        return result

    def all_reduce(self, reduction: str, values: Sequence[Any]) -> list[Any]:
        results = [self._like(value, place) for place, value in enumerate(values)]
        operation = getattr(self._nccl, f"NCCL_{reduction.upper()}")

        def send(place: int, communicator: Any, value: Any, count: int, dtype: int) -> None:
            target = results[place].data.ptr
            communicator.allReduce(value.data.ptr, target, count, dtype, operation, self._stream)

        self._call(values, send)
        return results

    def broadcast(self, value: Any, root: int) -> list[Any]:
        results = [self._like(value, place) for place in range(len(self._numbers))]

        def send(place: int, communicator: Any, value: Any, count: int, dtype: int) -> None:
            rank = self._ranks.index(self._numbers[root])
            source = value.data.ptr if place == root else results[place].data.ptr
            communicator.broadcast(
                source, results[place].data.ptr, count, dtype, rank, self._stream
            )

        self._call(
            [value if place == root else results[place] for place in range(len(results))], send
        )
        return results

    def _like(self, value: Any, place: int) -> Any:
        return self._allocate[place](value.shape, value.dtype)

    def _call(self, values: Sequence[Any], send: Callable[..., None]) -> None:
        """Call `send` for each GPU, as one call of NCCL.

        `send` gets the place of the GPU in the group, its communicator, its array in C order, and
        the number and NCCL's type of the elements.
        """
        if not values[0].size:
            return
        device = self._cupy.cuda.Device
        dtype = getattr(self._nccl, _TYPES[values[0].dtype.name])
        sources = []
        for number, value in zip(self._numbers, values, strict=True):
            with device(number):
                sources.append(self._cupy.ascontiguousarray(value))
        with cuda_peers.TURN, _connected(self._nccl, tuple(self._ranks)) as communicators:
            self._nccl.groupStart()
            try:
                for place, (number, source) in enumerate(zip(self._numbers, sources, strict=True)):
                    with device(number):
                        send(place, communicators[number], source, source.size, dtype)
            finally:
                self._nccl.groupEnd()


_CONNECTED: Final[dict[tuple[Any, tuple[int, ...]], Mapping[int, Any]]] = {}
"""The communicator of each GPU, by the set of GPUs. A caller holds `cuda_peers.TURN`."""


@contextlib.contextmanager
def _connected(nccl: Any, ranks: tuple[int, ...]) -> Iterator[Mapping[int, Any]]:
    """Return a block for one call, which gets the communicator of each GPU.

    The first call for a set of GPUs connects them. If a call fails, some of the GPUs may have their
    part of the call, and would wait for the others for ever. So the communicators end the call, and
    the next call connects the GPUs again. The caller holds `cuda_peers.TURN`.
    """
    communicators = _CONNECTED.get((nccl, ranks))
    if communicators is None:
        made = nccl.NcclCommunicator.initAll(list(ranks))
        communicators = _CONNECTED[nccl, ranks] = dict(zip(ranks, made, strict=True))
    try:
        yield communicators
    except BaseException:
        del _CONNECTED[nccl, ranks]
        for communicator in communicators.values():
            communicator.abort()
        raise
