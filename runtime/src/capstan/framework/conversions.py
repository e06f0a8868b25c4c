"""Conversions that programs register: `tf.register_tensor_conversion_function`
(python/framework/ops.py).
"""

import bisect
import operator
from collections.abc import Callable
from typing import Any, Final

from capstan.framework import graph as graphs

Conversion = Callable[..., Any]
"""`f(value, dtype=None, name=None, as_ref=False)` returns a Tensor or NotImplemented."""
_OF_CAPSTAN: Final = 100
_FALLBACK: Final = 200

REGISTERED: Final[list[tuple[int, Any, Conversion]]] = []
"""(priority, type or tuple of types, function), those of the lowest priority first."""


def register_tensor_conversion_function(
    base_type: type | tuple[type, ...], conversion_func: Conversion, priority: int = 100
) -> None:
    """Make the objects of a type convertible to tensors, wherever a tensor is expected.

    `conversion_func(value, dtype=None, name=None, as_ref=False)` returns a tensor, of `dtype` if
    that is given, or NotImplemented. Then the next function is tried. The function with the lowest
    `priority` comes first, and among equals the one that was registered first. Capstan's own
    conversions of lists, arrays and variables have priority 100. Those of all other objects have
    200. Tensors are never converted.

    Raises:
        TypeError: `base_type` is not a type or tuple of types, or `conversion_func` is not
            callable.
    """
    types = base_type if isinstance(base_type, tuple) else (base_type,)
    if not all(isinstance(each, type) for each in types):
        raise TypeError("base_type must be a type or a tuple of types.")
    if not callable(conversion_func):
        raise TypeError("conversion_func must be callable.")
    entry = (priority, base_type, conversion_func)
    bisect.insort(REGISTERED, entry, key=operator.itemgetter(0))


def apply(
    value: Any, dtype: Any, name: str | None, *, as_ref: bool, is_known: bool
) -> graphs.Tensor | None:
    """Return what the first registered function makes of `value`, or None if none fits it.

    `is_known` says that Capstan converts the type of the value with priority 100.

    Raises:
        RuntimeError: a function returns no tensor, or a tensor of another type than `dtype`.
    """
    if not REGISTERED:
        return None
    limit = _OF_CAPSTAN if is_known else _FALLBACK
    # Another thread may register a function meanwhile.
    for priority, base_type, function in tuple(REGISTERED):
        if priority >= limit or not isinstance(value, base_type):
            continue
        found = function(value, dtype=dtype, name=name, as_ref=as_ref)
        if found is NotImplemented:
            continue
        about = f"Conversion function {function!r} for type {base_type}"
        if not isinstance(found, graphs.Tensor):
            raise RuntimeError(f"{about} returned non-Tensor: {found!r}")  # noqa: TRY004
        if dtype is not None and not dtype.is_compatible_with(found.dtype):
            raise RuntimeError(
                f"{about} returned incompatible dtype: requested = {dtype.base_dtype.name}, "
                f"actual = {found.dtype.base_dtype.name}"
            )
        return found
    return None
