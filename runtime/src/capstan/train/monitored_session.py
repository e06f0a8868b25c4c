"""Monitored sessions: sessions that call hooks and can recover from the loss of a task.

Source: tensorflow/python/training/monitored_session.py.
"""

import inspect
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Self

from capstan import errors
from capstan.framework import collections
from capstan.framework import graph as graphs
from capstan.services import first_process
from capstan.train import (
    coordinator,
    hook,
    hooked_session,
    queue_runner,
    session_creator,
    wrapped_session,
)
from capstan.train import scaffold as scaffolds

GRACE_SECS = 120.0
"""The seconds that the threads of a session have to end after a stop."""
_ENDS = (errors.OutOfRangeError, StopIteration)


class CoordinatedSessionCreator(session_creator.SessionCreator):
    """Creates sessions with hooks, a coordinator, and running queue runners.

    `tf_sess` and `coord` are the plain session and the coordinator of the newest session, or None.
    """

    def __init__(
        self,
        session_creator: session_creator.SessionCreator,
        hooks: Sequence[hook.SessionRunHook],
        stop_grace_period_secs: float,
    ) -> None:
        self._session_creator = session_creator
        self._hooks = hooks
        self._stop_grace_period_secs = stop_grace_period_secs
        self.tf_sess: Any = None
        self.coord: coordinator.Coordinator | None = None

    def create_session(self) -> Any:
        """Return a session that calls the hooks and stops with the threads. Blocks."""
        session = self._session_creator.create_session()
        # The coordinator reports every error of a thread. The layers above know which errors are
        # harmless.
        coord = coordinator.Coordinator(clean_stop_exception_types=())
        try:
            if session.graph.get_collection(collections.GraphKeys.QUEUE_RUNNERS):
                queue_runner.start_queue_runners(session, coord)
            for session_hook in self._hooks:
                session_hook.after_create_session(session, coord)
        except BaseException:
            coord.request_stop()
            session.close()
            raise
        self.tf_sess, self.coord = session, coord
        hooked = hooked_session.HookedSession(session, self._hooks)
        return wrapped_session.CoordinatedSession(hooked, coord, self._stop_grace_period_secs)


class _MonitoredSession:
    """The common base of the two public classes. Not thread-safe."""

    StepContext = wrapped_session.StepContext

    def __init__(
        self,
        creator: session_creator.SessionCreator | None,
        hooks: Sequence[hook.SessionRunHook] | None,
        *,
        should_recover: bool,
        stop_grace_period_secs: float,
    ) -> None:
        first_process.obey_sigterm()
        self._graph = graphs.get_default_graph()
        self._was_final = self._graph.finalized
        self._hooks = tuple(hooks or ())
        for session_hook in self._hooks:
            session_hook.begin()
        self._coordinated_creator = CoordinatedSessionCreator(
            creator or session_creator.ChiefSessionCreator(), self._hooks, stop_grace_period_secs
        )
        self._sess: wrapped_session.WrappedSession | None = (
            wrapped_session.RecoverableSession(self._coordinated_creator)
            if should_recover
            else self._coordinated_creator.create_session()
        )

    @property
    def graph(self) -> graphs.Graph | None:
        """The graph of the session, or None once the session is closed."""
        return None if self._is_closed() else self._graph

    def run(
        self,
        fetches: Any,
        feed_dict: Any = None,
        options: Any = None,
        run_metadata: Any = None,
    ) -> Any:
        """Run one step with the hooks, like `Session.run`. Blocks.

        Raises:
            RuntimeError: the session is closed, or a hook has asked for a stop.
        """
        return self._open().run(fetches, feed_dict, options, run_metadata)

    def run_step_fn(self, step_fn: Callable[[wrapped_session.StepContext], Any]) -> Any:
        """Call `step_fn(step_context)` and return its result. Blocks.

        `step_context.session.run` runs a step without hooks. `step_context.run_with_hooks` runs a
        step with hooks, as `run` does. `step_context.request_stop()` ends the `with` block of this
        session. If a task is lost, a MonitoredSession calls the function again.

        Raises:
            StopIteration: the function asked for a stop.
            ValueError: the function does not take exactly one argument called `step_context`.
            RuntimeError: the session is closed.
        """
        names = tuple(inspect.signature(step_fn).parameters)
        if names != ("step_context",):
            raise ValueError(
                "`step_fn` may either have one `step_context` argument, or `self` and "
                f"`step_context` arguments if it's an instance method. Got {names} instead."
            )
        return self._open().run_step_fn(step_fn)

    def should_stop(self) -> bool:
        """Return whether a hook or a thread has asked for a stop, or the session is closed."""
        return self._sess is None or self._sess.should_stop()

    def close(self) -> None:
        """Call the hooks' `end` and close the session.

        Raises:
            RuntimeError: the session is already closed.
        """
        self._close(is_failed=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        # The end of the input is a normal end of training.
        is_failed = kind is not None and not issubclass(kind, _ENDS)
        self._close(is_failed=is_failed)
        return not is_failed

    def _is_closed(self) -> bool:
        return self._coordinated_creator.tf_sess is None

    def _tf_sess(self) -> Any:
        """Return the plain session, or None once the session is closed."""
        return self._coordinated_creator.tf_sess

    def _open(self) -> wrapped_session.WrappedSession:
        if self._sess is None:
            raise RuntimeError("Attempted to use a closed Session.")
        return self._sess

    def _close(self, *, is_failed: bool) -> None:
        if self._sess is None:
            raise RuntimeError("Session is already closed.")
        creator = self._coordinated_creator
        try:
            if not is_failed:
                for session_hook in self._hooks:
                    session_hook.end(creator.tf_sess)
        finally:
            session, self._sess = self._sess, None
            creator.tf_sess = creator.coord = None
            try:
                session.close()
            finally:
                if not self._was_final:
                    self._graph._unsafe_unfinalize()


class MonitoredSession(_MonitoredSession):
    """A session that calls hooks and recovers from the loss of a task.

    `session_creator` creates the sessions. The default is a ChiefSessionCreator. After an
    AbortedError or UnavailableError, the monitored session closes the session, creates another one
    and repeats the run. An OutOfRangeError ends a `with` block normally. If the process is the
    first process of its container, SIGTERM ends the process.
    """

    def __init__(
        self,
        session_creator: session_creator.SessionCreator | None = None,
        hooks: Sequence[hook.SessionRunHook] | None = None,
        stop_grace_period_secs: float = GRACE_SECS,
    ) -> None:
        super().__init__(
            session_creator,
            hooks,
            should_recover=True,
            stop_grace_period_secs=stop_grace_period_secs,
        )


class SingularMonitoredSession(_MonitoredSession):
    """A session that calls hooks. It does not recover from the loss of a task.

    After a loss, it raises AbortedError or UnavailableError.
    """

    def __init__(
        self,
        hooks: Sequence[hook.SessionRunHook] | None = None,
        scaffold: scaffolds.Scaffold | None = None,
        master: str = "",
        config: Any = None,
        checkpoint_dir: str | None = None,
        stop_grace_period_secs: float = GRACE_SECS,
        checkpoint_filename_with_path: str | None = None,
    ) -> None:
        super().__init__(
            session_creator.ChiefSessionCreator(
                scaffold, master, config, checkpoint_dir, checkpoint_filename_with_path
            ),
            hooks,
            should_recover=False,
            stop_grace_period_secs=stop_grace_period_secs,
        )

    def raw_session(self) -> Any:
        """Return the plain session, which calls no hooks."""
        return self._tf_sess()
