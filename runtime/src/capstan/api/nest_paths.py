"""Structures with the path of each leaf (python/util/nest.py).

A path is the tuple of the keys, fields and positions that lead to a leaf.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from capstan.api import nest_shallow
from capstan.framework import nest


def yield_flat_paths(nest: Any, expand_composites: bool = False) -> Iterator[nest_shallow.Path]:
    """Yield the path of each leaf, in the order of `tf.nest.flatten`.

    >>> list(yield_flat_paths({"b": (1, [2]), "a": 3}))
    [('a',), ('b', 0), ('b', 1, 0)]
    """
    return (path for path, _ in flatten_with_tuple_paths(nest, expand_composites))


def flatten_with_tuple_paths(
    structure: Any, expand_composites: bool = False
) -> list[tuple[nest_shallow.Path, Any]]:
    """Return the path and the value of each leaf, in the order of `tf.nest.flatten`."""
    return nest_shallow.flatten_with_tuple_paths_up_to(
        structure, structure, expand_composites=expand_composites
    )


def flatten_with_joined_string_paths(
    structure: Any, separator: str = "/", expand_composites: bool = False
) -> list[tuple[str, Any]]:
    """Return the joined path and the value of each leaf, in the order of `tf.nest.flatten`.

    >>> flatten_with_joined_string_paths({"b": (1, [2])})
    [('b/0', 1), ('b/1/0', 2)]
    """
    found = flatten_with_tuple_paths(structure, expand_composites)
    return [(separator.join(map(str, path)), leaf) for path, leaf in found]


def map_structure_with_tuple_paths(func: Callable[..., Any], *structure: Any, **kwargs: Any) -> Any:
    """Return `func(path, *leaves, **kwargs)` for the leaves, in the structure of the first.

    `check_types` and `expand_composites` are as for `tf.nest.map_structure`, and not for `func`.

    Raises:
        TypeError, ValueError: the structures differ, as for `tf.nest.map_structure`.
    """
    return nest_shallow.map_structure_with_tuple_paths_up_to(
        structure[0], func, *structure, **kwargs
    )


def map_structure_with_paths(func: Callable[..., Any], *structure: Any, **kwargs: Any) -> Any:
    """Return the same as `map_structure_with_tuple_paths`. A path is joined by slashes."""

    def with_text(path: nest_shallow.Path, *leaves: Any, **named: Any) -> Any:
        return func("/".join(map(str, path)), *leaves, **named)

    return map_structure_with_tuple_paths(with_text, *structure, **kwargs)


def flatten_dict_items(dictionary: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return a dict with the leaves of the keys, which may be tuples, and of the values.

    >>> flatten_dict_items({(4, 5, (6, 8)): ("a", "b", ("c", "d"))})
    {4: 'a', 5: 'b', 6: 'c', 8: 'd'}

    Raises:
        TypeError: `dictionary` is not a dict.
        ValueError: a key and its value have different numbers of leaves, or a key comes twice.
    """
    if not isinstance(dictionary, Mapping):
        raise TypeError("input must be a dictionary")
    flat: dict[Any, Any] = {}
    for key, value in dictionary.items():
        keys, values = [key], [value]
        if nest.is_nested(key):
            keys, values = nest.flatten(key), nest.flatten(value)
        if len(keys) != len(values):
            raise ValueError(
                f"Could not flatten dictionary. Key had {len(keys)} elements, but value had "
                f"{len(values)} elements. Key: {keys}, value: {values}."
            )
        for each, leaf in zip(keys, values, strict=True):
            if each in flat:
                raise ValueError(f"Could not flatten dictionary: key {each} is not unique.")
            flat[each] = leaf
    return flat
