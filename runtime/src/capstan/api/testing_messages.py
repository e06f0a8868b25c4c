"""Comparison of protocol buffer messages in tests (python/util/protobuf/compare.py)."""

from typing import Any, Final

_DIGITS: Final = {1: 7, 2: 6}
"""The digits behind the point that count, by the type of a field: 1 is double, 2 is float."""


def rounded(message: Any) -> Any:
    """Return a copy of a message without the digits of numbers that do not count.

    A float that comes from a text has more digits than the float that a program has stored.
    """
    copy = type(message)()
    copy.CopyFrom(message)
    _round(copy)
    return copy


def _round(message: Any) -> None:
    for field, value in message.ListFields():
        digits = _DIGITS.get(field.type)
        if digits is not None and isinstance(value, float):
            setattr(message, field.name, round(value, digits))
        elif digits is not None:
            value[:] = [round(number, digits) for number in value]
        elif field.message_type is not None:
            for part in _parts(field, value):
                _round(part)


def _parts(field: Any, value: Any) -> list[Any]:
    """Return the messages in a field."""
    if field.message_type.GetOptions().map_entry:
        is_of_messages = field.message_type.fields_by_name["value"].message_type is not None
        return list(value.values()) if is_of_messages else []
    return [value] if hasattr(value, "ListFields") else list(value)
