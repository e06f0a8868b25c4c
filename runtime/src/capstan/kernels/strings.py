"""Kernels of elementwise ops on strings."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from capstan.core import attr_value, dtypes
from capstan.core.arrays import Array
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid


def _as_string(node: NodeContext) -> Function:
    dtype = node.attrs["T"]
    write = _formatter(node.attrs, dtype)
    if dtype is dtypes.string:
        return _elementwise(lambda string: write(string.decode(errors="replace")), object)
    if dtype is dtypes.bool_:
        return _elementwise(lambda value: b"true" if value else b"false", object)
    return _elementwise(write, object)


def _formatter(attrs: Any, dtype: dtypes.DType) -> Callable[[Any], bytes]:
    """Return a function that formats one element as C's printf does, with the node's flags.

    It takes a number, or a text if the dtype is that of strings.
    """
    _check_flags(attrs, dtype)
    fill, width, precision = attr_value.text(attrs["fill"]), attrs["width"], attrs["precision"]
    size = str(width) if width > -1 else ""
    size += f".{precision}" if precision > -1 else ""
    letter = "e" if attrs["scientific"] else "g" if attrs["shortest"] else "f"
    if dtype is dtypes.string:
        return lambda text: (f"%{fill}{size}s" % text).encode()
    if not (dtype.is_floating or dtype.is_complex):
        return f"%{fill}{size}d".encode().__mod__
    # Without a function of Python around it, a format takes half the time.
    write = f"%{fill}{size}{letter}".encode().__mod__
    if fill == "0":
        write = _with_blanks(write, f"%{size}{letter}".encode().__mod__)
    if dtype.is_complex:
        return lambda value: b"(%b,%b)" % (write(value.real), write(value.imag))
    return write


def _check_flags(attrs: Any, dtype: dtypes.DType) -> None:
    fill = attr_value.text(attrs["fill"])
    if len(fill) > 1:
        raise invalid("Fill string must be one or fewer characters")
    if fill not in ("", " ", "+", "-", "0", "#"):
        raise invalid(f'Fill argument not supported: "{fill}"')
    if attrs["scientific"] and attrs["shortest"]:
        raise invalid("Cannot select both scientific and shortest notation")
    if not (dtype.is_floating or dtype.is_complex):
        if attrs["scientific"] or attrs["shortest"]:
            raise invalid(f"scientific and shortest format not supported for datatype {dtype.name}")
        if attrs["precision"] >= 0:
            raise invalid(f"precision not supported for datatype {dtype.name}")


def _with_blanks(
    write: Callable[[Any], bytes], write_blanks: Callable[[Any], bytes]
) -> Callable[[Any], bytes]:
    """Return `write`, but with blanks before infinities and NaN, as C writes them."""
    return lambda value: write(value) if math.isfinite(value) else write_blanks(value)


def _elementwise(function: Callable[[Any], Any], dtype: type[Any]) -> Function:
    def run(x: Array) -> Array:
        array = np.asarray(x)
        out = np.empty(array.size, dtype)
        out[:] = list(map(function, array.ravel().tolist()))
        return out.reshape(array.shape)

    return run


register(Kernel("AsString", _as_string))
