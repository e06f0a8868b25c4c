"""The kernels of elementwise programs and of programs along rows (`core.row_programs`) on GPUs."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from capstan.core import elementwise, row_programs
from capstan.core.arrays import Array
from capstan.hardware import cuda_text, device

MOST_INPUTS = 40
"""The inputs of one kernel. CUDA takes 4 KiB of arguments, which are some 50 arrays of 4 axes."""

_WIDE_ELEMENTS = 1 << 16
"""Fewer elements do not keep a GPU busy, whichever kernel computes them. The number is a guess."""


_BLOCK = 128
"""The number of threads in a block that computes short rows."""

_MOST_LANES = 512
"""The largest number of threads that compute one row. All of them are in one block, and a larger
block may need more registers than a GPU has."""

_LONGEST_ROW = 1 << 17
"""More columns keep a whole GPU busy, so the functions run one by one. The number is a guess."""


def compiled(cupy: Any, program: elementwise.Program) -> device.Compiled:
    """Return the function that runs a program (`Device.compile`).

    A kernel is compiled in its first call. Long vectors have a kernel of their own, which uses the
    bandwidth of the memory better.
    """
    general = _kernel(cupy, cuda_text.write(program))
    wide = functools.cache(lambda *scalars: _kernel(cupy, cuda_text.write_wide(program, scalars)))
    has_positions = any(call.function == elementwise.POSITIONS for call in program.calls)

    def run(inputs: Sequence[Array], out: Sequence[Array] = ()) -> tuple[Array, ...]:
        scalars = () if has_positions else _scalars(inputs, out)
        if not scalars:
            return _tuple(general(*inputs, *out))
        results = tuple(out)
        if not results:
            shape = inputs[scalars.index(False)].shape
            results = tuple(cupy.empty(shape, dtype) for dtype in program.result_dtypes)
        vectors = [each.reshape(-1) for each in (*inputs, *results)]
        wide(*scalars)(*vectors, size=vectors[-1].size // cuda_text.WIDTH)
        return results

    return run


def compiled_rows(cupy: Any, program: row_programs.Program) -> device.Compiled:
    """Return the function that runs a program along rows (`Device.compile_rows`).

    There is a kernel for each number of threads that compute a row. Short rows have few.
    """

    @functools.cache
    def kernel(lanes: int, block: int) -> Callable[..., Any]:
        return _kernel(cupy, cuda_text.write_rows(program, lanes, block))

    is_of_row = program.is_of_row()
    matrix = is_of_row.index(False)

    def run(inputs: Sequence[Array], out: Sequence[Array] = ()) -> tuple[Array, ...]:
        rows, columns = inputs[matrix].shape
        if columns > _LONGEST_ROW:
            return program.run(inputs, out)
        results = tuple(out) or tuple(
            cupy.empty((rows, 1 if is_of_row[register] else columns), dtype)
            for register, dtype in zip(program.results, program.result_dtypes, strict=True)
        )
        lanes = min(_MOST_LANES, 1 << (columns - 1).bit_length())
        block = max(lanes, _BLOCK)
        size = -(-rows * lanes // block) * block
        kernel(lanes, block)(*inputs, rows, columns, *results, size=size, block_size=block)
        return results

    return run


def _kernel(cupy: Any, text: cuda_text.Text) -> Callable[..., Any]:
    kernel: Callable[..., Any] = cupy.ElementwiseKernel(
        text.inputs, text.results, text.body, "capstan_elementwise"
    )
    return kernel


def _scalars(inputs: Sequence[Array], out: Sequence[Array]) -> tuple[bool, ...]:
    """Return which inputs have no dimensions, or () if the wide kernel does not fit the arrays."""
    arrays = (*inputs, *out)
    if any(isinstance(array, np.ndarray | np.generic) for array in arrays):
        return ()
    largest = max(arrays, key=lambda array: array.size)
    if largest.size < _WIDE_ELEMENTS or largest.size % cuda_text.WIDTH:
        return ()
    vectors = [array for array in arrays if array.ndim]
    if any(array.shape != largest.shape or not _is_whole(array) for array in vectors):
        return ()
    return tuple(not array.ndim for array in inputs)


def _is_whole(array: Any) -> bool:
    """Return whether a thread can read neighbours of an array of a GPU by one instruction."""
    is_aligned: bool = array.data.ptr % (cuda_text.WIDTH * array.itemsize) == 0
    return is_aligned and array.flags.c_contiguous


def _tuple(results: Any) -> tuple[Array, ...]:
    return results if isinstance(results, tuple) else (results,)
