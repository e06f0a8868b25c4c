"""Whether nodes that came from elsewhere fit together: that what one takes is what another gives.

A client may send anything. The passes after this one rely on it: every input and control
dependency exists, has the type that its op declares, and is a reference where one is needed.
"""

from collections.abc import Collection, Mapping

from capstan import errors
from capstan.core import dtypes, node
from capstan.graph import infer


def verify(nodes: Mapping[str, node.Node], feeds: Mapping[node.Edge, infer.Fed]) -> None:
    """Check the nodes that a step needs; `feeds` tells what replaces tensors.

    Raises:
        NotFoundError: an op is not registered.
        InvalidArgumentError: a node does not fit its op, or the nodes that it names.
    """
    given: dict[str, infer.Tensors] = {}
    taken: dict[str, infer.Tensors] = {}
    for item in nodes.values():
        taken[item.name], given[item.name] = infer.arguments(item)
    for item in nodes.values():
        _require_nodes(item, nodes, feeds)
        for place, (edge, wanted) in enumerate(zip(item.inputs, taken[item.name], strict=True)):
            found = (feeds[edge].dtype, False) if edge in feeds else _output(edge, given, item)
            if not _fits(found, wanted):
                raise _wrong(
                    item,
                    f"Input {place} of node {item.name} was passed {_show(found)} from "
                    f"{edge.tensor} incompatible with expected {_show(wanted)}.",
                )


def _require_nodes(
    item: node.Node, nodes: Mapping[str, node.Node], feeds: Collection[node.Edge]
) -> None:
    needed = [edge.node for edge in item.inputs if edge not in feeds]
    for name in (*needed, *item.control):
        if name not in nodes:
            raise _wrong(item, f"Node '{item.name}': Unknown input node '{name}'")


def _output(
    edge: node.Edge, given: Mapping[str, infer.Tensors], item: node.Node
) -> tuple[dtypes.DType, bool]:
    outputs = given[edge.node]
    if edge.index >= len(outputs):
        raise _wrong(
            item,
            f"Node '{item.name}': Connecting to invalid output {edge.index} of source node "
            f"{edge.node} which has {len(outputs)} outputs.",
        )
    return outputs[edge.index]


def _fits(found: tuple[dtypes.DType, bool], wanted: tuple[dtypes.DType, bool]) -> bool:
    """A reference will do for a value, a value not for a reference."""
    return found[0] == wanted[0] and found[1] >= wanted[1]


def _show(tensor: tuple[dtypes.DType, bool]) -> str:
    dtype, is_ref = tensor
    return f"{dtype.name}_ref" if is_ref else dtype.name


def _wrong(item: node.Node, what: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(None, None, f"{what}\n\t [[{{{{node {item.name}}}}}]]")
