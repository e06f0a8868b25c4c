"""Hyperparameters as an HParamDef, and back (contrib/training/python/training/hparam.py)."""

from collections.abc import Mapping
from typing import Any

from capstan.core import hparam_messages


def encode(values: Mapping[str, Any], kinds: Mapping[str, tuple[type, bool]]) -> Any:
    """Return the HParamDef of values, whose type and whether they are lists `kinds` says.

    Raises:
        ValueError: a value is not a number, bool or string.
    """
    message = hparam_messages.HParamDef()
    for name, value in values.items():
        kind, is_list = kinds[name]
        field = _field(kind)
        given = [each.encode() if isinstance(each, str) else each for each in _listed(value)]
        entry = message.hparam[name]
        if is_list:
            getattr(entry, f"{field}_list").value.extend(given)
        else:
            setattr(entry, f"{field}_value", given[0])
    return message


def decode(message: Any) -> dict[str, Any]:
    """Return the values of an HParamDef by name.

    Raises:
        TypeError: the message is not an HParamDef.
    """
    if not isinstance(message, hparam_messages.HParamDef):
        raise TypeError(f"hparam_def must be an HParamDef, not {type(message).__name__}")
    return {name: _value(entry) for name, entry in message.hparam.items()}


def _value(entry: Any) -> Any:
    kind = entry.WhichOneof("kind")
    value = getattr(entry, kind)
    if kind.endswith("_list"):
        return [_text(each) for each in value.value]
    return _text(value)


def _text(value: Any) -> Any:
    return value.decode() if isinstance(value, bytes) else value


def _listed(value: Any) -> Any:
    return value if isinstance(value, list | tuple) else [value]


def _field(kind: type) -> str:
    """Return the first part of the name of the field for values of a type."""
    fields = ((bool, "bool"), (int, "int64"), (str, "bytes"), (bytes, "bytes"), (float, "float"))
    for known, field in fields:  # A bool is an integer too.
        if issubclass(kind, known):
            return field
    raise ValueError(f"Unsupported parameter type: {kind}")
