"""Modules that show only the names of their docstrings (python/util/all_util.py).

A line such as `@@name` in a docstring documents a name.
"""

import re
import sys
from collections.abc import Iterable
from types import ModuleType

__all__ = ["make_all", "remove_undocumented"]

_REFERENCE = re.compile(r"^@@(\w+)$", re.MULTILINE)


def make_all(module_name: str, doc_string_modules: Iterable[ModuleType] | None = None) -> list[str]:
    """Return the names of an imported module that docstrings document, by default its own."""
    module = sys.modules[module_name]
    documents = [each.__doc__ or "" for each in doc_string_modules or [module]]
    documented = {name for document in documents for name in _REFERENCE.findall(document)}
    return sorted(documented & set(dir(module)))


def remove_undocumented(
    module_name: str,
    allowed_exception_list: Iterable[str] | None = None,
    doc_string_modules: Iterable[ModuleType] | None = None,
) -> None:
    """Delete the public names of an imported module that no docstring documents.

    The names of `allowed_exception_list` stay.
    """
    module = sys.modules[module_name]
    kept = {*make_all(module_name, doc_string_modules), *(allowed_exception_list or ())}
    for name in dir(module):
        if name not in kept and not name.startswith("_"):
            delattr(module, name)
