"""A device of a task: an array module, memory, copies to and from the host, and a stream.

This is TensorFlow's Device (core/framework/device.h) without the kernels. The values of a CPU are
NumPy arrays. Other devices have an array type of their own that NumPy's functions accept (`np.add`,
`np.matmul`), but that is never converted to a NumPy array without a call of `copy_out`.
"""

import abc
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from capstan import errors
from capstan.core import cancellation, devices, elementwise, row_programs
from capstan.core.arrays import Array
from capstan.hardware import costs, threads

Passed = Callable[[errors.OpError | None], None]
"""Receives the first error of the work on a stream, or None."""

Compiled = Callable[..., tuple[Array, ...]]
"""Runs a program (`Device.compile`, `Device.compile_rows`)."""


class NotRepeatable(Exception):
    """A device cannot repeat some work without the host (`Device.record`)."""


class Stream(abc.ABC):
    """The order in which a device works. Work that was given to it first is done first.

    Thread-safe.
    """

    @abc.abstractmethod
    def then(self, passed: Passed, idle: cancellation.Submit | None = None) -> None:
        """Call `passed` once, when all work that the stream has now is done.

        The call returns at once. Another thread may call `passed`, which must not block. If `idle`
        is given, it runs the function that waits for the work and then calls `passed`, in a thread
        that has nothing else to do. Otherwise a thread of the stream waits.
        """

    @abc.abstractmethod
    def synchronize(self) -> None:
        """Block until all work that the stream has now is done.

        Raises:
            OpError: some of the work failed.
        """


class Device(abc.ABC):
    """One device. Thread-safe."""

    def __init__(self, name: str, memory_limit: int, physical_description: str = "") -> None:
        """`name` is the full name of the device, and `memory_limit` is in bytes.

        `physical_description` says on one line which hardware it is. A CPU has none.
        """
        self.name = name
        self.device_type = devices.parse(name).device_type or ""
        self.memory_limit = memory_limit
        self.physical_description = physical_description

    @property
    @abc.abstractmethod
    def arrays(self) -> Any:
        """The array module: NumPy, or a module with the same functions (`zeros`, `arange`)."""

    @property
    @abc.abstractmethod
    def stream(self) -> Stream:
        """The stream that orders all work of this device."""

    @property
    @abc.abstractmethod
    def is_host(self) -> bool:
        """Whether the values of this device are NumPy arrays, which the host uses as they are."""

    @abc.abstractmethod
    def allocate(self, shape: tuple[int, ...], dtype: Any) -> Array:
        """Return an uninitialised array of a NumPy dtype, in C order.

        Raises:
            ResourceExhaustedError: the device has not enough memory.
        """

    @abc.abstractmethod
    def copy(self, source: Array, destination: Array) -> None:
        """Copy the elements of an array of this device to another array of this device."""

    @abc.abstractmethod
    def copy_in(self, value: Array, out: Array | None = None) -> Array:
        """Return an array of this device that gets the elements of a NumPy array.

        Work that the device gets later finds the elements there. `value` may change as soon as
        this function returns. If `out` is given, it is the array that gets the elements. It is in
        C order, and has the shape and the dtype of `value`. Work that the device got earlier still
        finds the old elements there.
        """

    @abc.abstractmethod
    def copy_out(self, value: Array) -> Array:
        """Return a NumPy array that gets the elements of an array of this device.

        It has the elements when the stream has done the copy. Until then, `value` must not change,
        and the caller keeps the NumPy array: its memory may serve others when it is garbage.
        """

    def copy_across(self, value: Array, source: "Device") -> Array:
        """Return an array of this device that gets the elements of an array of `source`.

        `value` must not change until the stream of this device has done the copy. The copy waits
        for the present work of `source`. Without a way from memory to memory, this call blocks
        while it copies over host memory.
        """
        host = source.copy_out(value)
        source.stream.synchronize()
        return self.copy_in(host)

    def group(self, devices: "Sequence[Device]") -> Any:
        """Return the collectives of these devices (`hardware.collectives.Group`).

        Return None if the devices have none. This device is one of `devices`.
        """
        return None

    def use(self) -> None:  # noqa: B027 - most devices have no thread-local state
        """Let the calling thread compute on this device, until it calls `use` of another device.

        A segment calls this before its first kernel, unless its values are in host memory.
        """

    def compile(self, program: elementwise.Program) -> Compiled:
        """Return the function that runs an elementwise program on arrays of this device.

        `function(inputs, out=())` returns the results. If `out` has arrays, they get the results.
        An array of `out` may be one of the inputs, and may not overlap another input.
        """
        return program.run

    def fuses(self, program: elementwise.Program) -> bool:
        """Return whether `ufunc` may compute a program in one pass over its arrays."""
        return True

    def ufunc(
        self,
        program: elementwise.Program,
        spent: costs.Costs,
        before: Callable[..., Any] | None = None,
    ) -> Callable[..., Any]:
        """Return the function that runs a program, and that is called as a ufunc of NumPy.

        Its arguments are the inputs, and then perhaps arrays for the results, as those of
        `compile`. It returns the result, or a tuple of several results. `before` is such a
        function, which a CPU calls as long as it does not pay to compile the program. `spent` has
        the time of the programs of the session, by which a CPU decides.
        """
        run, count = self.compile(program), program.inputs

        def call(*arrays: Array) -> Any:
            try:
                results = run(arrays[:count], arrays[count:])
            except ValueError:
                found = " ".join(str(array.shape) for array in arrays[:count])
                raise ValueError(f"the shapes do not broadcast: shapes {found}") from None
            return results if len(results) > 1 else results[0]

        return call

    def compile_rows(self, program: row_programs.Program) -> Compiled:
        """Return the function that runs a program along rows on arrays of this device.

        It is called as that of `compile`. The matrices have at least one column.
        """
        return program.run

    def matmul(self, left: Array, right: Array, out: Array | None = None) -> Array:
        """Return `np.matmul(left, right, out)`. `record` can note this call."""
        product: Array = np.matmul(left, right, out)
        return product

    def checked(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """Return what a function of `np.linalg` returns. Blocks until the device knows whether the
        function has a result. Outside of this call, such a function may return garbage instead of
        an error.

        Raises:
            numpy.linalg.LinAlgError: a matrix has no inverse, for example.
        """
        return function(*arguments, **options)

    def record(
        self, work: Callable[[], Sequence[Array]]
    ) -> tuple[Sequence[Array], Callable[[], None]]:
        """Note the work that a call of `work` gives to this device, without doing it.

        Return what `work` returned, and a function that lets the device do the work. Each call of
        this function reads the arrays that `work` read, and writes the arrays that `work` made or
        changed, at the same places. No other work ever gets the memory of these arrays.

        Raises:
            NotRepeatable: this device cannot record, or `work` raised an error, or it needs the
                host: it waits for the device, or copies between the device and the host.
        """
        raise NotRepeatable(f"{self.name} cannot record")

    def refuse_recording(self, work: str) -> None:  # noqa: B027 - most devices cannot record
        """Raise an error if the calling thread records (`record`).

        `work` names what a recording cannot have.

        Raises:
            RuntimeError: the thread records. `record` turns this error into NotRepeatable.
        """

    def put(self, value: Array) -> Array:
        """Return a copy of a NumPy array in this device's memory. Blocks until it is copied.

        Raises:
            OpError: the copy failed.
        """
        array = self.copy_in(value)
        self.stream.synchronize()
        return array

    def duplicate(self, value: Array) -> Array:
        """Return a copy of an array of this device, in C order."""
        copy = self.allocate(value.shape, value.dtype)
        self.copy(value, copy)
        return copy


_MOST_THREADS = 64
"""The number of inter-op threads, unless the program sets it. The number is a guess.

TensorFlow starts one thread for each core. Python functions that wait for each other need a thread
each, and a thread that waits needs no core.
"""


class Devices:
    """The devices of a task, by name, and the threads that run their segments. Thread-safe."""

    def __init__(self, found: Iterable[Device], inter_op_threads: int = 0) -> None:
        """`found` must hold at least one device. The first is the default.

        A thread starts when all others are busy. By default, there are at most 64, or one for each
        device if there are more devices.
        """
        self._devices = tuple(found)
        most = max(_MOST_THREADS, len(self._devices))
        self._threads = inter_op_threads if inter_op_threads > 0 else most
        self._lock = threading.Lock()
        self._pool: threads.DaemonThreads | None = None
        self._by_name = {device.name: device for device in self._devices}

    def __iter__(self) -> Iterator[Device]:
        return iter(self._devices)

    def submit(self, work: Callable[[], None]) -> None:
        """Run `work` soon, in one of the inter-op threads of the task. Never blocks.

        The threads start with the first call, and end when this object is garbage. They do not keep
        the process alive.
        """
        with self._lock:
            if self._pool is None:
                self._pool = threads.DaemonThreads(self._threads, "capstan-inter-op")
                weakref.finalize(self, self._pool.shutdown)
        self._pool.start(work)

    def of(self, name: str) -> Device:
        """Return the first device that a full or partial name can denote.

        Raises:
            InvalidArgumentError: the task has no such device.
        """
        found = self._by_name.get(name)
        if found is not None:
            return found
        for device in self._devices:
            if devices.matches(name, device.name):
                return device
        known = ", ".join(device.name for device in self._devices)
        raise errors.InvalidArgumentError(
            None, None, f"This task has no device {name!r}. Its devices are {known}"
        )
