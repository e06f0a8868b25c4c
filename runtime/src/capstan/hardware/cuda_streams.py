"""The streams of a GPU: one computes, and each direction of copies has a stream of its own.

CUDA's default stream computes, so all threads and CuPy agree on it without a call. Events order the
three streams. Copies go through pinned memory, which the GPU reads and writes without the host.

The stream that computes also does short copies. They take less time than the events that would let
them overlap.
"""

import contextlib
import functools
import threading
import weakref
from collections import deque
from typing import Any

import numpy as np

from capstan import errors
from capstan.core import cancellation
from capstan.core.arrays import Array
from capstan.hardware import cuda_current, cuda_pools, device, threads

_SHORT_BYTES = 1 << 20
"""Up to this size, the stream that computes does a copy, in some 20 microseconds. The limit is a
guess."""

_TAKEN_BYTES = 1 << 16
"""Up to this size, CUDA itself takes the bytes of host memory before it returns from an
asynchronous copy, if the memory is not page-locked (API synchronization behavior, CUDA Runtime
API)."""


class Streams(device.Stream):
    """The streams of one GPU. Thread-safe."""

    def __init__(self, cupy: Any, number: int) -> None:
        """`cupy` is the module, and `number` is CUDA's number of the GPU."""
        import cupyx

        self._busy: deque[tuple[Any, Any]] = deque()
        """The ends of copies to the GPU, and the arrays that must stay as they are until then."""
        self._leaving: deque[tuple[Any, Any]] = deque()
        """The ends of copies to the host, and the arrays that must stay as they are until then."""
        self._letting_go = threading.Lock()
        self._cupy, self._pinned, self._number = cupy, cupyx.empty_pinned, number
        with cupy.cuda.Device(number):
            self._compute = cupy.cuda.Stream.null
            self._inward = cupy.cuda.Stream(non_blocking=True)
            self._outward = cupy.cuda.Stream(non_blocking=True)
        new = functools.partial(_new_landing, cupy, self._inward)
        # This function must not refer to the streams, which may have arrays of the pool.
        leave = functools.partial(_leave, cupy, number, self._inward)
        self._landing = cuda_pools.Pool(cupy, number, new, leave)
        self._waiting = threads.DaemonThreads(1, f"capstan-gpu-{number}")
        weakref.finalize(self, self._waiting.shutdown, wait=False)

    def __del__(self) -> None:
        # CuPy gives page-locked memory to others as soon as it is garbage, and a copy may use it.
        for end, _ in (*self._busy, *self._leaving):
            with contextlib.suppress(Exception):  # A GPU that has failed copies nothing any more.
                end.synchronize()

    def then(self, passed: device.Passed, idle: cancellation.Submit | None = None) -> None:
        """Let a thread wait for an event.

        A function that CUDA itself calls must not use CUDA, and `passed` may. A thread of the step
        notices the event sooner than the thread of these streams, which sleeps.
        """
        try:
            event = self._end(sleeps=idle is None)
        except self._cupy.cuda.runtime.CUDARuntimeError as fault:
            error = errors.from_exception(fault)
            (idle or self._waiting.start)(lambda: passed(error))
            return
        if idle is None:
            self._waiting.start(functools.partial(self._wait, event, passed))
        else:
            # `passed` holds the memory that gets copies, also if the step ends before anyone waits.
            self._busy.append((event, passed))
            idle(functools.partial(self._wait, event, passed))

    def synchronize(self) -> None:
        try:
            self._end(sleeps=True).synchronize()
        except self._cupy.cuda.runtime.CUDARuntimeError as fault:
            raise errors.from_exception(fault) from None
        self._let_go()

    def copy_in(self, value: Array, out: Array | None = None) -> Array:
        """Return an array of the GPU that gets the elements of a NumPy array (`Device.copy_in`)."""
        with cuda_current.using(self._cupy, self._number):
            self.refuse_capture("a copy from the host")
            copy = self._copied_beside if value.nbytes > _SHORT_BYTES else self._copied_in_order
            array = copy(value, out)
        self._let_go()
        return array  # type: ignore[no-any-return]

    def _copied_beside(self, value: Array, out: Any) -> Any:
        """Return `out`, or a new array, that gets a copy. The copy may overlap computing."""
        array = self._landed(value)
        staged = self._send(value, array, self._inward)
        end = self._mark(self._inward)
        self._compute.wait_event(end)
        self._busy.append((end, staged))
        if out is None:
            return array
        out.data.copy_from_device_async(array.data, value.nbytes, self._compute)
        return out

    def _copied_in_order(self, value: Array, out: Any) -> Any:
        """Return `out`, or a new array, that gets a copy between the computing before and after."""
        array = self._cupy.empty(value.shape, value.dtype) if out is None else out
        if value.nbytes > _TAKEN_BYTES:
            staged = self._send(value, array, self._compute)
            self._busy.append((self._mark(self._compute), staged))
        elif value.nbytes:
            source = _pageable(value)
            array.data.copy_from_host_async(source.ctypes.data, value.nbytes, self._compute)
        return array

    def _send(self, value: Array, array: Any, stream: Any) -> Array:
        """Let a stream copy `value` to an array over pinned memory, which is returned."""
        staged: Array = self._pinned(value.shape, value.dtype)
        np.copyto(staged, value)
        array.data.copy_from_host_async(staged.ctypes.data, value.nbytes, stream)
        return staged

    def copy_out(self, value: Array) -> Array:
        """Return a NumPy array that gets the elements of an array (`Device.copy_out`)."""
        with cuda_current.using(self._cupy, self._number):
            self.refuse_capture("a copy to the host")
            source: Any = value if value.flags.c_contiguous else self._cupy.ascontiguousarray(value)
            host: Array = self._pinned(value.shape, value.dtype)
            if value.nbytes > _SHORT_BYTES:
                self._outward.wait_event(self._mark(self._compute))
                source.data.copy_to_host_async(host.ctypes.data, value.nbytes, self._outward)
                self._leaving.append((self._mark(self._outward), (source, host)))
            elif value.nbytes:
                source.data.copy_to_host_async(host.ctypes.data, value.nbytes, self._compute)
        self._let_go()
        return host

    def refuse_capture(self, work: str) -> None:
        """Raise an error if the calling thread captures a CUDA graph on its present device.

        Raises:
            RuntimeError: the thread captures a graph, which cannot have `work`.
        """
        if self._cupy.cuda.get_current_stream().is_capturing():
            raise RuntimeError(f"A CUDA graph cannot have {work}")

    def _end(self, *, sleeps: bool) -> Any:
        """Return an event at the end of all work that the streams have now.

        A copy to the GPU ends before the computing that was given to the GPU after it. A thread
        that waits for the event `sleeps`, or else looks for it all the time.
        """
        with cuda_current.using(self._cupy, self._number):
            self.refuse_capture("a wait")
            last = self._compute
            if self._leaving:
                last = self._outward
                last.wait_event(self._mark(self._compute))
            event = self._cupy.cuda.Event(block=sleeps, disable_timing=True)
            event.record(last)
        return event

    def _wait(self, event: Any, passed: device.Passed) -> None:
        try:
            event.synchronize()
            self._let_go()
        except Exception as fault:  # noqa: BLE001 - the step's error
            passed(errors.from_exception(fault))
        else:
            passed(None)

    def _let_go(self) -> None:
        """Drop the arrays whose copies have ended.

        A copy to the host stays in `_leaving` until it has ended, because `_end` looks there.
        """
        if not self._letting_go.acquire(blocking=False):
            return  # Another thread does this, or the collector does within this very call.
        try:
            for copies in (self._busy, self._leaving):
                while copies and copies[0][0].done:
                    copies.popleft()
        finally:
            self._letting_go.release()

    def _landed(self, value: Array) -> Any:
        """Return an array like `value` in memory that only copies from the host write.

        When the array is garbage, the next copy into its memory waits for the computing that the
        GPU has then. So copies and computing overlap, unless the copy needs this very memory.
        """
        with self._inward:
            memory = self._landing.malloc(value.nbytes)
        return self._cupy.ndarray(value.shape, value.dtype, memory)

    def _mark(self, stream: Any) -> Any:
        return _marked(self._cupy, stream)


def _pageable(value: Array) -> Array:
    """Return the elements in C order, in memory that is not page-locked.

    The memory that an array of NumPy owns never is. A fetch of a tensor of a GPU is a view of
    page-locked memory.
    """
    return np.array(value, order="C", copy=None if value.flags.owndata else True)


def _new_landing(cupy: Any, inward: Any, size: int) -> Any:
    """Return memory from CuPy's pool, which computing may still use, for the first copy."""
    compute = cupy.cuda.Stream.null
    with compute:
        memory = cupy.get_default_memory_pool().malloc(size)
    inward.wait_event(_marked(cupy, compute))
    return memory


def _leave(cupy: Any, number: int, inward: Any) -> None:
    """Let copies to the GPU wait for the present computing, which may use their memory."""
    with cuda_current.using(cupy, number):
        inward.wait_event(_marked(cupy, cupy.cuda.Stream.null))


def _marked(cupy: Any, stream: Any) -> Any:
    """Return an event at the end of the work that a stream of the current device has now."""
    event = cupy.cuda.Event(disable_timing=True)
    event.record(stream)
    return event
