"""Kernels of discrete Fourier transforms along any axes (core/kernels/fft_ops.cc)."""

from collections.abc import Callable
from typing import Any

import numpy as np

from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid


def _transform(function: Callable[..., Any]) -> Callable[[NodeContext], Function]:
    def make(node: NodeContext) -> Function:
        dtype = node.output_dtypes[0].as_numpy_dtype

        def run(x: Array, lengths: Array, axes: Array) -> Any:
            if axes.ndim != 1 or lengths.shape != axes.shape:
                raise invalid(
                    "fft_length and axes must be vectors of one length, got "
                    f"{show(lengths.shape)} and {show(axes.shape)}"
                )
            places = axes.tolist()
            if any(not -x.ndim <= axis < x.ndim for axis in places):
                raise invalid(f"axes must be in [{-x.ndim}, {x.ndim}), got {places}")
            if len({axis % x.ndim for axis in places}) < len(places):
                raise invalid(f"axes must be distinct, got {places}")
            if any(length < 1 for length in lengths.tolist()):
                raise invalid(f"fft_length must be above 0, got {lengths.tolist()}")
            return function(x, lengths.tolist(), places).astype(dtype, copy=False)

        return run

    return make


register(Kernel("FFTND", _transform(np.fft.fftn)))
register(Kernel("IFFTND", _transform(np.fft.ifftn)))
register(Kernel("RFFTND", _transform(np.fft.rfftn)))
register(Kernel("IRFFTND", _transform(np.fft.irfftn)))
