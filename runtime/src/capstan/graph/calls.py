"""Calls of functions by name become PartitionedCall.

A node whose op is the name of a function calls that function, as `Defun` of TensorFlow 1 writes it.
Later passes know only nodes that hold a function in an attribute.
"""

from collections.abc import Iterable
from dataclasses import replace

from capstan import errors
from capstan.core import function
from capstan.core import node as ir
from capstan.framework import function_def
from capstan.framework.ops import nodes as build


def merged(known: function.Library, added: Iterable[function.Function]) -> function.Library:
    """Return the functions of `known` and `added`, whose bodies call no function by name.

    Raises:
        InvalidArgumentError: two different functions have one name.
    """
    fresh = {each.name: each for each in added}
    everything = {**known, **fresh}
    rewritten = {
        name: replace(
            each,
            nodes={node.name: explicit(node, everything) for node in each.nodes.values()},
        )
        for name, each in fresh.items()
    }
    for name, each in rewritten.items():
        if name in known and not function_def.are_equal(known[name], each):
            raise errors.InvalidArgumentError(
                None,
                None,
                f"Cannot add function '{name}' because a different function with the same name "
                "already exists.",
            )
    return {**rewritten, **known}


def explicit(node: ir.Node, library: function.Library) -> ir.Node:
    """Return `node`, or the PartitionedCall in its place if its op names a function."""
    callee = library.get(node.op)
    if callee is None:
        return node
    return build.call(node, callee)
