"""`capstanctl`: its arguments, its exit status, and its messages when it cannot start a job.

Exit status: 0 the job succeeded; 1 it failed; 2 the command line or the job is wrong and nothing
was started; 128 + n ended by signal n (130: Ctrl-C).
"""

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from capstan_operator import errors
from capstan_operator.cli import run

FAILED = 1
USAGE_ERROR = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, and return the exit status."""
    options = _parser().parse_args(arguments)
    try:
        status = run.run(options.job, options.port, as_json=options.output == "json")
        sys.stdout.flush()
    except errors.Invalid as invalid:
        print(f"capstanctl: {options.job}: nothing was started", file=sys.stderr)
        for fault in invalid.faults:
            print(f"  {fault}" if fault.path else f"  it {fault}", file=sys.stderr)
        return USAGE_ERROR
    except BrokenPipeError:
        # The reader of stdout is gone. Without this, Python would report that at its end, too.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    except OSError as fault:
        print(f"capstanctl: {options.job}: all tasks were stopped: {fault}", file=sys.stderr)
        return FAILED
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="capstanctl",
        description="Run TrainingJobs: distributed training with parameter servers and workers.",
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    run_parser = commands.add_parser(
        "run",
        help="run a job on this machine, each task a process",
        description=(
            "Run a TrainingJob on this machine: every task is a process, restarted as a cluster "
            "would restart its pod, until the job has succeeded or failed. Ctrl-C ends all tasks."
        ),
        epilog=(
            "State is kept in .capstan/JOB of the current directory: status.json, "
            "TASK.ATTEMPT.log, checkpoints. The tasks' working directory is the folder of "
            "JOB.yaml. Exit status: 0 succeeded, 1 failed, 2 wrong input and nothing was "
            "started, 130 Ctrl-C."
        ),
    )
    run_parser.add_argument("job", type=Path, metavar="JOB.yaml", help="the TrainingJob")
    run_parser.add_argument(
        "--port",
        type=int,
        metavar="N",
        help="address the tasks at 127.0.0.1 ports N, N+1, ... (default: free ports are chosen)",
    )
    run_parser.add_argument(
        "-o",
        "--output",
        choices=["json"],
        help="print the final status as JSON instead of the last line; all else goes to stderr",
    )
    return parser
