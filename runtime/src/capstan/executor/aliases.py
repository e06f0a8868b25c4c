"""Which tensors of a part stand for a variable, or lie in the memory of one.

Such a tensor may change while it travels, so it leaves its task as a copy, or pinned.
"""

import math

from capstan.core import dtypes
from capstan.core import node as ir
from capstan.executor import source, values
from capstan.partition import parts
from capstan.resources import variable

_READS = frozenset({"Identity", "ReadVariableOp"})
"""Ops that give the value of a variable as it is."""

_PINNED_BYTES = 1 << 18
"""Smaller values are copied to be sent: a writer that meets a pin copies them too. A guess."""


class Aliases:
    """What the tensors written so far have to do with variables."""

    def __init__(self, part: parts.Part, out: source.Writer, held: values.Values) -> None:
        self._part = part
        self._out = out
        self._values = held
        self._devices = {node.name: node.device for node in part.nodes}
        self._cells: dict[ir.Edge, str] = {}
        """The variables whose memory tensors share, as expressions."""
        self._refs: set[ir.Edge] = set()
        self._variables: dict[ir.Edge, variable.Variable] = {}
        """The variables that references and handles stand for."""
        self._full_values: dict[ir.Edge, variable.Variable] = {}
        """The variables whose value a tensor is, whole and unchanged."""

    def add_variable(self, edge: ir.Edge, cell: variable.Variable, *, is_ref: bool) -> None:
        """Note that `edge` is the reference, or the handle, of `cell`."""
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
        """Note an output of `node`, which may lie in the memory of the node's first input."""
        if is_ref:
            self._refs.add(output)
        if not (shares_input and node.inputs and node.inputs[0] in self._cells):
            return
        self._cells[output] = self._cells[node.inputs[0]]
        if node.op in _READS and node.inputs[0] in self._variables:
            self._full_values[output] = self._variables[node.inputs[0]]

    def pass_on(self, edge: ir.Edge, output: ir.Edge) -> None:
        """Note that `output` is `edge` under another name."""
        self._values.put(output, self._values[edge])
        if edge in self._cells:
            self._cells[output] = self._cells[edge]
        if edge in self._refs:
            self._refs.add(output)

    def argument(self, edge: ir.Edge, *, takes_ref: bool) -> str:
        """Return the expression for an input of a kernel."""
        text = self._values[edge]
        return f"{text}.read()" if edge in self._refs and not takes_ref else text

    def merged(self, edge: ir.Edge) -> str:
        """Return the expression for an input of a merge.

        The output may lie in a variable's memory on one side and not on the other, so it is a copy.
        """
        return self.leaving(edge) if edge in self._cells else self._values[edge]

    def leaving(self, edge: ir.Edge) -> str:
        """Return the expression for a value that leaves the task: a variable is copied, locked."""
        text = self._values[edge]
        if self._part.tensor_dtypes.get(edge) is dtypes.resource:
            return f"{text}.handle({self._devices[edge.node]!a})"
        cell = self._cells.get(edge)
        if cell is None:
            return text
        shape, dtype = self._part.tensor_shapes.get(edge), self._part.tensor_dtypes.get(edge)
        buffer = self._out.buffer(shape, dtype)
        if edge in self._refs:
            return f"{cell}.snapshot({buffer})"
        return f"{cell}.copy({text}, {buffer})"

    def pinned(self, edge: ir.Edge) -> variable.Variable | None:
        """Return the variable whose whole, large value `edge` is: to pin it is cheaper than a copy.

        None when `edge` must be copied or need not be.
        """
        cell, shape = self._full_values.get(edge), self._part.tensor_shapes.get(edge)
        dtype = self._part.tensor_dtypes.get(edge)
        if cell is None or dtype is None or not source.plannable(shape, dtype):
            return None
        size = dtype.size * math.prod(length or 0 for length in shape or ())
        return cell if size >= _PINNED_BYTES else None
