"""Hooks of a monitored session (python/training/session_run_hook.py).

The session calls `begin` once, while the graph can still grow. It calls `after_create_session` for
each session that it creates. Around each run it calls `before_run`, which returns additional
fetches, and `after_run`, which gets their values. It calls `end` at the end of training unless
training failed.
"""

from typing import Any, NamedTuple


class SessionRunArgs(NamedTuple):
    """The fetches (of any structure), feeds and options that a hook adds to a run."""

    fetches: Any
    feed_dict: Any = None
    options: Any = None


class SessionRunValues(NamedTuple):
    """The outcome of a run for one hook. `results` has the structure of the hook's fetches."""

    results: Any
    options: Any
    run_metadata: Any


class SessionRunContext:
    """One call of `run`, as the hooks see it."""

    __slots__ = ("_original_args", "_session", "_stop_requested")

    def __init__(self, original_args: SessionRunArgs, session: Any) -> None:
        self._original_args = original_args
        self._session = session
        self._stop_requested = False

    @property
    def original_args(self) -> SessionRunArgs:
        """The arguments that the caller passed to `run`."""
        return self._original_args

    @property
    def session(self) -> Any:
        """The plain session. Its `run` calls no hooks."""
        return self._session

    @property
    def stop_requested(self) -> bool:
        return self._stop_requested

    def request_stop(self) -> None:
        """Make the session's `should_stop` true after this run."""
        self._stop_requested = True


class SessionRunHook:
    """A hook that does nothing. Its methods are called in the thread that runs the session."""

    def begin(self) -> None:
        """Called once, before the graph is finalized. The hook may still add operations."""

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Called with each new session, also after a recovery. The graph is final."""

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Return the additional fetches, feeds and options of a run, or None."""
        return None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Called after each run that did not fail. May call `run_context.request_stop()`."""

    def end(self, session: Any) -> None:
        """Called at the end of training, also if the input has ended. The session is still open.

        Not called if another error ended the training.
        """
