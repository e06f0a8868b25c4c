"""Modules that have no file: aliases, under TensorFlow's paths, of names that are elsewhere."""

import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any

from capstan.core import public

Home = str | Mapping[str, Any] | Callable[[str], Any]
Homes = Sequence[Home]
"""Where an alias looks for a name, in order: modules by name, tables and functions of the name.

A table has the path of each name, such as `capstan.api.nn.relu`, or a value that is no text. The
functions raise AttributeError for a name that they do not have.
"""


def _lacking(module: str, name: str) -> AttributeError:
    return AttributeError(
        f"module {module!r} has no attribute {name!r}: Capstan lacks this part of TensorFlow 1"
    )


def only(**homes: str) -> dict[str, str]:
    """Return the paths of names, each in the module that `homes` gives for the name."""
    return {name: f"{home}.{name}" for name, home in homes.items()}


def grow(
    package: str,
    table: Mapping[str, Homes],
    absent: Callable[[str, str], AttributeError] = _lacking,
) -> None:
    """Make the modules of `table`, by their paths below `package`, and their packages.

    The modules are empty until a name is asked for. Only then is the home of the name imported.
    `absent` gives the error for a module and a name that it does not have.
    """
    for path, homes in table.items():
        parent = sys.modules[package]
        *packages, last = path.split(".")
        for name in packages:
            # An alias would import the homes of a name that it does not have yet.
            inner = vars(parent).get(name)
            if inner is None and parent.__spec__ is not None:
                inner = getattr(parent, name, None)
            parent = inner if inner is not None else _module(parent, name, (), absent)
        if last not in vars(parent):
            _module(parent, last, homes, absent)


def inside(namespace: Mapping[str, Any]) -> list[str]:
    """Return the names of the aliases in a module's namespace. Modules with files have a spec."""
    return [
        name
        for name, value in namespace.items()
        if isinstance(value, ModuleType) and value.__spec__ is None
    ]


def _module(
    parent: ModuleType, name: str, homes: Homes, absent: Callable[[str, str], AttributeError]
) -> ModuleType:
    module = ModuleType(f"{parent.__name__}.{name}", f"An alias for {homes}." if homes else "")
    # With a path, Python looks for a missing name as for a module. `finder` then explains.
    module.__path__ = []

    def find(attribute: str) -> Any:
        if attribute == "__all__":  # Python asks for it in `from capstan.python.ops.nn import *`.
            return listed()
        if not attribute.startswith("__"):
            for home in homes:
                try:
                    return _found(home, attribute)
                except AttributeError:
                    continue
        raise absent(module.__name__, attribute)

    def listed() -> list[str]:
        return sorted({*inside(vars(module))}.union(*map(_listed, homes)))

    module.__dict__.update(__getattr__=find, __dir__=listed)
    sys.modules[module.__name__] = module
    setattr(parent, name, module)
    return module


def _found(home: Home, attribute: str) -> Any:
    """Return the value of a name in its home, or raise AttributeError."""
    if isinstance(home, str):
        return getattr(importlib.import_module(home), attribute)
    if callable(home):
        return home(attribute)
    if attribute not in home:
        raise AttributeError(attribute)
    value = home[attribute]
    if not isinstance(value, str):
        return value
    module, _, name = value.rpartition(".")
    return getattr(importlib.import_module(module), name)


def _listed(home: Home) -> list[str]:
    """Return the names of a home. A function does not tell its names."""
    if isinstance(home, str):
        module = importlib.import_module(home)
        is_alias = module.__spec__ is None
        return dir(module) if is_alias else public.names(vars(module))
    return [] if callable(home) else list(home)
