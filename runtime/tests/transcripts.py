"""Programs as texts, and the lines that they print."""

import contextlib
import inspect
import io
import linecache
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
