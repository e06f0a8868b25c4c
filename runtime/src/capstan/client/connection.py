"""The session that a master keeps for a client, and the part of the graph that the master has.

The first call creates the session on the master. Each call first sends the nodes that were added to
the graph since the previous call.
"""

import logging
import re
import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

from capstan import errors
from capstan.client import uninitialized
from capstan.core import config
from capstan.framework import graph as graphs
from capstan.services import step
from capstan.transport import cancellation, interfaces

Answer = TypeVar("Answer")

_NODE = re.compile(r"\{\{node ([^}\s]+)\}\}")


class Connection:
    """A session of `master` for `graph`. Thread-safe."""

    def __init__(
        self, graph: graphs.Graph, master: interfaces.MasterApi, settings: config.SessionConfig
    ) -> None:
        """Does not contact the master."""
        self._graph = graph
        self._master = master
        self._settings = settings
        self._lock = threading.Lock()
        self._closing = cancellation.Cancellation()
        self._sent = 0
        self._sent_functions = 0
        self._seen_changes = 0
        self._version = 0
        self.handle: str | None = None
        """The name of the session on the master, or None if the master has no session."""
        self.is_closed = False

    def call(self, call: Callable[[str], Answer]) -> Answer:
        """Send new nodes of the graph to the master, then make `call` with the session's handle.

        Raises:
            RuntimeError: the connection is closed, or an operation that the master has was changed.
            CancelledError: the connection was closed during the call.
            OpError: the call failed. `op` is the operation that the message names.
        """
        try:
            return call(self._extend())
        except errors.OpError as fault:
            if self.is_closed and not isinstance(fault, errors.CancelledError):
                # The master no longer knows the session. An AbortedError would report a lost task.
                raise step.cancelled_by_close() from fault
            # The frames hold the memory of the step, and a program may keep the error for long.
            fault.__traceback__ = None
            raise self._located(fault) from None

    def close(self) -> None:
        """End the session on the master. Idempotent. A lost master is not an error."""
        self._closing.cancel()
        with self._lock:
            handle, self.handle = self.handle, None
            self.is_closed = True
        if handle is None:
            return
        try:
            self._master.close_session(handle)
        except (errors.AbortedError, errors.UnavailableError):
            return

    def _extend(self) -> str:
        """Send the master the nodes that it does not have, and return the session's handle."""
        handle = self.handle  # `close` may set it to None at any time
        is_sent = self._sent == self._graph.version and self._seen_changes == self._graph.changes
        if handle is not None and is_sent:
            return handle
        with self._lock:
            if self.is_closed:
                raise closed()
            # Exactly these nodes count as sent, and only if the master accepts them: other threads
            # may add more nodes meanwhile.
            nodes, changed = self._graph.since(self._sent, self._seen_changes)
            self._check_changes(changed)
            functions = self._graph.functions(self._sent_functions)
            if self.handle is None:
                self.handle = self._master.create_session(
                    nodes, self._settings, self._closing, functions
                )
            elif nodes:
                self._version = self._master.extend_session(
                    self.handle, nodes, self._version, functions
                )
            self._sent += len(nodes)
            self._sent_functions += len(functions)
            self._seen_changes += len(changed)
            return self.handle

    def _check_changes(self, changed: Sequence[graphs.Change]) -> None:
        """Raise RuntimeError, or warn, if the master has an operation that was changed."""
        known = [change for change in changed if change.op.creation_index <= self._sent]
        for change in known:
            if not change.is_edit:
                raise RuntimeError(
                    f"Operation '{change.op.name}' was changed after it was run by a session: a "
                    "gradient needs more results of its functions. Build the gradient before the "
                    "first run, or create a new session"
                )
        if known:
            logging.getLogger("capstan").warning(
                "Operation '%s' was edited after it was run by a session%s. The edit has no effect "
                "in this session. Edit the graph before the first run, or create a new session",
                known[0].op.name,
                _others(len(known) - 1),
            )

    def _located(self, fault: errors.OpError) -> errors.OpError:
        """Return an error like `fault` whose `op` is the operation that the message names.

        If a variable has no value, the message says how to give it one. Return `fault` itself if
        the graph has no such operation.
        """
        op = self._named(fault.message) or uninitialized.operation(self._graph, fault.message)
        if op is None:
            return fault
        message = uninitialized.advised(self._graph, fault.message)
        return errors.from_code(fault.error_code, message, op=op)

    def _named(self, message: str) -> graphs.Operation | None:
        found = _NODE.search(message)
        try:
            return None if found is None else self._graph.get_operation_by_name(found[1])
        except (KeyError, ValueError):
            return None


def closed() -> RuntimeError:
    """Return the error of a call to a session that was closed."""
    return RuntimeError("Attempted to use a closed Session.")


def _others(count: int) -> str:
    """Return the words for operations that a warning does not name."""
    if not count:
        return ""
    return ", and 1 other operation" if count == 1 else f", and {count} other operations"
