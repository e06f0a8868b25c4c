"""Tells the nodes of collective operations the key of the graph of their step.

The tasks of a group run the same step at the same time. All of them give its graph the same key:
the key of the client (RunOptions.experimental.collective_graph_key), or one that follows from the
instances of the step. As TensorFlow's, the key of one step depends on all instances of the step
(common_runtime/graph_execution_state.cc).
"""

import hashlib
from dataclasses import replace

from capstan.core import node as ir
from capstan.framework import facts, opdef
from capstan.framework.ops import collective


def assign(nodes: dict[str, ir.Node], key: int) -> dict[str, ir.Node]:
    """Return the nodes of a step, with the key in each node of a collective operation.

    A `key` of 0 stands for the key that follows from the instances.
    """
    found = [node for node in nodes.values() if is_collective(node)]
    if not found:
        return nodes
    chosen = key or _fingerprint({collective.instance_key(node) for node in found})
    return {
        **nodes,
        **{
            node.name: replace(node, attrs={**node.attrs, collective.GRAPH_KEY: chosen})
            for node in found
        },
    }


def is_collective(node: ir.Node) -> bool:
    """Return whether a node belongs to a collective operation."""
    return opdef.is_defined(node.op) and opdef.role(node.op) is facts.Role.COLLECTIVE


def _fingerprint(instances: set[int]) -> int:
    text = ",".join(map(str, sorted(instances)))
    digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1 or 1
