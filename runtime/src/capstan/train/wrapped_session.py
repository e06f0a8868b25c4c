"""The sessions that a monitored session is made of. Each wraps the next one and adds to `run`.

    RecoverableSession     creates a new session when a task is lost, and repeats the run
    CoordinatedSession     stops when the threads of a coordinator stop
    HookedSession          calls the hooks
    tf.Session             runs the step on the master

Source: tensorflow/python/training/monitored_session.py, which has these names with an underscore.
Not thread-safe.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

from capstan import errors
from capstan.api import logging
from capstan.train import coordinator

PREEMPTED = (errors.AbortedError, errors.UnavailableError)
"""The errors that a recoverable session recovers from: a task restarted or is unreachable."""

_LOST = (
    "An error was raised. This may be due to a preemption in a connected worker or parameter "
    "server. The current session will be closed and a new session will be created. Error: %s"
)
_NOT_CREATED = (
    "An error was raised while a session was being created. This may be due to a preemption of a "
    "connected worker or parameter server. A new session will be created. Error: %s"
)
_FIRST_PAUSE_SECS = 0.1
_LONGEST_PAUSE_SECS = 1.0

Run = Callable[..., Any]
"""The method `run` of a session."""


@dataclass(frozen=True, slots=True)
class StepContext:
    """The argument of a step function: a session without hooks, and `run` with hooks."""

    session: Any
    """The plain session. Hooks do not see its runs or its errors."""
    run_with_hooks: Run

    def request_stop(self) -> NoReturn:
        """Raise StopIteration, which ends the step function and the `with` block around it."""
        raise StopIteration("step_fn has requested the iterations to stop.")


class WrappedSession:
    """A session that leaves everything to the session `sess`, which it owns and closes.

    `sess` is a wrapped session, or any session that has `run` and `close`. A subclass may override
    `_check_stop`.
    """

    def __init__(self, sess: Any) -> None:
        self._sess = sess

    @property
    def graph(self) -> Any:
        return self._sess.graph

    @property
    def sess_str(self) -> str:
        """The target of the plain session."""
        target: str = self._sess.sess_str
        return target

    def should_stop(self) -> bool:
        """Return whether this session or the wrapped session asks for a stop, or is closed."""
        if self._check_stop() or self._sess is None:
            return True
        return hasattr(self._sess, "should_stop") and bool(self._sess.should_stop())

    def _check_stop(self) -> bool:
        """Return whether this session itself asks for a stop."""
        return False

    def run(
        self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None
    ) -> Any:
        return self._sess.run(
            fetches, feed_dict=feed_dict, options=options, run_metadata=run_metadata
        )

    def run_step_fn(self, step_fn: Callable[[StepContext], Any], run: Run | None = None) -> Any:
        """Call a step function and return its result.

        The function's step context gets `run` as its `run_with_hooks`. The default is the method
        `run` of this session.
        """
        run = run or self.run
        if hasattr(self._sess, "run_step_fn"):
            return self._sess.run_step_fn(step_fn, run)
        return step_fn(StepContext(self._sess, run))

    def close(self) -> None:
        """Close the wrapped session. If it has lost a task, it counts as closed. Idempotent."""
        session, self._sess = self._sess, None
        if session is None:
            return
        try:
            session.close()
        except PREEMPTED as error:
            logging.info("Closing a session that lost a task: %s", error)


class CoordinatedSession(WrappedSession):
    """Stops when the threads of a coordinator stop, and raises their errors."""

    def __init__(
        self, sess: Any, coord: coordinator.Coordinator, stop_grace_period_secs: float = 120
    ) -> None:
        super().__init__(sess)
        self._coord = coord
        self._stop_grace_period_secs = stop_grace_period_secs

    def _check_stop(self) -> bool:
        """Return whether a thread has asked for a stop.

        If a thread has reported an error, raise that error.
        """
        self._coord.raise_requested_exception()
        return self._coord.should_stop()

    def run(
        self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None
    ) -> Any:
        try:
            return super().run(fetches, feed_dict, options, run_metadata)
        except PREEMPTED:
            raise
        except Exception:
            # If a thread has reported the loss of a task, that loss is the cause of this error.
            try:
                self._coord.raise_requested_exception()
            except PREEMPTED:
                raise
            except Exception:  # noqa: BLE001, the caller's own error is the one to raise
                pass
            raise

    def close(self) -> None:
        """Stop the threads, wait for them, and close the session.

        If a thread has reported an error, raise that error.
        """
        self._coord.request_stop()
        try:
            self._coord.join(
                stop_grace_period_secs=self._stop_grace_period_secs, ignore_live_threads=True
            )
        finally:
            try:
                super().close()
            except errors.OpError as error:
                # `join` has already raised the error of a thread, which is more useful than this
                # error.
                logging.debug("Closing the session failed: %s", error)


class RecoverableSession(WrappedSession):
    """Wraps a session of `sess_creator`, and a new one each time a task is lost.

    The number of attempts has no limit. The pause between two attempts grows to one second.
    """

    def __init__(self, sess_creator: Any) -> None:
        self._sess_creator = sess_creator
        super().__init__(self._created())

    def _created(self) -> Any:
        pause, stop = _FIRST_PAUSE_SECS, threading.Event()
        while True:
            try:
                return self._sess_creator.create_session()
            except PREEMPTED as error:
                logging.info(_NOT_CREATED, error)
            stop.wait(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_SECS)

    def should_stop(self) -> bool:
        """Return whether the session has stopped.

        The loss of a task is not a stop: this method then creates a new session.
        """
        try:
            return super().should_stop()
        except PREEMPTED as error:
            logging.info(_LOST, error)
            self.close()
            self._sess = self._created()
            return False
        except Exception:  # noqa: BLE001, `run` or `close` raises it
            return True

    def run(
        self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None
    ) -> Any:
        """Run one step. If a task is lost meanwhile, repeat the step in a new session."""
        return self._retry_when_lost(
            lambda session: session.run(
                fetches, feed_dict=feed_dict, options=options, run_metadata=run_metadata
            )
        )

    def run_step_fn(self, step_fn: Callable[[StepContext], Any], run: Run | None = None) -> Any:
        """Call a step function. If a task is lost meanwhile, call it again in a new session."""
        return self._retry_when_lost(lambda session: session.run_step_fn(step_fn, run))

    def _retry_when_lost(self, act: Callable[[Any], Any]) -> Any:
        while True:
            if self._sess is None:
                self._sess = self._created()
            try:
                return act(self._sess)
            except PREEMPTED as error:
                logging.info(_LOST, error)
                self.close()
