"""The feeds, messages and fetches of a part, in generated code."""

from collections.abc import Collection, Sequence

import numpy as np

from capstan import errors
from capstan.core import node as ir
from capstan.core.arrays import Array
from capstan.executor import aliases, branches, source, values
from capstan.partition import memories, parts
from capstan.resources import variable


def owned(part: parts.Part) -> frozenset[ir.Edge]:
    """Return the fetches that stay in the memory of a device, for the next iteration of a loop."""
    producers = {node.name: node for node in part.nodes}
    return frozenset(
        edge
        for edge in part.fetches
        if edge.node in producers
        and memories.outputs(producers[edge.node])[edge.index] != memories.HOST
    )


class Exchange:
    """Writes the functions that receive values, and the expressions for values that leave."""

    def __init__(
        self,
        out: source.Writer,
        held: values.Values,
        aliased: aliases.Aliases,
        conditions: branches.Branches,
    ) -> None:
        self._out = out
        self._values = held
        self._aliases = aliased
        self._branches = conditions

    def feed(self, edges: Sequence[ir.Edge]) -> str:
        """Write the function that receives the feeds, and return its name."""
        self._receive("feed", edges, "f")
        return "feed"

    def arrival(self, message: parts.Message) -> str:
        """Write the function that receives a message, and return its name.

        The last value of a message with conditional tensors says which of them are alive.
        """
        function = f"message{message.number}"
        alive = [self._out.variable(f"a{message.number}")] if message.conditional else []
        self._receive(function, message.edges, f"m{message.number}_", *alive)
        for index, edge in enumerate(message.conditional):
            self._branches.arrive(edge, f"{alive[0]}[{index}]")
        return function

    def send(self, messages: Sequence[parts.Message]) -> None:
        """Write the end of a segment, which returns the values of each message."""
        pins: list[source.Pin] = []
        texts = [self._message(number, message, pins) for number, message in enumerate(messages)]
        if pins:
            # Pinning comes last, so that no later line can fail while the pins are held.
            texts = [[self._evaluated(text) for text in message] for message in texts]
            cells = [self._out.bind(pin.cell) for pin in pins]
            names = [texts[pin.message][pin.place] for pin in pins]
            pin_all = self._out.bind(_pin_all)
            self._out.line(f"        {source.items(names)} = {pin_all}(({source.items(cells)}))")
        self._out.pins.append(tuple(pins))
        tuples = [f"({source.items(message)})" for message in texts]
        self._out.line(f"        return ({source.items(tuples)})")

    def fetch(self, edges: Sequence[ir.Edge], owned: Collection[ir.Edge]) -> str:
        """Write the function that returns the fetches, and return its name.

        The caller gets the tensors in `owned` as they are. It copies the others before the next
        step.
        """
        self._out.line("    def fetch():")
        texts = [self._fetched(edge, is_owned=edge in owned) for edge in edges]
        self._out.line(f"        return ({source.items(texts)})")
        return "fetch"

    def begin(self, number: int, node: str, arguments: Sequence[str], condition: str) -> None:
        """Write the lines that put the inputs of a waiting node into the list `waits`.

        In a step in which `condition` is false, they put None into the list.
        """
        if condition:
            self._out.statement(f"waits[{number}] = None", node, "")
        text = f"waits[{number}] = ({source.items(arguments)})"
        self._out.statement(text, node, condition)

    def answer(self, number: int, outputs: Sequence[ir.Edge], fed: Collection[ir.Edge]) -> None:
        """Record the expressions for the outputs of a waiting node."""
        for index, edge in enumerate(outputs):
            if edge not in fed:
                self._values.put(edge, f"waits[{number}][{index}]")

    def more(self) -> str:
        """Write the function `watch` if the part has loops.

        Return the end of the expression for the result of `build`.
        """
        if not self._out.loops:
            return ", waits" if self._out.starts else ""
        self._take("watch", [self._out.variable("stop")])
        return f", {'waits' if self._out.starts else '[]'}, watch"

    def _receive(self, function: str, edges: Sequence[ir.Edge], prefix: str, *more: str) -> None:
        names = [self._out.variable(f"{prefix}{index}") for index in range(len(edges))]
        for edge, name in zip(edges, names, strict=True):
            self._values.put(edge, name)
        self._take(function, [*names, *more])
        for edge, name in zip(edges, names, strict=True):
            text = self._aliases.arriving(edge, name)
            if text != name:
                self._out.line(f"        {name} = {text}")

    def _take(self, function: str, names: Sequence[str]) -> None:
        """Write a function that assigns the items of its argument to `names`."""
        self._out.shared += names
        self._out.line(f"    def {function}(values):")
        if names:
            self._out.share(names)
            self._out.line(f"        {source.items(names)} = values")
        else:
            self._out.line("        return None")

    def _message(self, number: int, message: parts.Message, pins: list[source.Pin]) -> list[str]:
        """Return the expressions for the values of a message, and add its pins to `pins`."""
        texts: list[str] = []
        for edge in message.edges:
            condition = self._branches.condition(edge)
            cell = None if condition else self._aliases.pinned(edge)
            if cell is not None:
                texts.append(f"v{number}_{len(texts)}")
                pins.append(source.Pin(number, len(texts) - 1, cell))
                continue
            text = self._aliases.leaving(edge)
            texts.append(f"({text} if {condition} else {self._dead()})" if condition else text)
        if message.conditional:
            alive = [self._branches.condition(edge) for edge in message.conditional]
            texts.append(f"{self._out.bind(_mask)}(({source.items(alive)}))")
        return texts

    def _evaluated(self, text: str) -> str:
        """Return a name for the value of `text`. Write its assignment if `text` is not a name."""
        if text.isidentifier():
            return text
        name = f"s{len(self._out.lines)}"
        self._out.line(f"        {name} = {text}")
        return name

    def _dead(self) -> str:
        return self._out.bind(np.zeros(0, np.uint8))

    def _fetched(self, edge: ir.Edge, *, is_owned: bool) -> str:
        text = self._aliases.separate(edge) if is_owned else self._aliases.leaving(edge)
        condition = self._branches.condition(edge)
        if not condition:
            return text
        refuse = f"{self._out.bind(_refuse)}({edge.tensor!a})"
        return f"({text} if {condition} else {refuse})"


def _pin_all(cells: tuple[variable.Variable, ...]) -> list[Array]:
    """Pin all variables, or none if one of them has no value."""
    pinned: list[Array] = []
    try:
        for cell in cells:
            pinned.append(cell.pin())  # noqa: PERF401 - if one fails, the others are unpinned
    except errors.OpError:
        for cell, array in zip(cells, pinned, strict=False):
            cell.unpin(array)
        raise
    return pinned


def _mask(alive: tuple[object, ...]) -> Array:
    return np.array([bool(flag) for flag in alive], np.bool_)


def _refuse(tensor: str) -> None:
    raise errors.InvalidArgumentError(
        None, None, f"Retval {tensor} does not have value: it is in a branch that was not taken"
    )
