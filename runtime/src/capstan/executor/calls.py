"""The lines of generated code that call kernels: one for a node, or for several nodes together."""

from collections.abc import Sequence

from capstan.core import dtypes
from capstan.core import node as ir
from capstan.executor import bind, binder, buffers, columns, joint, loops, segments, source


class Calls:
    """Writes the calls of the kernels of one part."""

    def __init__(
        self,
        scope: loops.Scope,
        bound: binder.Binder,
        memory: buffers.Buffers,
        plan: segments.Plan,
        joined: columns.Columns,
        *,
        is_function: bool,
    ) -> None:
        """`bound` binds the kernels to the nodes of `scope`. They write to the buffers `memory`.

        `joined` keeps the columns that calls of several nodes take and return.
        """
        self._part = scope.part
        self._out = scope.out
        self._values = scope.values
        self._aliases = scope.aliases
        self._branches = scope.branches
        self._binder = bound
        self._buffers = memory
        self._plan = plan
        self._columns = joined
        self._is_function = is_function
        self._fed = frozenset(scope.part.feeds)

    def write(self, node: ir.Node) -> None:
        """Write the line of a node, and record the names that hold its outputs."""
        bound = self._binder.bind(node)
        outputs = bound.outputs
        edges = [ir.Edge(node.name, index) for index in range(len(outputs))]
        if not node.inputs and len(outputs) == 1 and _is_variable(*outputs[0]):
            # The variable is looked up once, here, and used by every step.
            if edges[0] not in self._fed:
                self._aliases.add_variable(edges[0], bound.function(), is_ref=outputs[0][1])
            return
        names = [self._values.name(index) for index in range(len(edges))]
        target = f"{', '.join(names)} = " if names else ""
        call = self._call(node, bound, edges)
        condition = self._branches.condition(ir.Edge(node.name))
        self._out.statement(f"{target}{call}", node.name, condition)
        if len(names) == 1 and not condition:
            self._columns.rename(call, names[0])
        self._hold(node, bound, names)

    def write_together(self, group: segments.Group) -> bool:
        """Write one line for all nodes of a group.

        Return False if they cannot run together, or depend on a condition. Nothing is written then.
        """
        bounds: list[bind.Bound] = []
        if len(group) > 1 and not any(self._branches.condition(ir.Edge(n.name)) for n in group):
            bounds = [self._binder.bind(node) for node in group]
        joined = joint.join(bounds)
        if joined is None:
            return False
        inputs = zip(*map(self._arguments, group, bounds), strict=True)
        text = f"{self._out.bind(joined)}({', '.join(map(self._columns.of, inputs))})"
        outputs = len(bounds[0].outputs)
        names = [self._values.name(index) for index in range(outputs * len(group))]
        found = [names[index::outputs] for index in range(outputs)]
        whole = [self._values.column(index) for index in range(outputs)]
        target = f"{source.items(whole)}= " if names else ""
        self._out.statement(f"{target}{text}", group[0].name, "")
        for name, parts_of in zip(whole, found, strict=True):
            self._columns.unpack(name, parts_of, group[0].name)
        for number, (node, bound) in enumerate(zip(group, bounds, strict=True)):
            self._hold(node, bound, [column[number] for column in found])
        return True

    def _hold(self, node: ir.Node, bound: bind.Bound, names: Sequence[str]) -> None:
        """Record the names that hold the outputs of a node."""
        edges = [ir.Edge(node.name, index) for index in range(len(names))]
        for output, name, (_, is_ref) in zip(edges, names, bound.outputs, strict=True):
            if output in self._fed:
                self._values.skip()
                continue
            self._values.hold(output, name)
            shares_input = is_ref or (bound.kernel.alias and output.index == 0)
            self._aliases.add_output(
                node,
                output,
                is_ref=is_ref,
                shares_input=shares_input and node.name not in self._plan.copied,
            )

    def _call(self, node: ir.Node, bound: bind.Bound, outputs: Sequence[ir.Edge]) -> str:
        """Return the expression that computes the outputs of a node."""
        arguments = self._arguments(node, bound)
        if node.name in self._plan.copied:
            return f"{arguments[0]}.snapshot({', '.join(self._buffers.of_outputs(node, outputs))})"
        if bound.kernel.emit is not None:
            return bound.kernel.emit(arguments)
        if self._is_function and bound.kernel.operator and self.is_scalar(*node.inputs, *outputs):
            return f" {bound.kernel.operator} ".join(arguments)
        if bound.kernel.out:
            arguments += self._buffers.of_outputs(node, outputs)
        return f"{self._out.bind(bound.function)}({', '.join(arguments)})"

    def _arguments(self, node: ir.Node, bound: bind.Bound) -> list[str]:
        return [
            self._aliases.argument(edge, takes_ref=takes_ref)
            for edge, (_, takes_ref) in zip(node.inputs, bound.inputs, strict=True)
        ]

    def is_scalar(self, *edges: ir.Edge) -> bool:
        """Return whether the tensors are numbers or truth values without dimensions."""
        return all(
            self._part.tensor_shapes.get(edge) == ()
            and self._part.tensor_dtypes.get(edge) not in (None, dtypes.string)
            for edge in edges
        )


def _is_variable(dtype: dtypes.DType, is_ref: bool) -> bool:
    return is_ref or dtype is dtypes.resource
