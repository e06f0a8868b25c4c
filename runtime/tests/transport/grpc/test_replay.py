"""Calls that are repeated, and calls whose clients are gone."""

import threading
from collections.abc import Callable, Iterator
from concurrent import futures

import pytest

from capstan import errors
from capstan.transport import cancellation as cancellations
from capstan.transport.grpc import replay

PATIENCE_S = 60.0
FOR_EVER_S = 3600.0


class Context:
    """The context of a call, which ends when the test ends it."""

    def __init__(self) -> None:
        self._callbacks: list[Callable[[], None]] = []
        self.is_watched = threading.Event()

    def add_callback(self, callback: Callable[[], None]) -> bool:
        self._callbacks.append(callback)
        self.is_watched.set()
        return True

    def end(self) -> None:
        for callback in self._callbacks:
            callback()


class Step:
    """A step that runs until the test or its cancellation ends it."""

    def __init__(self) -> None:
        self.runs: list[cancellations.Cancellation] = []
        self.began = threading.Event()
        self.gate = threading.Event()

    def run(self, cancellation: cancellations.Cancellation) -> str:
        self.runs.append(cancellation)
        self.began.set()
        with cancellation.watched(self.gate.set):
            assert self.gate.wait(PATIENCE_S)
        if cancellation.is_cancelled:
            raise errors.CancelledError(None, None, "the client is gone")
        return "answer"


@pytest.fixture
def callers() -> Iterator[futures.ThreadPoolExecutor]:
    with futures.ThreadPoolExecutor(2) as threads:
        yield threads


@pytest.mark.parametrize("request_id", [0, 7])
def test_a_step_whose_client_is_gone_is_cancelled(
    callers: futures.ThreadPoolExecutor, request_id: int
) -> None:
    once, step, context = replay.Once(0.0), Step(), Context()
    call = callers.submit(once.run, request_id, context, step.run)
    assert step.began.wait(PATIENCE_S)
    context.end()
    with pytest.raises(errors.CancelledError):
        call.result(PATIENCE_S)


def test_a_step_whose_client_is_gone_is_cancelled_if_no_thread_can_be_started(
    callers: futures.ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(timer: threading.Timer) -> None:
        raise RuntimeError("can't start new thread")

    once, context, gate = replay.Once(FOR_EVER_S), Context(), threading.Event()
    call = callers.submit(once.run, 7, context, lambda mine: confirmed(mine, gate))
    assert context.is_watched.wait(PATIENCE_S)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Timer, "start", refuse)
        context.end()
    gate.set()
    assert call.result(PATIENCE_S) is False


def test_a_step_goes_on_if_its_client_comes_back(callers: futures.ThreadPoolExecutor) -> None:
    once, step, broken = replay.Once(FOR_EVER_S), Step(), Context()
    first = callers.submit(once.run, 7, broken, step.run)
    assert step.began.wait(PATIENCE_S)
    broken.end()
    again = Context()
    second = callers.submit(once.run, 7, again, step.run)
    assert again.is_watched.wait(PATIENCE_S)
    step.gate.set()
    assert second.result(PATIENCE_S) == first.result(PATIENCE_S) == "answer"
    assert len(step.runs) == 1


def confirmed(cancellation: cancellations.Cancellation, gate: threading.Event) -> bool:
    """A call that has succeeded, and asks whether its answer is wanted when `gate` opens."""
    assert gate.wait(PATIENCE_S)
    return cancellation.confirm()


def test_a_call_that_succeeds_without_its_client_is_not_confirmed(
    callers: futures.ThreadPoolExecutor,
) -> None:
    once, context, gate = replay.Once(0.1), Context(), threading.Event()
    call = callers.submit(once.run, 7, context, lambda mine: confirmed(mine, gate))
    assert context.is_watched.wait(PATIENCE_S)
    context.end()
    gate.set()
    assert call.result(PATIENCE_S) is False


def test_a_call_that_succeeds_while_its_client_is_away_waits_for_it(
    callers: futures.ThreadPoolExecutor,
) -> None:
    once, broken, gate = replay.Once(FOR_EVER_S), Context(), threading.Event()
    first = callers.submit(once.run, 7, broken, lambda mine: confirmed(mine, gate))
    assert broken.is_watched.wait(PATIENCE_S)
    broken.end()
    gate.set()
    second = callers.submit(once.run, 7, Context(), lambda mine: False)
    assert second.result(PATIENCE_S) is first.result(PATIENCE_S) is True


def test_a_client_that_comes_back_too_late_learns_that_its_step_was_cancelled(
    callers: futures.ThreadPoolExecutor,
) -> None:
    once, step, context = replay.Once(0.0), Step(), Context()
    call = callers.submit(once.run, 7, context, step.run)
    assert step.began.wait(PATIENCE_S)
    context.end()
    with pytest.raises(errors.CancelledError):
        call.result(PATIENCE_S)
    with pytest.raises(errors.AbortedError, match="create a new session"):
        once.run(7, Context(), step.run)
    assert len(step.runs) == 1


def test_the_end_of_a_call_that_was_answered_cancels_nothing() -> None:
    once, contexts, seen = replay.Once(0.0), [Context(), Context()], []

    def run(cancellation: cancellations.Cancellation) -> int:
        seen.append(cancellation)
        return len(seen)

    assert [once.run(number, contexts[number], run) for number in (0, 1)] == [1, 2]
    for context in contexts:
        context.end()
    assert not any(cancellation.is_cancelled for cancellation in seen)
