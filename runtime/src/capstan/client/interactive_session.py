"""`InteractiveSession`: a session for interactive shells (TensorFlow: python/client/session.py)."""

import warnings
from collections.abc import Iterator
from typing import Any

from capstan.client import session
from capstan.framework import defaults
from capstan.framework import graph as graphs


class InteractiveSession(session.Session):
    """A session that is the default session from its constructor to `close`.

    The constructor warns if the thread has another one that is not closed: it keeps its memory.
    """

    def __init__(
        self, target: Any = "", graph: graphs.Graph | None = None, config: Any = None
    ) -> None:
        super().__init__(target, graph, config)
        if any(isinstance(each, InteractiveSession) for each in defaults.SESSIONS.items):
            warnings.warn(
                "An interactive session is already active, and keeps its memory and its variables. "
                "Call its close() first.",
                stacklevel=2,
            )
        self._default = self._enter_default()
        next(self._default)

    def close(self) -> None:
        """End the session. It is not the default session any more."""
        super().close()
        next(self._default, None)

    def _enter_default(self) -> Iterator[None]:
        with defaults.SESSIONS.entered(self, "session", nested=False):
            yield
