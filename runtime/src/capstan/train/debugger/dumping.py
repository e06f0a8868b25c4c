"""A session whose runs leave their dumps in folders (python/debug/wrappers/dumping_wrapper.py)."""

import os
import time
from collections.abc import Callable, Mapping
from typing import Any

from capstan import errors
from capstan.core import debug_layout
from capstan.resources import files
from capstan.train.debugger import watching, wrapper

Watch = Callable[[Any, Mapping[Any, Any]], Any]
"""Takes the fetches and the feeds of a run, and returns `WatchOptions`.

It may also return a debug op, or a tuple: the debug ops and the three patterns of `WatchOptions`.
"""


class FolderDebugger:
    """Dumps each run to a folder of its own: `session_root/run_TIME_NUMBER`. Thread-safe.

    Raises:
        ValueError: `session_root` is a file or a folder that is not empty.
        TypeError: `watch_fn` is not callable.
    """

    def __init__(self, session_root: str, watch_fn: Watch | None = None) -> None:
        if watch_fn is not None and not callable(watch_fn):
            raise TypeError("watch_fn is not callable")
        self._root = os.path.abspath(checked_folder(session_root, "session_root"))
        self._watch = watch_fn
        files.of(self._root).make_folders(self._root)

    def begin(self, run: wrapper.Run) -> wrapper.Dump:
        now = time.time_ns() // 1000
        folder = os.path.join(self._root, f"run_{now}_{run.number - 1}")
        feeds = repr(run.feeds.keys()) if run.feeds else repr(None)
        for name, text in ((debug_layout.FETCHES, repr(run.fetches)), (debug_layout.FEEDS, feeds)):
            files.write_all(os.path.join(folder, name), debug_layout.text_event(text))
        options = self._watch(run.fetches, run.feeds) if self._watch else watching.WatchOptions()
        if isinstance(options, str | list):
            options = watching.WatchOptions(options)
        elif isinstance(options, tuple):
            options = watching.WatchOptions(*options)
        return wrapper.Dump(folder, options, resets=run.number == 1)

    def end(self, run: wrapper.Run, dump: wrapper.Dump, fault: errors.OpError | None) -> None:
        """Keep the dumps."""


class DumpingDebugWrapperSession(wrapper.DebugWrapperSession):
    """A session that dumps the tensors of each run below the folder `session_root`.

    `watch_fn(fetches, feeds)` returns the `WatchOptions` of a run. Without it, a run dumps all
    tensors. `DebugDumpDir` reads the folder of a run. If the session has a target, each task dumps
    its tensors on its own machine.

    Raises: as `FolderDebugger`.
    """

    def __init__(
        self,
        sess: Any,
        session_root: str,
        watch_fn: Watch | None = None,
        thread_name_filter: str | None = None,
        pass_through_operrors: bool | None = None,
        log_usage: bool = True,
    ) -> None:
        super().__init__(sess, FolderDebugger(session_root, watch_fn), thread_name_filter)


def checked_folder(path: str, argument: str) -> str:
    """Return the path of a folder that is empty or does not exist yet. `~` is the home folder.

    Raises:
        ValueError: the path is a file, or a folder that is not empty. It names the `argument`.
    """
    path = os.path.expanduser(path)
    if os.path.isfile(path):
        raise ValueError(f"{argument} path points to a file: {path}")
    if os.path.isdir(path) and os.listdir(path):
        raise ValueError(f"{argument} path points to a non-empty directory: {path}")
    return path
