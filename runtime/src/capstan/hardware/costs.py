"""The time that the elementwise programs of a session have taken so far."""

import threading

from capstan.core import elementwise


class Cost:
    """Adds up the time of one program. Thread-safe."""

    def __init__(self) -> None:
        self._seconds = 0.0
        self._lock = threading.Lock()

    def add(self, seconds: float) -> float:
        """Add the time of a call. Return the time of all calls."""
        with self._lock:
            self._seconds += seconds
            return self._seconds


class Costs:
    """The costs of programs. Equal programs have one cost. Thread-safe."""

    def __init__(self) -> None:
        self._costs: dict[elementwise.Program, Cost] = {}
        self._lock = threading.Lock()

    def of(self, program: elementwise.Program) -> Cost:
        """Return the cost of a program. Its hash takes microseconds, so calls should keep it."""
        with self._lock:
            return self._costs.setdefault(program, Cost())
