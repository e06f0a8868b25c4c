"""The check that the nodes of a client's graph fit together.

A client may send any graph. Later passes rely on this check: every input and control dependency
exists, every input has the dtype that the op of its reader declares, and an op that needs a
reference gets one.
"""

from collections.abc import Collection, Mapping

from capstan import errors
from capstan.core import dtypes
from capstan.core import node as ir
from capstan.framework import facts, opdef
from capstan.graph import infer


def verify(nodes: Mapping[str, ir.Node], feeds: Mapping[ir.Edge, infer.Fed]) -> None:
    """Check the nodes that a step needs. `feeds` gives the fed tensors.

    Raises:
        NotFoundError: an op is not registered.
        InvalidArgumentError: a node does not fit its op, or the nodes that it takes inputs from.
    """
    outputs: dict[str, infer.Tensors] = {}
    inputs: dict[str, infer.Tensors] = {}
    for node in nodes.values():
        inputs[node.name], outputs[node.name] = infer.arguments(node)
    for node in nodes.values():
        if opdef.role(node.op) is facts.Role.ITERATIONS:
            raise _wrong(
                node, f"Node '{node.name}': only Capstan itself may use Op<name={node.op}>"
            )
        _require_nodes(node, nodes, feeds)
        for place, (edge, expected) in enumerate(zip(node.inputs, inputs[node.name], strict=True)):
            fed = feeds.get(edge)
            actual = (fed.dtype, fed.is_ref) if fed else _output(edge, outputs, node)
            if actual != expected and not _fits(actual, expected):
                raise _wrong(
                    node,
                    f"Input {place} of node {node.name} was passed {_show(actual)} from "
                    f"{edge.tensor} incompatible with expected {_show(expected)}.",
                )


def _require_nodes(node: ir.Node, nodes: Mapping[str, ir.Node], feeds: Collection[ir.Edge]) -> None:
    for edge in node.inputs:
        if edge.node not in nodes and edge not in feeds:
            raise _wrong(node, f"Node '{node.name}': Unknown input node '{edge.node}'")
    for name in node.control:
        if name not in nodes:
            raise _wrong(node, f"Node '{node.name}': Unknown input node '{name}'")


def _output(
    edge: ir.Edge, known: Mapping[str, infer.Tensors], node: ir.Node
) -> tuple[dtypes.DType, bool]:
    outputs = known[edge.node]
    if edge.index >= len(outputs):
        raise _wrong(
            node,
            f"Node '{node.name}': Connecting to invalid output {edge.index} of source node "
            f"{edge.node} which has {len(outputs)} outputs.",
        )
    return outputs[edge.index]


def _fits(actual: tuple[dtypes.DType, bool], expected: tuple[dtypes.DType, bool]) -> bool:
    """Return whether `actual` can be passed as `expected`.

    A reference can be passed as a value, but a value cannot be passed as a reference.
    """
    return actual[0] == expected[0] and actual[1] >= expected[1]


def _show(tensor: tuple[dtypes.DType, bool]) -> str:
    dtype, is_ref = tensor
    return f"{dtype.name}_ref" if is_ref else dtype.name


def _wrong(node: ir.Node, message: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(None, None, f"{message}\n\t [[{{{{node {node.name}}}}}]]")
