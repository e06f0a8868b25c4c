"""The view "scope": the nodes of a graph below their name scopes (tfprof_scope.cc)."""

from collections.abc import Mapping

from capstan.api.profiler import choices, trees
from capstan.api.profiler.nodes import Node
from capstan.api.profiler.options import Options
from capstan.api.profiler.shown_nodes import Shown

_SCOPE = "_kTFScopeParent"
"""The type of a scope."""


def show(nodes: Mapping[str, Node], options: Options) -> Shown:
    """Return the root of the view."""
    return trees.show(_tree(nodes), options, keeps_parents=True)


def _tree(nodes: Mapping[str, Node]) -> Shown:
    """Return the root of all nodes and scopes. Nodes are below their scopes by name."""
    names = set(nodes)
    for name in nodes:
        scope = name
        while "/" in scope:
            scope = scope.rpartition("/")[0]
            names.add(scope)
    shown = {}
    for name in sorted(names):
        node = nodes.get(name) or Node(name, _SCOPE)
        shown[name] = Shown(node, node.input_shapes(nodes))
    root = Shown(Node(choices.ROOT, _SCOPE))
    for name, each in shown.items():
        parent = shown[name.rpartition("/")[0]] if "/" in name else root
        parent.children.append(each)
    return root
