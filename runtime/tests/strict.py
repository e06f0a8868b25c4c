"""A device for tests that behaves like a GPU and runs on NumPy.

Its arrays refuse to be taken for NumPy arrays, as CuPy's do, and they refuse the calls that CuPy
does not understand (`cupy_interface`). Its memory must be copied: an operation that mixes its
arrays with NumPy arrays raises TypeError. Its stream runs late: nothing is
computed or copied before somebody waits for the stream, and memory holds garbage until then. It has
the device type GPU, so it runs the rows that a real GPU runs.
"""

import gc
import math
import queue
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest import mock

import cupy_interface
import numpy as np

from capstan import errors
from capstan.core import cancellation
from capstan.hardware import cpu, device, factories

_GARBAGE = 0xA5

_VIEWS = frozenset(
    {
        "reshape",
        "ravel",
        "transpose",
        "swapaxes",
        "expand_dims",
        "squeeze",
        "broadcast_to",
        "moveaxis",
    }
)
"""The functions of NumPy that return the memory of their first argument."""


_PRODUCTS = frozenset(
    {
        *(np.dot, np.vdot, np.inner, np.outer, np.tensordot, np.einsum),
        *(np.linalg.det, np.linalg.slogdet, np.linalg.qr),
    }
)
"""The functions that call cuBLAS or cuSOLVER, which cannot be done in the capture of a graph."""

_SOLVERS = frozenset(
    getattr(np.linalg, name)
    for name in (
        *("cholesky", "cond", "eig", "eigh", "eigvals", "eigvalsh", "inv", "lstsq"),
        *("matrix_power", "matrix_rank", "pinv", "solve", "svd", "tensorinv", "tensorsolve"),
    )
)
"""The functions that have no result for some matrices, of which CuPy says nothing by default."""

_thread = threading.local()
"""The device that each thread uses, if it uses one."""


class StrictArray(np.lib.mixins.NDArrayOperatorsMixin):
    """An array of a `Strict` device. NumPy's functions accept it and return such arrays."""

    def __init__(self, home: "Strict", memory: np.ndarray) -> None:
        self._home = home
        self._memory = memory

    shape = property(lambda self: self._memory.shape)
    dtype = property(lambda self: self._memory.dtype)
    ndim = property(lambda self: self._memory.ndim)
    size = property(lambda self: self._memory.size)
    itemsize = property(lambda self: self._memory.itemsize)
    nbytes = property(lambda self: self._memory.nbytes)
    flags = property(lambda self: self._memory.flags)
    T = property(lambda self: self.transpose())

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError("Implicit conversion of a strict array to a NumPy array is not allowed")

    def __len__(self) -> int:
        return len(self._memory)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        cupy_interface.check_ufunc(ufunc, method, inputs, options)
        if ufunc is np.matmul:
            self._home.refuse_recording("matmul")
        return self._home.compute(getattr(ufunc, method), inputs, options)

    def __array_function__(
        self, function: Callable[..., Any], types: Any, inputs: Any, options: Any
    ) -> Any:
        cupy_interface.check_function(function, inputs, options)
        if function in _PRODUCTS:
            self._home.refuse_recording(function.__name__)
        if function in _SOLVERS:
            return self._home.solve(function, inputs, options)
        if function is np.empty_like:
            return self._home.like(*inputs, **options)
        if function is np.asarray:
            [value] = inputs
            return value if isinstance(value, StrictArray) else self._home.copy_in(np.array(value))
        if function is np.argwhere:
            return self._home.put(np.argwhere(*map(self._home.fetch, inputs)))
        if function.__name__ in _VIEWS:
            return self._view(
                function(self._memory, *inputs[1:], **options), function, inputs, options
            )
        return self._home.compute(function, inputs, options)

    def _view(
        self, memory: np.ndarray, function: Callable[..., Any], inputs: Any, options: dict[str, Any]
    ) -> Any:
        """Return a view of this array, or compute a copy if NumPy cannot make a view."""
        if not memory.size or np.may_share_memory(memory, self._memory):
            return StrictArray(self._home, memory)
        return self._home.compute(function, inputs, options)

    def __getitem__(self, key: Any) -> "StrictArray":
        if _is_basic(key):
            # With an ellipsis, NumPy returns a view also of a single element.
            parts = key if isinstance(key, tuple) else (key,)
            index = parts if any(part is ... for part in parts) else (*parts, ...)
            return StrictArray(self._home, self._memory[index])
        return self._home.compute(lambda array, index: array[index], (self, key), {})

    def __setitem__(self, key: Any, value: Any) -> None:
        self._home.enqueue(lambda: self._memory.__setitem__(_memory(key), _memory(value)))
        _refuse_mixture((key, value))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not hasattr(np.ndarray, name):
            raise AttributeError(name)
        if name in ("ctypes", "data", "tobytes", "tofile", "dump", "byteswap"):
            raise TypeError(f"The memory of a strict array cannot be reached by {name}")
        return lambda *args, **options: self._call(name, args, options)

    def _call(self, name: str, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        cupy_interface.check_method(name, self, args, options)

        def call(array: Any, *rest: Any, **named: Any) -> Any:
            return getattr(array, name)(*rest, **named)

        if name in ("view", *_VIEWS):
            return self._view(call(self._memory, *args, **options), call, (self, *args), options)
        return self._home.compute(call, (self, *args), options)

    def _number(self) -> Any:
        """Wait for the stream and return the only element, as CuPy does for `float(array)`."""
        self._home.stream.synchronize()
        return self._memory.item()

    def __float__(self) -> float:
        return float(self._number())

    def __int__(self) -> int:
        return int(self._number())

    def __bool__(self) -> bool:
        return bool(self._number())

    def item(self) -> Any:
        return self._number()

    def get(self) -> np.ndarray:
        """Wait for the stream and return the elements in host memory, as CuPy does."""
        host: np.ndarray = self._home.copy_out(self)
        self._home.stream.synchronize()
        return host


class LateStream(device.Stream):
    """Begins its work when a caller waits for the stream. The work runs in the stream's thread."""

    def __init__(self, refuse_recording: Callable[[str], None]) -> None:
        self.refuse_recording = refuse_recording
        self._lock = threading.Lock()
        self._work: list[Callable[[], None]] = []
        self._failed: errors.OpError | None = None
        self._batches: queue.SimpleQueue[list[Callable[[], None]]] = queue.SimpleQueue()
        threading.Thread(target=self._run, name="strict-stream", daemon=True).start()

    def enqueue(self, work: Callable[[], None]) -> None:
        with self._lock:
            self._work.append(work)

    def then(self, passed: device.Passed, idle: cancellation.Submit | None = None) -> None:
        self.refuse_recording("then")
        if idle is None:
            self._begin(lambda: passed(self._failed))
            return
        reached = threading.Event()
        self._begin(reached.set)

        def wait() -> None:
            reached.wait()
            passed(self._failed)

        idle(wait)

    def _begin(self, last: Callable[[], None]) -> None:
        with self._lock:
            batch, self._work = self._work, []
            self._batches.put([*batch, last])

    def let_go(self) -> None:
        """Do all work, so that its arrays are free. Those of a GPU are free without waiting."""
        done = threading.Event()
        self._begin(done.set)
        done.wait()

    def mark(self) -> Callable[[], None]:
        """Return a function that begins the present work, and waits until it is done.

        The work of a stream may wait for work that another stream got earlier. It never waits for
        later work, so streams do not wait for each other in a circle.
        """
        reached = threading.Event()
        self.enqueue(reached.set)

        def wait() -> None:
            self.then(lambda _: None)
            reached.wait()
            if self._failed is not None:
                raise self._failed

        return wait

    def synchronize(self) -> None:
        done = threading.Event()
        self.then(lambda _: done.set())
        done.wait()
        if self._failed is not None:
            raise self._failed

    def _run(self) -> None:
        while True:
            batch = deque(self._batches.get())
            while batch:
                work = batch.popleft()
                try:
                    with np.errstate(all="ignore"):
                        work()
                except Exception as fault:  # noqa: BLE001 - the next `then` reports it
                    self._failed = self._failed or errors.from_exception(fault)
                del work  # Its arrays are free before somebody hears that it is done.


class Strict(device.Device):
    """A device with memory of its own. `used_bytes` is the sum of the sizes of all its arrays."""

    def __init__(self, name: str, memory_limit: int = 1 << 30) -> None:
        super().__init__(name, memory_limit)
        self.used_bytes = 0
        self._count = threading.RLock()
        """Guards `used_bytes`. The collector may free an array in any thread, and at any time."""
        self._thread = threading.local()
        self._stream = LateStream(self.refuse_recording)

    @property
    def arrays(self) -> Any:
        return _Module(self)

    def use(self) -> None:
        _thread.used = self

    @property
    def stream(self) -> LateStream:
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
        return StrictArray(self, memory.view(dtype).reshape(shape))

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
        _refuse_mixture((inputs, options))
        fetched = _walk(inputs, lambda x: self.fetch(x) if isinstance(x, StrictArray) else x)
        return _walk(function(*fetched, **options), lambda part: self.put(np.asarray(part)))

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
        if not isinstance(value, StrictArray):
            raise TypeError(f"copy_out takes a strict array, not {type(value).__name__}")
        self.refuse_recording("copy_out")
        host = np.full(value.nbytes, _GARBAGE, np.uint8).view(value.dtype).reshape(value.shape)
        self.enqueue(lambda: np.copyto(host, value._memory))
        return host

    def copy_across(self, value: Any, source: device.Device) -> Any:
        if not isinstance(value, StrictArray) or value._home is not source:
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
        _refuse_mixture((inputs, options))
        with np.errstate(all="ignore"):
            facts = function(*_zeros(inputs), **_zeros(options))
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
            computed = function(*_memory(inputs), **_memory(options))
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


def _walk(value: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(value, tuple | list):
        parts = [_walk(part, change) for part in value]
        return parts if isinstance(value, list) else tuple(parts)
    if isinstance(value, dict):
        return {key: _walk(part, change) for key, part in value.items()}
    return change(value)


def _memory(value: Any) -> Any:
    return _walk(value, lambda part: part._memory if isinstance(part, StrictArray) else part)


def _zeros(value: Any) -> Any:
    return _walk(
        value,
        lambda part: np.zeros_like(part._memory) if isinstance(part, StrictArray) else part,
    )


def _refuse_mixture(values: Any) -> None:
    def refuse(part: Any) -> None:
        if isinstance(part, np.ndarray):
            raise TypeError("A strict array and a NumPy array cannot be used together")

    _walk(values, refuse)


def _is_basic(key: Any) -> bool:
    parts: Sequence[Any] = key if isinstance(key, tuple) else (key,)
    return all(
        part is None or part is ... or isinstance(part, int | np.integer | slice) for part in parts
    )


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
