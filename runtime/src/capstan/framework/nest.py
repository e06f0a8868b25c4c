"""Nested structures of lists, tuples, dicts and IndexedSlices (python/util/nest.py).

The values of a dict are in the order of its sorted keys. Any other value is a leaf.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from capstan.framework import indexed_slices


def is_nested(value: Any) -> bool:
    """Return whether `value` is a structure, and not a leaf."""
    return _parts(value) is not None


def flatten(structure: Any) -> list[Any]:
    """Return the leaves, in order.

    >>> flatten({"b": (1, [2]), "a": 3})
    [3, 1, 2]
    """
    parts = _parts(structure)
    if parts is None:
        return [structure]
    return [leaf for part in parts for leaf in flatten(part)]


def mapped(function: Callable[[Any], Any], structure: Any) -> Any:
    """Return the structure with each leaf replaced by `function(leaf)`.

    >>> mapped(str, {"a": [1, (2,)]})
    {'a': ['1', ('2',)]}
    """
    parts = _parts(structure)
    if parts is None:
        return function(structure)
    return _like(structure, [mapped(function, part) for part in parts])


def packed(structure: Any, leaves: Sequence[Any]) -> Any:
    """Return the structure with its leaves replaced by `leaves`, in order."""
    rest: Iterator[Any] = iter(leaves)
    return mapped(lambda leaf: next(rest), structure)


def check_same(one: Any, other: Any) -> None:
    """Check that two structures differ only in their leaves.

    Raises:
        TypeError: a sequence or dict has another type.
        ValueError: a structure has another number of parts or other keys.
    """
    differ = f"The two structures don't have the same nested structure: {one!r} and {other!r}."
    parts, others = _parts(one), _parts(other)
    if parts is None and others is None:
        return
    if parts is None or others is None or len(parts) != len(others):
        raise ValueError(differ)
    if type(one) is not type(other):
        raise TypeError(f"{differ} One is a {type(one).__name__}, not a {type(other).__name__}.")
    if isinstance(one, Mapping) and one.keys() != other.keys():
        raise ValueError(f"{differ} They have different keys.")
    for part, other_part in zip(parts, others, strict=True):
        check_same(part, other_part)


def _parts(structure: Any) -> list[Any] | None:
    if isinstance(structure, Mapping):
        return [structure[key] for key in sorted(structure)]
    if isinstance(structure, indexed_slices.IndexedSlices):
        return indexed_slices.parts(structure)
    return list(structure) if isinstance(structure, list | tuple) else None


def _like(structure: Any, parts: Sequence[Any]) -> Any:
    if isinstance(structure, Mapping):
        by_key = dict(zip(sorted(structure), parts, strict=True))
        return type(structure)((key, by_key[key]) for key in structure)  # type: ignore[call-arg]
    if isinstance(structure, indexed_slices.IndexedSlices) or hasattr(structure, "_fields"):
        return type(structure)(*parts)
    return type(structure)(parts)
