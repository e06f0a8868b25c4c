"""Names and configurations of Keras's objects (python/keras/utils/generic_utils.py).

A configuration is a dictionary `{"class_name": ..., "config": {...}}`, which JSON can hold.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

_CUSTOM: dict[str, Any] = {}


def get_custom_objects() -> dict[str, Any]:
    """Return the live table of the program's own objects, which names and configurations find."""
    return _CUSTOM


@contextmanager
def custom_object_scope(*tables: Mapping[str, Any]) -> Iterator[None]:
    """Return a block in which the objects of `tables` are known by their names."""
    before = dict(_CUSTOM)
    for table in tables:
        _CUSTOM.update(table)
    try:
        yield
    finally:
        _CUSTOM.clear()
        _CUSTOM.update(before)


def serialize_keras_object(instance: Any) -> Any:
    """Return the configuration of an object, the name of a function, or None for None.

    Raises:
        ValueError: the object has no `get_config` and no name.
    """
    if instance is None:
        return None
    if hasattr(instance, "get_config"):
        return {"class_name": type(instance).__name__, "config": instance.get_config()}
    if hasattr(instance, "__name__"):
        return instance.__name__
    raise ValueError(f"Cannot serialize {instance!r}: it has no get_config() and no __name__")


def deserialize_keras_object(
    identifier: Any,
    module_objects: Mapping[str, Any] | None = None,
    custom_objects: Mapping[str, Any] | None = None,
    printable_module_name: str = "object",
) -> Any:
    """Return the object that a name or a configuration describes.

    A class that is given by its name is called without arguments. A function is returned as it is.

    Raises:
        ValueError: the name is unknown, or the configuration has another form.
    """
    if identifier is None:
        return None
    if isinstance(identifier, str):
        named = found(identifier, module_objects, custom_objects, printable_module_name)
        return named() if inspect.isclass(named) else named
    if not isinstance(identifier, dict) or not {"class_name", "config"} <= identifier.keys():
        raise ValueError(f"Improper config format: {identifier}")
    name = identifier["class_name"]
    made = found(name, module_objects, custom_objects, printable_module_name)
    config = identifier["config"]
    with custom_object_scope(custom_objects or {}):
        if not hasattr(made, "from_config"):
            return made(**config)
        if "custom_objects" in inspect.signature(made.from_config).parameters:
            return made.from_config(config, custom_objects=dict(_CUSTOM))
        return made.from_config(config)


def found(
    name: str,
    module_objects: Mapping[str, Any] | None,
    custom_objects: Mapping[str, Any] | None,
    kind: str,
) -> Any:
    """Return the object of a name. The program's own objects win over those of the library.

    Raises:
        ValueError: the name is unknown. `kind` says in the message what was looked for.
    """
    known = {**(module_objects or {}), **_CUSTOM, **(custom_objects or {})}
    if known.get(name) is None:
        raise ValueError(
            f"Unknown {kind}: {name}. Pass an object of your own in `custom_objects`, or register "
            "it with tf.keras.utils.get_custom_objects()"
        )
    return known[name]


def getter(kind: str, names: Callable[[], Mapping[str, Any]]) -> Callable[[Any], Any]:
    """Return the function `get` of a module: it finds an object by its name or configuration.

    A name makes an object with the default arguments. Functions in `names` that return objects are
    called, too. A function of the program is the object.
    """

    def get(identifier: Any) -> Any:
        """Return the object for None, a name, a configuration or the object itself.

        Raises:
            ValueError: the identifier is unknown or has another type.
        """
        if identifier is None:
            return None
        if isinstance(identifier, str):
            # A function of the program is the object itself, and not one that returns it.
            is_own = identifier in _CUSTOM
            identifier = identifier if is_own else {"class_name": identifier, "config": {}}
        if isinstance(identifier, dict | str):
            return deserialize_keras_object(identifier, names(), None, kind)
        if callable(identifier):
            return identifier
        raise ValueError(f"Could not interpret {kind} identifier: {identifier}")

    return get


def deserializer(kind: str, names: Callable[[], Mapping[str, Any]]) -> Callable[..., Any]:
    """Return the function `deserialize` of a module with these names."""

    def deserialize(config: Any, custom_objects: Mapping[str, Any] | None = None) -> Any:
        """Return the object that a configuration or a name describes."""
        return deserialize_keras_object(config, names(), custom_objects, kind)

    return deserialize
