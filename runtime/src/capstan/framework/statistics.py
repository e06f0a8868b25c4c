"""Statistics of operations, such as their floating-point operations (python/framework/ops.py).

`framework.ops.flops` registers the kind "flops" of some ops. A program registers functions for
other ops and kinds.
"""

from collections.abc import Callable
from typing import Any

Statistic = Callable[[Any, Any], "OpStats"]
"""Takes a graph and a NodeDef of the graph."""

_REGISTERED: dict[tuple[str, str], Statistic] = {}


class OpStats:
    """The value of one kind of statistic, or None if it is unknown. Values of a kind add up."""

    def __init__(self, statistic_type: str, value: Any = None) -> None:
        self.statistic_type = statistic_type
        self.value = value

    def __iadd__(self, other: "OpStats") -> "OpStats":
        if other.statistic_type != self.statistic_type:
            raise ValueError(
                f"Can't add an OpStat of type {self.statistic_type} to one of "
                f"{other.statistic_type}."
            )
        if self.value is None:
            self.value = other.value
        elif other.value is not None:
            self.value += other.value
        return self


class RegisterStatistics:
    """A decorator that makes a function the statistic of an op.

    @ops.RegisterStatistics("Square", "flops")
    def square(graph, node):
        shape = graph.get_tensor_by_name(node.input[0] + ":0").shape
        return ops.OpStats("flops", shape.num_elements())
    """

    def __init__(self, op_type: str, statistic_type: str) -> None:
        """Create a decorator for the op `op_type` and the kind `statistic_type`.

        Raises:
            TypeError: a name is not a string, or has a comma.
        """
        for argument, name in (("op_type", op_type), ("statistic_type", statistic_type)):
            if not isinstance(name, str):
                raise TypeError(f"{argument} must be a string.")
            if "," in name:
                raise TypeError(f"{argument} must not contain a comma.")
        self._key = (op_type, statistic_type)

    def __call__(self, f: Statistic) -> Statistic:
        """Register `f(graph, node)`, and return it.

        Raises:
            KeyError: the op has a statistic of this kind.
        """
        if self._key in _REGISTERED:
            name = ",".join(self._key)
            raise KeyError(f"Registering two statistical functions with name '{name}'!")
        _REGISTERED[self._key] = f
        return f


def get_stats_for_node_def(graph: Any, node: Any, statistic_type: str) -> OpStats:
    """Return the statistic of a NodeDef. Its value is None if no function computes it.

    Raises:
        ValueError: the shapes that the statistic needs are not fully known.
    """
    function = _REGISTERED.get((node.op, statistic_type))
    return OpStats(statistic_type) if function is None else function(graph, node)
