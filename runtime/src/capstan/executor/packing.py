"""The tensors of strings that may stay in one piece of memory (`core.packed_strings`)."""

from collections.abc import Iterator

from capstan.core import devices, dtypes
from capstan.core import node as ir
from capstan.graph import infer
from capstan.kernels import registry
from capstan.partition import parts


def packed(part: parts.Part) -> frozenset[ir.Edge]:
    """Return the strings that a kernel gives packed, and that only kernels read which take them.

    A tensor that leaves the part is not among them. In a traced part, no tensor is.
    """
    if parts.is_traced(part):
        return frozenset()
    given = set(_given(part))
    if given:
        given.difference_update(part.fetches)
        for message in part.outgoing:
            given.difference_update(message.edges)
        for node in part.nodes:
            if not given.isdisjoint(node.inputs):
                kernel = _kernel(node)
                taken = kernel.takes_packed if kernel else ()
                given -= {edge for number, edge in enumerate(node.inputs) if number not in taken}
    return frozenset(given)


def _given(part: parts.Part) -> Iterator[ir.Edge]:
    for node in part.nodes:
        if not registry.gives_packed(node.op):
            continue
        outputs = infer.arguments(node)[1]
        for number, (dtype, _) in enumerate(outputs):
            if dtype is dtypes.string:
                yield ir.Edge(node.name, number)


def _kernel(node: ir.Node) -> registry.Kernel | None:
    kind = devices.type_of(node.device)
    return registry.find(node.op, kind, infer.attributes(node))
