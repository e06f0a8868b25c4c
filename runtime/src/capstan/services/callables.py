"""The signatures that clients of a session run by a handle, as `Session.make_callable` does."""

import itertools
from collections.abc import Callable

from capstan import errors
from capstan.graph import prune
from capstan.services import session_graph, signature
from capstan.transport import interfaces


class Callables:
    """The signatures of one session, with their options. Thread-safe."""

    def __init__(self, graph: Callable[[], session_graph.SessionGraph]) -> None:
        """`graph` returns the current graph of the session."""
        self._graph = graph
        self._handles = itertools.count(1)
        self._found: dict[int, tuple[signature.Signature, interfaces.StepOptions]] = {}

    def make(self, requested: signature.Signature, options: interfaces.StepOptions) -> int:
        """Remember a signature, and return its handle.

        Raises:
            NotFoundError, InvalidArgumentError: a name is not in the graph, a tensor is fed
                twice, or the graph has a cycle.
        """
        feeds, fetches = requested.edges()
        prune.prune(self._graph().nodes, feeds, fetches, requested.targets)
        handle = next(self._handles)
        self._found[handle] = requested, options
        return handle

    def get(self, handle: int) -> tuple[signature.Signature, interfaces.StepOptions]:
        """Return a remembered signature and its options.

        Raises:
            InvalidArgumentError: there is no such handle.
        """
        found = self._found.get(handle)
        if found is None:
            raise errors.InvalidArgumentError(None, None, f"No such callable handle: {handle}")
        return found

    def release(self, handle: int) -> None:
        """Forget a remembered signature. An unknown handle is not an error."""
        self._found.pop(handle, None)
