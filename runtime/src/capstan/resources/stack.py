"""Stacks: a loop pushes the values that its gradient pops in reverse order.

The handle of a stack is the stack itself, so the stack ends with the step (core/kernels/stack.cc).
"""

import threading
from typing import Any

from capstan import errors
from capstan.core import dtypes


class Stack:
    """One stack. Thread-safe: two devices of a task may push to it at the same time.

    `limit` is the largest number of elements. A negative limit means no limit.
    """

    container = ""

    def __init__(self, name: str, dtype: dtypes.DType, limit: int) -> None:
        self._name = name
        self._dtype = dtype
        self._limit = limit
        self._elements: list[Any] = []
        self._is_closed = False
        self._lock = threading.Lock()

    def push(self, value: Any) -> None:
        """Add `value` at the top. The caller must not change `value` later.

        Raises:
            InvalidArgumentError: the stack is full or closed.
        """
        with self._lock:
            self._require_open()
            if 0 <= self._limit <= len(self._elements):
                raise errors.InvalidArgumentError(
                    None, None, f"Stack[{self._name}] overflowed its max_size ({self._limit})"
                )
            self._elements.append(value)

    def pop(self) -> Any:
        """Remove the value at the top and return it.

        Raises:
            InvalidArgumentError: the stack is empty or closed.
        """
        with self._lock:
            self._require_open()
            if not self._elements:
                raise errors.InvalidArgumentError(
                    None, None, f"Stack[{self._name}] is empty when calling Pop()."
                )
            return self._elements.pop()

    def close(self) -> None:
        """Drop the elements. Every later access fails."""
        with self._lock:
            self._is_closed = True
            self._elements.clear()

    @property
    def name(self) -> str:
        return self._name

    def _require_open(self) -> None:
        if self._is_closed:
            raise errors.InvalidArgumentError(
                None, None, f"Stack[{self._name}] has already been closed."
            )
