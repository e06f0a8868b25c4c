"""What extends a monitored session: hooks around each `run` (python/training/session_run_hook.py).

For each session, once: `after_create_session`. For each run: `before_run` says what the hook wants
to have fetched besides, `after_run` sees it. Around all sessions: `begin`, while the graph can
still grow, and `end`, unless the session ended by an error.
"""

from typing import Any, NamedTuple


class SessionRunArgs(NamedTuple):
    """What a hook adds to a run: more fetches, of any structure, feeds and options."""

    fetches: Any
    feed_dict: Any = None
    options: Any = None


class SessionRunValues(NamedTuple):
    """What a hook sees of a run: `results` has the structure of its own fetches."""

    results: Any
    options: Any
    run_metadata: Any


class SessionRunContext:
    """One call of `run`, as its hooks see it."""

    __slots__ = ("_original_args", "_session", "_stop_requested")

    def __init__(self, original_args: SessionRunArgs, session: Any) -> None:
        self._original_args = original_args
        self._session = session
        self._stop_requested = False

    @property
    def original_args(self) -> SessionRunArgs:
        """What the caller passed to `run`."""
        return self._original_args

    @property
    def session(self) -> Any:
        """The session below all hooks."""
        return self._session

    @property
    def stop_requested(self) -> bool:
        return self._stop_requested

    def request_stop(self) -> None:
        """Make `should_stop` of the session true after this run."""
        self._stop_requested = True


class SessionRunHook:
    """A hook that does nothing. Calls come from the thread that runs the session."""

    def begin(self) -> None:
        """Called once, before the graph is finalized: the last chance to add to it."""

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Called with each new session, also after a recovery. The graph is final."""

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Return what to run besides, or None."""
        return None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Called after each run that did not fail; may ask for a stop."""

    def end(self, session: Any) -> None:
        """Called at the end of training, unless it ended by an error other than of the input's end.

        The session still serves.
        """
