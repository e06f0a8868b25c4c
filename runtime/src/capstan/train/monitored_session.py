"""Monitored sessions: sessions that call hooks and can recover from the loss of a task.

Source: tensorflow/python/training/monitored_session.py.
"""

import inspect
import os
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Final, Self

from capstan import errors
from capstan.framework import collections
from capstan.framework import graph as graphs
from capstan.services import first_process
from capstan.train import (
    checkpointing,
    coordinator,
    hook,
    progress,
    queue_runner,
    reporting,
    session_creator,
    summary_hooks,
    wrapped_session,
)
from capstan.train import scaffold as scaffolds

USE_DEFAULT: Final = object()
"""Marks an argument whose default depends on other arguments."""

_SAVE_SECS = 600
_SUMMARY_STEPS = 100
_GRACE_SECS = 120.0
_ENDS = (errors.OutOfRangeError, StopIteration)


class _Monitored:
    """The common base of the two public classes. Not thread-safe."""

    StepContext = wrapped_session.StepContext

    def __init__(
        self,
        creator: session_creator.SessionCreator | None,
        hooks: Sequence[hook.SessionRunHook] | None,
        *,
        is_recovering: bool,
        stop_grace_period_secs: float,
    ) -> None:
        first_process.obey_sigterm()
        self._graph = graphs.get_default_graph()
        self._was_final = self._graph.finalized
        self._hooks = tuple(hooks or ())
        self._creator = creator or session_creator.ChiefSessionCreator()
        self._grace = stop_grace_period_secs
        self._session: Any = None
        for session_hook in self._hooks:
            session_hook.begin()
        self._layer: wrapped_session.Layer = (
            wrapped_session.RecoverableSession(self._open) if is_recovering else self._open()
        )

    def _open(self) -> wrapped_session.Layer:
        session = self._creator.create_session()
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
        self._session = session
        hooked = wrapped_session.HookedSession(session, self._hooks)
        return wrapped_session.CoordinatedSession(hooked, coord, self._grace)

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
        if self._is_closed():
            raise RuntimeError("Attempted to use a closed Session.")
        return self._layer.run(fetches, feed_dict, options, run_metadata)

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
        if self._is_closed():
            raise RuntimeError("Attempted to use a closed Session.")
        return self._layer.run_step_fn(step_fn)

    def should_stop(self) -> bool:
        """Return whether a hook or a thread has asked for a stop, or the session is closed."""
        return self._is_closed() or self._layer.should_stop()

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
        return self._session is None

    def _close(self, *, is_failed: bool) -> None:
        if self._is_closed():
            raise RuntimeError("Session is already closed.")
        try:
            if not is_failed:
                for session_hook in self._hooks:
                    session_hook.end(self._session)
        finally:
            self._session = None
            try:
                self._layer.close()
            finally:
                if not self._was_final:
                    self._graph._unsafe_unfinalize()


class MonitoredSession(_Monitored):
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
        stop_grace_period_secs: float = _GRACE_SECS,
    ) -> None:
        super().__init__(
            session_creator,
            hooks,
            is_recovering=True,
            stop_grace_period_secs=stop_grace_period_secs,
        )


class SingularMonitoredSession(_Monitored):
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
        stop_grace_period_secs: float = _GRACE_SECS,
        checkpoint_filename_with_path: str | None = None,
    ) -> None:
        super().__init__(
            session_creator.ChiefSessionCreator(
                scaffold, master, config, checkpoint_dir, checkpoint_filename_with_path
            ),
            hooks,
            is_recovering=False,
            stop_grace_period_secs=stop_grace_period_secs,
        )

    def raw_session(self) -> Any:
        """Return the plain session, which calls no hooks."""
        return self._session


def MonitoredTrainingSession(
    master: str = "",
    is_chief: bool = True,
    checkpoint_dir: str | None = None,
    scaffold: scaffolds.Scaffold | None = None,
    hooks: Sequence[hook.SessionRunHook] | None = None,
    chief_only_hooks: Sequence[hook.SessionRunHook] | None = None,
    save_checkpoint_secs: Any = USE_DEFAULT,
    save_summaries_steps: Any = USE_DEFAULT,
    save_summaries_secs: Any = USE_DEFAULT,
    config: Any = None,
    stop_grace_period_secs: float = _GRACE_SECS,
    log_step_count_steps: int | None = 100,
    max_wait_secs: float = 7200,
    save_checkpoint_steps: Any = USE_DEFAULT,
    summary_dir: str | None = None,
) -> MonitoredSession:
    """Return the session of one task in between-graph replication.

    The chief restores or initialises the model. The other tasks wait for the chief, at most
    `max_wait_secs` seconds. `hooks` are called in every task, `chief_only_hooks` only in the chief.

    With `checkpoint_dir`, the chief also saves checkpoints. The interval between checkpoints is
    `save_checkpoint_secs` or `save_checkpoint_steps`, by default 600 seconds. If the interval is
    None or 0, the chief saves no checkpoints.

    With `summary_dir`, by default `checkpoint_dir`, the chief also writes summaries for
    TensorBoard: those of the scaffold every `save_summaries_secs` seconds or `save_summaries_steps`
    steps, by default 100 steps, and the step rate, which it also logs, every
    `log_step_count_steps` steps. If an interval is None or 0, these are not written.

    If the environment variable CAPSTAN_PROGRESS_FILE is set, progress is written to the file that
    it names.
    """
    parts = scaffold or scaffolds.Scaffold()
    wanted: list[hook.SessionRunHook] = []
    creator: session_creator.SessionCreator
    if is_chief:
        creator = session_creator.ChiefSessionCreator(parts, master, config, checkpoint_dir)
        wanted += chief_only_hooks or ()
        folder = summary_dir or checkpoint_dir
        if folder and log_step_count_steps:
            wanted.append(reporting.StepCounterHook(log_step_count_steps, output_dir=folder))
        secs, steps = _interval(save_summaries_secs, save_summaries_steps, (None, _SUMMARY_STEPS))
        if folder and (secs or steps):
            wanted.append(
                summary_hooks.SummarySaverHook(steps, secs, output_dir=folder, scaffold=parts)
            )
        secs, steps = _interval(save_checkpoint_secs, save_checkpoint_steps, (_SAVE_SECS, None))
        if checkpoint_dir and (secs or steps):
            wanted.append(
                checkpointing.CheckpointSaverHook(checkpoint_dir, secs, steps, scaffold=parts)
            )
    else:
        creator = session_creator.WorkerSessionCreator(parts, master, config, max_wait_secs)
    wanted += hooks or ()
    path = os.environ.get(progress.VARIABLE)
    if path:
        wanted.append(progress.ProgressHook(path, wanted))
    return MonitoredSession(creator, wanted, stop_grace_period_secs)


def _interval(
    secs: Any, steps: Any, default: tuple[float | None, int | None]
) -> tuple[float | None, int | None]:
    """Return an interval in seconds and in steps. An unused interval is None."""
    if secs is USE_DEFAULT and steps is USE_DEFAULT:
        return default
    return None if secs is USE_DEFAULT else secs or None, (
        None if steps is USE_DEFAULT else steps or None
    )
