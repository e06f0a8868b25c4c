"""Threads that fill queues (python/training/queue_runner_impl.py).

A queue runner has enqueue operations of one queue, and runs each of them again and again in a
thread of its own.
"""

import threading
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from capstan import errors
from capstan.api import logging
from capstan.framework import control_context
from capstan.framework import graph as graphs
from capstan.train import coordinator
from capstan.transport import cancellation

_LAST_STEP_SECS = 1.0
_CLOSED = (errors.OutOfRangeError,)
_LOST = (errors.AbortedError, errors.UnavailableError)


class QueueRunner:
    """The enqueue operations of a queue, each run by a thread of its own. Thread-safe.

    `close_op` closes the queue after every thread has ended with a queue-closed error. By default
    it is `queue.close()`, which keeps the pending enqueues. `cancel_op` closes the queue when the
    coordinator stops. By default it also cancels the pending enqueues. Errors of
    `queue_closed_exception_types` tell a thread that a queue is closed; the default is
    OutOfRangeError. `queue_runner_def` is a QueueRunnerDef from which to make the queue runner
    instead; the operations that it names must be in the default graph, in `import_scope`.

    Raises:
        ValueError: the queue or the enqueue operations are missing, or `queue_runner_def` is given
            as well.
        TypeError: `queue_closed_exception_types` is not a tuple of TensorFlow's error classes.
        KeyError: the default graph lacks an operation that `queue_runner_def` names.
    """

    def __init__(
        self,
        queue: Any = None,
        enqueue_ops: Sequence[Any] | None = None,
        close_op: Any = None,
        cancel_op: Any = None,
        queue_closed_exception_types: tuple[type[errors.OpError], ...] | None = None,
        queue_runner_def: Any = None,
        import_scope: str | None = None,
    ) -> None:
        self._changed = threading.Condition()
        # The number of threads that still run, for each session.
        self._running: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._exceptions_raised: list[Exception] = []
        if queue_runner_def is not None:
            if queue or enqueue_ops:
                raise ValueError("queue_runner_def and queue are mutually exclusive.")
            self._decode(queue_runner_def, import_scope)
            return
        if not queue or not enqueue_ops:
            raise ValueError("Must provide queue and enqueue_ops.")
        _check_types(queue_closed_exception_types)
        self._queue = queue
        self._enqueue_ops = enqueue_ops
        self._close_op = queue.close() if close_op is None else close_op
        self._cancel_op = (
            queue.close(cancel_pending_enqueues=True) if cancel_op is None else cancel_op
        )
        self._closed_types = queue_closed_exception_types or _CLOSED

    def _decode(self, message: Any, scope: str | None) -> None:
        graph = graphs.get_default_graph()

        def element(name: str) -> Any:
            return graph.as_graph_element(f"{scope}/{name}" if scope else name)

        self._queue = element(message.queue_name)
        self._enqueue_ops = [element(name) for name in message.enqueue_op_name]
        self._close_op = element(message.close_op_name)
        self._cancel_op = element(message.cancel_op_name)
        codes = message.queue_closed_exception_types
        self._closed_types = tuple(map(errors.exception_type_from_error_code, codes)) or _CLOSED

    @property
    def queue(self) -> Any:
        """The queue. A queue runner from a QueueRunnerDef has the operation of the queue here."""
        return self._queue

    @property
    def enqueue_ops(self) -> Sequence[Any]:
        return self._enqueue_ops

    @property
    def close_op(self) -> Any:
        return self._close_op

    @property
    def cancel_op(self) -> Any:
        return self._cancel_op

    @property
    def queue_closed_exception_types(self) -> tuple[type[errors.OpError], ...]:
        return self._closed_types

    @property
    def exceptions_raised(self) -> list[Exception]:
        """The errors of threads without a coordinator. A coordinator gets the errors itself."""
        return self._exceptions_raised

    @property
    def name(self) -> str:
        """The name of the queue."""
        name: str = self._queue.name
        return name

    def create_threads(
        self,
        sess: Any,
        coord: coordinator.Coordinator | None = None,
        daemon: bool = False,
        start: bool = False,
    ) -> list[threading.Thread]:
        """Return one thread for each enqueue operation, which runs the operation in `sess`.

        A thread ends when `coord` stops or when a queue is closed. An error stops `coord`. If there
        is a `coord`, the threads are registered with it. One more thread then runs `cancel_op` when
        `coord` stops, and a second later it ends the steps that still wait. With `start`, the
        threads are started. If earlier threads for `sess` still run, return an empty list.
        """
        with self._changed:
            if self._running.get(sess, 0) > 0:
                return []
            self._running[sess] = len(self._enqueue_ops)
            self._exceptions_raised = []
        prefix = f"QueueRunnerThread-{self.name}-"
        state = _State()
        threads = [
            threading.Thread(target=self._run, args=(sess, op, coord, state), name=prefix + op.name)
            for op in self._enqueue_ops
        ]
        if coord is not None:
            threads.append(
                threading.Thread(
                    target=self._close_on_stop,
                    args=(sess, coord, state),
                    name=f"{prefix}close_on_stop",
                )
            )
        for thread in threads:
            thread.daemon = thread.daemon or daemon
            if coord is not None:
                coord.register_thread(thread)
            if start:
                thread.start()
        return threads

    def to_proto(self, export_scope: str | None = None) -> Any:
        """Return a QueueRunnerDef. The prefix `export_scope/` is removed from its names.

        Return None if the queue is not in `export_scope`.
        """
        from capstan.core import queue_runner_messages

        if export_scope is not None and not self.name.startswith(export_scope):
            return None

        def stripped(element: Any) -> str:
            return control_context.stripped(element.name, export_scope)

        return queue_runner_messages.QueueRunnerDef(
            queue_name=stripped(self._queue),
            enqueue_op_name=map(stripped, self._enqueue_ops),
            close_op_name=stripped(self._close_op),
            cancel_op_name=stripped(self._cancel_op),
            queue_closed_exception_types=map(
                errors.error_code_from_exception_type, self._closed_types
            ),
        )

    @staticmethod
    def from_proto(queue_runner_def: Any, import_scope: str | None = None) -> "QueueRunner":
        """Return the queue runner that a QueueRunnerDef describes."""
        return QueueRunner(queue_runner_def=queue_runner_def, import_scope=import_scope)

    def _run(
        self, sess: Any, op: Any, coord: coordinator.Coordinator | None, state: "_State"
    ) -> None:
        is_queue_closed = False
        try:
            while coord is None or not coord.should_stop():
                sess.run_until(state.end, op)
        except self._closed_types:
            is_queue_closed = True
        except Exception as error:
            if coord is None:
                logging.error("Exception in QueueRunner: %s", error)
                with self._changed:
                    self._exceptions_raised.append(error)
                raise
            if not state.end.is_cancelled:
                state.is_task_lost |= isinstance(error, _LOST)
                coord.request_stop(error)
        finally:
            with self._changed:
                self._running[sess] -= 1
                self._changed.notify_all()
                is_last = self._running[sess] == 0
            if is_queue_closed and is_last:
                _run_and_ignore_errors(sess, self._close_op)

    def _close_on_stop(self, sess: Any, coord: coordinator.Coordinator, state: "_State") -> None:
        coord.wait_for_stop()
        # If the task of the queue is gone, the step waits until the task has restarted. Therefore
        # run the step in a thread of its own, which may last until the session is closed.
        threading.Thread(target=self._cancel, args=(sess, state), daemon=True).start()
        with self._changed:
            self._changed.wait_for(
                lambda: state.is_cancelled or (state.is_task_lost and self._running[sess] == 0)
            )
            # A step that has begun to change variables should not be cut short.
            self._changed.wait_for(
                lambda: state.is_cancelled and self._running[sess] == 0, _LAST_STEP_SECS
            )
        state.end.cancel()

    def _cancel(self, sess: Any, state: "_State") -> None:
        _run_and_ignore_errors(sess, self._cancel_op)
        with self._changed:
            state.is_cancelled = True
            self._changed.notify_all()


@dataclass(slots=True)
class _State:
    """The state that the threads of one session share."""

    end: cancellation.Cancellation = field(default_factory=cancellation.Cancellation)
    """Ends the enqueue operations."""
    is_cancelled: bool = False
    """Whether the cancel operation has run."""
    is_task_lost: bool = False
    """Whether an enqueue operation has lost a task, usually the task of the queue."""


def _check_types(types: Any) -> None:
    if types is None:
        return
    is_valid = isinstance(types, tuple) and all(
        isinstance(kind, type) and issubclass(kind, errors.OpError) for kind in types
    )
    if not types or not is_valid:
        raise TypeError(
            "queue_closed_exception_types, when provided, must be a tuple of tf.error types, but "
            f"saw: {types}"
        )


def _run_and_ignore_errors(sess: Any, op: Any) -> None:
    """Run an operation that closes a queue. The session may already be closed or lost."""
    try:
        sess.run(op)
    except Exception as error:  # noqa: BLE001
        logging.vlog(1, "Ignored exception: %s", error)
