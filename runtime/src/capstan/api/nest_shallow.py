"""Structures that are taken apart only as far as another, shallow structure (python/util/nest.py).

The leaves of the shallow structure stand for whole parts of the other one. A path is the tuple of
the keys, fields and positions that lead to a part.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from capstan.framework import nest

Path = tuple[Any, ...]

_IF_SHALLOW_IS_SEQ_INPUT_MUST_BE_SEQ = (
    "If shallow structure is a sequence, input must also be a sequence. Input has type: {}."
)
_INPUT_TREE_SMALLER_THAN_SHALLOW_TREE = (
    "The input_tree has fewer elements than the shallow_tree. Input structure has length "
    "{input_size}, while shallow structure has length {shallow_size}."
)
_SHALLOW_TREE_HAS_INVALID_KEYS = (
    "The shallow_tree's keys are not a subset of the input_tree's keys. The shallow_tree has the "
    "following keys that are not in the input_tree: {}."
)
_STRUCTURES_HAVE_MISMATCHING_LENGTHS = (
    "The two structures don't have the same sequence length. Input structure has length "
    "{input_length}, while shallow structure has length {shallow_length}."
)
_STRUCTURES_HAVE_MISMATCHING_TYPES = (
    "The two structures don't have the same sequence type. Input structure has type {input_type}, "
    "while shallow structure has type {shallow_type}."
)


def assert_shallow_structure(
    shallow_tree: Any,
    input_tree: Any,
    check_types: bool = True,
    expand_composites: bool = False,
    check_subtrees_length: bool = True,
) -> None:
    """Check that `shallow_tree` is the upper part of the structure `input_tree`.

    Without `check_subtrees_length`, `input_tree` may have more parts.

    Raises:
        TypeError: `input_tree` has a leaf or another type where `shallow_tree` has a sequence.
        ValueError: the numbers of parts do not fit, or a key is missing.
    """
    parts = nest.items(shallow_tree, composites=expand_composites)
    if parts is None:
        return
    inputs = nest.items(input_tree, composites=expand_composites)
    if inputs is None:
        raise TypeError(_IF_SHALLOW_IS_SEQ_INPUT_MUST_BE_SEQ.format(type(input_tree)))
    if check_types and not nest.is_like(input_tree, shallow_tree):
        types = {"input_type": type(input_tree), "shallow_type": type(shallow_tree)}
        raise TypeError(_STRUCTURES_HAVE_MISMATCHING_TYPES.format(**types))
    if check_subtrees_length and len(inputs) != len(parts):
        lengths = {"input_length": len(inputs), "shallow_length": len(parts)}
        raise ValueError(_STRUCTURES_HAVE_MISMATCHING_LENGTHS.format(**lengths))
    if len(inputs) < len(parts):
        sizes = {"input_size": len(inputs), "shallow_size": len(parts)}
        raise ValueError(_INPUT_TREE_SMALLER_THAN_SHALLOW_TREE.format(**sizes))
    if isinstance(shallow_tree, Mapping):
        absent = set(shallow_tree) - set(input_tree)
        if absent:
            raise ValueError(_SHALLOW_TREE_HAS_INVALID_KEYS.format(sorted(absent)))
        by_key = dict(inputs)
        inputs = [(key, by_key.get(key)) for key, _ in parts]
    for (_, part), (_, part_of_input) in zip(parts, inputs, strict=False):
        assert_shallow_structure(
            part, part_of_input, check_types, expand_composites, check_subtrees_length
        )


def flatten_with_tuple_paths_up_to(
    shallow_tree: Any,
    input_tree: Any,
    check_types: bool = True,
    expand_composites: bool = False,
    check_subtrees_length: bool = True,
) -> list[tuple[Path, Any]]:
    """Return a path and a part of `input_tree` for each leaf of `shallow_tree`.

    >>> flatten_with_tuple_paths_up_to({"a": 0, "b": [0, 0]}, {"a": [1, 2], "b": [3, 4]})
    [(('a',), [1, 2]), (('b', 0), 3), (('b', 1), 4)]

    Raises:
        TypeError, ValueError: as for `assert_shallow_structure`.
    """
    assert_shallow_structure(
        shallow_tree, input_tree, check_types, expand_composites, check_subtrees_length
    )
    return list(_parts(shallow_tree, input_tree, expand_composites, ()))


def flatten_up_to(shallow_tree: Any, input_tree: Any, *args: Any, **kwargs: Any) -> list[Any]:
    """Return the part of `input_tree` for each leaf of `shallow_tree`.

    The other arguments are those of `flatten_with_tuple_paths_up_to`.

    >>> flatten_up_to([0, [0, 0]], [[1, 2], [3, (4, 5)]])
    [[1, 2], 3, (4, 5)]
    """
    found = flatten_with_tuple_paths_up_to(shallow_tree, input_tree, *args, **kwargs)
    return [part for _, part in found]


def map_structure_with_tuple_paths_up_to(
    shallow_tree: Any,
    func: Callable[..., Any],
    *inputs: Any,
    check_types: bool = True,
    expand_composites: bool = False,
    check_subtrees_length: bool = True,
    **kwargs: Any,
) -> Any:
    """Return `func(path, *parts, **kwargs)` for each leaf of `shallow_tree`, in its structure.

    `parts` has one part of each of `inputs`.

    Raises:
        ValueError: there are no inputs.
        TypeError, ValueError: as for `assert_shallow_structure`.
    """
    if not inputs:
        raise ValueError("Cannot map over no sequences")
    found = [
        flatten_with_tuple_paths_up_to(
            shallow_tree, each, check_types, expand_composites, check_subtrees_length
        )
        for each in inputs
    ]
    results = [
        func(leaves[0][0], *(part for _, part in leaves), **kwargs)
        for leaves in zip(*found, strict=True)
    ]
    return nest.packed(shallow_tree, results, composites=expand_composites)


def map_structure_up_to(
    shallow_tree: Any, func: Callable[..., Any], *inputs: Any, **kwargs: Any
) -> Any:
    """Return `func(*parts)` for each leaf of `shallow_tree`, in its structure.

    >>> map_structure_up_to([0, 0], len, [[1, 2, 3], [4]])
    [3, 1]

    The keyword arguments are those of `map_structure_with_tuple_paths_up_to`.
    """
    return map_structure_with_tuple_paths_up_to(
        shallow_tree, lambda _, *values, **named: func(*values, **named), *inputs, **kwargs
    )


def get_traverse_shallow_structure(
    traverse_fn: Callable[[Any], Any], structure: Any, expand_composites: bool = False
) -> Any:
    """Return the upper part of `structure` into which `traverse_fn` goes, with bools as leaves.

    `traverse_fn(part)` returns whether to go into a part, or into each of its parts, as a structure
    of bools of one level.

    Raises:
        TypeError: `traverse_fn` returns another value.
    """
    chosen = traverse_fn(structure)
    parts = nest.items(structure, composites=expand_composites)
    if parts is None or chosen is False:
        if not isinstance(chosen, bool):
            raise TypeError(
                f"traverse_fn returned structure: {chosen} for non-structure: {structure}"
            )
        return chosen
    if isinstance(chosen, bool):
        choices = [chosen] * len(parts)
    else:
        levels = nest.items(chosen, composites=expand_composites)
        if levels is None:
            raise TypeError(
                f"traverse_fn returned a non-bool scalar: {chosen} for input: {structure}"
            )
        assert_shallow_structure(chosen, structure, expand_composites=expand_composites)
        choices = [choice for _, choice in levels]
    if not all(isinstance(choice, bool) for choice in choices):
        raise TypeError(
            f"traverse_fn didn't return a depth=1 structure of bools.  saw: {chosen}  for "
            f"structure: {structure}"
        )
    return nest.like(
        structure,
        [
            get_traverse_shallow_structure(traverse_fn, part, expand_composites)
            if choice
            else False
            for choice, (_, part) in zip(choices, parts, strict=True)
        ],
    )


def _parts(shallow: Any, given: Any, composites: bool, path: Path) -> Iterator[tuple[Path, Any]]:
    parts = nest.items(shallow, composites=composites)
    if parts is None:
        yield path, given
        return
    inputs = dict(nest.items(given, composites=composites) or ())
    for key, part in parts:
        yield from _parts(part, inputs[key], composites, (*path, key))
