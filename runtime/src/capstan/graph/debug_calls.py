"""Debug ops with attributes, as a watch names them (core/debug/debug_graph_utils.cc)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from capstan.framework import opdef

_CALL: Final = re.compile(r"(\w+)(?:\(([^()]*)\))?")
_BOOLEANS: Final = {
    **dict.fromkeys(("true", "t", "1", "yes", "y"), True),
    **dict.fromkeys(("false", "f", "0", "no", "n"), False),
}


@dataclass(frozen=True, slots=True)
class Call:
    """The name of a debug op, and the texts of its attributes."""

    op: str
    texts: Mapping[str, str]

    def attributes(self, node: str) -> dict[str, Any]:
        """Return the values of the attributes. `node` is the name of the node, for errors.

        Raises:
            ValueError: the op has no such attribute, or a value does not fit.
        """
        declared = opdef.lookup(self.op).attrs
        unknown = [key for key in self.texts if not isinstance(declared.get(key), bool | float)]
        if unknown:
            raise ValueError(
                f"{len(unknown)} attribute key(s) were not valid for debug node {node}: "
                f"{', '.join(unknown)}"
            )
        return {key: _value(declared[key], key, text, node) for key, text in self.texts.items()}


def parse(text: str) -> Call:
    """Return the call that a text such as `DebugNumericSummary(lower_bound=-1; upper_bound=1)` is.

    Raises:
        ValueError: the text is no such call.
    """
    found = _CALL.fullmatch(text.strip())
    if found is None:
        raise ValueError(f'Malformed debug op name "{text}". Write Op or Op(attribute=value;...)')
    texts: dict[str, str] = {}
    for pair in (found[2] or "").split(";"):
        if not pair.strip():
            continue
        key, _, value = (part.strip() for part in pair.partition("="))
        if not key or not value:
            raise ValueError(f'Malformed attributes in debug op name "{text}"')
        if key in texts:
            raise ValueError(f'Duplicate attribute name "{key}" found in the debug op: "{text}"')
        texts[key] = value
    return Call(found[1], texts)


def _value(default: Any, key: str, text: str, node: str) -> bool | float:
    try:
        return _BOOLEANS[text.lower()] if isinstance(default, bool) else float(text)
    except (KeyError, ValueError):
        kind = type(default).__name__
        raise ValueError(
            f'Invalid value string for {kind}-type attribute {key} of debug node {node}: "{text}"'
        ) from None
