"""Nested structures of lists, tuples and dicts (python/util/nest.py).

The values of a dict are in the order of its sorted keys. A view of a dict, such as `dict.values()`,
is a list in the order of the view. Any other value is a leaf. An IndexedSlices or a SparseTensor is
a leaf too, unless `composites` is true: then it is a structure of its tensors.
"""

from collections import defaultdict
from collections.abc import (
    Callable,
    ItemsView,
    Iterable,
    Iterator,
    KeysView,
    Mapping,
    Sequence,
    ValuesView,
)
from typing import Any

from capstan.framework import composite


def is_nested(value: Any, *, composites: bool = False) -> bool:
    """Return whether `value` is a structure, and not a leaf."""
    return _parts(value, composites) is not None


def flatten(structure: Any, *, composites: bool = False) -> list[Any]:
    """Return the leaves, in order.

    >>> flatten({"b": (1, [2]), "a": 3})
    [3, 1, 2]
    """
    parts = _parts(structure, composites)
    if parts is None:
        return [structure]
    return [leaf for part in parts for leaf in flatten(part, composites=composites)]


def mapped(function: Callable[[Any], Any], structure: Any, *, composites: bool = False) -> Any:
    """Return the structure with each leaf replaced by `function(leaf)`.

    >>> mapped(str, {"a": [1, (2,)]})
    {'a': ['1', ('2',)]}
    """
    parts = _parts(structure, composites)
    if parts is None:
        return function(structure)
    return like(structure, [mapped(function, part, composites=composites) for part in parts])


def packed(structure: Any, leaves: Sequence[Any], *, composites: bool = False) -> Any:
    """Return the structure with its leaves replaced by `leaves`, in order."""
    rest: Iterator[Any] = iter(leaves)
    return mapped(lambda leaf: next(rest), structure, composites=composites)


def check_same(one: Any, other: Any, *, check_types: bool = True, composites: bool = False) -> None:
    """Check that two structures differ only in their leaves.

    Two dicts, and two namedtuples with the same name and fields, have the same type. Without
    `check_types`, only the numbers of parts and the keys matter.

    Raises:
        TypeError: a sequence or dict has another type.
        ValueError: a structure has another number of parts or other keys.
    """
    fault = _difference(one, other, check_types, composites)
    if fault is not None:
        raise type(fault)(
            "The two structures don't have the same nested structure.\n\nFirst structure: "
            f"{_described(one)}\n\nSecond structure: {_described(other)}\n\nMore specifically: "
            f"{fault}\nEntire first structure:\n{mapped(_dot, one)}\nEntire second structure:\n"
            f"{mapped(_dot, other)}"
        )


def _difference(
    one: Any, other: Any, check_types: bool, composites: bool
) -> TypeError | ValueError | None:
    """Return the error for the first difference between two structures, or None."""
    parts, others = _parts(one, composites), _parts(other, composites)
    if parts is None and others is None:
        return None
    if parts is None or others is None:
        nested, leaf = (one, other) if others is None else (other, one)
        return ValueError(
            f'Substructure "{_described(nested)}" is a sequence, while substructure '
            f'"{_described(leaf)}" is not'
        )
    if check_types and not _have_same_type(one, other):
        return TypeError(
            "The two structures don't have the same sequence type. First structure has type "
            f"{type(one).__name__}, while second structure has type {type(other).__name__}."
        )
    if isinstance(one, Mapping) and isinstance(other, Mapping) and one.keys() != other.keys():
        return ValueError(
            "The two dictionaries don't have the same set of keys. First structure has keys "
            f"{sorted(one)}, while second structure has keys {sorted(other)}."
        )
    for part, other_part in zip(parts, others, strict=False):
        fault = _difference(part, other_part, check_types, composites)
        if fault is not None:
            return fault
    if len(parts) != len(others):
        return ValueError(
            "The two structures don't have the same number of elements. First structure: "
            f"{_described(one)}. Second structure: {_described(other)}"
        )
    return None


def _have_same_type(one: Any, other: Any) -> bool:
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return True
    if _is_named(one) and _is_named(other):
        return type(one).__name__ == type(other).__name__ and one._fields == other._fields
    return type(one) is type(other)


class _Dot:
    """A leaf in the text of an error, which shows structures without their leaves."""

    def __repr__(self) -> str:
        return "."


def _dot(leaf: Any) -> _Dot:
    return _Dot()


def _described(value: Any) -> str:
    return f"type={type(value).__name__} str={value}"


def items(structure: Any, *, composites: bool = False) -> list[tuple[Any, Any]] | None:
    """Return the key, field or position of each part of a structure, and the part, in order.

    Returns None for a leaf.

    >>> items({"b": 1, "a": (2, 3)})
    [('a', (2, 3)), ('b', 1)]
    """
    parts = _parts(structure, composites)
    if parts is None:
        return None
    keys: Iterable[Any] = range(len(parts))
    if isinstance(structure, Mapping):
        keys = _sorted(structure)
    elif is_attrs(structure):
        keys = _attrs(structure)
    elif _is_named(structure):
        keys = structure._fields
    return list(zip(keys, parts, strict=True))


def is_like(value: Any, sample: Any) -> bool:
    """Return whether a structure has the type of `sample`, or one that is derived from it."""
    return isinstance(value, type(sample)) or _have_same_type(value, sample)


def is_attrs(value: Any) -> bool:
    """Return whether `value` is an instance of a class that the package attrs made."""
    return hasattr(type(value), "__attrs_attrs__")


def _attrs(value: Any) -> list[str]:
    return [each.name for each in type(value).__attrs_attrs__]


def _sorted(structure: Mapping[Any, Any]) -> list[Any]:
    try:
        return sorted(structure)
    except TypeError:
        raise TypeError("nest only supports dicts with sortable keys.") from None


def _parts(structure: Any, composites: bool) -> list[Any] | None:
    if isinstance(structure, Mapping):
        return [structure[key] for key in _sorted(structure)]
    if isinstance(structure, list | tuple | KeysView | ValuesView | ItemsView):
        return list(structure)
    if is_attrs(structure):
        return [getattr(structure, name) for name in _attrs(structure)]
    return composite.parts(structure) if composites else None


def like(structure: Any, parts: Sequence[Any]) -> Any:
    """Return a structure of the kind of `structure` with these parts."""
    if isinstance(structure, defaultdict):
        by_key = dict(zip(sorted(structure), parts, strict=True))
        return defaultdict(structure.default_factory, ((key, by_key[key]) for key in structure))
    if isinstance(structure, Mapping):
        by_key = dict(zip(sorted(structure), parts, strict=True))
        return type(structure)((key, by_key[key]) for key in structure)  # type: ignore[call-arg]
    if _is_named(structure) or is_attrs(structure):
        return type(structure)(*parts)
    if isinstance(structure, KeysView | ValuesView | ItemsView):
        return list(parts)  # a view cannot be made without its dict
    if isinstance(structure, list | tuple):
        return type(structure)(parts)
    return composite.like(structure, parts)


def _is_named(value: Any) -> bool:
    return isinstance(value, tuple) and hasattr(value, "_fields")
