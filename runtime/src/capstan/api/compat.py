"""`tf.compat`: conversions between text and bytes (python/util/compat.py).

`tf.compat.v1` is `tf` itself, so a script that uses TensorFlow 2's compatibility names runs too.
"""

import numbers
import sys
from typing import Any

import numpy as np

from capstan.api.absent import absent
from capstan.core import tensor_shape

integral_types = (numbers.Integral, np.integer)
real_types = (numbers.Real, np.integer, np.floating)
complex_types = (numbers.Complex, np.number)
bytes_or_text_types = (bytes, str)


def as_bytes(bytes_or_text: Any, encoding: str = "utf-8") -> bytes:
    """Encode text. Return bytes unchanged.

    Raises:
        TypeError: the argument is neither text nor bytes.
    """
    if isinstance(bytes_or_text, str):
        return bytes_or_text.encode(encoding)
    if isinstance(bytes_or_text, bytes | bytearray):
        return bytes(bytes_or_text)
    raise TypeError(f"Expected binary or unicode string, got {bytes_or_text!r}")


def as_text(bytes_or_text: Any, encoding: str = "utf-8") -> str:
    """Decode bytes. Return text unchanged.

    Raises:
        TypeError: the argument is neither text nor bytes.
    """
    if isinstance(bytes_or_text, str):
        return bytes_or_text
    if isinstance(bytes_or_text, bytes | bytearray):
        return bytes(bytes_or_text).decode(encoding)
    raise TypeError(f"Expected binary or unicode string, got {bytes_or_text!r}")


as_str = as_text


def as_str_any(value: Any) -> str:
    """Decode bytes. Convert any other value with `str`."""
    return as_text(value) if isinstance(value, bytes) else str(value)


def __getattr__(name: str) -> Any:
    if name == "v1":
        return sys.modules["capstan"]
    if name in ("dimension_at_index", "dimension_value"):
        return getattr(tensor_shape, name)
    raise absent("tf.compat", name)
