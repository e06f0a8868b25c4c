"""Numbers in strings, as TensorFlow's kernels read them (core/lib/strings/numbers.cc)."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from capstan.core import dtypes

_LIMITS = {dtypes.int32: 1 << 31, dtypes.int64: 1 << 63}


def _integer(limit: int) -> Callable[[bytes], int]:
    def parse(text: bytes) -> int:
        number = int(text)
        if not -limit <= number < limit or b"_" in text:
            raise ValueError(f"{text!r} is out of range")
        return number

    return parse


def _float64(text: bytes) -> float:
    if b"_" in text:
        raise ValueError("Python's digit groups are not numbers")
    return float.fromhex(text.decode()) if b"x" in text.lower() else float(text)


def all_of(dtype: dtypes.DType, texts: Sequence[bytes]) -> list[Any] | None:
    """Return the numbers in strings, as `PARSERS` reads them. It takes less time for many strings.

    Return None if the strings have to be read one by one, for example because one is not a number.
    """
    joined = b"".join(texts)
    if b"_" in joined or b"x" in joined or b"X" in joined:
        return None
    try:
        if dtype not in _LIMITS:
            return list(map(float, texts))
        numbers = list(map(int, texts))
    except ValueError:
        return None
    limit = _LIMITS[dtype]
    is_small = -limit <= min(numbers, default=0) and max(numbers, default=0) < limit
    return numbers if is_small else None


PARSERS: Mapping[dtypes.DType, Callable[[bytes], int | float]] = {
    dtypes.float32: _float64,
    dtypes.float64: _float64,
    **{dtype: _integer(limit) for dtype, limit in _LIMITS.items()},
}
"""Return the number in a string, which white space may surround. Raise ValueError if it is none."""
