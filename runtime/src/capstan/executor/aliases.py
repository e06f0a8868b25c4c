"""The tensors of a part that are variables or share the memory of a variable.

Such a tensor could change while it is sent, so it is copied or pinned (`Variable.pin`)
before it leaves its task.
"""

import math
from collections.abc import Iterable

from capstan.core import dtypes
from capstan.core import node as ir
from capstan.executor import source, values
from capstan.framework import facts, opdef
from capstan.partition import memories, parts
from capstan.resources import handles, variable, variant_message

_READS = frozenset({facts.Role.IDENTITY, facts.Role.READ})
"""The roles of ops whose output is the unchanged value of a variable."""

_PINNED_BYTES = 1 << 18
"""Smaller values are copied before they are sent. Pinning them would save little, because a write
to a pinned value makes a copy too. The limit is a guess.
"""


class Aliases:
    """Records which tensors of the code are variables or share the memory of a variable."""

    def __init__(
        self,
        part: parts.Part,
        out: source.Writer,
        held: values.Values,
        sent_handles: handles.Handles,
    ) -> None:
        self._part = part
        self._out = out
        self._values = held
        self._handles = sent_handles
        self._nodes = {node.name: node for node in part.nodes}
        self._cells: dict[ir.Edge, str] = {}
        """For each tensor that shares a variable's memory: the expression for the variable."""
        self._refs: set[ir.Edge] = set()
        self._variables: dict[ir.Edge, variable.Variable] = {}
        """The variable of each reference and each handle."""
        self._full_values: dict[ir.Edge, variable.Variable] = {}
        """For each tensor that is the full, unchanged value of a variable: the variable."""

    def add_variable(self, edge: ir.Edge, cell: variable.Variable, *, is_ref: bool) -> None:
        """Record that `edge` is the reference or the handle of `cell`."""
        text = self._out.bind(cell)
        self._values.put(edge, text)
        self._cells[edge] = text
        self._variables[edge] = cell
        if is_ref:
            self._refs.add(edge)
            self._full_values[edge] = cell

    def add_output(
        self, node: ir.Node, output: ir.Edge, *, is_ref: bool, shares_input: bool
    ) -> None:
        """Record an output of `node`, which may share the memory of the node's first input."""
        if is_ref:
            self._refs.add(output)
        if not (shares_input and node.inputs and node.inputs[0] in self._cells):
            if is_ref:
                # Only the step knows which variable this is. Any function may have to read the
                # variable.
                self._cells[output] = self._values[output]
                self._out.shared.append(self._values[output])
            return
        (first, *_) = node.inputs
        self._cells[output] = self._cells[first]
        cell = self._variables.get(first, self._full_values.get(first))
        if cell is not None and opdef.role(node.op) in _READS:
            self._full_values[output] = cell

    def pass_on(self, edge: ir.Edge, output: ir.Edge) -> None:
        """Record that `output` is the same tensor as `edge`."""
        self._values.put(output, self._values[edge])
        self.share(edge, output)

    def share(self, edge: ir.Edge, output: ir.Edge) -> None:
        """Record that `output`, which has a name of its own, has the memory of `edge`."""
        if edge in self._cells:
            self._cells[output] = self._cells[edge]
        if edge in self._refs:
            self._refs.add(output)

    def take(self, edge: ir.Edge, text: str) -> None:
        """Record that `edge` is an argument with the expression `text`.

        The compiler does not know the variable of a handle that is an argument.
        """
        self._values.put(edge, text)
        if self.is_handle(edge):
            self._cells[edge] = text

    def adopt(self, edge: ir.Edge, caller: "Aliases", passed: ir.Edge) -> None:
        """Record that `edge`, an argument of a function, is the tensor `passed` of its caller."""
        self._values.put(edge, caller._values[passed])
        if passed in caller._cells:
            self._cells[edge] = caller._cells[passed]
        if passed in caller._variables:
            self._variables[edge] = caller._variables[passed]
        if passed in caller._refs:
            self._refs.add(edge)

    def variables(self, edges: Iterable[ir.Edge]) -> list[variable.Variable]:
        """Return the variables to which `edges` are known to refer, each once."""
        return [*dict.fromkeys(self._variables[edge] for edge in edges if edge in self._variables)]

    def name_variable(self, edge: ir.Edge) -> None:
        """Let the variable of a reference be its expression, instead of what a node returns."""
        self._values.put(edge, self._cells[edge])

    def is_shared(self, edge: ir.Edge) -> bool:
        """Return whether `edge` shares the memory of a variable."""
        return edge in self._cells

    def is_handle(self, edge: ir.Edge) -> bool:
        """Return whether `edge` is the handle of a resource."""
        return self._part.tensor_dtypes.get(edge) is dtypes.resource

    def separate(self, edge: ir.Edge) -> str:
        """Return the expression for the value of `edge`, copied if it has a variable's memory."""
        text, cell = self._values[edge], self._cells.get(edge)
        if cell is None or self.is_handle(edge):
            return text
        return f"{cell}.snapshot()" if edge in self._refs else f"{cell}.copy({text})"

    def argument(self, edge: ir.Edge, *, takes_ref: bool) -> str:
        """Return the expression for an input of a kernel."""
        text = self._values[edge]
        return f"{text}.read()" if edge in self._refs and not takes_ref else text

    def kept(self, edge: ir.Edge, *, takes_ref: bool) -> str:
        """Return the expression for an input that a node may read after its segment has run."""
        if takes_ref or self.is_handle(edge):
            return self._values[edge]
        return self.leaving(edge)

    def merged(self, edge: ir.Edge) -> str:
        """Return the expression for an input of a merge.

        If the input shares a variable's memory, the merge takes a copy. The output of the merge
        then never shares the memory of a variable.
        """
        shares = edge in self._cells and not self.is_handle(edge)
        return self.leaving(edge) if shares else self._values[edge]

    def leaving(self, edge: ir.Edge) -> str:
        """Return the expression for a value that leaves the task.

        The memory of a variable is copied under the variable's lock.
        """
        text = self._values[edge]
        if self.is_handle(edge):
            maker = self._nodes.get(edge.node)
            device = self._part.task if maker is None else maker.device
            return f"{self._out.bind(self._handles.sent)}({text}, {device!a})"
        cell = self._cells.get(edge)
        if cell is None:
            return text
        shape, dtype = self._part.tensor_shapes.get(edge), self._part.tensor_dtypes.get(edge)
        memory = memories.outputs(self._nodes[edge.node])[edge.index]
        buffer = self._out.buffer(shape, dtype, memory)
        if edge in self._refs:
            return f"{cell}.snapshot({buffer})"
        return f"{cell}.copy({text}, {buffer})"

    def arriving(self, edge: ir.Edge, name: str) -> str:
        """Return the expression for the value of `edge`, which arrived in the variable `name`."""
        if self.is_handle(edge):
            return f"{self._out.bind(self._handles.received)}({name})"
        if self._part.tensor_dtypes.get(edge) is not dtypes.variant:
            return name
        return f"{self._out.bind(variant_message.decoded)}({name})"

    def pinned(self, edge: ir.Edge) -> variable.Variable | None:
        """Return the variable to pin when `edge` leaves the task, or None.

        A variable is pinned if `edge` is its full value and large, so that pinning is cheaper than
        a copy. Otherwise `leaving` gives the expression, with a copy if one is needed.
        """
        cell, shape = self._full_values.get(edge), self._part.tensor_shapes.get(edge)
        dtype = self._part.tensor_dtypes.get(edge)
        if cell is None or dtype is None or not source.plannable(shape, dtype):
            return None
        size = dtype.size * math.prod(length or 0 for length in shape or ())
        return cell if size >= _PINNED_BYTES else None
