"""TensorFlow 1's functions of complex numbers (python/ops/math_ops.py).

The real type of complex64 is float32, and that of complex128 is float64.
"""

from typing import Any

from capstan.api import math_ops
from capstan.api.scoped import scoped
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework.raw import raw

__all__ = ["angle", "complex", "conj", "imag", "real", "to_complex64", "to_complex128"]


def complex(real: Any, imag: Any, name: str | None = None) -> Any:
    """Return the complex numbers with these real and imaginary parts, which broadcast.

    Raises:
        TypeError: The parts are neither both float32 nor both float64.
        ValueError: The shapes do not broadcast.
    """
    with scoped(name, "Complex", (real, imag)) as scope:
        real = convert.convert_to_tensor(real, name="real")
        imag = convert.convert_to_tensor(imag, name="imag")
        kinds = (real.dtype.base_dtype, imag.dtype.base_dtype)
        if kinds == (dtypes.float64, dtypes.float64):
            return raw.Complex(real, imag, Tout=dtypes.complex128, name=scope)
        if kinds == (dtypes.float32, dtypes.float32):
            return raw.Complex(real, imag, Tout=dtypes.complex64, name=scope)
        raise TypeError(
            f"real and imag have incorrect types: {real.dtype.name} {imag.dtype.name}. "
            "Pass two tensors of float32, or two of float64."
        )


def real(input: Any, name: str | None = None) -> Any:
    """Return the real parts in the real type. Real numbers are returned as they are."""
    with scoped(name, "Real", (input,)) as scope:
        input = convert.convert_to_tensor(input, name="input")
        if not input.dtype.is_complex:
            return input
        return raw.Real(input, Tout=input.dtype.real_dtype, name=scope)


def imag(input: Any, name: str | None = None) -> Any:
    """Return the imaginary parts in the real type. They are 0 for real numbers."""
    return _of_complex(raw.Imag, input, "Imag", name)


def angle(input: Any, name: str | None = None) -> Any:
    """Return the angle of each complex number, from -pi to pi, in the real type.

    For real numbers, also negative ones, the result is 0.
    """
    return _of_complex(raw.Angle, input, "Angle", name)


def conj(x: Any, name: str | None = None) -> Any:
    """Return the complex conjugates. Real numbers are returned as they are.

    Raises:
        TypeError: `x` does not hold numbers.
    """
    with scoped(name, "Conj", (x,)) as scope:
        x = convert.convert_to_tensor(x, name="x")
        if x.dtype.is_complex:
            return raw.Conj(x, name=scope)
        if x.dtype.is_floating or x.dtype.is_integer:
            return x
        raise TypeError(f"Expected numeric or variant tensor, got dtype {x.dtype!r}")


def to_complex64(x: Any, name: str = "ToComplex64") -> Any:
    return math_ops.cast(x, dtypes.complex64, name)


def to_complex128(x: Any, name: str = "ToComplex128") -> Any:
    return math_ops.cast(x, dtypes.complex128, name)


def _of_complex(part: Any, input: Any, default: str, name: str | None) -> Any:
    with scoped(name, default, (input,)) as scope:
        input = convert.convert_to_tensor(input, name="input")
        if not input.dtype.is_complex:
            return raw.ZerosLike(input)
        return part(input, Tout=input.dtype.real_dtype, name=scope)
