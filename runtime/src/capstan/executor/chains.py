"""Replace chains of elementwise nodes on a GPU by one node, so that they are one kernel.

A node joins the node that reads its output if no other node reads it, and if both outputs have the
same static shape. Nothing is then computed more often than before. The new node has the name of the
last node of the chain, and reports the errors of all. A node whose kernel calls several functions
is a chain, too.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from capstan.core import elementwise, recording, shapes
from capstan.core import node as ir
from capstan.executor import bind, state
from capstan.framework.ops import chains as rows
from capstan.graph import infer
from capstan.partition import parts
from capstan.resources import containers

_MOST_INPUTS = 16
"""The inputs of a chain. CUDA takes 4 KiB of arguments, which are some 50 arrays of 4 axes."""


@dataclass(frozen=True, slots=True)
class _Link:
    """A node that may be in a chain. `inputs` are its constant inputs, or None."""

    node: ir.Node
    run: Any
    inputs: Sequence[float | None]


def join(part: parts.Part, resources: containers.SessionResources) -> parts.Part:
    """Return `part` with its chains replaced by nodes of the op `_Elementwise`.

    A traced part keeps its nodes, and has the time of each.
    """
    if parts.is_traced(part) or all(device.is_host for device in resources.devices):
        return part
    links = {link.node.name: link for link in _links(part, resources)}
    chains = _chains(part, links)
    joined = {
        name: node
        for name, chain in chains.items()
        if (node := _joined(part, chain)) is not None and len(node.attrs["program"].calls) > 1
    }
    gone = {link.node.name for name in joined for link in chains[name]} - joined.keys()
    nodes = tuple(joined.get(node.name, node) for node in part.nodes if node.name not in gone)
    return replace(part, nodes=nodes)


def _links(part: parts.Part, resources: containers.SessionResources) -> Iterator[_Link]:
    numbers = {
        node.name: float(value)
        for node in part.nodes
        if infer.is_constant(node)
        and ir.Edge(node.name) not in part.feeds
        and not (value := node.attrs["value"]).shape
        and elementwise.is_number(value.dtype)
    }
    for node in part.nodes:
        if node.op not in rows.LINKS or resources.devices.of(node.device).is_host:
            continue
        dtype = node.attrs["T"]
        if not dtype.is_floating or ir.Edge(node.name) in part.feeds:
            continue
        bound = bind.bind(node, part.tensor_shapes, {}, resources)
        link = _Link(node, bound.function, [numbers.get(edge.node) for edge in node.inputs])
        if _record(part, [link]) is not None:
            yield link


def _chains(part: parts.Part, links: Mapping[str, _Link]) -> dict[str, list[_Link]]:
    """Return the links of each chain, in topological order, by the name of the last one."""
    readers: dict[ir.Edge, set[str]] = defaultdict(set)
    named = Counter(name for node in part.nodes for name in node.control)
    for node in part.nodes:
        for edge in node.inputs:
            readers[edge].add(node.name)
    for message in part.outgoing:
        named.update(edge.node for edge in (*message.edges, *message.conditional))
        named.update(message.controls)
    named.update(edge.node for edge in part.fetches)
    last: dict[str, str] = {}
    for node in reversed(part.nodes):
        if node.name not in links:
            continue
        last[node.name] = node.name
        [reader, *others] = [*readers[ir.Edge(node.name)], ""]
        if others == [""] and not named[node.name] and _fits(part, links, node.name, reader):
            last[node.name] = last[reader]
    chains: dict[str, list[_Link]] = defaultdict(list)
    for name, link in links.items():
        chains[last[name]].append(link)
    return chains


def _fits(part: parts.Part, links: Mapping[str, _Link], name: str, reader: str) -> bool:
    """Return whether the link called `name` may be computed together with its reader."""
    if reader not in links:
        return False
    first, second = links[name].node, links[reader].node
    shape = _shape(part, first)
    return (
        first.device == second.device
        and first.attrs["T"] is second.attrs["T"]
        and state.segment_key(part, name) == state.segment_key(part, reader)
        and shape is not None
        and shape == _shape(part, second)
    )


def _shape(part: parts.Part, node: ir.Node) -> shapes.Shape:
    return part.tensor_shapes.get(ir.Edge(node.name))


def _joined(part: parts.Part, chain: Sequence[_Link]) -> ir.Node | None:
    """Return the node that computes a chain, or None if the chain has too many inputs."""
    recorded = _record(part, chain)
    if recorded is None:
        return None
    inputs, program = recorded
    members = {link.node.name for link in chain}
    # The numbers of a chain are part of its program. They may have waited for other nodes.
    numbers = {
        edge.node
        for link in chain
        for edge, number in zip(link.node.inputs, link.inputs, strict=True)
        if number is not None
    }
    waits = [link.node for link in chain] + [node for node in part.nodes if node.name in numbers]
    control = {name: None for node in waits for name in node.control if name not in members}
    return rows.joined(chain[-1].node, inputs, tuple(control), program)


def _record(
    part: parts.Part, chain: Sequence[_Link]
) -> tuple[tuple[ir.Edge, ...], elementwise.Program] | None:
    """Return the inputs and the program of a chain, or None if it cannot be recorded."""
    dtype = np.dtype(chain[0].node.attrs["T"].as_numpy_dtype)
    recorder = recording.Recorder(elementwise.computed(dtype))
    made = {link.node.name for link in chain}
    inputs = tuple(
        {
            edge: None
            for link in chain
            for edge, number in zip(link.node.inputs, link.inputs, strict=True)
            if number is None and edge.node not in made
        }
    )
    if not inputs or len(inputs) > _MOST_INPUTS:
        return None
    traced = {edge: recorder.input(part.tensor_shapes.get(edge), dtype) for edge in inputs}
    try:
        for link in chain:
            values = [
                traced[edge] if number is None else recorder.constant(number, dtype)
                for edge, number in zip(link.node.inputs, link.inputs, strict=True)
            ]
            traced[ir.Edge(link.node.name)] = link.run(*values)
        return inputs, recorder.program([traced[ir.Edge(chain[-1].node.name)]])
    except recording.Unrecordable:
        return None
