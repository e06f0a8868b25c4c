"""`tf.nest`: structures of lists, tuples and dicts (python/util/nest.py).

A namedtuple is a tuple. The values of a dict are in the order of its sorted keys. Any other value
is a leaf. An IndexedSlices or a SparseTensor is a leaf too, unless `expand_composites` is true:
then it is a structure of its tensors.
"""

from collections.abc import Callable
from typing import Any

from capstan.framework import nest

__all__ = [
    "assert_same_structure",
    "flatten",
    "is_nested",
    "is_sequence",
    "map_structure",
    "pack_sequence_as",
]


def is_nested(seq: Any) -> bool:
    """Return whether `seq` is a list, a tuple or a dict."""
    return nest.is_nested(seq)


is_sequence = is_nested
"""The older name of `is_nested`."""


def flatten(structure: Any, expand_composites: bool = False) -> list[Any]:
    """Return the leaves of a structure, in order.

    >>> flatten({"b": (1, [2]), "a": 3})
    [3, 1, 2]
    """
    return nest.flatten(structure, composites=expand_composites)


def pack_sequence_as(structure: Any, flat_sequence: Any, expand_composites: bool = False) -> Any:
    """Return `structure` with its leaves replaced by the values of `flat_sequence`, in order.

    >>> pack_sequence_as({"b": (1, [2]), "a": 3}, ["x", "y", "z"])
    {'b': ('y', ['z']), 'a': 'x'}

    Raises:
        TypeError: `flat_sequence` is not a list or a tuple.
        ValueError: the number of leaves is not the number of values.
    """
    if not nest.is_nested(flat_sequence):
        raise TypeError(f"flat_sequence must be a sequence, got: {type(flat_sequence)}")
    values = list(flat_sequence)
    is_leaf = not nest.is_nested(structure, composites=expand_composites)
    count = len(nest.flatten(structure, composites=expand_composites))
    check_count(structure, flat_sequence, count, is_leaf=is_leaf)
    return nest.packed(structure, values, composites=expand_composites)


def check_count(structure: Any, flat_sequence: Any, count: int, *, is_leaf: bool) -> None:
    """Check that a structure with `count` leaves takes the values of `flat_sequence`.

    Raises:
        ValueError: there are more or fewer values.
    """
    given = len(flat_sequence)
    if is_leaf and given != 1:
        raise ValueError(f"Structure is a scalar but len(flat_sequence) == {given} > 1")
    if given != count:
        raise ValueError(
            f"Could not pack sequence. Structure had {count} elements, but flat_sequence had "
            f"{given} elements.  Structure: {structure}, flat_sequence: {flat_sequence}."
        )


def map_structure(
    func: Callable[..., Any],
    *structure: Any,
    check_types: bool = True,
    expand_composites: bool = False,
    **kwargs: Any,
) -> Any:
    """Return the results of `func` for the leaves of the structures, in the first's structure.

    >>> map_structure(lambda x, y: x + y, [1, (2, 3)], [10, (20, 30)])
    [11, (22, 33)]

    Raises:
        TypeError: `func` is not callable, or a structure has another type than the first.
        ValueError: there is no structure, a structure has another number of leaves, or there are
            other keyword arguments.
    """
    if kwargs:
        raise ValueError(
            "Only valid keyword arguments are `check_types` and `expand_composites`, not: "
            f"`{'`, `'.join(kwargs)}`"
        )
    if not callable(func):
        raise TypeError(f"func must be callable, got: {func}")
    if not structure:
        raise ValueError("Must provide at least one structure")
    first, *others = structure
    for other in others:
        nest.check_same(first, other, check_types=check_types, composites=expand_composites)
    leaves = [nest.flatten(each, composites=expand_composites) for each in structure]
    results = [func(*values) for values in zip(*leaves, strict=True)]
    return nest.packed(first, results, composites=expand_composites)


def assert_same_structure(
    nest1: Any, nest2: Any, check_types: bool = True, expand_composites: bool = False
) -> None:
    """Check that two structures differ only in their leaves.

    Without `check_types`, lists, tuples and namedtuples count as the same.

    Raises:
        TypeError: a sequence or dict has another type.
        ValueError: a structure has another number of parts or other keys.
    """
    nest.check_same(nest1, nest2, check_types=check_types, composites=expand_composites)
