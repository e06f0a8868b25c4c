"""`tf.contrib.training.HParams`: the hyperparameters of a model (contrib/training/hparam.py)."""

import json
import numbers
from collections.abc import Mapping
from typing import Any

from capstan.contrib import hparam_def as hparam_def_codec
from capstan.contrib import hparam_text


class HParams:
    """Hyperparameters as attributes. A value keeps the type that it had at first.

    The values are those of `hparam_def`, an HParamDef, or `kwargs`.

    Raises:
        TypeError: `hparam_def` is something else.
        ValueError: a name is taken, a value is an empty list, or both are given.
    """

    def __init__(self, hparam_def: Any = None, model_structure: Any = None, **kwargs: Any) -> None:
        if hparam_def is not None:
            if kwargs:
                raise ValueError("hparam_def and initialization values are mutually exclusive")
            kwargs = hparam_def_codec.decode(hparam_def)
        self._types: dict[str, tuple[type, bool]] = {}
        self._model_structure = model_structure
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
        setattr(self, name, value)

    def set_hparam(self, name: str, value: Any) -> None:
        """Change the value of a hyperparameter.

        Raises:
            KeyError: there is no such hyperparameter.
            ValueError: the value has another type.
        """
        kind, is_list = self._types[name]
        if isinstance(value, list):
            if not is_list:
                raise ValueError(f"Must not pass a list for single-valued parameter: {name}")
            setattr(self, name, [_typed(name, kind, each) for each in value])
            return
        if is_list:
            raise ValueError(f"Must pass a list for multi-valued parameter: {name}.")
        setattr(self, name, _typed(name, kind, value))

    def del_hparam(self, name: str) -> None:
        if hasattr(self, name):
            delattr(self, name)
            del self._types[name]

    def parse(self, values: str) -> "HParams":
        """Change the values that a string such as "a=1,b=[2,3]" names. Return this object.

        Raises:
            ValueError: the string is malformed, or names an unknown hyperparameter.
        """
        kinds = {name: kind for name, (kind, _) in self._types.items()}
        return self.override_from_dict(hparam_text.parse_values(values, kinds))

    def override_from_dict(self, values_dict: Mapping[str, Any]) -> "HParams":
        """Change the values that a mapping names. Return this object."""
        for name, value in values_dict.items():
            self.set_hparam(name, value)
        return self

    def set_from_map(self, values_map: Mapping[str, Any]) -> "HParams":
        """Call `override_from_dict`, the newer name of this method."""
        return self.override_from_dict(values_map)

    def set_model_structure(self, model_structure: Any) -> None:
        self._model_structure = model_structure

    def get_model_structure(self) -> Any:
        return self._model_structure

    def parse_json(self, values_json: str) -> "HParams":
        """Change the values that a JSON object names. Return this object."""
        return self.override_from_dict(json.loads(values_json))

    def to_json(self, indent: Any = None, separators: Any = None, sort_keys: bool = False) -> str:
        return json.dumps(self.values(), indent=indent, separators=separators, sort_keys=sort_keys)

    def to_proto(self, export_scope: str | None = None) -> Any:
        """Return an HParamDef. `export_scope` has no effect, as in TensorFlow.

        Raises:
            ValueError: a value is not a number, bool or string.
        """
        del export_scope
        return hparam_def_codec.encode(self.values(), self._types)

    @staticmethod
    def from_proto(hparam_def: Any, import_scope: str | None = None) -> "HParams":
        """Return the hyperparameters of an HParamDef. `import_scope` has no effect."""
        del import_scope
        return HParams(hparam_def=hparam_def)

    def values(self) -> dict[str, Any]:
        """Return the hyperparameters by name."""
        return {name: getattr(self, name) for name in self._types}

    def get(self, key: str, default: Any = None) -> Any:
        """Return the value of a hyperparameter, or `default` if there is none.

        Raises:
            ValueError: the hyperparameter exists, and `default` has another type.
        """
        if key not in self._types:
            return default
        if default is not None:
            self._check_default(key, default)
        return getattr(self, key)

    def _check_default(self, key: str, default: Any) -> None:
        kind, is_list = self._types[key]
        shown = f"list<{kind}>" if is_list else str(kind)
        message = f"Hparam '{key}' of type '{shown}' is incompatible with default={default}"
        if is_list != isinstance(default, list):
            raise ValueError(message)
        try:
            for value in default if is_list else [default]:
                _typed(key, kind, value)
        except ValueError as fault:
            raise ValueError(f"{message}. {fault}") from None

    def __contains__(self, key: str) -> bool:
        return key in self._types

    def __str__(self) -> str:
        return ",".join(f"{name}={value}" for name, value in self.values().items())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({sorted(self.values().items())})"


def _typed(name: str, kind: Any, value: Any) -> Any:
    """Return a value in the type of a hyperparameter.

    Numbers become floats, and integers become other types of integers. A string is needed where
    there was one, and a bool exactly where there was one.
    """
    if type(value) is kind or issubclass(kind, type(None)):
        return value
    fits = all(
        isinstance(value, needed)
        for needed in ((str, bytes), numbers.Integral, numbers.Number)
        if issubclass(kind, needed)
    )
    if not fits or issubclass(kind, bool) != isinstance(value, bool):
        raise ValueError(f"Could not cast hparam '{name}' of type '{kind}' from value {value!r}")
    return kind(value)
