"""Hyperparameters in a string such as "rate=0.1,layers=[3,4],layers[0]=5"."""

import re
from collections.abc import Callable, Mapping
from typing import Any

_ASSIGNMENT = re.compile(
    r"(?P<name>[a-zA-Z][\w.]*)(\[\s*(?P<index>\d+)\s*\])?\s*=\s*"
    r"((?P<value>[^,\[]*)|\[(?P<values>[^\]]*)\])($|,\s*)"
)
_BOOLS = {"true": True, "True": True, "false": False, "False": False}


def parse_values(
    values: str, type_map: Mapping[str, type], ignore_unknown: bool = False
) -> dict[str, Any]:
    """Return the values that a string assigns: a scalar, a list, or a dict of elements by index.

    `type_map` has the type of each value, or of each element. Names that it lacks are errors,
    unless `ignore_unknown`.

    Raises:
        ValueError: the string is malformed, a value has another type, or is assigned twice.
    """
    found: dict[str, Any] = {}
    at = 0
    while at < len(values):
        match = _ASSIGNMENT.match(values, at)
        if match is None:
            raise ValueError(f"Malformed hyperparameter value: {values[at:]}")
        at = match.end()
        name = match["name"]
        if name in type_map:
            _assign(found, match, type_map[name], values)
        elif not ignore_unknown:
            raise ValueError(f"Unknown hyperparameter type for {name}")
    return found


def _assign(found: dict[str, Any], match: re.Match[str], kind: type, values: str) -> None:
    """Add what one assignment says to `found`. `values` is the whole string."""
    name, index = match["name"], match["index"]
    text = match["value"] if match["values"] is None else match["values"]
    read: Callable[[str], Any] = _bool if kind is bool else kind
    if match["values"] is not None and index is not None:
        raise ValueError("Assignment of a list to a list index.")
    try:
        if match["values"] is None:
            value = read(text)
        else:
            value = [read(part) for part in re.split("[ ,]", text) if part]
    except ValueError:
        raise ValueError(
            f"Could not parse hparam '{name}' of type '{kind.__name__}' with value '{text}' in "
            f"{values}"
        ) from None
    if index is None:
        if name in found:
            raise _reused(name, values)
        found[name] = value
        return
    elements = found.setdefault(name, {})
    if not isinstance(elements, dict):
        raise _reused(name, values)
    if int(index) in elements:
        raise _reused(f"{name}[{index}]", values)
    elements[int(index)] = value


def _reused(name: str, values: str) -> ValueError:
    return ValueError(f"Multiple assignments to variable '{name}' in {values}")


def _bool(text: str) -> bool:
    return _BOOLS[text] if text in _BOOLS else bool(int(text))
