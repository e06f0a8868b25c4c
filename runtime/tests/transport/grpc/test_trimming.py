"""Memory that becomes free some time after a large request returns to the system, too."""

import threading
from collections.abc import Iterator

import background
import pytest

from capstan.transport.grpc import trimming

PAUSES = (0.01, 0.02, 0.03)


def has_ended() -> bool:
    """Return whether no memory will be returned any more."""
    return "capstan-trimming" not in [each.name for each in threading.enumerate()]


@pytest.fixture
def trims(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The names of the threads that have returned memory."""
    # The memory of large requests of earlier tests is returned for another 15 seconds.
    background.until(has_ended)
    threads: list[str] = []
    monkeypatch.setattr(trimming, "_PAUSES_S", PAUSES)
    monkeypatch.setattr(trimming, "trim", lambda: threads.append(threading.current_thread().name))
    yield threads
    background.until(has_ended)


def test_memory_is_returned_at_once_and_after_each_pause(trims: list[str]) -> None:
    made = trimming.Trimming()
    made.begin()
    assert trims[0] == threading.current_thread().name
    background.until(lambda: len(trims) == 1 + len(PAUSES))
    assert set(trims[1:]) == {"capstan-trimming"}
    made.begin()
    background.until(lambda: len(trims) == 2 * (1 + len(PAUSES)))


def test_many_large_requests_share_one_thread(
    trims: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trimming, "_PAUSES_S", (60.0,))
    timers: list[threading.Timer] = []

    class Timer(threading.Timer):
        def start(self) -> None:
            timers.append(self)
            super().start()

    monkeypatch.setattr(threading, "Timer", Timer)
    made = trimming.Trimming()
    for _ in range(10):
        made.begin()
    assert len(timers) == 1
    timers[0].cancel()
    assert len(trims) == 10


def test_without_a_new_thread_the_next_request_tries_again(
    trims: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: threading.Timer) -> None:
        raise RuntimeError("can't start new thread")

    made = trimming.Trimming()
    with monkeypatch.context() as patched:
        patched.setattr(threading.Timer, "start", refuse)
        made.begin()
    assert len(trims) == 1
    made.begin()
    background.until(lambda: len(trims) == 2 + len(PAUSES))
