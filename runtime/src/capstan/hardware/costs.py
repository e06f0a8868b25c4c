"""The time that the elementwise programs of a session have taken so far."""

import threading

from capstan.core import elementwise


class Costs:
    """Adds up the time of programs. Equal programs share their time. Thread-safe."""

    def __init__(self) -> None:
        self._seconds: dict[elementwise.Program, float] = {}
        self._lock = threading.Lock()

    def add(self, program: elementwise.Program, seconds: float) -> float:
        """Add the time of a call of `program`. Return the time of all calls."""
        with self._lock:
            self._seconds[program] = total = self._seconds.get(program, 0.0) + seconds
            return total
