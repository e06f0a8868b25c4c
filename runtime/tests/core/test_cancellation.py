"""The cancellation of a step."""

import threading

import pytest

from capstan import errors
from capstan.core import cancellation


def _error(message: str = "closed") -> errors.OpError:
    return errors.CancelledError(None, None, message)


def test_cancel_calls_every_callback_once_in_the_order_of_registration() -> None:
    step = cancellation.Cancellation()
    calls: list[tuple[str, errors.OpError]] = []
    step.register(lambda error: calls.append(("first", error)))
    step.register(lambda error: calls.append(("second", error)))
    assert step.error is None
    error = _error()
    step.cancel(error)
    step.cancel(error)
    assert calls == [("first", error), ("second", error)]
    assert step.error is error


def test_the_first_error_wins() -> None:
    step = cancellation.Cancellation()
    first, second = _error("first"), _error("second")
    step.cancel(first)
    step.cancel(second)
    assert step.error is first


def test_a_callback_that_is_registered_late_runs_at_once() -> None:
    step = cancellation.Cancellation()
    error = _error()
    step.cancel(error)
    calls: list[errors.OpError] = []
    deregister = step.register(calls.append)
    assert calls == [error]
    deregister()


def test_a_removed_callback_does_not_run() -> None:
    step = cancellation.Cancellation()
    calls: list[errors.OpError] = []
    deregister = step.register(calls.append)
    deregister()
    deregister()
    step.cancel(_error())
    assert calls == []


def test_a_callback_may_remove_another_one() -> None:
    step = cancellation.Cancellation()
    calls: list[errors.OpError] = []
    removals = []
    step.register(lambda error: removals[0]())
    removals.append(step.register(calls.append))
    step.cancel(_error())
    assert calls == []


@pytest.mark.e2e
def test_each_callback_runs_once_when_threads_register_while_another_cancels() -> None:
    for _ in range(200):
        step = cancellation.Cancellation()
        calls: list[int] = []
        barrier = threading.Barrier(4)

        def register(
            number: int,
            step: cancellation.Cancellation = step,
            calls: list[int] = calls,
            barrier: threading.Barrier = barrier,
        ) -> None:
            barrier.wait()
            for offset in range(20):
                step.register(lambda error, offset=offset: calls.append(number + offset))  # type: ignore[misc]

        threads = [threading.Thread(target=register, args=(100 * i,)) for i in range(3)]
        for thread in threads:
            thread.start()
        barrier.wait()
        step.cancel(_error())
        for thread in threads:
            thread.join()
        assert sorted(calls) == sorted(100 * i + offset for i in range(3) for offset in range(20))


def test_the_end_of_a_step_calls_every_callback_once() -> None:
    step = cancellation.Cancellation()
    calls: list[str] = []
    step.at_end(lambda: calls.append("first"))
    remove = step.at_end(lambda: calls.append("removed"))
    step.at_end(lambda: calls.append("last"))
    remove()
    remove()
    assert calls == []
    step.end()
    step.end()
    assert sorted(calls) == ["first", "last"]
