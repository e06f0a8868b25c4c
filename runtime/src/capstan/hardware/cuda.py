"""GPUs of NVIDIA, by CuPy. CuPy is imported when a process makes its first GPU."""

import contextlib
import functools
import importlib.util
import logging
import math
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from capstan import errors
from capstan.core import config, elementwise, row_programs
from capstan.core.arrays import Array
from capstan.hardware import (
    cpu,
    cuda_collectives,
    cuda_current,
    cuda_elementwise,
    cuda_graphs,
    cuda_peers,
    cuda_products,
    cuda_signals,
    cuda_streams,
    device,
    gpu_options,
)

_INSTALL = "install Capstan with its extra cuda13 or cuda12 (docs/how-to/gpus.md)"


def create(task: str, count: int | None, options: config.GpuOptions) -> list[device.Device]:
    """Return the first `count` GPUs of a task, or all if `count` is None.

    There are none if CuPy is not installed. If CuPy, the driver and the GPUs do not fit one
    another, there are none, and the first call logs a warning that names the part.

    Raises:
        InvalidArgumentError: the options do not fit the GPUs.
    """
    if count == 0 or gpu_options.hides_all(os.environ.get("CUDA_VISIBLE_DEVICES")):
        return []
    present = usable()
    if not present:
        return []
    import cupy

    cuda_signals.keep_interrupts(cupy.cuda.nvrtc)
    numbers = gpu_options.visible(options.visible_device_list, present)
    return [
        Cuda(cupy, f"{task}/device:GPU:{index}", number, options)
        for index, number in enumerate(numbers[:count])
    ]


@functools.cache
def usable() -> int:
    """Return the number of GPUs that this process can use. The first call decides."""
    if importlib.util.find_spec("cupy") is None:
        return 0
    found = _found()
    if isinstance(found, int):
        return found
    logging.getLogger("capstan").warning("No GPU is used: %s", found)
    return 0


def missing() -> str:
    """Return which part this process lacks for a GPU, or "" if it has all."""
    found = _found()
    return found if isinstance(found, str) else ""


def _found() -> int | str:
    """Return the number of GPUs, or the reason why none can be used."""
    if importlib.util.find_spec("cupy") is None:
        return f"CuPy is not installed: {_INSTALL}"
    try:
        from cupy.cuda import nvrtc, runtime
    except Exception as fault:  # noqa: BLE001 - what a broken CuPy raises differs
        return f"CuPy is broken: {type(fault).__name__}: {fault}"
    try:
        count = int(runtime.getDeviceCount())
    except runtime.CUDARuntimeError as fault:
        versions = runtime.driverGetVersion(), runtime.runtimeGetVersion()
        return gpu_options.refusal(fault.status, str(fault), *versions)
    try:
        nvrtc.getVersion()
    except Exception as fault:  # noqa: BLE001 - what CuPy raises here differs with its version
        return (
            f"the libraries of CUDA are missing: {_INSTALL}, which brings them. CuPy says: {fault}"
        )
    return count


class Cuda(device.Device):
    """A GPU. Its memory comes from CuPy's pool, which the process shares.

    A `cupy.cuda.Device` is made for each block that uses it, because threads cannot share one.
    """

    def __init__(self, cupy: Any, name: str, number: int, options: config.GpuOptions) -> None:
        """`cupy` is the module, and `number` is CUDA's number of the GPU.

        Raises:
            InvalidArgumentError: the options ask for more than the memory of the GPU.
        """
        super().__init__(name, _take_memory(cupy, number, options), _description(cupy, number))
        self._cupy, self._number = cupy, number
        self._streams = cuda_streams.Streams(cupy, number)
        logging.getLogger("capstan").info(
            "Device %s may use %d MB: %s", name, self.memory_limit >> 20, self.physical_description
        )

    @property
    def arrays(self) -> Any:
        return self._cupy

    @property
    def stream(self) -> device.Stream:
        return self._streams

    @property
    def is_host(self) -> bool:
        return False

    def use(self) -> None:
        self._cupy.cuda.Device(self._number).use()
        self._cupy.cuda.Stream.null.use()

    def allocate(self, shape: tuple[int, ...], dtype: Any) -> Array:
        size = math.prod(shape) * np.dtype(dtype).itemsize
        if size > self.memory_limit:  # CuPy computes such a size modulo 2 ** 64.
            raise self._exhausted(shape, dtype, f"the limit is {self.memory_limit} bytes")
        with self._cupy.cuda.Device(self._number), self._memory(shape, dtype):
            array: Array = self._cupy.empty(shape, dtype)
        return array

    def copy(self, source: Any, destination: Any) -> None:
        is_plain = (
            source.flags.c_contiguous
            and destination.flags.c_contiguous
            and source.dtype == destination.dtype
            and source.shape == destination.shape
        )
        with cuda_current.using(self._cupy, self._number):
            if is_plain:  # the host is done sooner than with a kernel
                destination.data.copy_from_device_async(source.data, source.nbytes)
            else:
                self._cupy.copyto(destination, source)

    def copy_in(self, value: Array, out: Array | None = None) -> Array:
        with self._memory(value.shape, value.dtype):
            return self._streams.copy_in(value, out)

    def copy_out(self, value: Array) -> Array:
        with self._memory(value.shape, value.dtype):
            return self._streams.copy_out(value)

    def group(self, devices: Sequence[device.Device]) -> Any:
        gpus = [each for each in devices if isinstance(each, Cuda)]
        if len(gpus) < len(devices):
            return None
        from cupy.cuda import nccl

        numbers, allocate = [gpu._number for gpu in gpus], [gpu.allocate for gpu in gpus]
        return cuda_collectives.group(self._cupy, nccl, numbers, allocate)

    def copy_across(self, value: Array, source: device.Device) -> Array:
        if not isinstance(source, Cuda):
            return super().copy_across(value, source)
        copied = self.allocate(value.shape, value.dtype)
        cuda_peers.copy(self._cupy, value, source._number, copied, self._number)
        return copied

    def matmul(self, left: Array, right: Array, out: Array | None = None) -> Array:
        if cuda_products.multiplies(left, right):
            return cuda_products.of(self._cupy, self._number).matmul(left, right, out)
        return super().matmul(left, right, out)

    def checked(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        import cupyx

        with cupyx.errstate(linalg="raise"):  # CuPy's default is not to wait for the GPU.
            return super().checked(function, *arguments, **options)

    def record(
        self, work: Callable[[], Sequence[Array]]
    ) -> tuple[Sequence[Array], Callable[[], None]]:
        cuda_products.of(self._cupy, self._number)  # A capture cannot make it.
        return cuda_graphs.capture(self._cupy, self._number, work)

    def refuse_recording(self, work: str) -> None:
        with self._cupy.cuda.Device(self._number):
            self._streams.refuse_capture(work)

    def fuses(self, program: elementwise.Program) -> bool:
        return program.inputs <= cuda_elementwise.MOST_INPUTS

    def compile(self, program: elementwise.Program) -> device.Compiled:
        return cuda_elementwise.compiled(self._cupy, program)

    def compile_rows(self, program: row_programs.Program) -> device.Compiled:
        return cuda_elementwise.compiled_rows(self._cupy, program)

    @contextlib.contextmanager
    def _memory(self, shape: tuple[int, ...], dtype: Any) -> Iterator[None]:
        """Raise ResourceExhaustedError if the GPU has no memory for such an array."""
        try:
            yield
        except self._cupy.cuda.memory.OutOfMemoryError as fault:
            raise self._exhausted(shape, dtype, str(fault)) from None

    def _exhausted(
        self, shape: tuple[int, ...], dtype: Any, reason: str
    ) -> errors.ResourceExhaustedError:
        pool = self._cupy.get_default_memory_pool()
        with self._cupy.cuda.Device(self._number):
            figures = f"{pool.used_bytes()} of the {pool.total_bytes()} bytes of its pool"
        size = math.prod(shape) * np.dtype(dtype).itemsize
        message = cpu.exhausted(shape, dtype, size).message
        return errors.ResourceExhaustedError(
            None, None, f"{message} on {self.name}, where arrays use {figures}. {reason}"
        )


def _take_memory(cupy: Any, number: int, options: config.GpuOptions) -> int:
    """Limit CuPy's pool on a GPU, unless it has a limit. Return the limit in bytes.

    As in TensorFlow, the first task of a process decides for all. Without `allow_growth`, the pool
    takes the memory at once, so that no other process does.
    """
    pool = cupy.get_default_memory_pool()
    with cupy.cuda.Device(number):
        if not pool.get_limit():
            free, total = cupy.cuda.runtime.memGetInfo()
            limit = gpu_options.memory_limit(total, free, options.memory_fraction)
            pool.set_limit(size=limit)
            if not gpu_options.grows(
                options.allow_growth, os.environ.get("TF_FORCE_GPU_ALLOW_GROWTH")
            ):
                # The pool keeps the memory. If the memory is in pieces, the pool grows instead.
                with contextlib.suppress(cupy.cuda.memory.OutOfMemoryError):
                    pool.malloc(limit)
        return int(pool.get_limit())


def _description(cupy: Any, number: int) -> str:
    """Return the description that TensorFlow gives a GPU."""
    facts = cupy.cuda.runtime.getDeviceProperties(number)
    bus = cupy.cuda.runtime.deviceGetPCIBusId(number).lower()
    return (
        f"device: {number}, name: {facts['name'].decode()}, pci bus id: {bus}, "
        f"compute capability: {facts['major']}.{facts['minor']}"
    )
