"""Hooks that debug the runs of monitored sessions (python/debug/wrappers/hooks.py)."""

import itertools
from collections.abc import Callable
from typing import Any

from capstan.train import hook
from capstan.train.debugger import dumped, dumping, local, wrapper


class _DebugHook(hook.SessionRunHook):
    """Lets a debugger watch the runs of a session. A run that fails is not shown."""

    def __init__(self, debugger: wrapper.Debugger) -> None:
        self._debugger = debugger
        self._numbers = itertools.count(1)
        self._current: tuple[wrapper.Run, wrapper.Dump | None] | None = None

    def before_run(self, run_context: hook.SessionRunContext) -> hook.SessionRunArgs:
        from tensorboard.compat.proto import config_pb2

        asked, graph = run_context.original_args, run_context.session.graph
        run = wrapper.Run(next(self._numbers), asked.fetches, asked.feed_dict or {}, graph)
        dump = self._debugger.begin(run)
        options = config_pb2.RunOptions()
        if dump is not None:
            dump.fill(options, graph)
        self._current = run, dump
        return hook.SessionRunArgs(None, options=options)

    def after_run(
        self, run_context: hook.SessionRunContext, run_values: hook.SessionRunValues
    ) -> None:
        assert self._current is not None
        run, dump = self._current
        if dump is not None:
            self._debugger.end(run, dump, None)


class LocalCLIDebugHook(_DebugHook):
    """A hook with the prompt of `LocalCLIDebugWrapperSession`. Raises as that session.

    `thread_name_filter` and `config_file_path` have no effect: hooks run in one thread.
    """

    def __init__(
        self,
        ui_type: str = "curses",
        dump_root: str | None = None,
        thread_name_filter: str | None = None,
        config_file_path: Any = None,
    ) -> None:
        local.check_interface(ui_type)
        self._local = local.LocalDebugger(dump_root)
        super().__init__(self._local)

    def add_tensor_filter(
        self, filter_name: str, tensor_filter: Callable[[dumped.DebugTensorDatum, Any], bool]
    ) -> None:
        """Let `run -f` and `lt -f` choose tensors by `tensor_filter(datum, value)`."""
        self._local.filters[filter_name] = tensor_filter


class DumpingDebugHook(_DebugHook):
    """A hook that dumps each run below `session_root`, as `DumpingDebugWrapperSession`."""

    def __init__(
        self,
        session_root: str,
        watch_fn: dumping.Watch | None = None,
        thread_name_filter: str | None = None,
        log_usage: bool = True,
    ) -> None:
        super().__init__(dumping.FolderDebugger(session_root, watch_fn))
