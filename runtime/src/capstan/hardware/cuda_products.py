"""Products of matrices by NVIDIA's cuBLAS.

CuPy's own products refuse to be captured in a CUDA graph. cuBLAS itself can be (cuBLAS
documentation, "CUDA Graphs Support"), so products call its library, which CuPy has loaded.

CuPy makes a handle of cuBLAS for each thread, and a handle may take 32 MiB of the GPU (cuBLAS
documentation, `cublasSetWorkspace`). A task has dozens of threads, so all of them share one handle
of a GPU.
"""

import ctypes
import functools
import math
import threading
from typing import Any, Final

import numpy as np

from capstan.core.arrays import Array

_KINDS = {"float16": (2, 68), "float32": (0, 68), "float64": (1, 70), "bfloat16": (14, 68)}
"""The data type and the type of the sums (cudaDataType, cublasComputeType_t) of each dtype."""

_DEFAULT_ALGORITHM = -1
_NO_MEMORY = 3  # cublasStatus_t


class Products:
    """The products of matrices on one GPU. Thread-safe."""

    def __init__(self, cupy: Any, number: int) -> None:
        """`cupy` is the module, and `number` is CUDA's number of the GPU."""
        self._cupy = cupy
        with cupy.cuda.Device(number):
            self._handle = ctypes.c_void_p(cupy.cuda.cublas.create())
        self._lock = threading.Lock()

    def matmul(self, left: Array, right: Array, out: Array | None = None) -> Array:
        """Return `np.matmul(left, right, out)`, computed on the current stream.

        The arrays are matrices or batches of matrices, of one type that `multiplies` accepts.

        Raises:
            ValueError: the shapes do not fit.
            RuntimeError: cuBLAS failed.
        """
        cupy = self._cupy
        if left.shape[-1] != right.shape[-2]:
            raise ValueError(f"cannot multiply shapes {left.shape} and {right.shape}")
        batch = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
        shape = (*batch, left.shape[-2], right.shape[-1])
        is_fit = _is_fit(cupy, out, shape, left, right)
        result: Any = out if is_fit else cupy.empty(shape, left.dtype)
        if not left.shape[-1]:
            result[...] = 0
        elif result.size:
            self._multiply(_flat(cupy, left, batch), _flat(cupy, right, batch), result)
        if out is None or result is out:
            return result  # type: ignore[no-any-return]
        cupy.copyto(out, result)
        return out

    def _multiply(self, left: Any, right: Any, result: Any) -> None:
        cupy = self._cupy
        data_type, compute_type = _KINDS[result.dtype.name]
        rows, columns = result.shape[-2:]
        # cuBLAS counts by columns: it sees each array transposed, so the factors change places.
        first, turn_first, first_width = _operand(cupy, right)
        second, turn_second, second_width = _operand(cupy, left)
        number = ctypes.c_double if compute_type == 70 else ctypes.c_float
        one, zero = number(1), number(0)
        library = _library()
        stream = ctypes.c_void_p(cupy.cuda.get_current_stream().ptr)
        with self._lock:
            _check(library.cublasSetStream_v2(self._handle, stream))
            status = library.cublasGemmStridedBatchedEx(
                *(self._handle, turn_first, turn_second, columns, rows, left.shape[-1]),
                *(ctypes.byref(one), _pointer(first), data_type, first_width, _stride(first)),
                *(_pointer(second), data_type, second_width, _stride(second)),
                *(ctypes.byref(zero), _pointer(result), data_type, columns),
                *(ctypes.c_longlong(rows * columns), result.size // (rows * columns)),
                *(compute_type, _DEFAULT_ALGORITHM),
            )
        _check(status)


_OF_GPUS: Final[dict[tuple[Any, int], Products]] = {}
_CREATION: Final = threading.Lock()


def of(cupy: Any, number: int) -> Products:
    """Return the products of a GPU, which all devices of the process on it share. Thread-safe."""
    found = _OF_GPUS.get((cupy, number))
    if found is None:
        with _CREATION:  # Threads that come at once must not create a handle each.
            found = _OF_GPUS.get((cupy, number)) or Products(cupy, number)
            _OF_GPUS[cupy, number] = found
    return found


def multiplies(left: Array, right: Array) -> bool:
    """Return whether `Products.matmul` accepts arrays of such types and dimensions."""
    is_known = left.dtype.name in _KINDS and left.dtype == right.dtype
    return is_known and min(left.ndim, right.ndim) >= 2


def _is_fit(cupy: Any, out: Any, shape: tuple[int, ...], *factors: Any) -> bool:
    """Return whether cuBLAS can write the product to `out` while it reads the factors."""
    if out is None or out.shape != shape or out.dtype != factors[0].dtype:
        return False
    return bool(out.flags.c_contiguous) and not any(
        cupy.may_share_memory(out, factor) for factor in factors
    )


def _flat(cupy: Any, matrices: Any, batch: tuple[int, ...]) -> Any:
    """Return a single matrix, or a batch with one axis before those of its matrices."""
    sizes = matrices.shape[-2:]
    if math.prod(matrices.shape[:-2]) == 1:
        return matrices.reshape(sizes)
    return cupy.broadcast_to(matrices, (*batch, *sizes)).reshape(-1, *sizes)


def _operand(cupy: Any, matrices: Any) -> tuple[Any, int, int]:
    """Return the array, whether cuBLAS shall transpose it, and the length of its rows in memory."""
    height, width = matrices.shape[-2:]
    if matrices.swapaxes(-1, -2).flags.c_contiguous and not matrices.flags.c_contiguous:
        return matrices, 1, height
    return cupy.ascontiguousarray(matrices), 0, width


def _pointer(array: Any) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.data.ptr)


def _stride(matrices: Any) -> ctypes.c_longlong:
    """Return the number of elements from one matrix to the next. One matrix serves for all."""
    return ctypes.c_longlong(0 if matrices.ndim == 2 else math.prod(matrices.shape[-2:]))


def _check(status: int) -> None:
    if status == _NO_MEMORY:
        # As CuPy says it, so that `errors.from_exception` returns a ResourceExhaustedError.
        raise RuntimeError("CUBLAS_STATUS_ALLOC_FAILED")
    if status:
        raise RuntimeError(f"cuBLAS failed with status {status} (cublasStatus_t)")


@functools.cache
def _library() -> ctypes.CDLL:
    from cuda import pathfinder

    return ctypes.CDLL(pathfinder.load_nvidia_dynamic_lib("cublas").abs_path)
