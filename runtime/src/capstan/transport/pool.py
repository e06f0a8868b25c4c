"""Keeps links between steps, so that a step needs no handshake."""

import threading

from capstan import errors
from capstan.transport import api


class Pool(api.Links):
    """Implements `api.Links` with any dialler. Thread-safe. Holds no lock while it dials."""

    def __init__(self, dialer: api.Dialer) -> None:
        self._dialer = dialer
        self._lock = threading.Lock()
        self._idle: dict[tuple[str, int], list[api.Link]] = {}
        self._closed = False

    def take(self, task: str, incarnation: int, deadline: float | None = None) -> api.Link:
        """Return an idle link or a new one, as `api.Links.take`.

        Raises:
            UnavailableError: `task` cannot be reached before `deadline`, or the pool is closed.
            DeadlineExceededError: `task` does not answer before `deadline`.
            AbortedError: `task` was restarted.
        """
        while (link := self._idle_link(task, incarnation)) is not None:
            # Input on an idle link means that the link is dead.
            if link.is_quiet() and not self._dialer.is_outdated(task, incarnation, link):
                return link
            link.close()
        return self._dialer.dial(task, incarnation, deadline)

    def give_back(self, task: str, incarnation: int, link: api.Link) -> None:
        """Keep `link` for the next step, and close the links to other incarnations of `task`."""
        with self._lock:
            dead = [
                old
                for name, number in list(self._idle)
                if name == task and number != incarnation
                for old in self._idle.pop((name, number))
            ]
            if self._closed:
                dead.append(link)
            else:
                self._idle.setdefault((task, incarnation), []).append(link)
        for old in dead:
            old.close()

    def close(self) -> None:
        """Close every idle link, and every link that is given back later. Idempotent."""
        with self._lock:
            self._closed = True
            links = [link for idle in self._idle.values() for link in idle]
            self._idle.clear()
        for link in links:
            link.close()

    def _idle_link(self, task: str, incarnation: int) -> api.Link | None:
        with self._lock:
            if self._closed:
                raise errors.UnavailableError(
                    None, None, f"No link to {task}: this task is shutting down"
                )
            idle = self._idle.get((task, incarnation))
            return idle.pop() if idle else None
