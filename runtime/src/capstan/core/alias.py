"""Modules that have no file: aliases, under TensorFlow's paths, of names that are elsewhere."""

import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any

Homes = Sequence[str | Callable[[str], Any]]
"""Where an alias looks for a name, in order: modules by name, and functions of the name.

The functions raise AttributeError for a name that they do not have.
"""


def grow(package: str, table: Mapping[str, Homes]) -> None:
    """Make the modules of `table`, by their paths below `package`, and their packages.

    The modules are empty until a name is asked for. Only then is the home of the name imported.
    """
    for path, homes in table.items():
        parent = sys.modules[package]
        *packages, last = path.split(".")
        for name in packages:
            inner = getattr(parent, name, None)
            parent = inner if inner is not None else _module(parent, name, ())
        if last not in vars(parent):
            _module(parent, last, homes)


def _module(parent: ModuleType, name: str, homes: Homes) -> ModuleType:
    module = ModuleType(f"{parent.__name__}.{name}", f"An alias for {homes}." if homes else "")
    if not homes:
        module.__path__ = []

    def find(attribute: str) -> Any:
        if not attribute.startswith("__"):
            for home in homes:
                try:
                    if callable(home):
                        return home(attribute)
                    return getattr(importlib.import_module(home), attribute)
                except AttributeError:
                    continue
        raise AttributeError(
            f"module {module.__name__!r} has no attribute {attribute!r}: Capstan lacks this part "
            "of TensorFlow 1"
        )

    module.__dict__["__getattr__"] = find
    sys.modules[module.__name__] = module
    setattr(parent, name, module)
    return module
