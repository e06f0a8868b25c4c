"""Accumulators, barriers and staging areas. Operations wait, and a cancelled step gives back the
elements that it took.
"""

import threading
from collections.abc import Callable, Sequence
from typing import Any

import background
import numpy as np
import pytest

from capstan import errors
from capstan.core import cancellation, dtypes, resource_name
from capstan.resources import (
    accumulator,
    accumulators,
    alarms,
    barrier,
    queue,
    queues,
    staging,
    staging_map,
    waiters,
)

NAME = resource_name.ResourceName("container", "r")
NUMBER = np.int32(1)


class Call:
    """An operation of a step, which ends with its answer or with its cancellation."""

    def __init__(self, *, refuses: bool = False) -> None:
        self.step = cancellation.Cancellation()
        self.refuses = refuses
        self.answers: list[tuple[Sequence[Any], errors.OpError | None]] = []

    def done(
        self,
        outputs: Sequence[Any],
        error: errors.OpError | None,
        give_back: waiters.GiveBack | None = None,
        /,
    ) -> bool:
        if give_back is not None:
            self.give_back = give_back
        if self.refuses and error is None:
            return False
        self.answers.append((outputs, error))
        return True

    @property
    def numbers(self) -> list[Any]:
        (outputs, error) = self.answers[0]
        assert error is None
        return [np.asarray(output).tolist() for output in outputs]

    @property
    def ends(self) -> tuple[Any, cancellation.Cancellation]:
        return self.done, self.step

    def cancel_step(self) -> None:
        self.step.cancel(errors.CancelledError(None, None, "the step is over"))

    def cancel(self) -> None:
        self.step.cancel(errors.CancelledError(None, None, "the step is over"))
        (_, error) = self.answers[0]
        assert isinstance(error, errors.CancelledError)


def take(target: accumulator.Accumulator, count: int, *, refuses: bool = False) -> Call:
    call = Call(refuses=refuses)
    target.take(count, call.done, call.step)
    return call


def test_a_gradient_of_a_step_that_ended_stays_in_the_accumulator() -> None:
    target = accumulators.DenseAccumulator(NAME, dtypes.float32, None, "MEAN")
    target.apply(0, np.array([2.0], np.float32))
    take(target, 1, refuses=True)
    assert (target.count, target.step) == (1, 0)
    waiting, other = take(target, 2), take(target, 2)
    waiting.cancel()
    target.apply(0, np.array([4.0], np.float32))
    assert other.numbers == [[3.0]]
    assert (target.count, target.step) == (0, 1)


def test_a_gradient_that_goes_back_does_not_change_a_step_that_was_set_meanwhile() -> None:
    target = accumulators.DenseAccumulator(NAME, dtypes.float32, None, "MEAN")
    target.apply(0, np.array([2.0], np.float32))
    taken = take(target, 1)
    target.set_global_step(10)
    taken.give_back()
    assert (target.count, target.step) == (1, 10)


def test_rows_of_a_step_that_ended_stay_in_the_accumulator() -> None:
    target = accumulators.SparseAccumulator(NAME, dtypes.float32, (None, 1), "MEAN")
    target.apply(0, np.array([1, 3]), np.array([[1.0], [2.0]], np.float32), None)
    take(target, 1, refuses=True)
    target.apply(0, np.array([2, 3]), np.array([[5.0], [4.0]], np.float32), None)
    assert take(target, 2).numbers == [[1, 2, 3], [[1.0], [5.0], [3.0]], [-1, 1]]


class Clock(alarms.Alarms):
    """Time that passes only in `pass_time`."""

    def __init__(self) -> None:
        super().__init__()
        self.time = 0.0
        self.alarms: list[tuple[float, Callable[[], None]]] = []

    def now(self) -> float:
        return self.time

    def call_at(self, due: float, function: Callable[[], None]) -> None:
        self.alarms.append((due, function))

    def pass_time(self, seconds: float) -> None:
        self.time += seconds
        due = [alarm for alarm in self.alarms if alarm[0] <= self.time]
        self.alarms = [alarm for alarm in self.alarms if alarm[0] > self.time]
        for _, function in due:
            function()


def test_a_take_with_a_limit_does_not_wait_for_gradients_that_are_late() -> None:
    target, clock = accumulators.DenseAccumulator(NAME, dtypes.float32, None, "MEAN"), Clock()

    def take_up_to(count: int) -> Call:
        call = Call()
        target.take_up_to(count, 10.0, clock, *call.ends)
        return call

    def add(value: float) -> None:
        target.apply(target.step, np.array([value], np.float32))

    first, second, third = (take_up_to(3) for _ in range(3))
    clock.pass_time(100)
    assert not first.answers  # without a gradient, there is no limit
    add(2)
    clock.pass_time(9)
    add(4)
    assert not first.answers
    clock.pass_time(1)
    assert first.numbers == [[3.0]]
    target.apply(0, np.array([1000.0], np.float32))  # too late
    for value in (1, 2, 3):
        add(value)
    assert second.numbers == [[2.0]]
    clock.pass_time(5)
    add(8)
    clock.pass_time(5)  # the limit of the second take
    assert not third.answers
    clock.pass_time(5)
    assert third.numbers == [[8.0]]
    with pytest.raises(errors.InvalidArgumentError, match="num_required must be positive"):
        take_up_to(0)


QUEUES = [
    lambda: queues.FIFOQueue(NAME, None, (dtypes.int32,), ((),)),
    lambda: queues.PaddingFIFOQueue(NAME, None, (dtypes.int32,), ((),)),
    lambda: queues.RandomShuffleQueue(NAME, None, (dtypes.int32,), ((),), 0, (1, 2)),
    lambda: queues.PriorityQueue(NAME, None, (dtypes.int64, dtypes.int32), ((), ())),
]


@pytest.mark.parametrize("make", QUEUES)
def test_a_queue_that_nothing_fills_warns_once(
    make: Callable[[], queue.Queue], caplog: pytest.LogCaptureFixture
) -> None:
    target, clock = make(), Clock()
    for _ in range(2):
        target.dequeue(*Call().ends)
        target.watch(clock)
    clock.pass_time(29)
    assert not caplog.messages
    clock.pass_time(1)
    (message,) = caplog.messages
    start = f"Dequeue still waiting for the first element of {target.kind} 'r'. Check that"
    assert message.startswith(start)
    target.dequeue(*Call().ends)
    target.watch(clock)
    clock.pass_time(100)
    assert len(caplog.messages) == 1


@pytest.mark.parametrize("make", QUEUES)
def test_a_queue_that_had_an_element_does_not_warn(
    make: Callable[[], queue.Queue], caplog: pytest.LogCaptureFixture
) -> None:
    target, clock, first = make(), Clock(), Call()
    target.dequeue(*first.ends)
    target.watch(clock)
    target.enqueue((NUMBER,) * len(target.types), *Call().ends)
    assert first.answers
    target.dequeue(*Call().ends)
    target.watch(clock)
    clock.pass_time(100)
    assert not caplog.messages


def test_a_dequeue_of_several_elements_that_got_some_does_not_warn(
    caplog: pytest.LogCaptureFixture,
) -> None:
    target, clock = QUEUES[0](), Clock()
    target.dequeue_many(2, *Call().ends)
    target.watch(clock)
    target.enqueue((NUMBER,), *Call().ends)
    clock.pass_time(100)
    assert not caplog.messages


def test_a_cancelled_dequeue_does_not_warn(caplog: pytest.LogCaptureFixture) -> None:
    target, clock, call = QUEUES[0](), Clock(), Call()
    target.dequeue(*call.ends)
    target.watch(clock)
    call.cancel()
    clock.pass_time(100)
    assert not caplog.messages


def test_an_alarm_calls_its_function_after_the_functions_of_earlier_times() -> None:
    clock, called, is_over = alarms.Alarms(), [], threading.Event()
    for _ in range(2):  # the second time in a new thread
        background.until(lambda: not clock._is_running)
        is_over.clear()
        may_go, now = threading.Event(), clock.now()
        clock.call_at(now - 2, may_go.wait)  # no alarm rings before all of them are set
        clock.call_at(now + 0.02, is_over.set)
        clock.call_at(now + 0.01, lambda: called.append("second"))
        clock.call_at(now - 1, lambda: called.append("first"))
        may_go.set()
        assert is_over.wait(50)
    assert called == ["first", "second"] * 2


def test_an_alarm_does_not_wait_for_an_alarm_of_a_later_time() -> None:
    clock, is_called = alarms.Alarms(), threading.Event()
    clock.call_at(clock.now() + 10_000, lambda: None)
    clock.call_at(clock.now() + 0.01, is_called.set)
    assert is_called.wait(50)


def test_an_element_of_a_barrier_stays_if_a_later_key_of_its_batch_is_refused() -> None:
    target = barrier.Barrier(NAME, [dtypes.int32], [()])
    keys = np.array([b"a", b"b"], object)
    ended = Call()
    ended.cancel_step()
    with pytest.raises(errors.CancelledError):
        target.insert_many(0, keys, np.array([1, 2], np.int32), ended.done, ended.step)
    assert (target.ready_size(), target.incomplete_size()) == (0, 0)
    refused = Call()
    two = barrier.Barrier(NAME, [dtypes.int32, dtypes.int32], [(), ()])
    two.insert_many(0, keys[:1], np.array([1], np.int32), refused.done, refused.step)
    with pytest.raises(errors.InvalidArgumentError, match="already has a value"):
        two.insert_many(
            1, np.array([b"a", b"b", b"b"], object), np.arange(3, dtype=np.int32), *refused.ends
        )
    assert (two.ready_size(), two.incomplete_size()) == (1, 1)


def test_a_barrier_serves_a_take_that_waits() -> None:
    target = barrier.Barrier(NAME, [dtypes.int32, dtypes.int32], [(), ()])
    waiting, cancelled = Call(), Call()
    target.take_many(2, cancelled.done, cancelled.step)
    target.take_many(2, waiting.done, waiting.step)
    cancelled.cancel()
    keys, values = np.array([b"a", b"b"], object), np.array([1, 2], np.int32)
    for component in range(2):
        call = Call()
        target.insert_many(component, keys, values, call.done, call.step)
    assert waiting.numbers[1:] == [[b"a", b"b"], [1, 2], [1, 2]]


def test_a_put_waits_for_room_and_a_get_for_an_element() -> None:
    area = staging.StagingArea(NAME, 1, 0)
    calls = [Call() for _ in range(4)]
    early = Call()
    area.get(1, early.done, early.step)
    early.cancel()
    area.put((NUMBER,), calls[0].done, calls[0].step)
    area.put((np.int32(2),), calls[1].done, calls[1].step)
    area.peek(1, 1, calls[3].done, calls[3].step)
    assert not calls[1].answers
    area.get(1, calls[2].done, calls[2].step)
    assert calls[2].numbers == [1]
    assert calls[1].answers
    assert not calls[3].answers
    calls[3].cancel()
    refused = Call(refuses=True)
    area.get(1, refused.done, refused.step)
    assert len(area) == 1


def test_an_element_stays_if_a_get_asks_for_another_number_of_components() -> None:
    area, put, wrong, right = staging.StagingArea(NAME, 1, 0), Call(), Call(), Call()
    area.put((NUMBER,), *put.ends)
    area.get(2, *wrong.ends)
    (_, error) = wrong.answers[0]
    assert isinstance(error, errors.InvalidArgumentError)
    area.get(1, *right.ends)
    assert right.numbers == [1]


def test_the_gets_of_a_staging_map_wait_for_their_own_keys() -> None:
    area = staging_map.StagingMap(NAME, [dtypes.int32], 1, 0, is_ordered=True)
    first, second, put, full = Call(), Call(), Call(), Call()
    index = np.array([0], np.int32)
    area.get(1, index, first.done, first.step)
    area.get(2, index, second.done, second.step)
    area.put(2, index, (np.int32(20),), put.done, put.step)
    assert not first.answers
    assert second.numbers == [20]
    area.put(3, index, (np.int32(30),), put.done, put.step)
    area.put(1, index, (np.int32(10),), full.done, full.step)
    assert not full.answers
    area.clear()
    assert first.numbers == [10]
    refused = Call(refuses=True)
    area.put(4, index, (np.int32(40),), put.done, put.step)
    area.get(None, index, refused.done, refused.step)
    assert len(area) == 1
