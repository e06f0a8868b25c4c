"""The view "graph": each node above its inputs (tfprof_graph.cc).

A node that is an input of several nodes is shown once, below the first of them.
"""

from collections.abc import Mapping

from capstan.api.profiler import choices, trees
from capstan.api.profiler.nodes import Node
from capstan.api.profiler.options import Options
from capstan.api.profiler.shown_nodes import Shown

_PARENT = "_TFGraphParent"
"""The type of the root."""


def show(nodes: Mapping[str, Node], options: Options) -> Shown:
    """Return the root of the view."""
    return trees.show(_tree(nodes), options, keeps_parents=False)


def _tree(nodes: Mapping[str, Node]) -> Shown:
    """Return a root above the nodes that are not inputs. Each node is above its inputs."""
    shown = {name: Shown(nodes[name], nodes[name].input_shapes(nodes)) for name in sorted(nodes)}
    inputs = set()
    for each in shown.values():
        for _, (name, _) in sorted(each.node.inputs.items()):
            inputs.add(name)
            if name in shown:
                each.children.append(shown[name])
    root = Shown(Node(choices.ROOT, _PARENT))
    root.children = [each for name, each in shown.items() if name not in inputs]
    return root
