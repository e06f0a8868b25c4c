"""Kernels of discrete Fourier transforms (core/kernels/fft_ops.cc)."""

from collections.abc import Callable
from typing import Any

import numpy as np

from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid

_Make = Callable[[NodeContext], Function]


def _complex(rank: int, transform: Callable[..., Any]) -> _Make:
    axes = tuple(range(-rank, 0))

    def make(node: NodeContext) -> Function:
        dtype = node.output_dtypes[0].as_numpy_dtype

        def run(z: Array) -> Array:
            _check_rank(z, rank)
            if not z.size:
                return np.zeros(z.shape, dtype)
            return transform(z, axes=axes).astype(dtype, copy=False)  # type: ignore[no-any-return]

        return run

    return make


def _real(rank: int, transform: Callable[..., Any], is_forward: bool) -> _Make:
    axes = tuple(range(-rank, 0))

    def make(node: NodeContext) -> Function:
        dtype = node.output_dtypes[0].as_numpy_dtype

        def run(x: Array, lengths: Array) -> Array:
            _check_rank(x, rank)
            sizes = _sizes(lengths, rank)
            half = [*sizes[:-1], sizes[-1] // 2 + 1 if sizes[-1] else 0]
            read, written = (sizes, half) if is_forward else (half, sizes)
            _check_lengths(x, read)
            if not x.size or 0 in sizes:
                return np.zeros((*x.shape[:-rank], *written), dtype)
            places: Any = (..., *map(slice, read))
            return transform(x[places], sizes, axes).astype(dtype, copy=False)  # type: ignore[no-any-return]

        return run

    return make


def _check_rank(x: Array, rank: int) -> None:
    if x.ndim < rank:
        raise invalid(f"Input must have rank of at least {rank} but got: {show(x.shape)}")


def _sizes(lengths: Array, rank: int) -> list[int]:
    if lengths.shape != (rank,):
        raise invalid(f"fft_length must have shape [{rank}]")
    sizes: list[int] = lengths.tolist()
    for place, size in enumerate(sizes):
        if size < 0:
            raise invalid(f"fft_length[{place}] must >= 0, but got: {size}")
    return sizes


def _check_lengths(x: Array, read: list[int]) -> None:
    outer = x.ndim - len(read)
    for axis, least in enumerate(read, outer):
        if x.shape[axis] and x.shape[axis] < least:
            raise invalid(
                f"Input dimension {axis} must have length of at least {least} but got: "
                f"{x.shape[axis]}"
            )


for _rank, _suffix in ((1, ""), (2, "2D"), (3, "3D")):
    register(Kernel(f"FFT{_suffix}", _complex(_rank, np.fft.fftn)))
    register(Kernel(f"IFFT{_suffix}", _complex(_rank, np.fft.ifftn)))
    register(Kernel(f"RFFT{_suffix}", _real(_rank, np.fft.rfftn, is_forward=True)))
    register(Kernel(f"IRFFT{_suffix}", _real(_rank, np.fft.irfftn, is_forward=False)))
