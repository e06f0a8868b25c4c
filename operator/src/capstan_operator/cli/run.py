"""`capstanctl run`: read the job, run it here, show it, and say how it ended."""

import json
import sys
from pathlib import Path

from rich.console import Console

from capstan_operator.api import parse, status_json
from capstan_operator.api.status import Phase, Status
from capstan_operator.cli import documents, summary
from capstan_operator.cli.lines import Lines
from capstan_operator.cli.table import Table
from capstan_operator.errors import Fault, Invalid
from capstan_operator.local import gpus, interrupts, ports, prepare

STATE = Path(".capstan")
"""Where jobs keep their folders, in the directory where `capstanctl` runs."""


def run(path: Path, port: int | None, *, as_json: bool) -> int:
    """Run the job in a file to its end; return the exit status.

    The path `-` is standard input. Its job runs in the current directory.

    Fields of pod templates that are probably misspelt, and GPUs that this machine lacks, are
    reported on stderr, a line for each.
    Raises `errors.Invalid` if the job cannot be started.
    """
    flag = None if port is None else ports.Base(port, f"--port {port}")
    draft = _draft(path)
    lacking = () if draft.sound is None else gpus.missing(draft.sound)
    for warning in (*draft.warnings, *lacking):
        print(f"capstanctl: warning: {warning}", file=sys.stderr)
    with (
        interrupts.catch() as caught,
        prepare.prepare(draft, path.absolute().parent, STATE, flag) as ready,
        _listener(ready.name, as_json=as_json) as listener,
    ):
        name = ready.name
        end = ready.to_the_end(listener, caught)
    if not isinstance(end, Status):
        print(
            f"{name}: interrupted; all its processes have ended, and the next run continues",
            file=sys.stderr,
        )
        return 128 + end
    if as_json:
        print(json.dumps(status_json.render(end), indent=2))
    else:
        print(summary.last_line(name, end))
    return 0 if end.phase is Phase.SUCCEEDED else 1


def _draft(path: Path) -> parse.Draft:
    """Read the file. If it cannot be read, that is a fault of the draft."""
    try:
        return parse.draft(documents.read(str(path)))
    except OSError as fault:
        return parse.Draft(None, (Fault("", f"cannot be read: {fault.strerror}"),))
    except UnicodeDecodeError:
        return parse.Draft(None, (Fault("", "is not text in UTF-8, as YAML must be"),))
    except Invalid as refused:
        return parse.Draft(None, refused.faults)


def _listener(name: str, *, as_json: bool) -> Lines | Table:
    stream = sys.stderr if as_json else sys.stdout
    console = Console(file=stream, markup=False, highlight=False, emoji=False)
    if stream.isatty() and not console.is_dumb_terminal:
        return Table(name, console)
    return Lines(name, stream)
