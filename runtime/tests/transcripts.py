"""Programs as texts, in this process or in one of their own, and the lines that they print."""

import contextlib
import inspect
import io
import linecache
import os
import pathlib
import subprocess
import sys
import threading
from typing import Any

import capstan as tf


def printed(program: str, **names: Any) -> list[str]:
    """Run a program with a new default graph. Return the lines of its standard output.

    The program starts with `tf` and the given names.
    """
    source = inspect.cleandoc(program)
    file = "<program of a test>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    tf.reset_default_graph()
    with contextlib.redirect_stdout(_Output()) as output:
        exec(compile(source, file, "exec"), {"__name__": "__main__", "tf": tf, **names})
    tf.reset_default_graph()
    return output.all_lines()


class _Output(io.TextIOBase):
    """The standard output of a program. The lines of its threads are not mixed."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._begun: dict[int, str] = {}

    def write(self, text: str) -> int:
        thread = threading.get_ident()
        *ended, self._begun[thread] = (self._begun.get(thread, "") + text).split("\n")
        self._lines += [line.rstrip() for line in ended]
        return len(text)

    def all_lines(self) -> list[str]:
        """Return the lines in the order of their ends. Lines without an end are the last ones."""
        return self._lines + [line.rstrip() for line in self._begun.values() if line]


def lines(text: str) -> list[str]:
    """Return the lines of an indented text."""
    return inspect.cleandoc(text).splitlines()


class Script:
    """A program in a process of its own. It waits at each `input()` until the test says `go`."""

    def __init__(self, program: str, *arguments: object) -> None:
        source = f"import capstan as tf\n{inspect.cleandoc(program)}"
        self._process = subprocess.Popen(
            [sys.executable, "-c", source, *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={
                **os.environ,
                "PYTHONPATH": str(pathlib.Path(__file__).parents[1] / "src"),
                "PYTHONUNBUFFERED": "1",
            },
            text=True,
        )

    def go(self) -> None:
        """Let the program continue after its next `input()`."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()

    def read(self, count: int = 1) -> list[str]:
        """Wait for the next lines. Among lines that say `waiting`, repetitions do not count."""
        assert self._process.stdout is not None
        found: list[str] = []
        while len(found) < count and (line := self._process.stdout.readline()):
            if not (found and "waiting" in line and line.rstrip() == found[-1]):
                found.append(line.rstrip())
        return found

    def kill(self) -> None:
        """End the process at once."""
        self._process.kill()
        self._process.communicate()
