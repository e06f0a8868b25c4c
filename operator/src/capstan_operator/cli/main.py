"""`capstanctl`: its commands, its exit status, and its messages when a command cannot be done.

Exit status: 0 done, or the job succeeded; 1 the job failed, or some output could not be read; 2 the
command line or the job is wrong, there is no such job, no cluster or no rights; 3 the time of
`wait` is over; 128 + n ended by signal n (130: Ctrl-C).

Each command imports its modules when it is chosen. Help is therefore fast, and commands about this
machine never load the Kubernetes client.
"""

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import PurePath

from capstan_operator import errors
from capstan_operator.cli import parser

FAILED = 1
USAGE_ERROR = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, and return the exit status."""
    program = "capstanctl"
    if arguments is None:
        if PurePath(sys.argv[0]).name == parser.KUBECTL:
            program = "kubectl capstan"
        arguments = sys.argv[1:]
    if arguments[:1] == ["__complete"]:
        from capstan_operator.cli import completion

        return completion.print_candidates(program, arguments[1:])
    _open_closed_streams()
    options = parser.parsed(program, arguments)
    try:
        status = _command(options)
        sys.stdout.flush()
    except errors.OperatorError as error:
        return _refused(options, error)
    except BrokenPipeError:
        # The reader of stdout is gone. Without this line, Python would report this again at its
        # end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except OSError as fault:
        why = ": ".join(filter(None, (fault.filename, fault.strerror))) or str(fault)
        if options.command != "run":
            print(f"capstanctl: {why}", file=sys.stderr)
            return USAGE_ERROR
        print(f"capstanctl: {options.job}: all tasks were stopped: {why}", file=sys.stderr)
        return FAILED
    return status


def _open_closed_streams() -> None:
    """Open the streams that the shell has closed, as by `>&-`, so that every command may write."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - stays open


def complete_for_kubectl() -> int:
    """Print the candidates for kubectl, which runs `kubectl_complete-capstan WORD ... PREFIX`."""
    from capstan_operator.cli import completion

    status = completion.print_candidates("kubectl capstan", sys.argv[1:])
    # A directive for kubectl: if there is no candidate, kubectl completes names of files.
    print(":0")
    return status


def _refused(options: argparse.Namespace, error: errors.OperatorError) -> int:
    """Say why nothing was done, a line for each fault, and return the exit status."""
    if options.command == "run":
        print(f"capstanctl: {options.job}: nothing was started", file=sys.stderr)
        for fault in error.faults if isinstance(error, errors.Invalid) else ():
            print(f"  {fault}" if fault.path else f"  it {fault}", file=sys.stderr)
        return USAGE_ERROR
    lines = error.faults if isinstance(error, errors.Invalid) else (error,)
    for line in lines:
        print(f"capstanctl: {' '.join(str(line).split())}", file=sys.stderr)
    return USAGE_ERROR


def _command(options: argparse.Namespace) -> int:
    """Run the chosen command and return its exit status."""
    if options.command == "run":
        from capstan_operator.cli import run

        return run.run(options.job, options.port, as_json=options.output == "json")
    return _of_file(options) if "file" in options else _of_job(options)


def _of_file(options: argparse.Namespace) -> int:
    match options.command:
        case "render":
            from capstan_operator.cli import render

            return render.render(options)
        case "convert":
            from capstan_operator.cli import convert

            return convert.convert(options)
        case _:
            from capstan_operator.cli import submit

            return submit.submit(options)


def _of_job(options: argparse.Namespace) -> int:
    match options.command:
        case "explain":
            from capstan_operator.cli import explain

            return explain.explain(options)
        case "logs":
            from capstan_operator.cli import logs

            return logs.logs(options)
        case "top":
            from capstan_operator.cli import top

            return top.top(options)
        case "wait":
            from capstan_operator.cli import wait

            return wait.wait(options)
        case "delete":
            from capstan_operator.cli import delete

            return delete.delete(options)
        case "version":
            from capstan_operator.cli import version

            return version.version(options)
        case _:
            from capstan_operator.cli import completion

            print(completion.script(options.shell), end="")
            return 0
