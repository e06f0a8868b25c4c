"""Programs as texts, in this process or in one of their own, and the lines that they print."""

import contextlib
import inspect
import io
import itertools
import linecache
import os
import pathlib
import subprocess
import sys
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
    with contextlib.redirect_stdout(io.StringIO()) as output:
        exec(compile(source, file, "exec"), {"__name__": "__main__", "tf": tf, **names})
    tf.reset_default_graph()
    return [line.rstrip() for line in output.getvalue().splitlines()]


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
        """Wait for the next lines. Lines that repeat the line before them do not count."""
        assert self._process.stdout is not None
        different = (line for line, _ in itertools.groupby(self._process.stdout))
        return [line.rstrip() for line in itertools.islice(different, count)]

    def kill(self) -> None:
        """End the process at once."""
        self._process.kill()
        self._process.communicate()
