"""A session with a prompt around its runs (python/debug/wrappers/local_cli_wrapper.py)."""

import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from typing import Any

from capstan import errors
from capstan.api import logging
from capstan.train.debugger import commands, dump_folder, dumped, dumping, wrapper


class LocalDebugger:
    """Asks the user before the first run and after each run that dumps. Not thread-safe.

    `dump_root` is the folder of the dumps, or None for a new folder. The dumps are removed when the
    user goes on.

    Raises:
        ValueError: `dump_root` is a file or a folder that is not empty.
    """

    def __init__(self, dump_root: str | None = None) -> None:
        self._root = None if not dump_root else dumping.checked_folder(dump_root, "dump_root")
        self.filters: dict[str, commands.Filter] = {"has_inf_or_nan": dumped.has_inf_or_nan}
        self._plan: commands.Plan | None = None

    def begin(self, run: wrapper.Run) -> wrapper.Dump | None:
        if self._plan is None:
            self._plan = self._asked(commands.View(run, self.filters), "run-start")
        plan = self._plan
        if plan.filter is None and plan.times > 1:
            self._plan = plan._replace(times=plan.times - 1)
            return None
        if not plan.dumps:
            self._plan = None if plan.times > 0 else plan
            return None
        root = self._root or tempfile.mkdtemp(prefix="tfdbg_")
        os.makedirs(root, exist_ok=True)
        return wrapper.Dump(os.path.abspath(root), plan.options, resets=True)

    def end(self, run: wrapper.Run, dump: wrapper.Dump, fault: errors.OpError | None) -> None:
        try:
            found = dump_folder.DebugDumpDir(dump.folder, [run.graph.as_graph_def()])
            found.set_python_graph(run.graph)
            view = commands.View(run, self.filters, found, fault)
            name = None if self._plan is None else self._plan.filter
            passing = found.find(self.filters[name], first_n=1) if name else []
            if name and not passing and fault is None:
                return
            shown = commands.answer(f"lt -f {name}" if passing else "lt", view)
            self._plan = self._asked(view, "run-end", str(shown))
        finally:
            shutil.rmtree(dump.folder, ignore_errors=True)

    def _asked(self, view: commands.View, title: str, shown: str = "") -> commands.Plan:
        """Show what there is to see, and answer commands until the user chooses the next runs.

        Raises:
            SystemExit: the user wants to end the program.
        """
        _write(f"--- {title}: {commands.run_info([], view)}")
        if shown:
            _write(shown)
        _write("Enter help for the commands.")
        while True:
            try:
                line = input("tfdbg> ")
            except EOFError:
                return self._without_user()
            answered = commands.answer(line, view)
            if isinstance(answered, commands.Plan):
                return answered
            if isinstance(answered, commands.Exit):
                sys.stderr.write("The user has left the debugger: the program ends.\n")
                sys.exit(1)
            _write(answered)

    def _without_user(self) -> commands.Plan:
        """Return the plan for the rest of the program after the end of the input.

        Raises:
            SystemExit: the input is a terminal, so its user has ended it.
        """
        if sys.stdin.isatty():
            sys.exit(1)
        logging.warning(
            "The debugger cannot read commands, because the standard input has ended. All further "
            "runs go on without dumps. Start the program in a terminal, or use "
            "tf_debug.DumpingDebugWrapperSession"
        )
        return commands.Plan(times=0, dumps=False)


class LocalCLIDebugWrapperSession(wrapper.DebugWrapperSession):
    """A session with a prompt before its first run, and after each run that dumps tensors.

    The prompt reads lines of the standard input. Both user interfaces of TensorFlow, `curses` and
    `readline`, are this prompt. After a run that fails, the prompt shows the dumps, and then `run`
    raises the error. `log_usage` and `config_file_path` have no effect.

    Raises:
        ValueError: as `LocalDebugger`, or there is no such `ui_type`.
    """

    def __init__(
        self,
        sess: Any,
        dump_root: str | None = None,
        log_usage: bool = True,
        ui_type: str = "curses",
        thread_name_filter: str | None = None,
        config_file_path: Any = None,
    ) -> None:
        check_interface(ui_type)
        self._local = LocalDebugger(dump_root)
        super().__init__(sess, self._local, thread_name_filter)

    def add_tensor_filter(
        self, filter_name: str, tensor_filter: Callable[[dumped.DebugTensorDatum, Any], bool]
    ) -> None:
        """Let `run -f` and `lt -f` choose tensors by `tensor_filter(datum, value)`."""
        self._local.filters[filter_name] = tensor_filter


def check_interface(ui_type: str) -> None:
    """Raise ValueError if there is no user interface of that name. Prepare the prompt."""
    if ui_type not in ("curses", "readline"):
        raise ValueError(f"Invalid ui_type: {ui_type!r}. Use 'curses' or 'readline'")
    with contextlib.suppress(ImportError):
        import readline  # noqa: F401, with it `input` has a history
    return


def _write(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
