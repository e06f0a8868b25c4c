"""A step that ends early asks its tasks to end their parts. If a task answers with values instead,
the step returns the values. If the step fails, its tasks give back the elements that their parts
took.
"""

import queue
import threading
import time
from collections.abc import Callable

import background
import numpy as np
import pytest

import capstan as tf
from capstan.core import node
from capstan.partition import parts
from capstan.services import remote_parts, step, step_run
from capstan.transport import api
from capstan.transport import cancellation as cancellations

Answer = Callable[[int], api.Frame]


class Wire(api.Link):
    """A link whose peer answers only when the step is cancelled. Without `answer` it never does."""

    def __init__(self, answer: Answer | None) -> None:
        self.answer = answer
        self.sent: list[api.Kind] = []
        self.is_read = threading.Event()
        self.arrived: queue.SimpleQueue[api.Frame | None] = queue.SimpleQueue()
        self.is_closed = False

    def send(self, frame: api.Frame) -> None:
        is_first = frame.kind not in self.sent
        self.sent.append(frame.kind)
        if frame.kind is api.Kind.CANCEL and self.answer is not None and is_first:
            self.arrived.put(self.answer(frame.step))

    def offer(self, frame: api.Frame) -> bool:
        self.send(frame)
        return True

    def fileno(self) -> int:
        return -1

    def pending(self) -> bool:
        return not self.arrived.empty()

    def recv(self, deadline: float | None = None) -> api.Frame:
        """Return the next frame. If there is a deadline, it passes during the wait for a frame."""
        self.is_read.set()
        try:
            frame = self.arrived.get(block=deadline is None)
        except queue.Empty:
            raise tf.errors.DeadlineExceededError(None, None, "late") from None
        if frame is None:
            raise tf.errors.UnavailableError(None, None, "closed")
        return frame

    def close(self) -> None:
        self.is_closed = True
        self.arrived.put(None)


class Wires(api.Links):
    """The links of a session: one to each task."""

    def __init__(self, **answers: Answer | None) -> None:
        self.wires = {task: Wire(answer) for task, answer in answers.items()}
        self.given_back: list[str] = []

    def take(self, task: str, incarnation: int, deadline: float | None = None) -> api.Link:
        return self.wires[task]

    def give_back(self, task: str, incarnation: int, link: api.Link) -> None:
        self.given_back.append(task)


def element(number: int) -> api.Frame:
    return api.Frame(api.Kind.DONE, number, 0, [np.float32(4)])


def cancelled(number: int) -> api.Frame:
    words = [api.text("Step was cancelled by its master")]
    return api.Frame(api.Kind.DONE, number, tf.errors.CANCELLED, words)


class Session:
    """A session with a step that has a part on each task of `wires`. Each part is a dequeue."""

    def __init__(self, wires: Wires) -> None:
        self.wires = wires
        self.steps = step.Steps(wires, iter([1]).__next__)

    def dequeue(
        self,
        deadline: float | None = None,
        cancellation: cancellations.Cancellation | None = None,
    ) -> dict[node.Edge, step_run.Array]:
        """Run the step, and return its elements by task."""
        remotes = tuple(
            remote_parts.Remote(task, 1, 7, parts.Part(task, (), {}, fetches=(node.Edge(task),)))
            for task in self.wires.wires
        )
        compiled = step_run.CompiledStep(None, remotes)
        return self.steps.run(compiled, {}, deadline, cancellation)

    def waiting(
        self, cancellation: cancellations.Cancellation | None = None
    ) -> background.Background:
        """Run the step in another thread. Return when it waits for a task."""
        running = background.Background(lambda: self.dequeue(None, cancellation))
        background.until(lambda: any(wire.is_read.is_set() for wire in self.wires.wires.values()))
        return running


def later() -> float:
    """Return a deadline that a step does not reach while it starts."""
    return time.monotonic() + background.PATIENCE_S


def test_a_step_whose_deadline_has_passed_starts_on_no_task() -> None:
    wires = Wires(ps=element)
    with pytest.raises(tf.errors.DeadlineExceededError):
        Session(wires).dequeue(time.monotonic())
    assert not wires.wires["ps"].sent


def test_an_element_that_was_taken_before_the_deadline_was_known_is_returned() -> None:
    wires = Wires(ps=element)
    assert Session(wires).dequeue(later()) == {node.Edge("ps"): 4}
    assert wires.wires["ps"].sent == [api.Kind.START, api.Kind.CANCEL]
    assert wires.given_back == ["ps"]


def test_a_step_that_was_withdrawn_in_time_raises_its_deadline_and_keeps_its_link() -> None:
    wires = Wires(ps=cancelled)
    with pytest.raises(tf.errors.DeadlineExceededError):
        Session(wires).dequeue(later())
    assert wires.given_back == ["ps"]
    assert not wires.wires["ps"].is_closed


def test_a_task_that_does_not_answer_a_withdrawal_loses_its_link() -> None:
    wires = Wires(ps=None)
    with pytest.raises(tf.errors.DeadlineExceededError):
        Session(wires).dequeue(later())
    assert wires.wires["ps"].is_closed
    assert not wires.given_back


def test_an_element_that_was_taken_before_the_close_was_known_is_returned() -> None:
    wires = Wires(ps=element)
    session = Session(wires)
    running = session.waiting()
    session.steps.close()
    assert running.join() == {node.Edge("ps"): 4}
    assert wires.given_back == ["ps"]


def test_a_closed_session_ends_a_step_whose_task_does_not_answer() -> None:
    wires = Wires(ps=None)
    session = Session(wires)
    running = session.waiting()
    session.steps.close()
    with pytest.raises(tf.errors.CancelledError, match="explicit call"):
        running.join()
    # The frame that gives the element back must arrive before the end of the link.
    assert wires.wires["ps"].sent[-1] is api.Kind.UNDO
    assert wires.wires["ps"].is_closed


def test_a_step_that_fails_gives_back_the_element_that_another_task_took() -> None:
    wires = Wires(first=element, second=cancelled)
    session = Session(wires)
    running = session.waiting()
    session.steps.close()
    with pytest.raises(tf.errors.CancelledError, match="explicit call"):
        running.join()
    assert wires.wires["first"].sent[-1] is api.Kind.UNDO
    assert sorted(wires.given_back) == ["first", "second"]


def test_a_step_whose_client_is_gone_gives_back_the_element_that_it_took() -> None:
    wires = Wires(ps=element)
    client = cancellations.Cancellation()
    running = Session(wires).waiting(client)
    client.cancel()
    with pytest.raises(tf.errors.CancelledError, match="is gone"):
        running.join()
    assert wires.wires["ps"].sent[-1] is api.Kind.UNDO


class Unconfirmed(cancellations.Cancellation):
    """The cancellation of a client that leaves before the step succeeds."""

    def confirm(self) -> bool:
        return False


def test_a_step_that_succeeds_for_no_client_gives_back_its_element() -> None:
    wires = Wires(ps=element)
    wires.wires["ps"].arrived.put(element(1))
    with pytest.raises(tf.errors.CancelledError, match="is gone"):
        Session(wires).dequeue(None, Unconfirmed())
    assert wires.wires["ps"].sent == [api.Kind.START, api.Kind.UNDO]


def test_the_end_of_a_session_does_not_close_the_links_of_a_step_that_is_over() -> None:
    wires = Wires(ps=element)
    remotes = [remote_parts.Remote("ps", 1, 7, parts.Part("ps", (), {}))]
    running = remote_parts.RemoteParts(remotes, wires, 1)
    running.connect(later(), 0.0, lambda: None)
    running.waiting.clear()
    running.release(is_cut_off=False)
    running.cancel()
    running.cut()
    assert wires.given_back == ["ps"]
    assert not wires.wires["ps"].is_closed
    assert not wires.wires["ps"].sent
