"""The default graph and the default session: a stack of each for every thread. The default writer
of summaries of each thread. The choices that hold for the whole process.

A new thread starts with an empty default graph of its own and without a default session, as in
TensorFlow. It enters `graph.as_default()` to build in another graph.
"""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from capstan.core import config


class DefaultStack(threading.local):
    """The defaults that `with` blocks have set in the current thread, innermost last."""

    def __init__(self) -> None:
        self.items: list[Any] = []
        # The default outside all blocks. The caller creates it on first use.
        self.outermost: Any = None

    @property
    def top(self) -> Any:
        """The innermost default, or None outside all blocks."""
        return self.items[-1] if self.items else None

    @contextmanager
    def entered(self, default: Any, kind: str, *, nested: bool = True) -> Iterator[Any]:
        """Make `default` the default until the block ends.

        Raises:
            AssertionError: a block ends before a block that began later.
        """
        self.items.append(default)
        try:
            yield default
        finally:
            is_violated = nested and self.items[-1:] != [default]
            if default in self.items:
                # If several entries are equal, this block has made the last one.
                del self.items[len(self.items) - 1 - self.items[::-1].index(default)]
            if is_violated:
                raise AssertionError(
                    f"Nesting violated for default stack of {kind} objects: a block that began "
                    "later must end earlier"
                )


class SummaryDefaults(threading.local):
    """What the functions that write summaries in a step use, if they are not told otherwise."""

    def __init__(self) -> None:
        self.writer: Any = None
        self.recording: Any = None
        """Whether summaries are written: a boolean, a tensor, or a function that returns one."""
        self.step: Any = None


@dataclass(slots=True)
class Behaviour:
    """What TensorFlow's functions `enable_*`, `disable_*` and `set_*` choose for the process."""

    resource_variables: bool = False
    control_flow_v2: bool = False
    settings: config.SessionConfig = field(default_factory=config.SessionConfig)
    """The settings of a session that is created without a ConfigProto."""
    uses_jit: bool = False
    optimizer_options: Mapping[str, Any] = field(default_factory=dict)
    calls_python_functions: bool = False
    """Whether a call of a `tf.function` calls its Python function."""


GRAPHS = DefaultStack()
SESSIONS = DefaultStack()
SUMMARIES = SummaryDefaults()
BEHAVIOUR = Behaviour()


def get_default_session() -> Any:
    """Return the session of the innermost `with session:` of this thread, or None."""
    return SESSIONS.top


def session_for(graph: Any, session: Any, verb: str, what: str, call: str) -> Any:
    """Return the session that evaluates a part of `graph`: `session`, or the default session.

    `verb`, `what` and `call` complete the error messages.

    Raises:
        ValueError: there is no session, or it is a session of another graph.
    """
    if session is None:
        session = get_default_session()
        if session is None:
            raise ValueError(
                f"Cannot {verb} {what} using `{call}()`: No default session is registered. Use "
                f"`with sess.as_default()` or pass an explicit session to `{call}(session=sess)`"
            )
        if session.graph is not graph:
            raise ValueError(
                f"Cannot use the default session to {verb} {what}: the {what}'s graph is different "
                f"from the session's graph. Pass an explicit session to `{call}(session=sess)`."
            )
    elif session.graph is not graph:
        raise ValueError(
            f"Cannot use the given session to {verb} {what}: the {what}'s graph is different from "
            "the session's graph."
        )
    return session
