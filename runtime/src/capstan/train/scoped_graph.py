"""The part of a GraphDef in one name scope, with names that do not contain the scope.

An input from outside of the scope becomes an unbound input. The `input_map` of an import gives it a
tensor. Source: tensorflow/python/framework/meta_graph.py.
"""

from collections.abc import Collection
from typing import Any

from capstan.core import attr_value
from capstan.framework import facts, names, opdef
from capstan.framework.ops import io

UNBOUND_PREFIX = "$unbound_inputs_"
"""The beginning of the name of each unbound input."""

_CLASS = "_class"
_FRAME = "frame_name"


def exported(graph_def: Any, scope: str, excluded: Collection[str] = ()) -> tuple[Any, list[str]]:
    """Return the GraphDef of the nodes in `scope`, and the names of its unbound inputs, in order.

    The GraphDef has all functions of `graph_def`. The nodes `excluded` are left out. If `scope` is
    empty, all other nodes are in it.
    """
    result = type(graph_def)()
    result.versions.CopyFrom(graph_def.versions)
    result.library.CopyFrom(graph_def.library)
    unbound: list[str] = []
    for node in graph_def.node:
        if node.name not in excluded and includes(node.name, scope):
            _add(result, node, scope, unbound)
    return result, unbound


def includes(name: str, scope: str | None) -> bool:
    """Return whether the node `name` belongs to the export of `scope`."""
    return not scope or name.startswith((scope, UNBOUND_PREFIX))


def _add(result: Any, node: Any, scope: str, unbound: list[str]) -> None:
    added = result.node.add()
    added.CopyFrom(node)
    added.name = names.without_scope(node.name, scope)
    for place, text in enumerate(node.input):
        if not scope or text.lstrip("^").startswith(scope):
            added.input[place] = names.without_scope(text, scope)
            continue
        mark = "^" if text.startswith("^") else ""
        added.input[place] = f"{mark}{UNBOUND_PREFIX}{text.removeprefix(mark)}"
        unbound.append(added.input[place])
    if _CLASS in node.attr:
        groups = [attr_value.text(group) for group in node.attr[_CLASS].list.s]
        inside = [group for group in groups if group.partition("@")[2].startswith(scope)]
        del added.attr[_CLASS].list.s[:]
        added.attr[_CLASS].list.s.extend(
            names.without_scope(each, scope).encode() for each in inside
        )
    if opdef.is_defined(node.op) and opdef.role(node.op) is facts.Role.ENTER:
        frame = attr_value.text(node.attr[_FRAME].s)
        added.attr[_FRAME].s = names.without_scope(frame, scope).encode()


def nodes_of_other_savers(graph_def: Any, saver_def: Any) -> set[str]:
    """Return the names of the nodes of all savers except the saver of `saver_def`, or of all."""
    scopes = {
        node.name.rpartition("/")[0] for node in graph_def.node if node.op in io.CHECKPOINT_OPS
    }
    if saver_def is not None:
        for name in (saver_def.save_tensor_name, saver_def.restore_op_name):
            scopes.discard(name.removeprefix("^").partition(":")[0].rpartition("/")[0])
    prefixes = tuple(f"{scope}/" for scope in scopes if scope)
    return {node.name for node in graph_def.node if prefixes and node.name.startswith(prefixes)}
