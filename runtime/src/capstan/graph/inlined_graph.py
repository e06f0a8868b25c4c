"""The graph that `graph.inline` makes, and the nodes around calls that it adds to this graph."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from capstan import errors
from capstan.core import devices, dtypes, function
from capstan.core import node as ir
from capstan.framework.ops import nodes as build


@dataclass(frozen=True, slots=True)
class Around:
    """The functions whose bodies contain a node, and the device of the innermost call.

    The outermost function is first. The device is empty if the node has a full device name.
    """

    functions: tuple[str, ...]
    device: str

    def within(self, node: ir.Node, called: str) -> "Around":
        """Return the `Around` of the nodes of the function `called`, which `node` calls."""
        device = node.device
        if self.device:
            try:
                device = devices.within(device, self.device)
            except ValueError as malformed:
                raise wrong(node, f"its device '{device}' is malformed: {malformed}") from None
        return Around((*self.functions, called), device)


class InlinedGraph:
    """The nodes that a graph has after the calls of functions, by name. They are added one by one.

    No new node gets a name in `used`. The methods from `decision` on add nodes for the call `node`,
    on its device. They return the name of the last of these nodes, or its output.
    """

    def __init__(self, used: set[str]) -> None:
        self.nodes: dict[str, ir.Node] = {}
        self.devices: dict[str, str] = {}
        """The device of the call for each node that belongs to the body of a function."""
        self._used = used

    def add(self, node: ir.Node, around: Around) -> str:
        """Add a node whose name no other node has, and return the name."""
        self.nodes[node.name] = node
        if around.device:
            self.devices[node.name] = around.device
        return node.name

    def free_name(self, wanted: str) -> str:
        """Return `wanted`, or this name with a number if it is taken, and take it."""
        name, number = wanted, 0
        while name in self._used:
            number += 1
            name = f"{wanted}_{number}"
        self._used.add(name)
        return name

    def decision(self, node: ir.Node, around: Around) -> ir.Edge:
        """Return the condition of an `If` as a truth value."""
        condition, dtype = node.inputs[0], node.attrs["Tcond"]
        if dtype is dtypes.bool_:
            return condition
        name = self.free_name(f"{node.name}/condition")
        return ir.Edge(self.add(build.to_bool(name, condition, dtype, node.device), around))

    def equals(self, node: ir.Node, number: ir.Edge, place: int, around: Around) -> ir.Edge:
        """Return whether `number` is `place`, the number of a branch."""
        wanted = np.array(place, np.int32)
        name = self.free_name(f"{node.name}/branch")
        value = self.add(build.constant(name, wanted, dtypes.int32, node.device), around)
        name = self.free_name(f"{node.name}/is_branch")
        is_branch = build.equal(name, number, ir.Edge(value), dtypes.int32, node.device)
        return ir.Edge(self.add(is_branch, around))

    def switch(
        self,
        node: ir.Node,
        data: ir.Edge,
        decision: ir.Edge,
        dtype: dtypes.DType,
        around: Around,
    ) -> str:
        """Add a `Switch` of an argument of a branch."""
        name = self.free_name(f"{node.name}/switch")
        return self.add(build.switch(name, data, decision, dtype, node.device), around)

    def merge(
        self, node: ir.Node, sides: tuple[ir.Edge, ir.Edge], dtype: dtypes.DType, around: Around
    ) -> ir.Edge:
        """Add a `Merge` of the results of two branches."""
        name = self.free_name(f"{node.name}/merge")
        return ir.Edge(self.add(build.merge(name, sides, dtype, node.device), around))

    def pivot(self, node: ir.Node, side: ir.Edge, around: Around) -> str:
        """Add a node that runs if one branch runs. `side` is an output of a `Switch`."""
        name = self.free_name(f"{node.name}/pivot")
        return self.add(build.identity(name, side, dtypes.bool_, node.device), around)

    def signal(self, node: ir.Node, waits: Sequence[str], around: Around) -> ir.Edge:
        """Return a tensor that is alive when the nodes `waits` have run."""
        last = ir.Edge(waits[-1])
        if len(waits) == 1:
            return last
        name = self.free_name(f"{node.name}/done")
        done = build.identity(name, last, dtypes.bool_, node.device, waits)
        return ir.Edge(self.add(done, around))

    def first_argument(
        self, node: ir.Node, called: function.Function, first: ir.Edge, around: Around
    ) -> str:
        """Add a copy of the first argument of a call, and return its name.

        If the call has no control dependency, the nodes of the function that read no argument wait
        for the copy: they must run in the branch and in the loop iteration of the call.
        """
        name = self.free_name(f"{node.name}/called")
        dtype = called.arguments[0].dtype
        return self.add(build.identity(name, first, dtype, node.device), around)


def wrong(node: ir.Node, reason: str) -> errors.InvalidArgumentError:
    """Return the error of a call that cannot be replaced."""
    return errors.InvalidArgumentError(
        None, None, f"Node '{node.name}' ({node.op}) cannot run: {reason}"
    )
