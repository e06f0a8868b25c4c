"""Conditionals in generated code: a `Switch` sets a flag, and its readers are in an `if`."""

from typing import Any

import numpy as np

from capstan import errors
from capstan.core import node as ir
from capstan.executor import aliases, source, values
from capstan.graph import guards, infer
from capstan.partition import parts


class Branches:
    """The branch decisions of a part, and the names of the flags that hold them."""

    def __init__(
        self,
        part: parts.Part,
        out: source.Writer,
        held: values.Values,
        aliased: aliases.Aliases,
    ) -> None:
        self._part = part
        self._fed = frozenset(part.feeds)
        self._out = out
        self._values = held
        self._aliases = aliased
        self._flags: dict[ir.Edge, str] = {}
        self._assigned: set[tuple[ir.Edge, int]] = set()
        """The predicates whose flags are assigned, with the wait set of the segment."""
        self._guards = guards.Guards(
            self._fed, (edge for message in part.incoming for edge in message.conditional)
        )
        for node in part.nodes:
            self._guards.learn(node)

    def condition(self, edge: ir.Edge) -> str:
        """Return the expression that is true if `edge` is alive, or "" if it is always alive.

        The flags are joined by `and`, outermost first. The generated code assigns a flag only if
        the flags before it have the values that the expression requires.
        """
        return " and ".join(
            self._flags[decision] if side else f"not {self._flags[decision]}"
            for decision, side in self._guards.of(edge)
        )

    def arrive(self, edge: ir.Edge, flag: str) -> None:
        """Record that `flag` says whether `edge`, which another task sends, is alive."""
        self._flags[guards.alive(edge)] = flag

    def switch(self, node: ir.Node) -> None:
        """Write a switch: both outputs are its input, and their readers test the flag."""
        data, predicate = node.inputs
        # The segments of each wait set assign the flag, because they may run before the others.
        wait_set = self._part.wait_sets.get(node.name, 0)
        if (predicate, wait_set) not in self._assigned:
            self._assigned.add((predicate, wait_set))
            flag = self._flags.get(predicate) or self._new_flag()
            condition = self.condition(predicate)
            value = self._aliases.argument(predicate, takes_ref=False)
            text = f"{flag} = {decision(value, predicate, self._part, self._out)}"
            self._out.statement(text, node.name, condition)
            self._flags[predicate] = flag
            self._out.shared.append(flag)
        for index in (0, 1):
            output = ir.Edge(node.name, index)
            if output not in self._fed:
                self._aliases.pass_on(data, output)

    def merge(self, node: ir.Node) -> None:
        """Write a merge, which takes the input that is alive.

        If both inputs may be dead, add a flag.
        """
        names = [self._values.name(0), self._values.name(1)]
        decision = ir.Edge(node.name, -1)
        flag = self._new_flag()
        may_be_dead = (decision, True) in self._guards.of(decision)
        if may_be_dead:
            self._flags[decision] = flag
            self._out.shared.append(flag)
            self._out.statement(f"{flag} = False", node.name, "")
        (_, is_ref), _ = infer.tensors(node)[1]
        for index, edge in enumerate(node.inputs):
            value = self._values[edge] if is_ref else self._aliases.merged(edge)
            text = f"{', '.join(names)} = {value}, {self._out.bind(np.int32(index))}"
            text += f"; {flag} = True" if may_be_dead else ""
            self._out.statement(text, node.name, self.condition(edge))
        for index, name in enumerate(names):
            if ir.Edge(node.name, index) not in self._fed:
                self._values.hold(ir.Edge(node.name, index), name)
        if is_ref and ir.Edge(node.name) not in self._fed:
            self._aliases.add_output(node, ir.Edge(node.name), is_ref=True, shares_input=False)

    def _new_flag(self) -> str:
        return self._out.variable(f"{self._out.prefix}p{len(self._flags)}")


def decision(value: str, predicate: ir.Edge, part: parts.Part, out: source.Writer) -> str:
    """Return the expression for the decision that the tensor `predicate` makes.

    `value` is the expression for the tensor. Code checks the shape only if it is unknown before.
    """
    is_scalar = part.tensor_shapes.get(predicate) == ()
    return f"{'bool' if is_scalar else out.bind(decide)}({value})"


def decide(value: Any) -> bool:
    """Return the decision of a predicate.

    Raises:
        InvalidArgumentError: the predicate is not a scalar.
    """
    shape = np.shape(value)
    if shape:
        text = ",".join(map(str, shape))
        raise errors.InvalidArgumentError(
            None, None, f"The second input must be a scalar, but it has shape [{text}]"
        )
    return bool(value)
