"""The functions of the nodes of a part: they return at once, answer later, or block a function."""

import functools
from collections.abc import Callable
from dataclasses import replace

from capstan import errors
from capstan.core import cancellation
from capstan.core import node as ir
from capstan.core.arrays import Array
from capstan.executor import bind, packing
from capstan.partition import parts
from capstan.resources import containers, dataset

Keep = Callable[[ir.Node, parts.Part, containers.SessionResources, str], dataset.Callee]
"""Returns the function of an attribute of a node of a part."""


class Binder:
    """Binds the nodes of a part to the resources of a session."""

    def __init__(
        self,
        part: parts.Part,
        resources: containers.SessionResources,
        keep: Keep | None,
        cancelled: cancellation.Cancellation | None,
    ) -> None:
        """`cancelled` ends the waits of a function, which has no nodes that answer later.

        It is None if the part is no function. `keep` makes the functions that nodes keep.
        """
        self._part, self._resources, self._keep, self._cancelled = part, resources, keep, cancelled
        self._packed = packing.packed(part)
        self.constants: dict[ir.Edge, Array] = {}
        """The values of the constants that were written. Kernels may prepare for them."""

    def bind(self, node: ir.Node) -> bind.Bound:
        """Return the kernel and the function of a node.

        Raises:
            OpError: as `bind.bind`.
            InternalError: the task and the master do not agree that the node may answer later.
        """
        bound = bind.bind(
            node,
            self._part.tensor_shapes,
            self.constants,
            self._resources,
            self._keep and functools.partial(self._keep, node, self._part, self._resources),
            self._packed,
        )
        if self._cancelled is not None and bound.kernel.is_asynchronous:
            function = bind.blocking(bound.function, len(bound.outputs), self._cancelled)
            return replace(bound, function=function)
        waits = node.name in self._part.answers
        if waits and bound.kernel.holds_thread:
            submit = self._resources.devices.submit
            return replace(bound, function=bind.beside(bound.function, bound.outputs, submit))
        if bound.kernel.is_asynchronous != waits:
            raise errors.InternalError(
                None,
                None,
                f"The master and {self._part.task} disagree whether {{{{node {node.name}}}}} may "
                "wait. Run the same version of Capstan in every task",
            )
        return bound
