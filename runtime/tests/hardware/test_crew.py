"""Threads share the calls of a compiled function."""

import ctypes
import os
import threading
import weakref
from typing import Any

import numpy as np
import pytest
from background import until
from compiled_calls import function

from capstan.hardware import blas, crew, llvm_crew


@pytest.fixture(autouse=True)
def four_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let products have four threads, and helpers that were never late, on any machine."""
    monkeypatch.setattr(blas, "threads", lambda: 4)
    crew._crew.cache_clear()


def counters(count: int) -> tuple[Any, list[int]]:
    """Return an array of zeros, and the addresses of its numbers."""
    numbers = np.zeros(count, np.int64)
    return numbers, [numbers.ctypes.data + 8 * at for at in range(count)]


@pytest.mark.parametrize("count", [0, 1, 2, 3, 1000])
def test_each_row_is_computed_once(count: int) -> None:
    numbers, places = counters(count)
    for _ in range(3):
        crew.share(function("count"), [[place] for place in places])
    assert numbers.tolist() == [3] * count


def test_two_threads_work_at_the_same_time() -> None:
    numbers, (place,) = counters(1)
    crew.share(function("meet"), [[place, 2]] * 2)
    assert numbers[0] == 2


@pytest.mark.parametrize("looks", [0, 100, 1000])
def test_each_job_has_a_helper(monkeypatch: pytest.MonkeyPatch, looks: int) -> None:
    """A job comes often just when a helper has looked for the last time."""
    monkeypatch.setattr(crew, "_LOOKS", looks)
    monkeypatch.setattr(crew, "_LEAST_WAIT", 600.0)  # so that the caller never works alone
    for _ in range(500):
        numbers, (place,) = counters(1)
        crew.share(function("meet"), [[place, 2]] * 2)
        assert numbers[0] == 2


def test_rows_are_computed_once_while_several_threads_share() -> None:
    numbers, places = counters(8)

    def share() -> None:
        for _ in range(300):
            crew.share(function("count"), [[place] for place in places])

    callers = [threading.Thread(target=share) for _ in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert numbers.tolist() == [4 * 300] * 8


def test_a_caller_computes_alone_while_all_helpers_are_busy() -> None:
    release = threading.Event()
    busy = [threading.Semaphore(0) for _ in range(os.cpu_count() or 1)]

    def occupy(number: int) -> None:
        busy[number].release()
        release.wait()

    for number in range(len(busy)):
        crew._crew()._threads.start(lambda number=number: occupy(number))
    for semaphore in busy:
        semaphore.acquire()
    numbers, places = counters(10)
    crew.share(function("count"), [[place] for place in places])
    release.set()
    assert numbers.tolist() == [1] * 10


class Parts:
    """A job of two rows. The caller computes one, and a helper the other, which lasts."""

    def __init__(self) -> None:
        self.numbers, self.places = counters(3)

    def share(self) -> None:
        caller = threading.get_ident()
        crew.share(function("part"), [[caller, *self.places]] * 2)

    def release_after(self, seconds: float) -> None:
        threading.Timer(seconds, self._release).start()

    def _release(self) -> None:
        self.numbers[1] = 1


def test_a_caller_whose_helper_was_late_works_alone_for_a_while(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(crew, "_LATE", 0)
    monkeypatch.setattr(crew, "_LEAST_WAIT", 0)
    monkeypatch.setattr(crew, "_PAUSE", 1e9)
    monkeypatch.setattr(crew, "_LONGEST", 600.0)
    parts = Parts()
    parts.release_after(0.05)
    parts.share()
    assert parts.numbers.tolist() == [1, 1, 1]
    asked = crew._crew()._asked
    numbers, places = counters(100)
    crew.share(function("count"), [[place] for place in places])
    assert numbers.tolist() == [1] * 100
    assert crew._crew()._asked == asked


PAUSES = [
    pytest.param([(0.0, 0.0009, 0.0001)], 0.0001, False, id="a short wait"),
    pytest.param([(0.0, 0.02, 0.01)], 0.001, False, id="long calls"),
    pytest.param([(0.0, 0.02, 0.001)], 0.19, True, id="a long wait"),
    pytest.param([(0.0, 0.02, 0.001)], 0.21, False, id="after the pause"),
    pytest.param([(0.0, 0.02, 0.001), (0.3, 0.02, 0.001)], 0.69, True, id="late twice"),
    pytest.param(
        [(0.0, 0.02, 0.001), (0.3, 0.0, 0.001), (0.4, 0.02, 0.001)], 0.61, False, id="late again"
    ),
    pytest.param([(float(at), 1.0, 0.001) for at in range(20)], 20.1, False, id="at most a second"),
]


@pytest.mark.parametrize(("notes", "now", "expected"), PAUSES)
def test_pauses_follow_helpers_that_are_late(
    notes: list[tuple[float, float, float]], now: float, expected: bool
) -> None:
    pauses = crew.Pauses()
    for note in notes:
        pauses.note(*note)
    assert pauses.is_on(now) == expected


def test_a_caller_works_alone_if_no_thread_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    numbers, places = counters(10)
    crew.share(function("count"), [[place] for place in places])
    assert numbers.tolist() == [1] * 10


def test_an_interrupt_comes_after_the_rows_that_helpers_have_taken() -> None:
    parts = Parts()
    caller = ctypes.c_ulong(threading.get_ident())
    state = crew._crew()._state

    def interrupt() -> None:
        until(lambda: parts.numbers[0])  # A helper has begun.
        until(lambda: state[0] >= llvm_crew.CLOSED)  # The caller waits for it.
        ctypes.pythonapi.PyThreadState_SetAsyncExc(caller, ctypes.py_object(KeyboardInterrupt))
        parts.release_after(0.05)

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        parts.share()
    assert parts.numbers.tolist() == [1, 1, 1]
    # The helpers serve the next caller.
    assert crew._crew().share(function("count"), np.array([[parts.places[0]]] * 2), 1)


@pytest.mark.parametrize("rows", [[[0]], [[0], [0]]], ids=["alone", "shared"])
def test_the_compiled_code_stays_while_a_caller_is_in_it(rows: list[list[int]]) -> None:
    """Threads that compile it at the same time each replace the cached one."""
    code = weakref.ref(crew._code())
    is_there: list[bool] = []

    @ctypes.CFUNCTYPE(None, ctypes.c_void_p)
    def forget(row: int) -> None:
        crew._code.cache_clear()
        is_there.append(code() is not None)

    crew.share(ctypes.cast(forget, ctypes.c_void_p).value or 0, rows)
    assert is_there == [True] * len(rows)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_child_has_helpers_of_its_own() -> None:
    numbers, (place,) = counters(1)
    crew.share(function("meet"), [[place, 2]] * 2)
    child = os.fork()
    if not child:
        numbers[0] = 0
        crew.share(function("meet"), [[place, 2]] * 2)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
