"""`capstanctl run`: read the job, run it here, show it, and say how it ended."""

import json
import sys
from pathlib import Path

from rich.console import Console

from capstan_operator.api import parse
from capstan_operator.api import status as api_status
from capstan_operator.api.spec import TrainingJob
from capstan_operator.api.status import Phase, Status
from capstan_operator.cli import summary
from capstan_operator.cli.lines import Lines
from capstan_operator.cli.table import Table
from capstan_operator.errors import Fault, Invalid
from capstan_operator.local import interrupts, ports
from capstan_operator.local import run as local_run

STATE = Path(".capstan")
"""Where jobs keep their state, in the directory where `capstanctl` runs."""


def run(path: Path, port: int | None, *, as_json: bool) -> int:
    """Run the job in a file to its end; return the exit status.

    Raises `errors.Invalid` when it cannot begin.
    """
    job = parse.parse(_text(path))
    name = job.metadata.name
    directory = path.absolute().parent
    with (
        interrupts.catch() as caught,
        local_run.prepare(job, directory, STATE / name, _base(job, port)) as ready,
        _listener(name, as_json=as_json) as listener,
    ):
        end = ready.to_the_end(listener, caught)
    if not isinstance(end, Status):
        print(f"{name}: interrupted; all its processes have ended", file=sys.stderr)
        return 128 + end
    if as_json:
        print(json.dumps(api_status.render(end), indent=2))
    else:
        print(summary.last_line(name, end))
    return 0 if end.phase is Phase.SUCCEEDED else 1


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as fault:
        raise Invalid((Fault("", f"cannot be read: {fault.strerror}"),)) from fault
    except UnicodeDecodeError as fault:
        raise Invalid((Fault("", "is not text in UTF-8, as YAML must be"),)) from fault


def _base(job: TrainingJob, port: int | None) -> ports.Base | None:
    if port is not None:
        return ports.Base(port, f"--port {port}")
    if job.spec.cluster.port is not None:
        return ports.Base(job.spec.cluster.port, "spec.cluster.port")
    return None


def _listener(name: str, *, as_json: bool) -> Lines | Table:
    stream = sys.stderr if as_json else sys.stdout
    if stream.isatty():
        return Table(name, Console(file=stream, markup=False, highlight=False, emoji=False))
    return Lines(name, stream)
