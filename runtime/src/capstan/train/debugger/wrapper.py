"""A session that lets a debugger watch its runs (python/debug/wrappers/framework.py)."""

import re
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn, Protocol

from capstan import errors
from capstan.api import nest
from capstan.client import session as sessions
from capstan.train import wrapped_session
from capstan.train.debugger import watching


class Dump(NamedTuple):
    """The folder that a run dumps to, and the tensors that it dumps.

    `resets` says that earlier dumps no longer count for `TFDBG_DISK_BYTES_LIMIT`.
    """

    folder: str
    options: watching.WatchOptions
    resets: bool

    def fill(self, run_options: Any, graph: Any) -> None:
        """Add the watches of the run to RunOptions."""
        self.options.fill(run_options, graph, f"file://{self.folder}")
        run_options.debug_options.reset_disk_byte_usage = self.resets


class Run(NamedTuple):
    """A run that a debugger sees: its number from 1 on, its fetches, its feeds and its graph."""

    number: int
    fetches: Any
    feeds: Mapping[Any, Any]
    graph: Any


class Debugger(Protocol):
    """Decides what a run dumps, and looks at the dumps."""

    def begin(self, run: Run) -> Dump | None:
        """Return what the run dumps, or None if it dumps nothing."""

    def end(self, run: Run, dump: Dump, fault: errors.OpError | None) -> None:
        """Look at the dumps of a run, which has failed if there is a `fault`."""


class DebugWrapperSession(sessions.Session):
    """A session that runs everything in the session `sess`. Thread-safe as its debugger.

    The runs of threads whose name `thread_name_filter` does not match at its start are not
    debugged, and neither are runs without fetches and the steps of queue runners.
    """

    def __init__(
        self, sess: Any, debugger: Debugger, thread_name_filter: str | None = None
    ) -> None:
        # The session `sess` has the connection to a master, so this one opens none.
        self._sess = sess
        self._debugger = debugger
        self._threads = re.compile(thread_name_filter or "")
        self._lock = threading.Lock()
        self._runs = 0
        self._graph = sess.graph
        self._contexts = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_sess"], name)

    @property
    def session(self) -> Any:
        """The wrapped session."""
        return self._sess

    @property
    def run_call_count(self) -> int:
        """The number of runs that the debugger has seen."""
        return self._runs

    @property
    def sess_str(self) -> str:
        return str(self._sess.sess_str)

    def run(
        self,
        fetches: Any,
        feed_dict: Mapping[Any, Any] | None = None,
        options: Any = None,
        run_metadata: Any = None,
    ) -> Any:
        """Run a step as `tf.Session.run`, which the debugger may watch. `options` stay the same."""
        with self._lock:
            self._runs += 1
            run = Run(self._runs, fetches, feed_dict or {}, self.graph)
        is_seen = self._threads.match(threading.current_thread().name) and nest.flatten(fetches)
        dump = self._debugger.begin(run) if is_seen else None
        if dump is None:
            return self._sess.run(fetches, feed_dict, options, run_metadata)
        from tensorboard.compat.proto import config_pb2

        watched = config_pb2.RunOptions()
        if options is not None:
            watched.CopyFrom(options)
        dump.fill(watched, self.graph)
        try:
            found = self._sess.run(fetches, feed_dict, watched, run_metadata)
        except errors.OpError as fault:
            self._debugger.end(run, dump, fault)
            raise
        self._debugger.end(run, dump, None)
        return found

    def run_until(self, end: Any, fetches: Any) -> Any:
        return self._sess.run_until(end, fetches)

    def run_step_fn(self, step_fn: Callable[[Any], Any]) -> Any:
        """Call a step function with this session, as `tf.train.MonitoredSession.run_step_fn`."""
        return step_fn(wrapped_session.StepContext(self._sess, self.run))

    def partial_run_setup(self, fetches: Any, feeds: Sequence[Any] | None = None) -> NoReturn:
        raise NotImplementedError(
            "partial_run_setup is not implemented for debug-wrapper sessions."
        )

    def partial_run(self, handle: str, fetches: Any, feed_dict: Any = None) -> NoReturn:
        raise NotImplementedError("partial_run is not implemented for debug-wrapper sessions.")

    def list_devices(self) -> Any:
        return self._sess.list_devices()

    def close(self) -> None:
        self._sess.close()
