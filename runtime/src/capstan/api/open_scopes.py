"""The variable scopes that are open on a graph (`_VariableScopeStore` of
python/ops/variable_scope.py)."""

import threading
from typing import Any

from capstan.framework import graph as graphs

KEY = ("__variable_scope_store",)


class OpenScopes(threading.local):
    """The current variable scope of a thread, and how often the thread opened each scope.

    Each graph has one OpenScopes, and each thread sees its own scopes and counts in it.
    """

    def __init__(self) -> None:
        # The module `variable_scope` sets the current scope.
        self.scope: Any = None
        self.opened: dict[str, int] = {}

    def open(self, scope: str) -> None:
        """Count one opening of a scope."""
        self.opened[scope] = self.opened.get(scope, 0) + 1

    def close_inner(self, scope: str) -> None:
        """Forget the counts of the scopes inside `scope`. Their names are then unused again."""
        inner = f"{scope}/" if scope else ""
        for name in [name for name in self.opened if name.startswith(inner)]:
            del self.opened[name]

    def unused(self, outer: str, prefix: str) -> str:
        """Return `prefix`, with a number if a scope of that name was opened inside `outer`."""
        name = f"{outer}/{prefix}" if outer else prefix
        number = 0
        while self.opened.get(f"{name}_{number}" if number else name, 0):
            number += 1
        return f"{prefix}_{number}" if number else prefix


def of(graph: graphs.Graph) -> OpenScopes:
    """Return the open scopes of a graph."""
    # `get_collection_ref` also works on a finalized graph.
    found = graph.get_collection_ref(KEY)
    if not found:
        found.append(OpenScopes())
    scopes: OpenScopes = found[0]
    return scopes


def uses_resources(graph: graphs.Graph) -> bool | None:
    """Return `use_resource` of this thread's current scope in a graph, or None."""
    scope = of(graph).scope
    return None if scope is None else scope.use_resource
