"""`tf.contrib.training.HParams`: the hyperparameters of a model (contrib/training/hparam.py)."""

import json
import re
from collections.abc import Mapping
from typing import Any

_ASSIGNMENT = re.compile(r"\s*(?P<name>\w+)\s*=\s*(?P<value>\[[^\]]*\]|[^,\[]*)\s*(?:,|$)")


class HParams:
    """Hyperparameters as attributes. A value keeps the type that it had at first.

    Raises:
        ValueError: a name is taken, or a value is an empty list.
    """

    def __init__(self, hparam_def: Any = None, model_structure: Any = None, **kwargs: Any) -> None:
        self._types: dict[str, tuple[type, bool]] = {}
        for name, value in kwargs.items():
            self.add_hparam(name, value)

    def add_hparam(self, name: str, value: Any) -> None:
        """Add a hyperparameter with its first value."""
        if getattr(self, name, None) is not None:
            raise ValueError(f"Hyperparameter name is reserved: {name}")
        is_list = isinstance(value, list | tuple)
        if is_list and not value:
            raise ValueError(f"Multi-valued hyperparameters cannot be empty: {name}")
        self._types[name] = type(value[0] if is_list else value), is_list
        setattr(self, name, list(value) if is_list else value)

    def set_hparam(self, name: str, value: Any) -> None:
        """Change the value of a hyperparameter.

        Raises:
            KeyError: there is no such hyperparameter.
            ValueError: the value has another type.
        """
        kind, is_list = self._types[name]
        if isinstance(value, list) != is_list:
            wanted = "a list" if is_list else "one value"
            raise ValueError(f"Hyperparameter {name} needs {wanted}, not {value!r}")
        values = [_typed(name, kind, each) for each in (value if is_list else [value])]
        setattr(self, name, values if is_list else values[0])

    def del_hparam(self, name: str) -> None:
        if name in self._types:
            delattr(self, name)
            del self._types[name]

    def parse(self, values: str) -> "HParams":
        """Change the values that a string such as "a=1,b=[2,3]" names. Return this object.

        Raises:
            ValueError: the string is malformed, or names an unknown hyperparameter.
        """
        at = 0
        while at < len(values):
            match = _ASSIGNMENT.match(values, at)
            if match is None:
                raise ValueError(f"Malformed hyperparameter value: {values[at:]}")
            name, text, at = match["name"], match["value"].strip(), match.end()
            if name not in self._types:
                raise ValueError(f"Unknown hyperparameter type for {name}")
            kind, is_list = self._types[name]
            if text.startswith("["):
                parts = [part.strip() for part in text[1:-1].split(",") if part.strip()]
                self.set_hparam(name, [_parsed(name, kind, part) for part in parts])
            else:
                one = _parsed(name, kind, text)
                self.set_hparam(name, [one] if is_list else one)
        return self

    def override_from_dict(self, values_dict: Mapping[str, Any]) -> "HParams":
        """Change the values that a mapping names. Return this object."""
        for name, value in values_dict.items():
            self.set_hparam(name, value)
        return self

    def parse_json(self, values_json: str) -> "HParams":
        """Change the values that a JSON object names. Return this object."""
        return self.override_from_dict(json.loads(values_json))

    def to_json(self, indent: Any = None, separators: Any = None, sort_keys: bool = False) -> str:
        return json.dumps(self.values(), indent=indent, separators=separators, sort_keys=sort_keys)

    def values(self) -> dict[str, Any]:
        """Return the hyperparameters by name."""
        return {name: getattr(self, name) for name in self._types}

    def get(self, key: str, default: Any = None) -> Any:
        return getattr(self, key) if key in self._types else default

    def __contains__(self, key: str) -> bool:
        return key in self._types

    def __str__(self) -> str:
        return str(sorted(self.values().items()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self})"


def _typed(name: str, kind: type, value: Any) -> Any:
    """Return a value in the type of a hyperparameter. Only an integer may become a float."""
    is_same = isinstance(value, kind) and isinstance(value, bool) == (kind is bool)
    if is_same or kind is type(None) or value is None:
        return value
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if kind is str:
        return str(value)
    raise ValueError(f"Could not cast hparam '{name}' of type '{kind}' from value {value!r}")


def _parsed(name: str, kind: type, text: str) -> Any:
    try:
        if kind is bool:
            return {"true": True, "1": True, "false": False, "0": False}[text.lower()]
        return kind(text) if kind in (int, float) else text
    except (KeyError, ValueError):
        raise ValueError(
            f"Could not parse hparam '{name}' of type '{kind}' from {text!r}"
        ) from None
