"""Choose and write the runs of a segment: consecutive nodes that their device can repeat.

The nodes of a run become a function of the generated code. The segment calls it by an object of
`executor.repeats`, of which each context has its own. The copies from host memory that only one run
reads belong to the run: the object makes them.
"""

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence

from capstan.core import devices, dtypes
from capstan.core import node as ir
from capstan.executor import aliases, branches, repeats, source, values
from capstan.framework import facts, opdef
from capstan.graph import guards, infer
from capstan.hardware import device as hardware
from capstan.kernels import registry
from capstan.partition import parts

_FEWEST = 3
"""The nodes of a run that compute something. For fewer, a recording saves little: a guess."""

_HANDLES = (dtypes.resource, dtypes.variant)
_UNCOUNTED = frozenset({facts.Role.CONSTANT, facts.Role.VARIABLE})


class Runs:
    """Writes the runs of a part."""

    def __init__(
        self,
        part: parts.Part,
        out: source.Writer,
        held: values.Values,
        aliased: aliases.Aliases,
        conditions: branches.Branches,
    ) -> None:
        self._part = part
        self._out = out
        self._values = held
        self._aliases = aliased
        self._branches = conditions
        self._fed = frozenset(part.feeds)
        self._variables, self._unknown = _references(part)
        self._readers = _readers(part)
        self._count = 0

    def split(self, segment: Sequence[ir.Node]) -> Iterator[tuple[bool, Sequence[ir.Node]]]:
        """Yield the nodes of a segment in groups, and whether each group is a run.

        Each copy from host memory comes as late as possible, and begins the run that reads it.
        """
        late: dict[ir.Edge, ir.Node] = {}
        for is_run, group in self._groups(segment):
            if not is_run and len(group) == 1 and self._can_be_late(group[0]):
                late[ir.Edge(group[0].name)] = group[0]
                continue
            own = {node.name for node in group}
            arriving = []
            for edge in [edge for edge in late if not own.isdisjoint(self._readers[edge])]:
                if is_run and self._readers[edge] <= own:
                    arriving.append(late.pop(edge))
                else:
                    yield False, [late.pop(edge)]
            yield is_run, [*arriving, *group]
        yield False, [*late.values()]

    def _groups(self, segment: Sequence[ir.Node]) -> Iterator[tuple[bool, Sequence[ir.Node]]]:
        """Yield the nodes of a segment in groups, with each copy from host memory by itself."""
        group: list[ir.Node] = []
        for node in segment:
            if self._is_repeatable(node):
                group.append(node)
                continue
            yield _is_worthwhile(group), group
            group = []
            yield False, [node]
        yield _is_worthwhile(group), group

    def write(
        self,
        run: Sequence[ir.Node],
        home: hardware.Device,
        write_node: Callable[[ir.Node], None],
        buffers: Mapping[ir.Edge, str],
    ) -> None:
        """Write a run on the device `home`. `write_node` writes a node, and fills `buffers`."""
        out, number = self._out, self._count
        self._count += 1
        arriving = {ir.Edge(node.name): node.inputs[0] for node in run if _is_arrival(node)}
        run = run[len(arriving) :]
        before = {
            edge: self._values[arriving.get(edge, edge)]
            for edge in self._read_outside(run)
            if edge in arriving or not out.is_bound(self._values[edge])
        }
        names = [f"i{index}" for index in range(len(before))]
        for edge, name in zip(before, names, strict=True):
            self._values.put(edge, name)
        with out.helper(f"run{number}", ", ".join(names)):
            for node in run:
                write_node(node)
            results = self._results(run)
            out.line(f"        return ({source.items([self._values[edge] for edge in results])})")
            make = functools.partial(
                repeats.Repeats,
                home=home,
                variables=self._aliases.variables(edge for node in run for edge in node.inputs),
                changed=self._aliases.variables(_changed(run)),
                shared=[self._aliases.is_shared(edge) for edge in before],
                arriving=[edge in arriving for edge in before],
                kept=[edge in buffers or self._aliases.is_shared(edge) for edge in results],
            )
            out.line(f"    r{number} = {out.bind(make)}(run{number})")
        for edge, text in before.items():
            self._values.put(edge, text)
        target = source.items([self._values[edge] for edge in results])
        call = f"r{number}({', '.join(before.values())})"
        # Without a node for this line, an error names the node of the line in the run.
        out.line(f"        {target}= {call}" if target else f"        {call}")

    def _can_be_late(self, node: ir.Node) -> bool:
        """Return whether `node` is a copy from host memory that a run may make itself."""
        if not _is_arrival(node) or self._branches.condition(ir.Edge(node.name)):
            return False
        (edge,), copy = node.inputs, ir.Edge(node.name)
        [(dtype, _)], _ = infer.tensors(node)
        if edge in self._variables or edge in self._unknown or dtype in _HANDLES:
            return False
        return bool(self._readers.get(copy)) and copy not in self._fed

    def _is_repeatable(self, node: ir.Node) -> bool:
        """Return whether the device of `node` can do its work again without the host."""
        if node.name in self._part.answers or guards.is_switch(node) or guards.is_merge(node):
            return False
        if infer.is_constant(node) or ir.Edge(node.name) in self._variables:
            return True
        kind = devices.type_of(node.device)
        attrs = infer.attributes(node)
        kernel = registry.find(node.op, kind, attrs)
        if kernel is None or not kernel.can_repeat(attrs):
            return False
        if self._branches.condition(ir.Edge(node.name)):
            return False
        return self._unknown.isdisjoint(node.inputs)

    def _read_outside(self, run: Sequence[ir.Node]) -> list[ir.Edge]:
        """Return the tensors that a run reads and does not compute."""
        own = {node.name for node in run}
        edges = [edge for node in run for edge in node.inputs]
        return [*dict.fromkeys(e for e in edges if e.node not in own or e in self._fed)]

    def _results(self, run: Sequence[ir.Node]) -> list[ir.Edge]:
        """Return the tensors of a run that others read.

        A reference stays bound to its variable.
        """
        own = {node.name for node in run}
        found = []
        for node in run:
            _, outputs = infer.tensors(node)
            for index, (_, is_ref) in enumerate(outputs):
                edge = ir.Edge(node.name, index)
                if edge in self._fed or self._readers.get(edge, set()) <= own:
                    continue
                if is_ref:
                    self._aliases.name_variable(edge)
                elif not self._out.is_bound(self._values[edge]):
                    found.append(edge)
        return found


def _is_arrival(node: ir.Node) -> bool:
    return opdef.role(node.op) is facts.Role.ARRIVAL


def _is_worthwhile(group: Sequence[ir.Node]) -> bool:
    return sum(opdef.role(node.op) not in _UNCOUNTED for node in group) >= _FEWEST


def _changed(run: Sequence[ir.Node]) -> Iterator[ir.Edge]:
    """Yield the references and handles that the nodes of a run may use for a change."""
    for node in run:
        if opdef.role(node.op) in (facts.Role.READ, facts.Role.IDENTITY):
            continue
        inputs, _ = infer.tensors(node)
        for edge, (dtype, is_ref) in zip(node.inputs, inputs, strict=True):
            if is_ref or dtype is dtypes.resource:
                yield edge


def _references(part: parts.Part) -> tuple[set[ir.Edge], set[ir.Edge]]:
    """Return the references and handles whose variables are known, and all others.

    The others include the handles that are no variables, and all that are fed or arrive.
    """
    known: set[ir.Edge] = set()
    unknown = {
        edge
        for edge in (*part.feeds, *(edge for sent in part.incoming for edge in sent.edges))
        if part.tensor_dtypes.get(edge) in _HANDLES
    }
    for node in part.nodes:
        is_variable = opdef.role(node.op) is facts.Role.VARIABLE and not node.inputs
        for index, (dtype, is_ref) in enumerate(infer.tensors(node)[1]):
            edge = ir.Edge(node.name, index)
            if is_variable and edge not in unknown and edge not in part.feeds:
                known.add(edge)
            elif is_ref or dtype in _HANDLES:
                unknown.add(edge)
    return known, unknown


def _readers(part: parts.Part) -> dict[ir.Edge, set[str]]:
    """Return the names of the nodes that read each tensor, and "" for what leaves the part."""
    found: dict[ir.Edge, set[str]] = {}
    for node in part.nodes:
        for edge in node.inputs:
            found.setdefault(edge, set()).add(node.name)
    leaving = [edge for message in part.outgoing for edge in (*message.edges, *message.conditional)]
    for edge in (*part.fetches, *leaving):
        found.setdefault(edge, set()).add("")
    return found
