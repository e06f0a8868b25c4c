"""Run pip, show one line of progress, and keep its output.

    install.py LOG COMMAND [ARG ...]

The output of the command is appended to the file LOG. On a terminal, one line shows the package
that pip works on. Only if the command fails, its whole output goes to stderr. The exit status is
that of the command, or as in a shell 128 and the number of the signal that ended the command.
"""

import pathlib
import re
import shutil
import subprocess
import sys
from typing import IO

STEP = re.compile(r"(Collecting|Downloading|Building|Installing|Preparing) \S.*")


def main(log: str, *command: str) -> int:
    """Run a command; return its exit status."""
    try:
        file = pathlib.Path(log).open("a", encoding="utf-8")  # noqa: SIM115
    except OSError as error:
        folder = pathlib.Path(log).parent
        print(
            f"setup: cannot write {log}: {error.strerror}. Run make as a user who may write to "
            f"{folder}",
            file=sys.stderr,
        )
        return 1
    said = []
    with (
        file,
        subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            errors="replace",
        ) as process,
    ):
        assert process.stdout is not None
        try:
            for line in process.stdout:
                file.write(line)
                said.append(line)
                show(line, sys.stdout)
        except KeyboardInterrupt:
            # The terminal has sent the signal to the command too.
            process.wait()
            return 130
    if sys.stdout.isatty():
        print("\r\x1b[K", end="", flush=True)
    if process.returncode:
        sys.stderr.writelines(said)
    status = process.returncode
    return 128 - status if status < 0 else status


def show(line: str, stream: IO[str]) -> None:
    """Replace the line on a terminal if pip has begun to work on another package."""
    if stream.isatty() and (step := STEP.search(line)):
        width = shutil.get_terminal_size().columns - 1
        print(f"\r\x1b[K{step[0].strip()[:width]}", end="", file=stream, flush=True)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
