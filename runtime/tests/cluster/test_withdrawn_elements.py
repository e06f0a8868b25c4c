"""No element of a queue is lost or doubled when sessions end while their dequeues wait."""

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

import background
import clusters
import pytest

import capstan as tf
from capstan.services import remote_parts

pytestmark = [pytest.mark.e2e, pytest.mark.alone, pytest.mark.timeout(300)]

ELEMENTS = 200
CONSUMERS = 4
TASKS = ("/job:ps/task:0", "/job:ps/task:1")


@pytest.fixture(scope="module")
def servers() -> Iterator[dict[str, tf.train.Server]]:
    with clusters.running(ps=2, worker=1) as started:
        yield started


def queues(name: str, count: int) -> list[Any]:
    """Return a queue on each of the first `count` tasks."""
    made = []
    for task in TASKS[:count]:
        with tf.device(task):
            made.append(tf.FIFOQueue(ELEMENTS, [tf.int32], shapes=[[]], shared_name=name))
    return made


class Consumers:
    """Threads that dequeue in sessions of their own. A session that ends is replaced."""

    def __init__(self, target: str, fetches: Callable[[], Any]) -> None:
        self.taken: list[list[int]] = []
        self._target, self._fetches = target, fetches
        self._sessions: dict[int, tf.Session] = {}
        self._is_over = threading.Event()
        self._threads = [
            background.Background(lambda number=number: self._consume(number))
            for number in range(CONSUMERS)
        ]

    def _consume(self, number: int) -> None:
        while not self._is_over.is_set():
            # A closed session raises RuntimeError if no step is in flight.
            with (
                contextlib.suppress(tf.errors.OpError, RuntimeError),
                tf.Graph().as_default(),
                tf.Session(self._target) as session,
            ):
                fetches = self._fetches()
                self._sessions[number] = session
                while True:
                    self.taken.append(session.run(fetches))

    def close_session(self, number: int) -> None:
        session = self._sessions.get(number)
        if session is not None:
            session.close()

    def stop(self) -> None:
        """End the consumers."""
        self._is_over.set()
        background.until(self._have_ended)
        for thread in self._threads:
            thread.join()

    def _have_ended(self) -> bool:
        for number in range(CONSUMERS):
            self.close_session(number)
        return not any(thread.is_alive() for thread in self._threads)


@pytest.mark.parametrize("end", ["close", "reset"])
@pytest.mark.parametrize("count", [1, 2], ids=["one-queue", "two-queues"])
def test_an_element_that_arrives_while_a_session_ends_is_neither_lost_nor_doubled(
    servers: dict[str, tf.train.Server], end: str, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # An element that a task has sent is lost if the master no longer waits for it. On a busy
    # machine, an answer may take longer than the master waits by default.
    monkeypatch.setattr(remote_parts, "WITHDRAW_SECONDS", background.PATIENCE_S)
    name = f"{end}-{count}"
    target = servers["worker:0"].target
    # The producer has a master of its own, so that no reset ends one of its enqueues.
    with tf.Graph().as_default(), tf.Session(servers["ps:0"].target) as producer:
        value = tf.placeholder(tf.int32, [])
        made = queues(name, count)
        puts = [queue.enqueue(value) for queue in made]
        takes, sizes = zip(*((queue.dequeue(), queue.size()) for queue in made), strict=True)
        consumers = Consumers(target, lambda: [queue.dequeue() for queue in queues(name, count)])
        for number in range(ELEMENTS):
            for put in puts:
                producer.run(put, {value: number})
            if end == "close":
                consumers.close_session(number % CONSUMERS)
            elif number % CONSUMERS == 0:
                tf.Session.reset(target, ["a container without resources"])
        consumers.stop()
        for place, (take, size) in enumerate(zip(takes, sizes, strict=True)):
            taken = [values[place] for values in consumers.taken]
            # A task gives back the element of a failed step soon after the step has ended.
            missing = ELEMENTS - len(taken)
            background.until(lambda size=size, few=missing: producer.run(size) >= few)
            left = [producer.run(take) for _ in range(producer.run(size))]
            assert sorted([*taken, *left]) == list(range(ELEMENTS))
