"""`python.util.lazy_loader`: modules that are imported when they are first used."""

import importlib
import types
from collections.abc import MutableMapping
from typing import Any


class LazyLoader(types.ModuleType):
    """A module in place of the module `name`, which the first use of an attribute imports.

    The import also puts the module itself under `local_name` into `parent_module_globals`.
    """

    def __init__(
        self, local_name: str, parent_module_globals: MutableMapping[str, Any], name: str
    ) -> None:
        super().__init__(name)
        self._local_name = local_name
        self._parent_module_globals = parent_module_globals

    def _load(self) -> types.ModuleType:
        module = importlib.import_module(self.__name__)
        self._parent_module_globals[self._local_name] = module
        self.__dict__.update(vars(module))
        return module

    def __getattr__(self, name: str) -> Any:
        return getattr(self._load(), name)

    def __dir__(self) -> list[str]:
        return dir(self._load())
