"""The open sessions of a master."""

import threading

from capstan import errors
from capstan.services import master_session


class OpenSessions:
    """Sessions by handle. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sessions: dict[str, master_session.MasterSession] = {}

    def add(self, session: master_session.MasterSession) -> None:
        with self._lock:
            self._sessions[session.handle] = session

    def get(self, handle: str) -> master_session.MasterSession:
        """Return a session.

        Raises:
            AbortedError: there is no such session.
        """
        session = self._sessions.get(handle)
        if session is None:
            raise _unknown(handle)
        return session

    def all(self) -> list[master_session.MasterSession]:
        with self._lock:
            return list(self._sessions.values())

    def close(self, handle: str) -> None:
        """Close a session, and forget it.

        Raises:
            AbortedError: there is no such session.
        """
        with self._lock:
            session = self._sessions.pop(handle, None)
        if session is None:
            raise _unknown(handle)
        session.close()

    def close_all(self) -> None:
        """Close all sessions, and forget them."""
        with self._lock:
            sessions = list(self._sessions.values())
            self._sessions.clear()
        for session in sessions:
            session.close()


def _unknown(handle: str) -> errors.AbortedError:
    return errors.AbortedError(
        None, None, f"Session {handle} is not found. Possibly, this master has restarted."
    )
