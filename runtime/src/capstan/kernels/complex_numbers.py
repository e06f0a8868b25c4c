"""Kernels of the ops that make complex numbers and take them apart."""

from collections.abc import Callable
from typing import Any

import numpy as np

from capstan.core.arrays import Array
from capstan.kernels.registry import Function, Kernel, NodeContext, register


def _complex(node: NodeContext) -> Function:
    dtype = node.output_dtypes[0].as_numpy_dtype

    def join(real: Array, imag: Array) -> Any:
        out = np.empty(np.broadcast_shapes(real.shape, imag.shape), dtype)
        # A sum real + 1j * imag would spoil infinite parts and the signs of zeros.
        out.real = real
        out.imag = imag
        return out

    return join


def _part(take: Callable[[Any], Any]) -> Callable[[NodeContext], Function]:
    def make(node: NodeContext) -> Function:
        dtype = node.output_dtypes[0].as_numpy_dtype

        def part(z: Array) -> Any:
            # A part is a view, and the result must not share memory with the operand.
            return np.array(take(z), dtype)

        return part

    return make


register(Kernel("Complex", _complex))
register(Kernel("Angle", _part(np.angle)))
register(Kernel("ComplexAbs", _part(np.absolute)))
register(Kernel("Conj", _part(np.conjugate)))
register(Kernel("Imag", _part(np.imag)))
register(Kernel("Real", _part(np.real)))
