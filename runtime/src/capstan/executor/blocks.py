"""Functions of elements as functions of blocks, which are elements that are stacked along axis 0.

If all operations of a function are elementwise, its code computes a block as well. One call for a
block costs as much as one call for an element.
"""

from dataclasses import replace

import numpy as np

from capstan.core import node as ir
from capstan.core.arrays import Array
from capstan.framework.ops import elementwise
from capstan.graph import infer
from capstan.partition import parts


def over_blocks(called: parts.Part) -> parts.Part | None:
    """Return a function that takes and returns blocks, or None if `called` needs single elements.

    `called` is a function as a part. In the new part only the shapes of constants are known.
    """
    constants = {
        ir.Edge(node.name): node.attrs["value"] for node in called.nodes if infer.is_constant(node)
    }
    stacked = set(called.feeds)
    for node in called.nodes:
        if ir.Edge(node.name) in constants:
            continue
        if node.control or not _is_elementwise(node, constants):
            return None
        shapes = {edge: called.tensor_shapes.get(edge) for edge in node.inputs}
        ranks = {edge: len(shape) for edge, shape in shapes.items() if shape is not None}
        inner = stacked.intersection(node.inputs)
        # An input of a lower rank would have to be aligned with the last axes of the others.
        if not inner or len(ranks) < len(shapes):
            return None
        if any(ranks[edge] != max(ranks.values()) for edge in inner):
            return None
        stacked.add(ir.Edge(node.name))
    if not stacked.issuperset(called.fetches):
        return None
    known = {edge: value.shape for edge, value in constants.items()}
    return replace(called, tensor_shapes=known)


def _is_elementwise(node: ir.Node, constants: dict[ir.Edge, Array]) -> bool:
    if node.op in elementwise.NAMES:
        return True
    if node.op not in elementwise.DIVISIONS:
        return False
    divisor = constants.get(node.inputs[1])
    return divisor is not None and bool(np.all(divisor != 0))
