"""Write the source of a part: one straight-line function per segment, over local variables.

A node is one line. The line needs no dictionary, queue or lock, and makes no decision, because the
kernel, the buffer and any copy are chosen when the line is written. The line number of a traceback
gives the node of an error, so nodes without errors pay nothing for error messages. Nodes that
depend on a `Switch` are inside an `if`.

The generated module looks like this:

    def build(k, b):
        k0, k1, = k                       # kernels and constants
        b0, = b                           # buffers of one execution context
        f0 = None                         # variables that several functions share
        t1_0 = None
        def feed(values): ...
        def segment0():
            nonlocal t1_0
            t0_0 = k0(f0, b0)             # 'dense/MatMul'
            t1_0 = k1(t0_0)               # 'dense/Relu'
            return ()
        def fetch(): return (t1_0, )
        return feed, {}, (segment0, ), fetch

The line of a node that waits, for example a dequeue, puts the node's inputs into the list `waits`,
or None if the node is in a branch that is not taken. When the node has answered, its outputs are in
the list instead.
"""

import functools
from collections.abc import Iterable, Sequence

from capstan.core import cancellation
from capstan.core import node as ir
from capstan.executor import (
    aliases,
    binder,
    branches,
    buffers,
    calls,
    columns,
    exchange,
    loops,
    rewrites,
    runs,
    segments,
    source,
    state,
    trace,
    values,
)
from capstan.framework import facts, opdef
from capstan.graph import guards, infer
from capstan.partition import parts
from capstan.resources import containers


def write(
    part: parts.Part, resources: containers.SessionResources, keep: binder.Keep | None = None
) -> source.Code:
    """Write the module of `part`. The module is bound to the variables in `resources`.

    `keep` makes the functions that nodes keep.

    Raises:
        NotFoundError: an op or a kernel does not exist.
        InvalidArgumentError: a variable exists with another dtype.
    """
    carried = loops.carried_edges(part, segments.shares, exchange.owned(part))
    return _Emission(part, resources, unplanned=carried, keep=keep).write()


def write_function(
    called: parts.Part,
    resources: containers.SessionResources,
    keep: binder.Keep,
    cancelled: cancellation.Cancellation,
) -> source.Code:
    """Write the module of a function, whose `build` returns a Python function.

    The Python function takes the feeds of `called` as arguments, and returns a tuple of its
    fetches. It has no buffers, so several threads may call it at the same time. A node that waits
    blocks the thread until `cancelled` ends the wait. If the function has loops, the last value to
    which the module is bound is an empty list. An error in this list ends the loops.

    Raises: as `write`.
    """
    called = rewrites.apply(called, resources)
    out = source.Writer(shared=["stop"])
    arguments = [f"a{index}" for index in range(len(called.feeds))]
    edges = frozenset(called.tensor_dtypes)
    with out.function("call", ", ".join(arguments)):
        emission = _Emission(
            called, resources, out.inner(), edges, keep, cancelled, has_buffers=False
        )
        out.line(f"        return ({source.items(emission.write_call(arguments))})")
        emission.finish()
    if out.loops:
        out.line(f"    stop = {out.bind([])}")
    out.result("call")
    return out.code()


class _Emission:
    """Writes one part, node by node."""

    def __init__(
        self,
        part: parts.Part,
        resources: containers.SessionResources,
        out: source.Writer | None = None,
        unplanned: frozenset[ir.Edge] = frozenset(),
        keep: binder.Keep | None = None,
        cancelled: cancellation.Cancellation | None = None,
        *,
        has_buffers: bool = True,
    ) -> None:
        """Write to `out`, or to a new writer. The tensors `unplanned` get no buffer.

        `cancelled` ends the waits of a function. Without `has_buffers`, no tensor of a loop gets a
        buffer either.
        """
        self._has_buffers = has_buffers
        self._cancelled = cancelled or cancellation.Cancellation()
        self._part = part
        self._keep = keep
        self._resources = resources
        self._is_function = out is not None
        self._fed = frozenset(part.feeds)
        self._layout = state.Layout.of(part)
        is_flat = len(self._layout.keys) > source.MANY_FUNCTIONS
        self._out = source.Writer(is_flat=is_flat) if out is None else out
        self._values = values.Values(part, self._out)
        self._aliases = aliases.Aliases(part, self._out, self._values, resources.handles)
        self._branches = branches.Branches(part, self._out, self._values, self._aliases)
        self._binder = binder.Binder(
            part, resources, keep, cancelled=self._cancelled if self._is_function else None
        )
        if out is None and parts.is_traced(part):
            trace.begin(self._out)
        self._plan = segments.plan(part, self._layout, resources.default_container)
        self._numbers = {name: number for number, name in enumerate(self._layout.waiting)}
        self._buffers = buffers.Buffers(part, self._out, unplanned)
        self._columns = columns.Columns(self._out)
        self._calls = calls.Calls(
            self.scope, self._binder, self._buffers, self._plan, self._columns,
            is_function=self._is_function,
        )  # fmt: skip

    def write(self) -> source.Code:
        """Write the whole module."""
        exchanges = exchange.Exchange(self._out, self._values, self._aliases, self._branches)
        feed = exchanges.feed(self._part.feeds)
        arrivals = [
            f"{message.number}: {exchanges.arrival(message)}" for message in self._part.incoming
        ]
        functions = []
        for index, segment in enumerate(self._plan.groups):
            functions.append(f"segment{index}")
            if not self._plan.is_ordered:
                self._out.free.clear()  # another segment may run before this one or after it
            with self._out.function(functions[-1]):
                self._segment(segment, exchanges)
                exchanges.send(self._layout.sends[index])
                self.finish()
        self._values.put(parts.trace_edge(self._part.task), trace.REPORT)
        fetch = exchanges.fetch(self._part.fetches, exchange.owned(self._part))
        table = "{" + ", ".join(arrivals) + "}"
        more = exchanges.more()
        self._out.result(f"{feed}, {table}, ({source.items(functions)}), {fetch}{more}")
        return self._out.code()

    def finish(self) -> None:
        """End the function that is being written."""
        self._columns.finish()

    def _segment(self, segment: Sequence[segments.Group], exchanges: exchange.Exchange) -> None:
        """Write the nodes of a segment, which are on one device. A device repeats runs of them.

        Constants in host memory may be among them.
        """
        nodes = [node for group in segment for node in group]
        homes = map(self._resources.devices.of, dict.fromkeys(node.device for node in nodes))
        home = next((home for home in homes if not home.is_host), None)
        if home is not None:
            self._out.line(f"        {self._out.bind(home.use)}()")
        if home is None or self._out.timed is not None or self._out.is_flat:
            self._groups(segment, exchanges)
            return
        for is_run, run in self._runs.split(nodes):
            if is_run:
                self._runs.write(run, home, self._node, self._buffers.names)
            else:
                self._groups([[node] for node in run], exchanges)

    def _groups(self, groups: Iterable[segments.Group], exchanges: exchange.Exchange) -> None:
        for group in groups:
            if group[0].name in self._part.answers:
                self._waiting(group[0], exchanges)
            else:
                self._joined(group)

    @functools.cached_property
    def _runs(self) -> runs.Runs:
        return runs.Runs(self._part, self._out, self._values, self._aliases, self._branches)

    @property
    def scope(self) -> loops.Scope:
        return loops.Scope(self._part, self._out, self._values, self._aliases, self._branches)

    def write_nodes(self) -> None:
        """Write the nodes of a function, which all run in one segment."""
        for segment in self._plan.groups:
            for group in segment:
                self._joined(group)

    def write_call(self, arguments: Sequence[str]) -> list[str]:
        """Write the nodes of a function, and return the expressions for its results."""
        for edge, argument in zip(self._part.feeds, arguments, strict=True):
            self._aliases.take(edge, argument)
        self.write_nodes()
        for edge in self._part.fetches:
            condition = self._branches.condition(edge)
            if condition:
                refusal = f"{self._out.bind(loops.refuse)}({edge.tensor!a})"
                self._out.statement(f"({condition}) or {refusal}", edge.node, "")
        return [self._aliases.separate(edge) for edge in self._part.fetches]

    def _enter(self, called: parts.Part, out: source.Writer) -> "_Emission":
        if self._out.timed is None:
            called = rewrites.apply(called, self._resources)
        unplanned = (
            loops.carried_edges(called, segments.shares, called.fetches)
            if self._has_buffers
            else frozenset(called.tensor_dtypes)
        )
        return _Emission(
            called, self._resources, out, unplanned, self._keep, self._cancelled,
            has_buffers=self._has_buffers,
        )  # fmt: skip

    def _node(self, node: ir.Node) -> None:
        """Write a node, and release the buffers of the tensors that it is the last to use."""
        if self._out.timed is None or (trace.is_bound(node) and not self._is_function):
            self._write(node)
        else:
            trace.write(node, self._write, self.scope)
        self._buffers.release(self._plan.released.get(node.name, ()))

    def _write(self, node: ir.Node) -> None:
        edge = ir.Edge(node.name)
        if infer.is_constant(node):
            if edge not in self._fed:
                value = self._binder.constants[edge] = node.attrs["value"]
                if not (home := self._resources.devices.of(node.device)).is_host:
                    value = home.put(value)
                elif self._is_function and self._calls.is_scalar(edge):
                    value = value[()]  # NumPy computes faster with scalars than with arrays
                self._values.put(edge, self._out.bind(value))
        elif guards.is_switch(node):
            self._branches.switch(node)
        elif guards.is_merge(node):
            self._branches.merge(node)
        elif opdef.role(node.op) is facts.Role.WHILE:
            loops.write(node, self.scope, self._enter)
        elif opdef.role(node.op) is facts.Role.IDENTITIES:
            self._calls.write(node)
            for index, edge in enumerate(node.inputs):
                self._aliases.share(edge, ir.Edge(node.name, index))
        else:
            self._calls.write(node)

    def _waiting(self, node: ir.Node, exchanges: exchange.Exchange) -> None:
        """Write the line that takes the inputs of a waiting node."""
        bound = self._binder.bind(node)
        if opdef.role(node.op) is facts.Role.ITERATIONS:
            # The loop may return its inputs, so they are in no buffer of the step.
            arguments = [self._aliases.separate(edge) for edge in node.inputs]
        else:
            arguments = [
                self._aliases.kept(edge, takes_ref=takes_ref)
                for edge, (_, takes_ref) in zip(node.inputs, bound.inputs, strict=True)
            ]
        condition = self._branches.condition(ir.Edge(node.name))
        number = self._numbers[node.name]
        exchanges.begin(number, node.name, arguments, condition)
        edges = [ir.Edge(node.name, index) for index in range(len(bound.outputs))]
        exchanges.answer(number, edges, self._fed)
        self._out.starts[node.name] = bound.function

    def _joined(self, group: segments.Group) -> None:
        """Write one line for all nodes of a group if they can run together."""
        if not self._calls.write_together(group):
            for node in group:
                self._node(node)
            return
        for node in group:
            self._buffers.release(self._plan.released.get(node.name, ()))
