"""CPU devices: NumPy arrays in the memory of the process."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from capstan import errors
from capstan.core import cancellation, dtypes, elementwise
from capstan.core.arrays import Array
from capstan.hardware import costs, cpu_elementwise, device, products

_ALIGNMENT = 64

_MEMORY_LIMIT = 256 << 20
"""The memory limit that TensorFlow shows for a CPU (common_runtime/threadpool_device_factory.cc).
The limit has no effect."""


class _Immediate(device.Stream):
    """The stream of a device that does all work in the thread of the caller."""

    def then(self, passed: device.Passed, idle: cancellation.Submit | None = None) -> None:
        passed(None)

    def synchronize(self) -> None:
        """Return at once, because all work is done already."""


class Cpu(device.Device):
    """A CPU. All CPUs of a task share the memory of the process, so a copy out copies nothing."""

    def __init__(self, name: str) -> None:
        super().__init__(name, _MEMORY_LIMIT)
        self._stream = _Immediate()

    @property
    def arrays(self) -> Any:
        return np

    @property
    def stream(self) -> device.Stream:
        return self._stream

    @property
    def is_host(self) -> bool:
        return True

    def allocate(self, shape: tuple[int, ...], dtype: Any) -> Array:
        """Return an uninitialised array whose memory starts on a cache line."""
        element = np.dtype(dtype)
        if element.hasobject:
            return np.empty(shape, element)
        size = math.prod(shape) * element.itemsize
        try:
            raw = np.empty(size + _ALIGNMENT, np.uint8)
        except (MemoryError, ValueError):  # NumPy raises ValueError above its maximum size
            raise exhausted(shape, element, size) from None
        start = -raw.ctypes.data % _ALIGNMENT
        array: Array = raw[start : start + size].view(element).reshape(shape)
        return array

    def copy(self, source: Array, destination: Array) -> None:
        np.copyto(destination, source)

    def copy_in(self, value: Array, out: Array | None = None) -> Array:
        """Return `value` itself."""
        return value

    def copy_out(self, value: Array) -> Array:
        """Return `value` itself."""
        return value

    def duplicate(self, value: Array) -> Array:
        return np.array(value, order="C")

    def matmul(self, left: Array, right: Array, out: Array | None = None) -> Array:
        product: Array = products.matmul(left, right, out)
        return product

    def fuses(self, program: elementwise.Program) -> bool:
        return cpu_elementwise.fuses(program)

    def ufunc(
        self,
        program: elementwise.Program,
        spent: costs.Costs,
        before: Callable[..., Any] | None = None,
    ) -> Callable[..., Any]:
        if not self.fuses(program):
            return before or super().ufunc(program, spent)
        return cpu_elementwise.Ufunc(program, spent, before)


def exhausted(shape: Sequence[int], dtype: Any, size: int) -> errors.ResourceExhaustedError:
    """Return the error for an array of `size` bytes that does not fit into the memory."""
    sizes = ",".join(map(str, shape))
    return errors.ResourceExhaustedError(
        None,
        None,
        f"OOM when allocating tensor with shape[{sizes}] and type "
        f"{dtypes.as_dtype(dtype).name}: it takes {size} bytes",
    )


def create(task: str, count: int | None) -> list[device.Device]:
    """Return `count` CPUs of a task, or one if `count` is None."""
    return [Cpu(f"{task}/device:CPU:{index}") for index in range(1 if count is None else count)]
