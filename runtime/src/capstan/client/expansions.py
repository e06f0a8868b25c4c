"""Objects of programs' own classes in the fetches and feeds of `Session.run`.

Source: register_session_run_conversion_functions of tensorflow/python/client/session.py.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from capstan.client import feeds as feeding
from capstan.framework import indexed_slices, sparse_tensor

_OWN: Final = (object, sparse_tensor.SparseTensor, indexed_slices.IndexedSlices)


@dataclass(frozen=True, slots=True)
class Expansion:
    """The functions that a program registered for one class."""

    tensor_type: type
    fetch: Callable[[Any], tuple[list[Any], Callable[[list[Any]], Any]]]
    feed: Callable[[Any, Any], Iterable[tuple[Any, Any]]] | None
    feed_for_partial_run: Callable[[Any], Iterable[Any]] | None


REGISTERED: Final[list[Expansion]] = []
"""The expansion that was registered last comes first."""


def register_session_run_conversion_functions(
    tensor_type: type,
    fetch_function: Callable[[Any], tuple[list[Any], Callable[[list[Any]], Any]]],
    feed_function: Callable[[Any, Any], Iterable[tuple[Any, Any]]] | None = None,
    feed_function_for_partial_run: Callable[[Any], Iterable[Any]] | None = None,
) -> None:
    """Let sessions fetch and feed the objects of a class.

    `fetch_function(fetch)` returns a list of tensors, and a function that makes the result from the
    list of their values. `feed_function(key, value)` returns pairs of a tensor and its value.
    `feed_function_for_partial_run(key)` returns the tensors that `partial_run_setup` announces.
    Lists, tuples and dictionaries are never expanded by these functions, but their members are.

    Raises:
        ValueError: functions for the class or for a class that derives from it are registered.
    """
    known = (*(each.tensor_type for each in REGISTERED), *_OWN)
    if any(issubclass(each, tensor_type) for each in known):
        raise ValueError(f"{tensor_type} has already been registered so ignore it.")
    expansion = Expansion(tensor_type, fetch_function, feed_function, feed_function_for_partial_run)
    REGISTERED.insert(0, expansion)


def find(value: object) -> Expansion | None:
    """Return the expansion for an object, or None."""
    for expansion in REGISTERED:
        if isinstance(value, expansion.tensor_type):
            return expansion
    return None


def feeds(feed_dict: Any) -> Mapping[Any, Any] | None:
    """Return `feed_dict` with tensors and their values in the place of expanded keys.

    A tuple of keys that holds one to expand becomes several keys. Every empty value feeds nothing.

    Raises:
        TypeError: `feed_dict` is not empty and no mapping, or the class of a key was registered
            without a `feed_function`.
        ValueError: such a tuple has another number of keys than its value has values.
    """
    if not feed_dict:
        return None
    if not isinstance(feed_dict, Mapping):
        kind = type(feed_dict).__name__
        raise TypeError(
            f"feed_dict must be a dictionary of tensors and their values, and not of type '{kind}'"
        )
    if not REGISTERED:
        return feed_dict
    return dict(pair for key, value in feed_dict.items() for pair in _expanded(key, value))


def _expanded(key: Any, value: Any) -> Iterable[tuple[Any, Any]]:
    if isinstance(key, tuple):
        if not _holds_expanded(key):
            return [(key, value)]
        return (pair for part in feeding.pairs(key, value) for pair in _expanded(*part))
    expansion = find(key)
    if expansion is None:
        return [(key, value)]
    if expansion.feed is None:
        raise TypeError(_lacks("feed_function", key))
    return expansion.feed(key, value)


def _holds_expanded(key: tuple[Any, ...]) -> bool:
    return any(
        _holds_expanded(part) if isinstance(part, tuple) else find(part) is not None for part in key
    )


def feed_keys(keys: Iterable[Any]) -> list[Any]:
    """Return the feeds of `partial_run_setup` with tensors in the place of expanded keys.

    Raises:
        TypeError: the class of a key was registered without a `feed_function_for_partial_run`.
    """
    expanded: list[Any] = []
    for key in keys:
        expansion = find(key)
        if expansion is None:
            expanded.append(key)
        elif expansion.feed_for_partial_run is None:
            raise TypeError(_lacks("feed_function_for_partial_run", key))
        else:
            expanded.extend(expansion.feed_for_partial_run(key))
    return expanded


def _lacks(function: str, key: Any) -> str:
    return (
        f"Cannot feed {key!r}: its class was registered without a `{function}`. Pass one to "
        "register_session_run_conversion_functions."
    )
