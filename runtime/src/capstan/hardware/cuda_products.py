"""Products of matrices in a CUDA graph, and of bfloat16, by NVIDIA's cuBLAS.

CuPy's own products refuse to be captured. cuBLAS itself can be (cuBLAS documentation, "CUDA Graphs
Support"), so the captured products call its library. CuPy has loaded it, and keeps its handles.
"""

import ctypes
import functools
import math
from typing import Any

import numpy as np

from capstan.core.arrays import Array

_KINDS = {"float16": (2, 68), "float32": (0, 68), "float64": (1, 70), "bfloat16": (14, 68)}
"""The data type and the type of the sums (cudaDataType, cublasComputeType_t) of each dtype."""

_DEFAULT_ALGORITHM = -1
_NO_MEMORY = 3  # cublasStatus_t


def matmul(cupy: Any, left: Array, right: Array, out: Array | None = None) -> Array:
    """Return `np.matmul(left, right, out)`, computed on the current stream.

    The arrays are matrices or batches of matrices, of one type.

    Raises:
        TypeError: cuBLAS does not multiply arrays of these types.
        ValueError: the arrays are no matrices or batches of matrices, or do not fit.
        RuntimeError: cuBLAS failed.
    """
    kind = _KINDS.get(left.dtype.name)
    if kind is None or left.dtype != right.dtype:
        raise TypeError(f"cuBLAS has no product of {left.dtype} and {right.dtype}")
    if min(left.ndim, right.ndim) < 2 or left.shape[-1] != right.shape[-2]:
        raise ValueError(f"cannot multiply shapes {left.shape} and {right.shape}")
    batch = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    shape = (*batch, left.shape[-2], right.shape[-1])
    is_fit = _is_fit(cupy, out, shape, left, right)
    result: Any = out if is_fit else cupy.empty(shape, left.dtype)
    if not left.shape[-1]:
        result[...] = 0
    elif result.size:
        _multiply(cupy, _flat(cupy, left, batch), _flat(cupy, right, batch), result, kind)
    if out is None or result is out:
        return result  # type: ignore[no-any-return]
    cupy.copyto(out, result)
    return out


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


def _multiply(cupy: Any, left: Any, right: Any, result: Any, kind: tuple[int, int]) -> None:
    data_type, compute_type = kind
    rows, columns = result.shape[-2:]
    # cuBLAS counts by columns: it sees each array transposed, so the factors change places.
    first, turn_first, first_width = _operand(cupy, right)
    second, turn_second, second_width = _operand(cupy, left)
    number = ctypes.c_double if compute_type == 70 else ctypes.c_float
    one, zero = number(1), number(0)
    handle = ctypes.c_void_p(cupy.cuda.device.get_cublas_handle())
    library = _library()
    stream = ctypes.c_void_p(cupy.cuda.get_current_stream().ptr)
    _check(library.cublasSetStream_v2(handle, stream))
    _check(
        library.cublasGemmStridedBatchedEx(
            *(handle, turn_first, turn_second, columns, rows, left.shape[-1], ctypes.byref(one)),
            *(_pointer(first), data_type, first_width, _stride(first)),
            *(_pointer(second), data_type, second_width, _stride(second)),
            *(ctypes.byref(zero), _pointer(result), data_type, columns),
            *(ctypes.c_longlong(rows * columns), result.size // (rows * columns)),
            *(compute_type, _DEFAULT_ALGORITHM),
        )
    )


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
