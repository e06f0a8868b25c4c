"""Check that the interpreter in a script's first line exists, before the script is started.

If it is missing, the system refuses to start the script and names the script, which exists
(execve(2)). The start would then be tried again for hours.
"""

import os
import shutil
from pathlib import Path

_LONGEST = 256
"""How many bytes of a first line Linux reads (BINPRM_BUF_SIZE)."""

_DEEPEST = 4
"""How many interpreters may be scripts themselves, on Linux."""

_CANNOT = "cannot start without an interpreter"
_CORRECT = "install it, or correct the first line of the script"


def complaint(executable: Path, directory: Path, path: str) -> str | None:
    """Return why the system would not start an executable file, or None if it probably would.

    The task would run in `directory`, with `path` as its PATH. Only scripts are checked: a file
    that is not text, or cannot be read, is left to the system.
    """
    at = executable
    for _ in range(_DEEPEST + 1):
        line = _first_line(at)
        if line is None:
            return None
        name, _, rest = line.partition(" ")
        if not name:
            return (
                f"{at} {_CANNOT}: its first line names none; write a first line such as #!/bin/sh"
            )
        at = directory / name
        if not at.exists():
            return f"{executable} {_CANNOT}: {name!r} does not exist; {_CORRECT}"
        if at.is_dir() or not os.access(at, os.X_OK):
            return f"{executable} {_CANNOT}: {name!r} is not an executable file; {_CORRECT}"
        if missing := _missing_by_env(at, rest, path):
            return f"{executable} {_CANNOT}: {missing!r} is not on the PATH; {_CORRECT}"
    return f"{executable} {_CANNOT}: more than {_DEEPEST} scripts would interpret each other"


def _first_line(file: Path) -> str | None:
    """Return the text after `#!`, or "" for a text file without such a line.

    Return None for a file that is not text, or that cannot be read.
    """
    try:
        with file.open("rb") as opened:
            head = opened.read(_LONGEST)
    except OSError:
        return None
    if head.startswith(b"#!"):
        line = head[2:].split(b"\n")[0].decode(errors="replace").strip(" \t")
        return line.replace("\t", " ")
    # The last character may be incomplete, because only `_LONGEST` bytes were read.
    is_text = b"\0" not in head and "\ufffd" not in head.decode(errors="replace")[:-3]
    return "" if is_text else None


def _missing_by_env(interpreter: Path, argument: str, path: str) -> str | None:
    """Return the name that `env` would not find.

    Return None if `env` would find it, or if it is not clear which name `env` gets.
    """
    name = argument.strip(" \t")
    if interpreter.name != "env" or not name or name[0] == "-" or set(name) & set("= \t"):
        return None
    return None if shutil.which(name, path=path) else name
