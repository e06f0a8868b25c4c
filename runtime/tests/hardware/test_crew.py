"""Threads share the pieces of a computation."""

import os
import threading

import numpy as np
import pytest

from capstan.hardware import blas, crew


@pytest.fixture(autouse=True)
def four_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let products have four threads, and helpers that were never late, on any machine."""
    monkeypatch.setattr(blas, "threads", lambda: 4)
    crew._crew.cache_clear()


@pytest.mark.parametrize("pieces", [0, 1, 2, 3, 100])
def test_each_piece_is_computed_once(pieces: int) -> None:
    done: list[int] = []
    crew.share(done.append, pieces)
    assert sorted(done) == list(range(pieces))


def test_several_threads_work_at_the_same_time() -> None:
    meeting = threading.Barrier(3, timeout=60)
    crew.share(lambda _: meeting.wait(), 3)


def test_the_caller_raises_the_error_of_a_helper_after_all_pieces_in_work() -> None:
    meeting = threading.Barrier(2, timeout=60)
    caller, ended = threading.get_ident(), []

    def work(piece: int) -> None:
        if piece > 1:
            return
        meeting.wait()
        if threading.get_ident() != caller:
            raise ValueError("a helper failed")
        ended.append(piece)

    with pytest.raises(ValueError, match="a helper failed"):
        crew.share(work, 2)
    assert len(ended) == 1


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
    done: list[int] = []
    crew.share(done.append, 10)
    release.set()
    assert done == list(range(10))


def test_a_caller_whose_helper_was_late_works_alone_for_a_while(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(crew, "_LATE", 0)
    monkeypatch.setattr(crew, "_PAUSE", 1e6)
    monkeypatch.setattr(crew, "_LONGEST", 600.0)
    caller = threading.get_ident()
    begun, release = threading.Event(), threading.Event()

    def work(_: int) -> None:
        if threading.get_ident() == caller:
            begun.wait()
            threading.Timer(0.05, release.set).start()
        else:
            begun.set()
            release.wait()

    crew.share(work, 2)
    workers: set[int] = set()
    crew.share(lambda _: workers.add(threading.get_ident()), 1000)
    assert workers == {caller}


PAUSES = [
    pytest.param([(0.0, 0.0009, 0.0001)], 0.0001, False, id="a short wait"),
    pytest.param([(0.0, 0.02, 0.01)], 0.001, False, id="long pieces"),
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


def test_helpers_treat_warnings_as_the_caller_does() -> None:
    meeting = threading.Barrier(2, timeout=60)

    def overflow(_: int) -> None:
        meeting.wait()
        np.float32(3e38) * np.float32(3e38)

    with np.errstate(all="ignore"):
        crew.share(overflow, 2)


def test_a_caller_works_alone_if_no_thread_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    done: list[int] = []
    crew.share(done.append, 10)
    assert done == list(range(10))


def test_an_interrupt_comes_after_the_pieces_that_helpers_have_taken() -> None:
    caller, ended = threading.get_ident(), []
    begun, release = threading.Event(), threading.Event()

    def work(piece: int) -> None:
        if threading.get_ident() == caller:
            begun.wait()
            threading.Timer(0.05, release.set).start()
            raise KeyboardInterrupt
        begun.set()
        release.wait()
        ended.append(piece)

    with pytest.raises(KeyboardInterrupt):
        crew.share(work, 2)
    assert len(ended) == 1


def test_work_may_share_work_of_its_own() -> None:
    done: list[int] = []
    crew.share(lambda piece: crew.share(lambda part: done.append(10 * piece + part), 10), 10)
    assert sorted(done) == list(range(100))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_child_has_helpers_of_its_own() -> None:
    crew.share(lambda _: None, 10)
    child = os.fork()
    if not child:
        meeting = threading.Barrier(2, timeout=60)
        crew.share(lambda _: meeting.wait(), 2)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
