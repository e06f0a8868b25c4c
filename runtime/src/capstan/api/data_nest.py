"""The structure of the elements of datasets, for programs (python/data/util/nest.py).

An element is a tuple, a namedtuple or a dict of elements, or any other value, which is a leaf. In
contrast to `tf.nest`, a list is a leaf.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from capstan.api import nest as nests
from capstan.api.data_structure import flatten as flatten
from capstan.api.data_structure import mapped
from capstan.framework import nest, sparse_tensor

__all__ = [
    "assert_same_structure",
    "assert_shallow_structure",
    "flatten",
    "flatten_up_to",
    "is_sequence",
    "map_structure",
    "map_structure_up_to",
    "pack_sequence_as",
]


def is_sequence(seq: Any) -> bool:
    """Return whether `seq` is a tuple or a dict, and not a SparseTensorValue."""
    return isinstance(seq, tuple | Mapping) and not isinstance(seq, sparse_tensor.SparseTensorValue)


def assert_same_structure(nest1: Any, nest2: Any, check_types: bool = True) -> None:
    """Check that two structures differ only in their leaves.

    Raises:
        TypeError: a tuple or dict has another type, and `check_types` is true.
        ValueError: a structure has another number of parts or other keys.
    """
    leaves = mapped(lambda leaf: 0, nest1), mapped(lambda leaf: 0, nest2)
    nest.check_same(*leaves, check_types=check_types)


def pack_sequence_as(structure: Any, flat_sequence: Any) -> Any:
    """Return `structure` with its leaves replaced by the values of `flat_sequence`, in order.

    Raises:
        TypeError: `flat_sequence` is not a list or tuple.
        ValueError: the number of leaves is not the number of values.
    """
    if not isinstance(flat_sequence, list | tuple):
        raise TypeError("flat_sequence must be a sequence")
    is_leaf = not is_sequence(structure)
    nests.check_count(structure, flat_sequence, len(flatten(structure)), is_leaf=is_leaf)
    rest = iter(flat_sequence)
    return mapped(lambda leaf: next(rest), structure)


def map_structure(
    func: Callable[..., Any], *structure: Any, check_types: bool = True, **kwargs: Any
) -> Any:
    """Return the results of `func` for the leaves of the structures, in the first's structure.

    Raises:
        TypeError: `func` is not callable, or a structure has another type than the first.
        ValueError: there is no structure, a structure has another number of leaves, or there are
            other keyword arguments.
    """
    if not callable(func):
        raise TypeError(f"func must be callable, got: {func}")
    if not structure:
        raise ValueError("Must provide at least one structure")
    if kwargs:
        raise ValueError("Only valid keyword argument is check_types")
    for other in structure[1:]:
        assert_same_structure(structure[0], other, check_types)
    leaves = zip(*map(flatten, structure), strict=True)
    return pack_sequence_as(structure[0], [func(*values) for values in leaves])


def assert_shallow_structure(shallow_tree: Any, input_tree: Any, check_types: bool = True) -> None:
    """Check that `shallow_tree` is the upper part of the structure `input_tree`.

    Raises:
        TypeError: `input_tree` has a leaf or another type where `shallow_tree` has a sequence.
        ValueError: the numbers of parts or the keys differ.
    """
    if not is_sequence(shallow_tree):
        return
    if not is_sequence(input_tree):
        raise TypeError(
            "If shallow structure is a sequence, input must also be a sequence. Input has type: "
            f"{type(input_tree)}."
        )
    if check_types and not isinstance(input_tree, type(shallow_tree)):
        raise TypeError(
            "The two structures don't have the same sequence type. Input structure has type "
            f"{type(input_tree)}, while shallow structure has type {type(shallow_tree)}."
        )
    if len(input_tree) != len(shallow_tree):
        raise ValueError(
            "The two structures don't have the same sequence length. Input structure has length "
            f"{len(input_tree)}, while shallow structure has length {len(shallow_tree)}."
        )
    if check_types and isinstance(shallow_tree, Mapping) and set(input_tree) != set(shallow_tree):
        raise ValueError(
            f"The two structures don't have the same keys. Input structure has keys "
            f"{list(input_tree)}, while shallow structure has keys {list(shallow_tree)}."
        )
    for part, given in zip(_parts(shallow_tree), _parts(input_tree), strict=True):
        assert_shallow_structure(part, given, check_types)


def flatten_up_to(shallow_tree: Any, input_tree: Any) -> list[Any]:
    """Return the part of `input_tree` for each leaf of `shallow_tree`.

    Raises:
        TypeError, ValueError: as for `assert_shallow_structure`.
    """
    assert_shallow_structure(shallow_tree, input_tree)
    return list(_up_to(shallow_tree, input_tree))


def map_structure_up_to(shallow_tree: Any, func: Callable[..., Any], *inputs: Any) -> Any:
    """Return `func(*parts)` for each leaf of `shallow_tree`, in its structure.

    Raises:
        ValueError: there are no inputs.
        TypeError, ValueError: as for `assert_shallow_structure`.
    """
    if not inputs:
        raise ValueError("Cannot map over no sequences")
    found = zip(*(flatten_up_to(shallow_tree, each) for each in inputs), strict=True)
    return pack_sequence_as(shallow_tree, [func(*parts) for parts in found])


def _parts(structure: Any) -> list[Any]:
    if isinstance(structure, Mapping):
        return [structure[key] for key in sorted(structure)]
    return list(structure)


def _up_to(shallow: Any, given: Any) -> Iterator[Any]:
    if not is_sequence(shallow):
        yield given
        return
    for part, part_given in zip(_parts(shallow), _parts(given), strict=True):
        yield from _up_to(part, part_given)
