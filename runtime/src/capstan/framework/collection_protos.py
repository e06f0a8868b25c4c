"""The messages that programs choose for the members of collections (python/framework/ops.py).

A MetaGraphDef holds the members of such a collection as these messages.
"""

from collections.abc import Callable
from typing import Any, NamedTuple


class Conversion(NamedTuple):
    """The message class of a collection, and the functions that convert its members."""

    proto_type: Any
    to_proto: Callable[..., Any] | None
    from_proto: Callable[..., Any] | None


_REGISTERED: dict[str, Conversion] = {}


def register_proto_function(
    collection_name: str,
    proto_type: Any = None,
    to_proto: Callable[..., Any] | None = None,
    from_proto: Callable[..., Any] | None = None,
) -> None:
    """Let MetaGraphDefs hold the members of a collection as messages of a class.

    `to_proto(member, export_scope=...)` returns the message of a member, or None for a member that
    is left out. `from_proto(message, import_scope=...)` returns the member of a message.

    Raises:
        TypeError: a function cannot be called.
        KeyError: the collection has functions already.
    """
    for title, function in (("to_proto", to_proto), ("from_proto", from_proto)):
        if function and not callable(function):
            raise TypeError(f"{title} must be callable.")
    if collection_name in _REGISTERED:
        raise KeyError(f"Registering two proto functions with name '{collection_name}'!")
    _REGISTERED[collection_name] = Conversion(proto_type, to_proto, from_proto)


def conversion_of(collection_name: str) -> Conversion:
    """Return what is registered for a collection, or a Conversion without functions."""
    return _REGISTERED.get(collection_name, Conversion(None, None, None))
