"""`tf.compat`: conversions between text and bytes (python/util/compat.py).

`tf.compat.v1` is `tf` itself, so a script that uses TensorFlow 2's compatibility names runs too.
"""

import contextlib
import contextvars
import datetime as dt
import numbers
import os
import sys
from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from capstan.api.absent import absent
from capstan.core import tensor_shape

integral_types = (numbers.Integral, np.integer)
real_types = (numbers.Real, np.integer, np.floating)
complex_types = (numbers.Complex, np.number)
bytes_or_text_types = (bytes, str)

_DEFAULT_HORIZON: Final = dt.date(2019, 8, 21)
_HORIZON: Final[contextvars.ContextVar[dt.date | None]] = contextvars.ContextVar(
    "forward_compatibility_horizon", default=None
)


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


def path_to_str(path: Any) -> Any:
    """Return the text of a path object (`os.PathLike`). Return any other value unchanged."""
    return as_str_any(os.fspath(path)) if isinstance(path, os.PathLike) else path


def forward_compatible(year: int, month: int, day: int) -> bool:
    """Return whether graphs may have what TensorFlow had at a date.

    The horizon is that of TensorFlow 1.15, 21 August 2019, or that of the innermost
    `forward_compatibility_horizon`. The environment variable TF_FORWARD_COMPATIBILITY_DELTA_DAYS
    moves the former by days.
    """
    horizon = _HORIZON.get()
    if horizon is None:
        days = int(os.environ.get("TF_FORWARD_COMPATIBILITY_DELTA_DAYS") or 0)
        horizon = _DEFAULT_HORIZON + dt.timedelta(days)
    return (horizon.year, horizon.month, horizon.day) > (year, month, day)


@contextlib.contextmanager
def forward_compatibility_horizon(year: int, month: int, day: int) -> Iterator[None]:
    """Use another date in `forward_compatible`, in the block and in this thread."""
    token = _HORIZON.set(dt.date(year, month, day))
    try:
        yield
    finally:
        _HORIZON.reset(token)


def __getattr__(name: str) -> Any:
    if name == "v1":
        return sys.modules["capstan"]
    if name in ("dimension_at_index", "dimension_value"):
        return getattr(tensor_shape, name)
    raise absent("tf.compat", name)
