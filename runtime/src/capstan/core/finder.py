"""Imports of modules that have no file: `import capstan.nn`, and imports of names that are missing.

Python asks the finder last, after it has looked for a file.
"""

import sys
from collections.abc import Sequence
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

PACKAGE = __name__.partition(".")[0]


class Finder:
    """Finds a module of Capstan as the attribute that its package has, such as `capstan.nn`."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a module that is an attribute of its package, or None.

        If the package has no such attribute, the import of the module raises a ModuleNotFoundError
        that says why. The search itself raises no error: pytest and others only ask for the spec.
        """
        parent, _, name = fullname.rpartition(".")
        if fullname.partition(".")[0] != PACKAGE or parent not in sys.modules:
            return None
        try:
            value = getattr(sys.modules[parent], name)
        except AttributeError as error:
            return ModuleSpec(fullname, _Refusal(str(error)))
        return ModuleSpec(fullname, _Loader(value)) if isinstance(value, ModuleType) else None


class _Loader(Loader):
    """Loads a module that exists already, under one more path."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module

    def create_module(self, spec: ModuleSpec) -> None:
        """Let Python make an empty module, which `exec_module` replaces."""

    def exec_module(self, module: ModuleType) -> None:
        # Python imports `capstan.io.gfile` only if `capstan.io` has a path, as packages have.
        vars(self._module).setdefault("__path__", [])
        sys.modules[module.__name__] = self._module


class _Refusal(Loader):
    """Explains why there is no module."""

    def __init__(self, message: str) -> None:
        self._message = message

    def create_module(self, spec: ModuleSpec) -> None:
        """Let Python make an empty module, which it forgets after the error of `exec_module`."""

    def exec_module(self, module: ModuleType) -> None:
        # Python would replace an error that names the module by one without an explanation.
        raise ModuleNotFoundError(self._message)


def install() -> None:
    """Let Python ask a finder for modules that have no file. A second call does nothing."""
    finders: list[Any] = sys.meta_path
    if not any(isinstance(finder, Finder) for finder in finders):
        finders.append(Finder())
