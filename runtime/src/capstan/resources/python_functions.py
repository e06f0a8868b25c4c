"""The Python functions that `PyFunc` nodes of this process call, by token.

A token is valid in the process that registered the function, as in TensorFlow. The table does not
keep a function alive. The graph that calls the function keeps it alive.
"""

import itertools
import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class Registered:
    """A function and its token. The token is valid as long as this value exists."""

    token: str
    function: Callable[..., Any]


class PythonFunctions:
    """A table of functions. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._numbers = itertools.count()
        self._registered: weakref.WeakValueDictionary[str, Registered] = (
            weakref.WeakValueDictionary()
        )

    def register(self, function: Callable[..., Any]) -> Registered:
        """Add a function. The caller keeps the result as long as a graph uses the token."""
        with self._lock:
            registered = Registered(f"pyfunc_{next(self._numbers)}", function)
            self._registered[registered.token] = registered
        return registered

    def size(self) -> int:
        """Return the number of functions that a graph keeps alive."""
        return len(self._registered)

    def find(self, token: str) -> Registered | None:
        """Return the function of a token, or None if this process has none."""
        return self._registered.get(token)


FUNCTIONS = PythonFunctions()
"""The functions of this process."""
