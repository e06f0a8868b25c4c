"""A step that waits, and that one thread runs by itself, ends without losing an element."""

import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import capstan as tf
from capstan import errors
from capstan.services import alone, step


def steps_of(session: tf.Session) -> step.Steps:
    found: step.Steps = session._master._sessions.get(session._connection.handle)._steps
    return found


def expire(steps: step.Steps) -> None:
    """Let the deadline of the step in flight pass."""
    (flight,) = steps._runs
    assert isinstance(flight, alone.WaitingRun)
    flight._deadline = 0.0


def passed_on(value: tf.Tensor) -> tf.Tensor:
    """Send the value through a queue, which answers at once, and compute with it again."""
    other = tf.FIFOQueue(1, [tf.float32], [[]])
    with tf.control_dependencies([other.enqueue(value)]):
        return other.dequeue() * 1.0


def moved(end: Callable[[step.Steps], None], then: Callable[[Any], Any] = tf.identity) -> Any:
    """Return the value of a step that `end` ends after the step has read an element."""
    elements = tf.FIFOQueue(3, [tf.float32], [[]])
    x = elements.dequeue()
    with tf.Session() as session:

        def read(value: Any) -> Any:
            end(steps_of(session))
            return value

        with tf.device("/cpu:0"):  # A step on two devices is a StepRun.
            value = then(tf.py_func(read, [x], tf.float32) + 1.0)
        session.run(elements.enqueue(5.0))
        return session.run(value)


@pytest.mark.parametrize("end", [expire, step.Steps.close], ids=["deadline", "close"])
def test_a_step_that_ends_after_its_last_wait_succeeds(end: Callable[[step.Steps], None]) -> None:
    assert moved(end) == 6.0


def test_a_deadline_ends_no_computation_with_an_element_that_was_read() -> None:
    assert moved(expire, passed_on) == 6.0


def test_a_step_without_a_client_fails_after_its_last_wait() -> None:
    with pytest.raises(tf.errors.CancelledError, match="explicit call to `Session::Close"):
        moved(step.Steps.abandon)


def test_an_element_that_no_node_reads_is_released_with_its_step() -> None:
    elements = tf.FIFOQueue(3, [tf.float32], [[]])
    take = elements.dequeue().op
    with tf.Session() as session:
        runs: list[weakref.ref[alone.WaitingRun]] = []
        execute = alone.WaitingRun.execute

        def kept(run: alone.WaitingRun, *arguments: Any) -> Any:
            runs.append(weakref.ref(run))
            return execute(run, *arguments)

        session.run(elements.enqueue(5.0))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(alone.WaitingRun, "execute", kept)
            gc.disable()
            try:
                session.run(take)
                assert [run() for run in runs] == [None]
            finally:
                gc.enable()


def test_the_element_of_a_step_whose_client_leaves_at_the_end_stays_in_the_queue(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    elements = tf.FIFOQueue(3, [tf.float32], [[]])
    value, size = elements.dequeue(), elements.size()
    with tf.Session() as session:
        session.run(elements.enqueue(5.0))
        copied = alone.step_run.owned

        def leave(array: Any) -> Any:
            for flight in steps_of(session)._runs:
                flight.cancel(errors.CancelledError(None, None, "gone"), is_wanted=False)
            return copied(array)

        with monkeypatch.context() as patch:
            patch.setattr(alone.step_run, "owned", leave)
            with pytest.raises(tf.errors.CancelledError, match="gone"):
                session.run(value)
        assert session.run(size) == np.int32(1)
