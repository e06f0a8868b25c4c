"""Maps from tensors to tensors (core/kernels/tensor_map.h).

A map is a value: an operation on it returns another map.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from capstan.core import dtypes
from capstan.core.arrays import Array
from capstan.resources import variant

Key = tuple[str, tuple[int, ...], bytes | tuple[bytes, ...]]
"""The type, the shape and the elements of a tensor."""


def key_of(tensor: Any) -> Key:
    """Return what equal tensors have in common."""
    array = np.asarray(tensor)
    strings = array.dtype == object
    content = tuple(array.ravel().tolist()) if strings else array.tobytes()
    return array.dtype.str, array.shape, content


class Entry(NamedTuple):
    """A key, its value, and the dtype of the value. Nothing changes the arrays."""

    key: Array
    value: Any
    dtype: dtypes.DType


class TensorMap(variant.Variant):
    """The entries of the keys."""

    __slots__ = ("entries",)
    type_name: ClassVar[str] = "tensorflow::TensorMap"

    def __init__(self, entries: Mapping[Key, Entry] | None = None) -> None:
        self.entries = dict(entries or {})

    def zeros_like(self) -> "TensorMap":
        return TensorMap()

    def plus(self, other: variant.Variant) -> "TensorMap":
        """Return the entries of both maps. The values of a common key are added."""
        assert isinstance(other, TensorMap)
        found = dict(self.entries)
        for key, entry in other.entries.items():
            known = found.get(key)
            if known is not None:
                entry = entry._replace(value=variant.added(known.value, entry.value))
            found[key] = entry
        return TensorMap(found)

    def parts(self) -> tuple[bytes, Sequence[tuple[Any, dtypes.DType]]]:
        tensors: list[tuple[Any, dtypes.DType]] = []
        for entry in self.entries.values():
            kind = dtypes.as_dtype(entry.key.dtype)
            tensors += [(entry.key, kind), (entry.value, entry.dtype)]
        return b"", tensors


def from_parts(tensors: Sequence[Any], types: Sequence[dtypes.DType]) -> TensorMap:
    """Return the map whose keys and values follow each other in `tensors`.

    Raises:
        ValueError: a key has no value.
    """
    pairs = zip(tensors[::2], tensors[1::2], types[1::2], strict=True)
    entries = [Entry(np.asarray(key), value, dtype) for key, value, dtype in pairs]
    return TensorMap({key_of(entry.key): entry for entry in entries})
