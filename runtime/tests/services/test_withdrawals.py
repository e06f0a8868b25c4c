"""After its deadline, a step asks its tasks to end their parts. If a task answers with values
instead, the step returns the values.
"""

import queue
import time
from collections.abc import Callable

import numpy as np
import pytest

import capstan as tf
from capstan.core import node
from capstan.partition import parts
from capstan.services import step, step_run
from capstan.transport import api

PS = "/job:ps/replica:0/task:0"
ELEMENT = node.Edge("element")

Answer = Callable[[int], api.Frame]


class Wire(api.Link):
    """A link whose peer answers only when the step is cancelled. Without `answer` it never does."""

    def __init__(self, answer: Answer | None) -> None:
        self.answer = answer
        self.sent: list[api.Kind] = []
        self.arrived: queue.SimpleQueue[api.Frame | None] = queue.SimpleQueue()
        self.is_closed = False

    def send(self, frame: api.Frame) -> None:
        self.sent.append(frame.kind)
        if frame.kind is api.Kind.CANCEL and self.answer is not None:
            self.arrived.put(self.answer(frame.step))

    def recv(self, deadline: float | None = None) -> api.Frame:
        limit = None if deadline is None else max(0.0, deadline - time.monotonic())
        try:
            frame = self.arrived.get(timeout=limit)
        except queue.Empty:
            raise tf.errors.DeadlineExceededError(None, None, "late") from None
        if frame is None:
            raise tf.errors.UnavailableError(None, None, "closed")
        return frame

    def close(self) -> None:
        self.is_closed = True
        self.arrived.put(None)


class Wires(api.Links):
    """The links of a session that has one remote task."""

    def __init__(self, answer: Answer | None) -> None:
        self.wire = Wire(answer)
        self.given_back: list[api.Link] = []

    def take(self, task: str, incarnation: int, deadline: float | None = None) -> api.Link:
        return self.wire

    def give_back(self, task: str, incarnation: int, link: api.Link) -> None:
        self.given_back.append(link)


def dequeue(wires: Wires) -> dict[node.Edge, step_run.Array]:
    """Run a step whose only part is on the parameter server and outlasts the deadline."""
    part = parts.Part(PS, (), {}, fetches=(ELEMENT,))
    compiled = step_run.CompiledStep(None, (step_run.Remote(PS, 1, 7, part),))
    return step.Steps(wires, iter([1]).__next__).run(compiled, {}, time.monotonic() + 0.01)


def test_an_element_that_was_taken_before_the_withdrawal_is_returned() -> None:
    wires = Wires(lambda number: api.Frame(api.Kind.DONE, number, 0, [np.float32(4)]))
    assert dequeue(wires) == {ELEMENT: 4}
    assert wires.wire.sent == [api.Kind.START, api.Kind.CANCEL]
    assert wires.given_back == [wires.wire]


def test_a_step_that_was_withdrawn_in_time_raises_its_deadline_and_keeps_its_link() -> None:
    cancelled = [api.text("Step was cancelled by its master")]
    wires = Wires(lambda number: api.Frame(api.Kind.DONE, number, tf.errors.CANCELLED, cancelled))
    with pytest.raises(tf.errors.DeadlineExceededError):
        dequeue(wires)
    assert wires.given_back == [wires.wire]
    assert not wires.wire.is_closed


def test_a_task_that_does_not_answer_a_withdrawal_loses_its_link() -> None:
    wires = Wires(None)
    with pytest.raises(tf.errors.DeadlineExceededError):
        dequeue(wires)
    assert wires.wire.is_closed
    assert not wires.given_back
