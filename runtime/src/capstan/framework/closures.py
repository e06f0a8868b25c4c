"""The graph that a gradient sees inside of functions: a function reads the tensors it captures.

The body of a function reads a captured tensor through an argument. A gradient that is computed in
the body may belong to the captured tensor, so it passes the argument as if it were not there
(`_Inputs` and `_Consumers` of python/ops/gradients_util.py).
"""

from collections.abc import Collection, Iterator
from typing import Any

from capstan.framework import control_context, facts, func_graph
from capstan.framework import graph as graphs


class Closures:
    """The captures of `graph` and of all functions around it, at the time of the call.

    An argument among `sources` is not passed, because the gradient belongs to the argument.
    """

    def __init__(self, graph: graphs.Graph, sources: Collection[graphs.Tensor]) -> None:
        self._graph = graph
        around = list(_functions(graph))
        self._captures = [
            dict(zip(each.captured_inputs, each.captured_arguments, strict=True)) for each in around
        ]
        self._captured = {
            argument: tensor
            for captures in self._captures
            for tensor, argument in captures.items()
            if argument not in sources
        }
        self._depths: dict[Any, int] = {
            each: len(around) - place for place, each in enumerate(around)
        }

    def inputs(self, op: graphs.Operation) -> list[graphs.Tensor]:
        """Return the inputs of `op`. Replace arguments by the tensors that are captured."""
        return [self.origin(tensor) for tensor in op.inputs]

    def consumers(self, tensor: graphs.Tensor) -> list[graphs.Operation]:
        """Return the operations that read `tensor`, also those of functions that capture it.

        Leave out an `Exit` of a loop around the functions that has `back_prop=False`.
        """
        found = [op for op in tensor.consumers() if not self._ends_at(op)]
        for captures in self._captures:
            argument = captures.get(tensor)
            if argument is not None and argument in self._captured:
                found += self.consumers(argument)
        return found

    def origin(self, tensor: graphs.Tensor) -> graphs.Tensor:
        """Return the tensor that an argument stands for. Return other tensors as they are."""
        while tensor in self._captured:
            tensor = self._captured[tensor]
        return tensor

    def _ends_at(self, op: graphs.Operation) -> bool:
        loop = control_context.loop_of(op)
        is_outside = op.graph is not self._graph and control_context.role(op) is facts.Role.EXIT
        return is_outside and loop is not None and not loop.back_prop

    def depth(self, op: graphs.Operation) -> int:
        """Return how many functions contain `op`, or 0 if none of them is around `graph`."""
        return self._depths.get(op.graph, 0)


def _functions(graph: graphs.Graph) -> Iterator[func_graph.FuncGraph]:
    """Return `graph` and the graphs around it as far as they are functions, innermost first."""
    while isinstance(graph, func_graph.FuncGraph):
        yield graph
        graph = graph.outer_graph
