"""Write the source of a part: one function per segment, straight-line, over local variables.

A node is one line. There is no dictionary, queue or lock per node, and no decision: which kernel,
which buffer and which copy were settled when the line was written. The line number of a traceback
tells the node, so an error costs nothing until it happens. What hangs on a `Switch` stands in an
`if`.

The module that is written looks like this:

    def build(k, b):
        k0, k1, = k                       # kernels and constants
        b0, = b                           # buffers of one execution context
        f0 = None                         # what one function leaves for another
        t1_0 = None
        def feed(values): ...
        def segment0():
            nonlocal t1_0
            t0_0 = k0(f0, b0)             # 'dense/MatMul'
            t1_0 = k1(t0_0)               # 'dense/Relu'
            return ()
        def fetch(): return (t1_0, )
        return feed, {}, (segment0, ), fetch
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from capstan import errors
from capstan.core import devices, dtypes, node
from capstan.executor import bind, source, state
from capstan.graph import guards, hazards, infer, schedule
from capstan.kernels import registry
from capstan.partition import parts
from capstan.resources import containers, variable

_AFTER_ALL = 1 << 30
"""The leg of what is read after the last segment."""

_READS = frozenset({"Identity", "ReadVariableOp"})
"""What gives the value of a variable as it is."""

_PINNED_BYTES = 1 << 18
"""Smaller values are copied to be sent: a writer that meets a pin copies them too. A guess."""


def write(part: parts.Part, resources: containers.SessionResources) -> source.Code:
    """Write the module of `part`; variables are looked up in `resources` and bound.

    Raises:
        NotFoundError: an op or a kernel does not exist.
        InvalidArgumentError: a variable is held with another dtype.
    """
    return _Emission(part, resources).write()


class _Emission:
    """One part being written. `values` maps a tensor to the expression that holds it, `cells` to
    the variable whose memory it shares, and `flags` what decides to the name of the decision.
    `handles` are the tensors that stand for a variable, `whole` those that have its whole value.
    """

    def __init__(self, part: parts.Part, resources: containers.SessionResources) -> None:
        self.part = part
        self.resources = resources
        self.out = source.Writer()
        self.values: dict[node.Edge, str] = {}
        self.cells: dict[node.Edge, str] = {}
        self.refs: set[node.Edge] = set()
        self.handles: dict[node.Edge, variable.Variable] = {}
        self.whole: dict[node.Edge, variable.Variable] = {}
        self.constants: dict[node.Edge, Any] = {}
        self.flags: dict[node.Edge, str] = {}
        self.fed = frozenset(part.feeds)
        self.guards = guards.Guards(
            self.fed, (edge for message in part.incoming for edge in message.conditional)
        )
        self.orders = [
            schedule.reads_first([item for item in part.nodes if part.legs[item.name] == leg])
            for leg in state.segment_legs(part)
        ]
        self.devices = {item.name: item.device for item in part.nodes}
        self.copied = _copied_reads(part, self.orders)
        self.last_leg: dict[node.Edge, int] = {}
        for item in part.nodes:
            self.guards.learn(item)
            for edge in item.inputs:
                self._reach(edge, part.legs[item.name])
        for edge in part.fetches:
            self._reach(edge, _AFTER_ALL)
        for item in reversed(part.nodes):
            # A switch hands its input on under other names.
            for index in (0, 1) if item.op in guards.SWITCHES else ():
                self._reach(item.inputs[0], self.last_leg.get(node.Edge(item.name, index), 0))

    def _reach(self, edge: node.Edge, leg: int) -> None:
        self.last_leg[edge] = max(self.last_leg.get(edge, 0), leg)

    def write(self) -> source.Code:
        layout = state.Layout.of(self.part)
        self._receive("feed", self.part.feeds, "f")
        arrivals = [self._arrival(message) for message in self.part.incoming]
        segments = []
        for index, order in enumerate(self.orders):
            segments.append(f"segment{index}")
            with self.out.function(segments[-1]):
                self._segment(order, layout.sends[index])
        self.out.line("    def fetch():")
        self.out.line(f"        return ({source.items([*map(self._fetched, self.part.fetches)])})")
        table = "{" + ", ".join(arrivals) + "}"
        self.out.line(f"    return feed, {table}, ({source.items(segments)}), fetch")
        return self.out.code()

    def _receive(self, function: str, edges: Sequence[node.Edge], prefix: str, *more: str) -> None:
        """Write the function that takes the values of a message, or of the feeds."""
        names = [f"{prefix}{index}" for index in range(len(edges))]
        self.values.update(zip(edges, names, strict=True))
        names += more
        self.out.shared += names
        self.out.line(f"    def {function}(values):")
        if names:
            self.out.line(f"        nonlocal {', '.join(names)}")
            self.out.line(f"        {source.items(names)} = values")
        else:
            self.out.line("        return None")

    def _arrival(self, message: parts.Message) -> str:
        """Write the function of a message. Its last value tells which conditional tensors live."""
        function = f"message{message.number}"
        alive = [f"a{message.number}"] if message.conditional else []
        self._receive(function, message.edges, f"m{message.number}_", *alive)
        for index, edge in enumerate(message.conditional):
            self.flags[guards.alive(edge)] = f"{alive[0]}[{index}]"
        return f"{message.number}: {function}"

    def _segment(self, order: Sequence[node.Node], sends: Sequence[parts.Message]) -> None:
        for item in order:
            self._node(item)
        pins: list[source.Pin] = []
        messages = [self._message(number, message, pins) for number, message in enumerate(sends)]
        if pins:
            # Last, so that nothing can fail while they are held.
            for number, texts in enumerate(messages):
                messages[number] = [self._evaluated(text) for text in texts]
            cells = [self.out.bind(pin.cell) for pin in pins]
            names = [messages[pin.message][pin.place] for pin in pins]
            pin_all = self.out.bind(_pin_all)
            self.out.line(f"        {source.items(names)} = {pin_all}(({source.items(cells)}))")
        self.out.pins.append(tuple(pins))
        texts = [f"({source.items(message)})" for message in messages]
        self.out.line(f"        return ({source.items(texts)})")

    def _evaluated(self, text: str) -> str:
        """The name of a leaving value, which may take a call to get."""
        if text.isidentifier():
            return text
        name = f"s{len(self.out.lines)}"
        self.out.line(f"        {name} = {text}")
        return name

    def _message(self, number: int, message: parts.Message, pins: list[source.Pin]) -> list[str]:
        texts: list[str] = []
        for edge in message.edges:
            condition = self._condition(self.guards.of(edge))
            cell = None if condition else self._pinned(edge)
            if cell is not None:
                texts.append(f"v{number}_{len(texts)}")
                pins.append(source.Pin(number, len(texts) - 1, cell))
                continue
            text = self._leaving(edge)
            texts.append(f"({text} if {condition} else {self._dead()})" if condition else text)
        if message.conditional:
            alive = [self._condition(self.guards.of(edge)) for edge in message.conditional]
            texts.append(f"{self.out.bind(_mask)}(({source.items(alive)}))")
        return texts

    def _pinned(self, edge: node.Edge) -> variable.Variable | None:
        """The variable whose whole, large value `edge` is, so that pinning it beats a copy."""
        cell, shape = self.whole.get(edge), self.part.tensor_shapes.get(edge)
        dtype = self.part.tensor_dtypes.get(edge)
        if cell is None or dtype is None or not source.plannable(shape, dtype):
            return None
        size = dtype.size * math.prod(length or 0 for length in shape or ())
        return cell if size >= _PINNED_BYTES else None

    def _dead(self) -> str:
        return self.out.bind(np.zeros(0, np.uint8))

    def _condition(self, guard: guards.Guard) -> str:
        """The decisions of `guard`, outermost first; each is known when those before it hold."""
        return " and ".join(
            self.flags[edge] if side else f"not {self.flags[edge]}" for edge, side in guard
        )

    def _node(self, item: node.Node) -> None:
        edge = node.Edge(item.name)
        if item.op == "Const":
            if edge not in self.fed:
                self.constants[edge] = item.attrs["value"]
                self.values[edge] = self.out.bind(item.attrs["value"])
        elif item.op in guards.SWITCHES:
            self._switch(item)
        elif item.op in guards.MERGES:
            self._merge(item)
        else:
            self._computed(item)

    def _computed(self, item: node.Node) -> None:
        number = len(self.values)
        edge = node.Edge(item.name)
        bound = bind.bind(item, self.part.tensor_shapes, self.constants, self.resources)
        outputs = bound.outputs
        if not item.inputs and len(outputs) == 1 and _stands_for_a_variable(*outputs[0]):
            # A variable: found once, used by every step.
            if edge in self.fed:
                return
            cell = bound.function()
            self.values[edge] = self.cells[edge] = self.out.bind(cell)
            self.handles[edge] = cell
            if outputs[0][1]:
                self.refs.add(edge)
                self.whole[edge] = cell
            return
        edges = [node.Edge(item.name, index) for index in range(len(outputs))]
        names = [f"t{number}_{index}" for index in range(len(edges))]
        target = f"{', '.join(names)} = " if names else ""
        text = f"{target}{self._call(item, bound, edges)}"
        self.out.statement(text, item.name, self._condition(self.guards.of(edge)))
        for produced, name, (_, is_ref) in zip(edges, names, outputs, strict=True):
            if produced in self.fed:
                continue
            self._hold(produced, name)
            if is_ref:
                self.refs.add(produced)
            shares = is_ref or (bound.kernel.alias and produced.index == 0)
            if item.name in self.copied:
                continue
            if shares and item.inputs and item.inputs[0] in self.cells:
                self.cells[produced] = self.cells[item.inputs[0]]
                if item.op in _READS and item.inputs[0] in self.handles:
                    self.whole[produced] = self.handles[item.inputs[0]]

    def _hold(self, edge: node.Edge, name: str) -> None:
        self.values[edge] = name
        if self.last_leg.get(edge, 0) > self.part.legs[edge.node]:
            self.out.shared.append(name)

    def _call(self, item: node.Node, bound: bind.Bound, edges: Sequence[node.Edge]) -> str:
        arguments = [
            self._argument(edge, takes_ref)
            for edge, (_, takes_ref) in zip(item.inputs, bound.inputs, strict=True)
        ]
        if item.name in self.copied:
            return f"{arguments[0]}.snapshot({', '.join(self._planned(edges))})"
        if bound.kernel.emit is not None:
            return bound.kernel.emit(arguments)
        if bound.kernel.out:
            arguments += self._planned(edges)
        return f"{self.out.bind(bound.function)}({', '.join(arguments)})"

    def _argument(self, edge: node.Edge, takes_ref: bool) -> str:
        text = self.values[edge]
        return f"{text}.read()" if edge in self.refs and not takes_ref else text

    def _planned(self, edges: Sequence[node.Edge]) -> list[str]:
        """Name a buffer for every output, or none when the shape of one is not known."""
        facts = [(self.part.tensor_shapes.get(e), self.part.tensor_dtypes.get(e)) for e in edges]
        if not all(source.plannable(shape, dtype) for shape, dtype in facts):
            return []
        return [self.out.buffer(shape, dtype) for shape, dtype in facts]

    def _switch(self, item: node.Node) -> None:
        """Both outputs are the input; what hangs on them asks the predicate."""
        data, predicate = item.inputs
        if predicate not in self.flags:
            flag = f"p{len(self.flags)}"
            condition = self._condition(self.guards.of(predicate))
            text = f"{flag} = bool({self._argument(predicate, takes_ref=False)})"
            self.out.statement(text, item.name, condition)
            self.flags[predicate] = flag
            self.out.shared.append(flag)
        for index in (0, 1):
            output = node.Edge(item.name, index)
            if output not in self.fed:
                self._pass_on(data, output)

    def _pass_on(self, edge: node.Edge, output: node.Edge) -> None:
        self.values[output] = self.values[edge]
        if edge in self.cells:
            self.cells[output] = self.cells[edge]
        if edge in self.refs:
            self.refs.add(output)

    def _merge(self, item: node.Node) -> None:
        """Take the input that lives; without one, a merge that may be dead says that it is."""
        number = len(self.values)
        names = [f"t{number}_0", f"t{number}_1"]
        decides = node.Edge(item.name, -1)
        flag = f"p{len(self.flags)}"
        may_be_dead = (decides, True) in self.guards.of(decides)
        if may_be_dead:
            self.flags[decides] = flag
            self.out.shared.append(flag)
            self.out.statement(f"{flag} = False", item.name, "")
        for index, edge in enumerate(item.inputs):
            text = f"{', '.join(names)} = {self._merged(edge)}, {self.out.bind(np.int32(index))}"
            text += f"; {flag} = True" if may_be_dead else ""
            self.out.statement(text, item.name, self._condition(self.guards.of(edge)))
        for index, name in enumerate(names):
            if node.Edge(item.name, index) not in self.fed:
                self._hold(node.Edge(item.name, index), name)

    def _merged(self, edge: node.Edge) -> str:
        """A value that may stand for a variable here and for none there: so it is a copy."""
        return self._leaving(edge) if edge in self.cells else self.values[edge]

    def _leaving(self, edge: node.Edge) -> str:
        """The expression for a value that leaves the task: variables are copied, locked."""
        text = self.values[edge]
        if self.part.tensor_dtypes.get(edge) is dtypes.resource:
            return f"{text}.handle({self.devices[edge.node]!a})"
        cell = self.cells.get(edge)
        if cell is None:
            return text
        shape, dtype = self.part.tensor_shapes.get(edge), self.part.tensor_dtypes.get(edge)
        buffer = self.out.buffer(shape, dtype)
        if edge in self.refs:
            return f"{cell}.snapshot({buffer})"
        return f"{cell}.copy({text}, {buffer})"

    def _fetched(self, edge: node.Edge) -> str:
        condition = self._condition(self.guards.of(edge))
        if not condition:
            return self._leaving(edge)
        refuse = f"{self.out.bind(_refuse)}({edge.tensor!a})"
        return f"({self._leaving(edge)} if {condition} else {refuse})"


def _stands_for_a_variable(dtype: dtypes.DType, is_ref: bool) -> bool:
    return is_ref or dtype is dtypes.resource


def _copied_reads(part: parts.Part, orders: Sequence[Sequence[node.Node]]) -> frozenset[str]:
    """Which reads of resource variables must be copies."""
    sent = [
        [edge for message in messages for edge in message.edges]
        for messages in state.Layout.of(part).sends
    ]

    def shares(item: node.Node) -> bool:
        if item.op in guards.SWITCHES or item.op in guards.MERGES:
            return True
        kind = devices.parse(item.device).device_type or "CPU"
        kernel = registry.find(item.op, kind, infer.attributes(item))
        return kernel is not None and kernel.alias

    return hazards.copied_reads(orders, sent, part.fetches, shares)


def _pin_all(cells: tuple[variable.Variable, ...]) -> list[np.ndarray[Any, Any]]:
    """Pin all or none."""
    pinned: list[np.ndarray[Any, Any]] = []
    try:
        for cell in cells:
            pinned.append(cell.pin())  # noqa: PERF401 - what was pinned must be known if one fails
    except errors.OpError:
        for cell, array in zip(cells, pinned, strict=False):
            cell.unpin(array)
        raise
    return pinned


def _mask(alive: tuple[object, ...]) -> np.ndarray[Any, Any]:
    return np.array([bool(one) for one in alive], np.bool_)


def _refuse(tensor: str) -> None:
    raise errors.InvalidArgumentError(
        None, None, f"Retval {tensor} does not have value: it is in a branch that was not taken"
    )
