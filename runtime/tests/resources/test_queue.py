"""Queues against a model, and under many threads with cancellations."""

import collections
import itertools
import random
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from capstan import errors
from capstan.core import cancellation, dtypes, resource_name
from capstan.resources import queue, queues, waiters

NAME = resource_name.ResourceName("container", "q")
CAPACITY = 4


class Call:
    """A queue operation of a step, which ends with its answer or with its cancellation."""

    def __init__(self, *, refuses: bool = False) -> None:
        self.step = cancellation.Cancellation()
        self.refuses = refuses
        """Whether the step ends at the moment at which the answer arrives."""
        self.answers: list[tuple[Sequence[Any], errors.OpError | None]] = []
        self.has_answer = threading.Event()
        self.give_back: waiters.GiveBack | None = None

    def done(
        self,
        outputs: Sequence[Any],
        error: errors.OpError | None,
        give_back: waiters.GiveBack | None = None,
        /,
    ) -> bool:
        self.give_back = give_back
        if self.refuses and error is None:
            return False
        self.answers.append((outputs, error))
        self.has_answer.set()
        return True

    @property
    def is_over(self) -> bool:
        return bool(self.answers)

    @property
    def error(self) -> errors.OpError | None:
        return self.answers[0][1]

    @property
    def values(self) -> list[int]:
        (output,) = self.answers[0][0]
        return [int(value) for value in np.atleast_1d(output)]


def fifo(capacity: int | None = CAPACITY) -> queues.FIFOQueue:
    return queues.FIFOQueue(NAME, capacity, [dtypes.int32], ((),))


def shuffled(least: int = 0) -> queues.RandomShuffleQueue:
    return queues.RandomShuffleQueue(NAME, None, [dtypes.int32], ((),), least, (1, 2))


def prioritized() -> queues.PriorityQueue:
    return queues.PriorityQueue(NAME, None, [dtypes.int64, dtypes.int32], ((), ()))


def enqueue(target: queue.Queue, *numbers: int, refuses: bool = False) -> Call:
    call = Call(refuses=refuses)
    batch = np.array(numbers, np.int32)
    batches = (batch.astype(np.int64), batch) if len(target.types) == 2 else (batch,)
    target.enqueue_many(batches, call.done, call.step)
    return call


def dequeue(target: queue.Queue, *, refuses: bool = False) -> Call:
    call = Call(refuses=refuses)
    target.dequeue(call.done, call.step)
    return call


def dequeue_many(target: queue.Queue, count: int, *, small: bool = False) -> Call:
    call = Call()
    target.dequeue_many(count, call.done, call.step, allow_small_batch=small)
    return call


def dequeue_rows(target: queue.Queue, most: int) -> Call:
    call = Call()
    target.dequeue_rows(lambda: most, call.done, call.step)
    return call


def close(target: queue.Queue, *, cancel: bool = False) -> Call:
    call = Call()
    target.close(call.done, call.step, cancel_pending_enqueues=cancel)
    return call


def cancel(call: Call) -> None:
    call.step.cancel(errors.CancelledError(None, None, "the step is over"))


class Model:
    """The rules of a FIFO queue, applied one element at a time."""

    def __init__(self) -> None:
        self.held: collections.deque[int] = collections.deque()
        self.enqueues: list[tuple[Call, list[int]]] = []
        self.dequeues: list[tuple[Call, int, bool, list[int]]] = []
        self.most: dict[Call, int] = {}
        """The largest number of elements of each dequeue that takes those that are there."""
        self.expected: dict[Call, list[int] | type[errors.OpError] | None] = {}
        self.is_closed = False

    def settle(self) -> None:
        """Serve the enqueues and then the dequeues, until neither get further."""
        is_open = True
        while is_open:
            is_open = False
            for serve in (self._serve_enqueue, self._serve_dequeue):
                while serve():
                    is_open = True

    def _serve_enqueue(self) -> bool:
        if not self.enqueues:
            return False
        call, numbers = self.enqueues[0]
        if self.is_closed:
            self.expected[call] = errors.CancelledError
        elif numbers:
            if len(self.held) >= CAPACITY:
                return False
            self.held.append(numbers.pop(0))
            if numbers:
                return True
            self.expected[call] = None
        else:
            self.is_closed = True
            self.expected[call] = None
        self.enqueues.pop(0)
        return True

    def _serve_dequeue(self) -> bool:
        if not self.dequeues:
            return False
        call, count, small, taken = self.dequeues[0]
        if self.is_closed and len(self.held) < count - len(taken):
            self.held.extendleft(reversed(taken))
            if small and self.held:
                self.expected[call] = list(self.held)
                self.held.clear()
            else:
                self.expected[call] = errors.OutOfRangeError
            self.dequeues.pop(0)
            return True
        if not self.held:
            return False
        taken.append(self.held.popleft())
        if len(taken) == count:
            while self.held and len(taken) < self.most.get(call, 1):
                taken.append(self.held.popleft())
            self.expected[call] = taken
            self.dequeues.pop(0)
        return True

    def cancel(self, call: Call) -> None:
        self.expected[call] = errors.CancelledError
        self.enqueues = [entry for entry in self.enqueues if entry[0] is not call]
        for entry in self.dequeues:
            if entry[0] is call:
                self.held.extendleft(reversed(entry[3]))
        self.dequeues = [entry for entry in self.dequeues if entry[0] is not call]


class QueueMachine(RuleBasedStateMachine):
    """A FIFO queue and its model see the same operations and cancellations."""

    def __init__(self) -> None:
        super().__init__()
        self.target = fifo()
        self.model = Model()
        self.numbers = itertools.count()
        self.calls: list[Call] = []

    @rule(count=st.integers(1, 7))
    def enqueue(self, count: int) -> None:
        numbers = [next(self.numbers) for _ in range(count)]
        call = enqueue(self.target, *numbers)
        self.model.enqueues.append((call, numbers))
        self._begin(call)

    @rule()
    def dequeue(self) -> None:
        call = dequeue(self.target)
        self.model.dequeues.append((call, 1, False, []))
        self._begin(call)

    @rule(count=st.integers(1, 7), small=st.booleans())
    def dequeue_many(self, count: int, small: bool) -> None:
        call = dequeue_many(self.target, count, small=small)
        self.model.dequeues.append((call, count, small, []))
        self._begin(call)

    @rule(most=st.integers(1, 7))
    def dequeue_rows(self, most: int) -> None:
        call = dequeue_rows(self.target, most)
        self.model.dequeues.append((call, 1, False, []))
        self.model.most[call] = most
        self._begin(call)

    @rule()
    def dequeue_for_a_step_that_ends(self) -> None:
        if self.model.held and not self.model.dequeues:
            first = self.model.held.popleft()
            self.model.settle()
            self.model.held.appendleft(first)
            dequeue(self.target, refuses=True)

    @precondition(lambda self: len(self.calls) > 8)
    @rule()
    def close(self) -> None:
        if self.model.is_closed or any(not numbers for _, numbers in self.model.enqueues):
            return
        call = close(self.target)
        self.model.enqueues.append((call, []))
        self._begin(call)

    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        waiting = [call for call in self.calls if not call.is_over]
        if waiting:
            call = data.draw(st.sampled_from(waiting))
            self.model.cancel(call)
            self.model.settle()
            cancel(call)

    def _begin(self, call: Call) -> None:
        self.calls.append(call)
        self.model.settle()

    @invariant()
    def the_queue_has_the_elements_of_the_model(self) -> None:
        assert len(self.target) == len(self.model.held)
        assert self.target.is_closed == self.model.is_closed

    @invariant()
    def every_call_is_answered_as_the_model_answers_it(self) -> None:
        for call in self.calls:
            assert call.is_over == (call in self.model.expected)
            if not call.is_over:
                continue
            assert len(call.answers) == 1
            expected = self.model.expected[call]
            if isinstance(expected, list):
                assert call.values == expected
            else:
                assert type(call.error) is (expected or type(None))


TestQueueMachine = QueueMachine.TestCase
TestQueueMachine.settings = settings(deadline=None)


def test_a_cancelled_dequeue_gives_back_its_elements() -> None:
    target = fifo()
    enqueue(target, 1, 2)
    many = dequeue_many(target, 3)
    assert len(target) == 0
    single = dequeue(target)
    cancel(many)
    assert isinstance(many.error, errors.CancelledError)
    assert single.values == [1]
    assert dequeue(target).values == [2]


def test_the_elements_that_are_there_go_back_together() -> None:
    target = fifo()
    waiting = dequeue_rows(target, 3)
    enqueue(target, 1, 2, 3, 4)
    assert waiting.values == [1, 2, 3]
    assert waiting.give_back is not None
    waiting.give_back()
    assert dequeue_rows(target, 9).values == [1, 2, 3, 4]


def test_elements_of_steps_that_ended_keep_their_order() -> None:
    target = fifo()
    first, second = dequeue(target, refuses=True), dequeue(target, refuses=True)
    enqueue(target, 1, 2, 3)
    assert not first.is_over
    assert not second.is_over
    assert dequeue_many(target, 3).values == [1, 2, 3]


@pytest.mark.parametrize("make", [fifo, shuffled, prioritized])
def test_every_kind_of_queue_keeps_the_elements_of_a_step_that_ended(
    make: Callable[[], queue.Queue],
) -> None:
    target = make()
    enqueue(target, 3, 1, 2)
    dequeue(target, refuses=True)
    many = dequeue_many(target, 4)
    cancel(many)
    outputs = dequeue_many(target, 3).answers[0][0]
    assert sorted(outputs[-1].tolist()) == [1, 2, 3]


def test_an_element_that_goes_back_serves_the_next_dequeue() -> None:
    target = fifo()
    first, second = dequeue(target), dequeue(target)
    enqueue(target, 1)
    assert (first.values, second.is_over) == ([1], False)
    assert first.give_back is not None
    first.give_back()
    assert second.values == [1]


def test_an_enqueue_waits_while_elements_that_went_back_exceed_the_capacity() -> None:
    target = fifo()
    enqueue(target, 1, 2, 3, 4)
    taken = dequeue_many(target, 3)
    enqueue(target, 5, 6, 7)
    assert taken.give_back is not None
    taken.give_back()
    waiting = enqueue(target, 8, 9)
    assert not waiting.is_over
    assert dequeue_many(target, 7).values == [1, 2, 3, 4, 5, 6, 7]
    assert waiting.is_over
    assert dequeue_many(target, 2).values == [8, 9]


def test_a_step_that_is_over_takes_nothing() -> None:
    target = fifo()
    enqueue(target, 1)
    call = Call()
    cancel(call)
    target.dequeue(call.done, call.step)
    assert isinstance(call.error, errors.CancelledError)
    assert len(target) == 1


def test_closing_with_cancellation_ends_the_enqueues_that_wait() -> None:
    target = fifo()
    waiting = enqueue(target, 1, 2, 3, 4, 5)
    pending_close = close(target)
    close(target, cancel=True)
    for call in (waiting, pending_close):
        assert isinstance(call.error, errors.CancelledError)
        assert call.error.message == "Enqueue operation was cancelled"
    assert dequeue_many(target, 4).values == [1, 2, 3, 4]


def test_elements_with_equal_priorities_leave_in_the_order_of_their_arrival() -> None:
    target = prioritized()
    call = Call()
    batches = np.array([1, 0, 1, 0]), np.array([1, 2, 3, 4], np.int32)
    target.enqueue_many(batches, call.done, call.step)
    (_, numbers), _ = dequeue_many(target, 4).answers[0]
    assert numbers.tolist() == [2, 4, 1, 3]


def test_a_shuffle_has_tensorflows_order() -> None:
    target = queues.RandomShuffleQueue(NAME, 20, [dtypes.int32], ((),), 2, (87654321, 7))
    enqueue(target, *range(20))
    order = [dequeue(target).values[0] for _ in range(18)]
    assert order == [7, 4, 19, 15, 0, 8, 10, 11, 14, 6, 16, 1, 12, 3, 17, 5, 2, 18]
    waiting = dequeue(target)
    assert not waiting.is_over
    close(target)
    assert waiting.is_over


@pytest.mark.parametrize("make", [shuffled, prioritized])
def test_an_element_that_leaves_late_does_not_keep_its_batch(
    make: Callable[[], queue.Queue],
) -> None:
    target = make()
    enqueue(target, *range(100))
    dequeue_many(target, 99)
    last = dequeue(target)
    for component in last.answers[0][0]:
        memory = component
        while memory.base is not None:
            memory = memory.base
        assert memory.size == 1


def test_an_abandoned_queue_ends_waiting_and_later_operations() -> None:
    target = fifo()
    waiting = dequeue(target)
    target.abandon(errors.NotFoundError(None, None, "gone"))
    for call in (waiting, dequeue(target), enqueue(target, 1)):
        assert isinstance(call.error, errors.NotFoundError)
    with pytest.raises(errors.NotFoundError):
        target.size()


def test_the_queue_keeps_copies_of_its_elements() -> None:
    target = queues.FIFOQueue(NAME, None, [dtypes.int32], ((2,),))
    call, element = Call(), np.array([1, 2], np.int32)
    target.enqueue((element,), call.done, call.step)
    target.enqueue_many((element[None],), call.done, call.step)
    element[:] = 0
    for _ in range(2):
        assert dequeue(target).values == [1, 2]


def produce(target: queue.Queue, numbers: range) -> None:
    """Add numbers, one after the other."""
    for number in numbers:
        call = enqueue(target, number)
        assert call.has_answer.wait(60)
        assert call.error is None


def consume(target: queue.Queue, drawn: random.Random, received: list[int]) -> None:
    """Take elements until the queue is closed and empty.

    Cancel half of the dequeues, and give some elements back.
    """
    while True:
        many = drawn.random() < 0.3
        call = dequeue_many(target, 2, small=True) if many else dequeue(target)
        if drawn.random() < 0.5:
            cancel(call)
        assert call.has_answer.wait(60)
        if call.error is None and call.give_back is not None and drawn.random() < 0.3:
            call.give_back()
        elif call.error is None:
            received += call.values
        elif isinstance(call.error, errors.OutOfRangeError):
            return


@pytest.mark.e2e
@pytest.mark.parametrize("make", [fifo, lambda: shuffled(3), lambda: fifo(None)])
@pytest.mark.parametrize("seed", range(3))
def test_many_threads_lose_and_double_nothing(make: Callable[[], queue.Queue], seed: int) -> None:
    target, count = make(), 200
    received: list[list[int]] = [[] for _ in range(4)]
    producers = [
        threading.Thread(target=produce, args=(target, range(i * count, (i + 1) * count)))
        for i in range(3)
    ]
    consumers = [
        threading.Thread(target=consume, args=(target, random.Random(f"{seed}-{i}"), received[i]))
        for i in range(4)
    ]
    for thread in (*producers, *consumers):
        thread.start()
    for thread in producers:
        thread.join(60)
    close(target)
    for thread in consumers:
        thread.join(60)
    assert sorted(itertools.chain(*received)) == list(range(3 * count))
    assert len(target) == 0
