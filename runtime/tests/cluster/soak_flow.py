"""Rounds of steps with loops, queues and cancellations, for `soak.py`."""

import threading
import time
from collections.abc import Callable
from concurrent import futures
from typing import Any

import capstan as tf
from capstan.transport import cancellation

PS, WORKER = "/job:ps/task:0", "/job:worker/task:0"
PATIENCE_S = 60.0
LATE = tf.RunOptions(timeout_in_ms=5)


class Flow:
    """Runs rounds of ten steps: six have values, and four are cancelled.

    A round fails if a value is wrong, if a cancelled step ends with another error, or if a step
    still waits or runs on a task after the round.
    """

    def __init__(self, target: str, servers: dict[str, Any]) -> None:
        with tf.device(PS):
            queue = tf.FIFOQueue(10, tf.float32, [()])
            self._taken, self._size = queue.dequeue(), queue.size()
            self._put = queue.enqueue_many([[1.0, 2.0, 3.0]])
            self._put_one = queue.enqueue(4.0)
        self._three, self._left = three_elements(queue)
        self._array = array()
        self._crossing = crossing(5.0)
        endless = tf.while_loop(lambda i: i >= 0, lambda i: i + 1, [tf.constant(0.0)])
        self._unending = self._taken, endless, crossing(float("inf"))
        self._fault = tf.constant(1) // tf.placeholder_with_default(0, [])
        config = tf.ConfigProto(operation_timeout_in_ms=int(PATIENCE_S * 1000))
        self._session = tf.Session(target, config=config)
        self._aside = futures.ThreadPoolExecutor(1)
        self._servers = servers
        for fetch in self._unending:
            self._compile(fetch)

    def __call__(self) -> None:
        self._expect_values()
        self._expect_cancellations()
        waiting = self._aside.submit(self._session.run, self._taken)
        until(lambda: self._runs("ps:0"))
        self._session.run(self._put_one)
        assert waiting.result(PATIENCE_S) == 4.0
        self._settle()

    def _compile(self, fetch: Any) -> None:
        """Run a step without end until it is in flight, and cancel it.

        A step that is late ends before it is compiled, however often it runs.
        """
        end = cancellation.Cancellation()
        running = self._aside.submit(self._session.run_until, end, fetch)
        until(self._is_in_flight)
        end.cancel()
        error = running.exception(PATIENCE_S)
        assert isinstance(error, tf.errors.CancelledError), error
        until(lambda: not self._is_in_flight())
        self._settle()

    def _is_in_flight(self) -> bool:
        """Return whether the master runs a step, which it has compiled."""
        sessions = self._servers["worker:0"].master._sessions.all()
        return any(session._steps._runs for session in sessions)

    def _expect_values(self) -> None:
        run = self._session.run
        run(self._put)
        assert run([self._three, self._left]) == [6.0, 0]
        assert run(self._array)[1].tolist() == [2.0, 4.0, 5.0]
        assert run(self._crossing) == 10.0

    def _expect_cancellations(self) -> None:
        for fetch in self._unending:
            self._expect(tf.errors.DeadlineExceededError, fetch, LATE)
        self._expect(tf.errors.InvalidArgumentError, [self._taken, self._fault])

    def _expect(self, error: type[Exception], fetch: Any, options: Any = None) -> None:
        try:
            self._session.run(fetch, options=options)
        except error:
            return
        raise AssertionError(f"{fetch} did not fail with {error.__name__}")

    def _settle(self) -> None:
        """Wait until no part of a step is on any task."""
        until(lambda: not any(self._runs(task) for task in self._servers))

    def _runs(self, task: str) -> bool:
        """Return whether a part of a step is on the task."""
        return bool(self._servers[task]._steps._runs)


def three_elements(queue: Any) -> tuple[Any, Any]:
    """Return the sum of three elements that a loop takes, and how many it leaves in the queue."""

    def body(i: Any, total: Any) -> Any:
        with tf.device(PS):
            return i + 1, total + queue.dequeue()

    with tf.device(WORKER):
        _, total = tf.while_loop(lambda i, _: i < 3, body, [tf.constant(0), tf.constant(0.0)])
    with tf.device(PS), tf.control_dependencies([total]):
        return total, queue.size()


def array() -> list[Any]:
    """Return an array that a loop with a branch writes, and its gradient."""
    with tf.device(WORKER):
        x = tf.constant([1.0, 2.0, 3.0])
        y = tf.map_fn(lambda v: tf.cond(v > 2.0, lambda: v * 5.0, lambda: v * v), x)
        return [y, *tf.gradients(y, [x])]


def crossing(limit: float) -> Any:
    """Return the value of a loop whose body runs on both tasks."""

    def body(y: Any) -> Any:
        with tf.device(PS):
            half = y + 1.0
        return half + 1.0

    with tf.device(WORKER):
        return tf.while_loop(lambda y: y < limit * 2.0, body, [tf.constant(0.0)])


def until(condition: Callable[[], bool]) -> None:
    """Wait until the condition holds. Fail after a minute."""
    limit = time.monotonic() + PATIENCE_S
    pause = threading.Event()
    while not condition():
        assert time.monotonic() < limit, "a step still waits or runs"
        pause.wait(0.001)
