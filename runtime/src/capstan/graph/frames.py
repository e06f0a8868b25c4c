"""The frames of a graph, before `lift` replaces them.

A frame is TensorFlow's name for the nodes of one loop.
"""

from collections.abc import Mapping

from capstan import errors
from capstan.core import attr_value
from capstan.core import node as ir
from capstan.framework import facts, opdef

Role = facts.Role
FRAME_ROLES = frozenset({Role.ENTER, Role.EXIT, Role.NEXT_ITERATION, Role.LOOP_COND})
"""The roles of the nodes that only frames have."""
Path = tuple[str, ...]
"""The names of the frames around a node, outermost first."""


def paths(nodes: Mapping[str, ir.Node], fed: frozenset[ir.Edge]) -> dict[str, Path]:
    """Return the frames around each node. `Enter` and `Exit` are in the frame that they name.

    Raises:
        InvalidArgumentError: a node has inputs from different frames.
    """
    outputs: dict[str, Path] = {}
    found: dict[str, Path] = {}
    for name, node in nodes.items():
        sources = {edge.node: () if edge in fed else outputs.get(edge.node) for edge in node.inputs}
        sources.update((source, outputs.get(source)) for source in node.control)
        known = {source: path for source, path in sources.items() if path is not None}
        first, path = next(iter(known.items()), ("", ()))
        for source, other in known.items():
            if other != path:
                raise refused(
                    node,
                    f"{{{{node {name}}}}} has inputs from different frames. The input "
                    f"{{{{node {first}}}}} is in frame '{'/'.join(path)}'. The input "
                    f"{{{{node {source}}}}} is in frame '{'/'.join(other)}'.",
                )
        role = role_of(node)
        if role is Role.ENTER:
            path = (*path, attr_value.text(node.attrs.get("frame_name", b"")))
        found[name] = outputs[name] = path
        if role is Role.EXIT:
            if not path:
                raise refused(node, "an Exit must be in a frame")
            outputs[name] = path[:-1]
    return found


def role_of(node: ir.Node) -> facts.Role | None:
    """Return the role of the op of `node`, or None if the op is unknown or has no role."""
    return opdef.lookup(node.op).role if opdef.is_defined(node.op) else None


def refused(node: ir.Node, reason: str) -> errors.InvalidArgumentError:
    """Return the error for a frame that `tf.while_loop` never builds."""
    return errors.InvalidArgumentError(
        None, None, f"The loop around node '{node.name}' ({node.op}) cannot run: {reason}"
    )
