"""Dequeues that wait on clusters. They hold no thread, and they end when their step ends."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import genuine
import pytest

import capstan as tf

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

PS = "/job:ps/task:0"


class Blocked:
    """A dequeue in a thread of its own, and the way in which it ends."""

    def __init__(self, session: tf.Session, fetch: Any) -> None:
        self.outcome: list[Any] = []
        self._thread = threading.Thread(target=self._run, args=(session, fetch), daemon=True)
        self._thread.start()

    def _run(self, session: tf.Session, fetch: Any) -> None:
        try:
            self.outcome.append(session.run(fetch))
        except tf.errors.OpError as error:
            self.outcome.append(error)

    def end(self) -> Any:
        """Return the value or the error of the dequeue."""
        self._thread.join(60)
        (outcome,) = self.outcome
        return outcome


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait until `condition` holds. Fail after a minute."""
    paused = threading.Event()
    for _ in range(6000):
        if condition():
            return
        paused.wait(0.01)
    raise AssertionError("the condition did not become true")


class Queue:
    """A shared queue on the ps, in a graph of its own."""

    def __init__(self, target: str, name: str = "shared") -> None:
        with tf.Graph().as_default() as graph, tf.device(PS):
            queue = tf.FIFOQueue(100, tf.int32, [()], shared_name=name)
            self.number = tf.placeholder(tf.int32, [])
            self.enqueue = queue.enqueue(self.number)
            self.dequeue = queue.dequeue()
            self.pair = queue.dequeue_many(2)
            self.size = queue.size()
        self.session = tf.Session(target, graph=graph)

    def put(self, number: int) -> None:
        self.session.run(self.enqueue, {self.number: number})

    def block(self) -> Blocked:
        """Enqueue one element, and begin to dequeue two. Return when the dequeue has taken one."""
        self.put(1)
        blocked = Blocked(self.session, self.pair)
        wait_until(lambda: self.session.run(self.size) == 0)
        return blocked

    def is_whole(self) -> bool:
        """Return whether the element that a step took is back in the queue."""
        return bool(self.session.run(self.size) == 1)


@pytest.fixture
def tasks() -> Iterator[genuine.Tasks]:
    started = genuine.Tasks(ps=1, worker=2)
    yield started
    started.close()


def test_a_deadline_ends_a_dequeue_and_gives_back_its_element(tasks: genuine.Tasks) -> None:
    queue = Queue(tasks.target("worker"))
    queue.put(1)
    with pytest.raises(tf.errors.DeadlineExceededError):
        queue.session.run(queue.pair, options=tf.RunOptions(timeout_in_ms=100))
    wait_until(queue.is_whole)
    queue.put(2)
    assert queue.session.run(queue.pair).tolist() == [1, 2]


def test_closing_a_session_ends_its_dequeues(tasks: genuine.Tasks) -> None:
    queue, observer = Queue(tasks.target("worker")), Queue(tasks.target("ps"))
    blocked = queue.block()
    queue.session.close()
    assert isinstance(blocked.end(), tf.errors.CancelledError)
    wait_until(observer.is_whole)


def test_a_reset_ends_the_dequeues_of_every_master(tasks: genuine.Tasks) -> None:
    mine = Queue(tasks.target("worker"), "mine")
    others = Queue(tasks.target("worker", 1), "others")
    blocked = [mine.block(), others.block()]
    tf.Session.reset(tasks.target("worker"))
    errors = [waiting.end() for waiting in blocked]
    assert isinstance(errors[0], tf.errors.CancelledError | tf.errors.AbortedError)
    assert isinstance(errors[1], tf.errors.NotFoundError)
    with pytest.raises(tf.errors.NotFoundError):
        others.put(1)
    fresh = Queue(tasks.target("ps"), "others")
    assert fresh.session.run(fresh.size) == 0


def test_a_killed_queue_owner_ends_the_dequeues(tasks: genuine.Tasks) -> None:
    blocked = Queue(tasks.target("worker")).block()
    tasks.kill("ps")
    assert isinstance(blocked.end(), tf.errors.UnavailableError)


def test_a_killed_master_ends_the_dequeues_of_its_clients(tasks: genuine.Tasks) -> None:
    observer = Queue(tasks.target("ps"))
    # A session opens when all tasks answer, so it must be open before one is killed.
    observer.session.run(observer.size)
    blocked = Queue(tasks.target("worker")).block()
    tasks.kill("worker")
    assert isinstance(blocked.end(), tf.errors.UnavailableError)
    wait_until(observer.is_whole)
