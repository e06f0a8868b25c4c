"""A device for tests that behaves like a GPU and runs on NumPy.

Its arrays are those of `strict_array`. Its memory must be copied: an operation that mixes its
arrays with NumPy arrays raises TypeError. Its stream runs late (`late_stream`): nothing is computed
or copied before somebody waits for the stream, and memory holds garbage until then. It has the
device type GPU, so it runs the rows that a real GPU runs.
"""

import gc
import math
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import late_stream
import numpy as np
import strict_array

from capstan import errors
from capstan.hardware import cpu, device, factories

_GARBAGE = 0xA5

_thread = threading.local()
"""The device that each thread uses, if it uses one."""


class Strict(device.Device):
    """A device with memory of its own. `used_bytes` is the sum of the sizes of all its arrays."""

    def __init__(self, name: str, memory_limit: int = 1 << 30) -> None:
        super().__init__(name, memory_limit)
        self.used_bytes = 0
        self._count = threading.RLock()
        """Guards `used_bytes`. The collector may free an array in any thread, and at any time."""
        self._thread = threading.local()
        self._stream = late_stream.LateStream(self.refuse_recording)

    @property
    def arrays(self) -> Any:
        return _Module(self)

    def use(self) -> None:
        _thread.used = self

    @property
    def stream(self) -> late_stream.LateStream:
        return self._stream

    @property
    def is_host(self) -> bool:
        return False

    def allocate(self, shape: tuple[int, ...], dtype: Any) -> Any:
        size = math.prod(shape) * np.dtype(dtype).itemsize
        if not self._take(size):
            self._stream.let_go()
            gc.collect()  # CuPy does this, too, before it gives up.
            if not self._take(size):
                message = cpu.exhausted(shape, dtype, size).message
                figures = f"{self.used_bytes} of its {self.memory_limit} bytes"
                raise errors.ResourceExhaustedError(
                    None, None, f"{message} on {self.name}, where arrays use {figures}"
                )
        memory = np.full(size, _GARBAGE, np.uint8)
        weakref.finalize(memory, self._take, -size).atexit = False
        return strict_array.StrictArray(self, memory.view(dtype).reshape(shape))

    def _take(self, size: int) -> bool:
        """Count memory that an array takes, if there is so much. A negative size gives it back."""
        with self._count:
            if self.used_bytes + size > self.memory_limit:
                return False
            self.used_bytes += size
            return True

    def copy(self, source: Any, destination: Any) -> None:
        self.compute(np.copyto, (destination, source), {})

    def matmul(self, left: Any, right: Any, out: Any = None) -> Any:
        function = _wide_product if left.dtype.name == "bfloat16" else np.matmul
        return self.compute(function, (left, right), {} if out is None else {"out": (out,)})

    def checked(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        self._thread.checks = True
        try:
            return function(*arguments, **options)
        finally:
            self._thread.checks = False

    def solve(self, function: Callable[..., Any], inputs: Any, options: dict[str, Any]) -> Any:
        """Wait for the arrays and call a function of `np.linalg`, which may raise LinAlgError.

        CuPy does so only within `checked`, and returns garbage otherwise. A strict device refuses
        the call then.
        """
        self.refuse_recording(function.__name__)
        if not getattr(self._thread, "checks", False):
            raise TypeError(f"CuPy hides errors of {function.__name__} without Device.checked")
        strict_array.refuse_mixture((inputs, options))
        fetched = strict_array.walk(
            inputs, lambda x: self.fetch(x) if isinstance(x, strict_array.StrictArray) else x
        )
        return strict_array.walk(
            function(*fetched, **options), lambda part: self.put(np.asarray(part))
        )

    def copy_in(self, value: Any, out: Any = None) -> Any:
        if not isinstance(value, np.ndarray | np.generic):
            raise TypeError(f"copy_in takes an array of the host, not {type(value).__name__}")
        self.refuse_recording("copy_in")
        array = self.allocate(value.shape, value.dtype) if out is None else out
        if (array.shape, array.dtype) != (value.shape, value.dtype):
            raise TypeError(f"copy_in cannot copy {value.dtype}{value.shape} to this `out`")
        taken = np.array(value)
        self.enqueue(lambda: np.copyto(array._memory, taken))
        return array

    def copy_out(self, value: Any) -> Any:
        if not isinstance(value, strict_array.StrictArray):
            raise TypeError(f"copy_out takes a strict array, not {type(value).__name__}")
        self.refuse_recording("copy_out")
        host = np.full(value.nbytes, _GARBAGE, np.uint8).view(value.dtype).reshape(value.shape)
        self.enqueue(lambda: np.copyto(host, value._memory))
        return host

    def copy_across(self, value: Any, source: device.Device) -> Any:
        if not isinstance(value, strict_array.StrictArray) or value._home is not source:
            raise TypeError(f"copy_across takes an array of {source.name}")
        array, wait = self.allocate(value.shape, value.dtype), value._home.stream.mark()

        def work() -> None:
            wait()
            np.copyto(array._memory, value._memory)

        self.enqueue(work)
        return array

    def fetch(self, array: Any) -> Any:
        """Wait for an array, as CuPy does if a shape depends on its elements."""
        host = self.copy_out(array)
        self.stream.synchronize()
        return host

    def like(self, array: Any, dtype: Any = None, shape: Any = None, **_: Any) -> Any:
        return self.allocate(
            array.shape if shape is None else tuple(np.atleast_1d(shape)), dtype or array.dtype
        )

    def enqueue(self, work: Callable[[], None]) -> None:
        recorded = getattr(self._thread, "recorded", None)
        (self._stream.enqueue if recorded is None else recorded.append)(work)

    def record(self, work: Callable[[], Any]) -> tuple[Any, Callable[[], None]]:
        """Collect what the calling thread enqueues, as the capture of a CUDA graph does."""
        recorded: list[Callable[[], None]] = []
        self._thread.recorded = recorded
        try:
            results = work()
        except Exception as fault:
            raise device.NotRepeatable(str(fault)) from fault
        finally:
            self._thread.recorded = None

        def launch() -> None:
            for part in recorded:
                self.enqueue(part)

        return results, launch

    def refuse_recording(self, work: str) -> None:
        if getattr(self._thread, "recorded", None) is not None:
            raise RuntimeError(f"{work} cannot be recorded")

    def compute(self, function: Callable[..., Any], inputs: Any, options: dict[str, Any]) -> Any:
        """Enqueue a function of NumPy. Return arrays that get its results.

        The shapes and dtypes of the results follow from a call with zeros.
        """
        strict_array.refuse_mixture((inputs, options))
        with np.errstate(all="ignore"):
            facts = function(*strict_array.zeros_for(inputs), **strict_array.zeros_for(options))
        given = options.get("out")
        results: Any
        if facts is None:
            results = None
        elif given is not None:
            results = given[0] if isinstance(given, tuple) and len(given) == 1 else given
        elif isinstance(facts, tuple | list):
            results = tuple(
                self.allocate(fact.shape, fact.dtype) for fact in map(np.asarray, facts)
            )
        else:
            fact = np.asarray(facts)
            results = self.allocate(fact.shape, fact.dtype)

        def work() -> None:
            computed = function(*strict_array.memory_of(inputs), **strict_array.memory_of(options))
            if given is None and results is not None:
                several = results if isinstance(results, tuple) else (results,)
                values = computed if isinstance(results, tuple) else (computed,)
                for result, value in zip(several, values, strict=True):
                    np.copyto(result._memory, value)

        self.enqueue(work)
        return results


class _Module:
    """NumPy as the array module of a device. Functions such as `zeros` return its arrays."""

    def __init__(self, home: Strict) -> None:
        self._home = home

    def __getattr__(self, name: str) -> Any:
        function = getattr(np, name)
        if name in ("empty", "zeros", "ones", "full", "arange", "eye", "linspace"):
            used = getattr(_thread, "used", self._home)
            if used is not self._home:  # CuPy would make the array on the other device.
                raise RuntimeError(f"The thread uses {used.name}, not {self._home.name}")
            return lambda *args, **options: self._home.compute(function, args, options)
        return function


def _wide_product(left: Any, right: Any, out: Any = None) -> Any:
    """Multiply matrices of bfloat16 as cuBLAS does, with sums in single precision."""
    product = np.matmul(left.astype(np.float32), right.astype(np.float32)).astype(left.dtype)
    if out is None:
        return product
    np.copyto(out[0], product)
    return out[0]


@contextmanager
def installed(count: int = 1, memory_limit: int = 1 << 30) -> Iterator[list[Strict]]:
    """Give each task that starts within the block `count` strict devices, as GPU:0, GPU:1, ...

    Yield a list that gets these devices.
    """
    made: list[Strict] = []

    def create(task: str, wanted: int | None) -> list[Strict]:
        number = count if wanted is None else min(wanted, count)
        names = [f"{task}/device:GPU:{index}" for index in range(number)]
        created = [Strict(name, memory_limit) for name in names]
        made.extend(created)
        return created

    with mock.patch.dict(factories._FACTORIES, {"GPU": create}):
        yield made
