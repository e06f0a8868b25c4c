"""`InteractiveSession`: a session for interactive shells (TensorFlow: python/client/session.py)."""

from collections.abc import Iterator
from typing import Any

from capstan.client import session
from capstan.framework import defaults
from capstan.framework import graph as graphs


class InteractiveSession(session.Session):
    """A session that is the default session from its constructor to `close`."""

    def __init__(
        self, target: Any = "", graph: graphs.Graph | None = None, config: Any = None
    ) -> None:
        super().__init__(target, graph, config)
        self._default = self._enter_default()
        next(self._default)

    def close(self) -> None:
        """End the session. It is not the default session any more."""
        super().close()
        next(self._default, None)

    def _enter_default(self) -> Iterator[None]:
        with defaults.SESSIONS.entered(self, "session", nested=False):
            yield
