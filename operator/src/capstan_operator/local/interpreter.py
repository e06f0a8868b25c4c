"""Scripts and the interpreters that their first lines name, as the system will look for them.

Without this, a script whose interpreter is missing is refused by the system with the name of the
script, which exists (execve(2)), and is tried again for hours.
"""

import os
import shutil
from pathlib import Path

_LONGEST = 256
"""Bytes of a first line that Linux reads (BINPRM_BUF_SIZE)."""

_DEEPEST = 4
"""Interpreters that may themselves be scripts, one in the other, on Linux."""

_CANNOT = "cannot start for want of an interpreter"
_CORRECT = "install it, or correct the first line of the script"


def complaint(executable: Path, directory: Path, path: str) -> str | None:
    """Say why the system would not start a file that exists and is executable; None if it may.

    The task would run in `directory`, with `path` as its PATH. Only scripts are judged: a file that
    is no text, or cannot be read, is left to the system.
    """
    at = executable
    for _ in range(_DEEPEST + 1):
        line = _first_line(at)
        if line is None:
            return None
        name, _, rest = line.partition(" ")
        if not name:
            return f"{at} {_CANNOT}: its first line names none; write #!/bin/sh there, or the like"
        at = directory / name
        if not at.exists():
            return f"{executable} {_CANNOT}: {name!r} does not exist; {_CORRECT}"
        if at.is_dir() or not os.access(at, os.X_OK):
            return f"{executable} {_CANNOT}: {name!r} is no executable; {_CORRECT}"
        if missing := _missing_by_env(at, rest, path):
            return f"{executable} {_CANNOT}: {missing!r} is not on the PATH; {_CORRECT}"
    return f"{executable} {_CANNOT}: more than {_DEEPEST} scripts would interpret each other"


def _first_line(file: Path) -> str | None:
    """Return what stands behind `#!`, blanks squeezed; no text if there is no such line, and None
    for what is no script.
    """
    try:
        with file.open("rb") as opened:
            head = opened.read(_LONGEST)
    except OSError:
        return None
    if head.startswith(b"#!"):
        line = head[2:].split(b"\n")[0].decode(errors="replace").strip(" \t")
        return line.replace("\t", " ")
    # Text may be cut in the middle of a character.
    is_text = b"\0" not in head and "\ufffd" not in head.decode(errors="replace")[:-3]
    return "" if is_text else None


def _missing_by_env(interpreter: Path, argument: str, path: str) -> str | None:
    """Return the name that `env` would look up in vain, where it is plain which that is."""
    name = argument.strip(" \t")
    if interpreter.name != "env" or not name or name[0] == "-" or set(name) & set("= \t"):
        return None
    return None if shutil.which(name, path=path) else name
