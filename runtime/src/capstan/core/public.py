"""The names of a module that are in the public API. `dir()` and the reference show only these."""

from collections.abc import Mapping
from types import ModuleType
from typing import Any, Final

_HELPERS: Final = frozenset(
    (
        *("typing", "collections.abc"),
        *("capstan.api.absent", "capstan.api.scoped", "capstan.framework.raw"),
    )
)
"""The homes of names that modules import for themselves."""


def names(namespace: Mapping[str, Any]) -> list[str]:
    """Return the public names of a module's namespace, sorted.

    `__all__` decides, if the module has it. Else the names count that have no underscore in front
    and whose values are neither modules nor helpers such as `Any`.
    """
    if "__all__" in namespace:
        return sorted(namespace["__all__"])
    return sorted(
        name
        for name, value in namespace.items()
        if name[0] != "_" and name != "TYPE_CHECKING" and not _is_internal(value)
    )


def _is_internal(value: Any) -> bool:
    return isinstance(value, ModuleType) or getattr(value, "__module__", None) in _HELPERS
