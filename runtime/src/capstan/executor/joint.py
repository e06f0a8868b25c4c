"""One function for several nodes of an op that do not depend on each other (`registry.Join`)."""

import operator
from collections.abc import Sequence
from typing import Any, Final

from capstan.core import dtypes
from capstan.executor import bind, faults
from capstan.kernels import registry, stacking

_LARGE: Final = 1 << 24
"""The most bytes that one call copies. Joining larger tensors costs more than it saves.

The number is a guess.
"""

_NBYTES: Final = operator.attrgetter("nbytes")


def join(bounds: Sequence[bind.Bound]) -> "Joint | None":
    """Return the function of a group of nodes of one kernel, or None if they must run alone."""
    kernel = bounds[0].kernel if bounds else None
    if kernel is None or kernel.join is None:
        return None
    function = kernel.join.make([bound.context for bound in bounds])
    return None if function is None else Joint(bounds, function, kernel.join.tables)


class Joint:
    """The function of a group of nodes. Thread-safe, as the functions of the nodes are.

    If the inputs of a call cannot be joined, the nodes run one after another. So an error is that
    of a single node, and names the node.
    """

    __slots__ = ("_bounds", "_copied", "_function")

    def __init__(
        self, bounds: Sequence[bind.Bound], function: registry.Joined, tables: Sequence[int]
    ) -> None:
        self._bounds = bounds
        self._function = function
        self._copied = [
            number
            for number, (dtype, is_ref) in enumerate(bounds[0].inputs)
            if number not in tables and not is_ref and dtype is not dtypes.resource
        ]

    def __call__(self, *inputs: Sequence[Any]) -> registry.Columns:
        """Return a column for each output of the nodes. `inputs` has one for each of their inputs.

        Raises:
            OpError: a node failed. The message names the node.
        """
        found = self._together(inputs)
        return self._one_by_one(inputs) if found is None else found

    def _together(self, inputs: registry.Columns) -> registry.Columns | None:
        if self._copied_bytes(inputs) > _LARGE:
            return None
        try:
            return self._function(*inputs)
        except Exception:  # noqa: BLE001 - the node that fails by itself raises the error again
            return None

    def _copied_bytes(self, inputs: registry.Columns) -> int:
        """Return the size of the tensors that are not stacked yet, without variables and tables."""
        columns = [inputs[number] for number in self._copied]
        loose = [column for column in columns if type(column) is not stacking.Column]
        return sum([sum(map(_NBYTES, column)) for column in loose])

    def _one_by_one(self, inputs: registry.Columns) -> registry.Columns:
        found = []
        for bound, own in zip(self._bounds, zip(*inputs, strict=True), strict=True):
            try:
                found.append(bind.results(bound.function(*own), bound.outputs))
            except Exception as fault:
                raise faults.named(faults.translated(fault), bound.context.name) from fault
        return [*zip(*found, strict=True)]
