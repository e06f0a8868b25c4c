"""Threads that help a thread with many calls of a compiled function.

TensorFlow has a pool of threads for this (`Shard` in core/util/work_sharder.cc). Here the helpers
and the caller share the calls without Python (`llvm_crew`). A helper that has just helped looks for
the next job for a while before it sleeps, so the jobs of a step follow one another without delay.
The caller works alone for a while if its helpers had to wait for cores that other programs keep
busy.
"""

import ctypes
import functools
import os
import threading
import time
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from capstan.core.arrays import Array
from capstan.hardware import blas, cpu_elementwise, threads

Row = Sequence[Array | int]
"""The arguments of a call: arrays and integers."""

_LOOKS: Final = 1 << 12
"""A helper sleeps after it has looked for a job so many times in vain. They take some 0.1 ms."""

_LATE: Final = 3
"""A helper that takes this many times as long as the caller for a call had to wait for a core."""

_LEAST_WAIT: Final = 1e-3
"""A shorter wait, in seconds, is no sign of busy cores."""

_PAUSE: Final = 10
"""A caller works alone for this many times as long as it waited, or longer."""

_LONGEST: Final = 1.0
"""The longest time, in seconds, for which a caller works alone."""


def share(function: int, rows: Sequence[Row]) -> None:
    """Call a function with each of the rows, in the calling thread and in others.

    `function` is the address of a compiled function that takes a row
    (`llvm_crew.write_row_function`), and checks nothing. As many threads work as a product of
    NumPy's BLAS may have. Each takes a row when it has finished one, so the caller never waits for
    a thread that has not begun. An interrupt is raised when no thread works any more. Thread-safe.
    """
    given = [[each if isinstance(each, int) else id(each) for each in row] for row in rows]
    if not given:
        return
    table = np.array(given, np.int64)
    helpers = min(blas.threads(), len(table)) - 1
    code = _code()  # It stays while the thread is in it.
    if helpers < 1 or not _crew().share(function, table, helpers):
        code.alone(function, table)


class Pauses:
    """The times for which callers work alone, because helpers were late.

    A pause is at least twice as long as the last one if the helpers were late again after it.
    """

    def __init__(self) -> None:
        self._end = 0.0
        self._length = 0.0

    def is_on(self, now: float) -> bool:
        return now < self._end

    def note(self, now: float, waited: float, call: float) -> None:
        """Note how long a caller waited for its helpers in the end, and took for a call."""
        if waited <= max(_LATE * call, _LEAST_WAIT):
            self._length = 0.0
            return
        self._length = min(max(2 * self._length, _PAUSE * waited), _LONGEST)
        self._end = now + self._length


class _Code:
    """The compiled functions."""

    def __init__(self) -> None:
        from capstan.hardware import llvm_crew  # Most programs need no LLVM.

        self._engine = cpu_elementwise.compiler().engine(llvm_crew.write())  # It owns the code.
        array, number = ctypes.py_object, ctypes.c_int64

        def function(name: str, *kinds: type, result: type | None = None) -> Any:
            signature = ctypes.CFUNCTYPE(result, *kinds)
            return signature(self._engine.get_function_address(name))

        self.open = function(llvm_crew.OPEN, array, number, array)
        self.work = function(llvm_crew.WORK, array, result=number)
        self.wait = function(llvm_crew.WAIT, array)
        self.help = function(llvm_crew.HELP, array, number)
        self.alone = function(llvm_crew.ALONE, number, array)
        self.state = llvm_crew.SIZE, llvm_crew.CLOSED
        self.ended = llvm_crew.ENDED


@functools.cache
def _code() -> _Code:
    return _Code()


class _Crew:
    """The helpers of a process, which serve one caller at a time."""

    def __init__(self) -> None:
        size, closed = _code().state
        self._state = np.zeros(size, np.int64)
        self._state[0] = closed
        self._is_busy = threading.Lock()
        self._threads = threads.DaemonThreads(os.cpu_count() or 1, "capstan-crew")
        self._pauses = Pauses()
        self._asked = 0
        """How many times a helper was asked to look for jobs."""

    def share(self, function: int, table: Array, helpers: int) -> bool:
        """Share the calls, and return True. Return False if the helpers should not be asked."""
        code = _code()
        if self._pauses.is_on(time.perf_counter()) or not self._is_busy.acquire(blocking=False):
            return False
        try:
            code.open(self._state, function, table)
            self._wake(helpers)
            begin = time.perf_counter()
            taken = code.work(self._state)
            middle = time.perf_counter()
        finally:  # The user may interrupt the program, also after `wait`.
            try:
                code.wait(self._state)
            finally:
                self._is_busy.release()
        if 0 < taken < len(table):
            now = time.perf_counter()
            self._pauses.note(now, now - middle, (middle - begin) / taken)
        return True

    def _wake(self, helpers: int) -> None:
        """Let so many helpers look for jobs."""
        try:
            while self._asked - self._state[_code().ended] < helpers:
                self._threads.start(self._help)
                self._asked += 1
        except RuntimeError:
            pass  # The system starts no thread, so the caller works alone.

    def _help(self) -> None:
        code = _code()  # It stays while the thread is in it.
        code.help(self._state, _LOOKS)


@functools.cache
def _crew() -> _Crew:
    return _Crew()


# A child does not have the threads of its parent.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_crew.cache_clear)
