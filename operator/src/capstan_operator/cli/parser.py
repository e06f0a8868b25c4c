"""The arguments of `capstanctl`. Imports only the standard library, so that help comes at once."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from capstan_operator.cli import options

KUBECTL = "kubectl-capstan"
"""The name under which kubectl finds the command as `kubectl capstan`."""


def parser(program: str) -> argparse.ArgumentParser:
    """Return the parser. `program` is the name of the command in messages."""
    top = argparse.ArgumentParser(
        prog=program,
        description="Run TrainingJobs (distributed training with parameter servers and workers) "
        "on this machine, and look at jobs of this machine and of a cluster.",
        epilog="Commands that take a JOB look for it in .capstan of the current directory first. "
        "With -n, --context or --kubeconfig they look in the cluster only.",
    )
    top.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    commands = top.add_subparsers(
        title="commands", metavar="COMMAND", required=True, dest="command"
    )
    for add in (_run, _submit, _explain, _logs, _top, _wait, _delete, _render, _convert, _version):
        add(commands)
    _completion(commands)
    return top


def parsed(program: str, arguments: Sequence[str]) -> argparse.Namespace:
    """Read a command line.

    The tasks of `logs` may also follow its flags, and the flags of a cluster may stand before the
    command. argparse itself takes neither.
    """
    whole = parser(program)
    read, rest = whole.parse_known_args(options.after_command(arguments))
    if read.command == "logs" and not any(word.startswith("-") for word in rest):
        read.tasks = [*read.tasks, *rest]
    elif rest:
        whole.error(f"unrecognized arguments: {' '.join(rest)}")
    return read


class _Version(argparse.Action):
    """Prints the version of this command. It is looked up only here, because that takes time."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object, **__: object) -> NoReturn:
        from importlib import metadata

        print(f"{parser.prog} {metadata.version('capstan_operator')}")
        parser.exit()


_Commands = argparse._SubParsersAction
"""The result of `add_subparsers`, for which argparse has no public name."""

AWAITED = ("finished", "running", "deleted")
"""The values of `report.awaited.Awaited`. An import of this module would load pydantic."""


def _run(commands: "_Commands[argparse.ArgumentParser]") -> None:
    run = commands.add_parser(
        "run",
        help="run a job on this machine, each task as a process",
        description=(
            "Run a TrainingJob on this machine: every task is a process, restarted as a cluster "
            "would restart its pod, until the job has succeeded or failed. Ctrl-C ends all tasks."
        ),
        epilog=(
            "State is kept in .capstan/JOB of the current directory: status.json, "
            "TASK.ATTEMPT.log, checkpoints. The tasks' working directory is the folder of "
            "JOB.yaml, or the current directory for standard input. Exit status: 0 succeeded, 1 "
            "failed, 2 wrong input and nothing was started, 130 Ctrl-C."
        ),
    )
    run.add_argument(
        "job", type=Path, metavar="JOB.yaml", help="the TrainingJob; - reads standard input"
    )
    run.add_argument(
        "--port",
        type=int,
        metavar="N",
        help="address the tasks at 127.0.0.1 ports N, N+1, ... (default: free ports are chosen)",
    )
    run.add_argument(
        "-o",
        "--output",
        choices=["json"],
        help="print the final status as JSON instead of the last line; other output goes to stderr",
    )


def _submit(commands: "_Commands[argparse.ArgumentParser]") -> None:
    submit = commands.add_parser(
        "submit",
        help="create a job in a cluster",
        description=(
            "Check a TrainingJob and create it in a cluster. To run it on this machine, use "
            "capstanctl run."
        ),
        epilog=options.EXIT,
    )
    options.file(submit)
    submit.add_argument(
        "--dry-run", action="store_true", help="only let the API server check the job"
    )
    options.cluster(submit)
    options.output(submit)


def _explain(commands: "_Commands[argparse.ArgumentParser]") -> None:
    explain = commands.add_parser(
        "explain",
        help="say why a job does not run, and what to do",
        description="Show the phase of a job, what it waits for, the last failure, and what to do.",
        epilog=f"{options.WHERE} {options.EXIT}",
    )
    options.job(explain)
    options.cluster(explain)
    options.output(explain)


def _logs(commands: "_Commands[argparse.ArgumentParser]") -> None:
    logs = commands.add_parser(
        "logs",
        help="show the output of a job's tasks",
        description=(
            "Show the output of all tasks, of every attempt that is kept, each line with the name "
            "of its task; worker-1.2 is the second attempt of worker-1. A cluster keeps the pod of "
            "the last attempt, and the end of the output of the attempt before it. Lines of a "
            "cluster are merged by time; those of this machine come one attempt after the other."
        ),
        epilog=(
            f"{options.WHERE} Exit status: 0 done; 1 some output could not be read, for example "
            "because a node is down; 2 wrong input, no such job, no cluster or no rights."
        ),
    )
    options.job(logs)
    logs.add_argument(
        "tasks",
        nargs="*",
        default=(),  # argparse would call the tasks required if JOB is missing, too
        metavar="TASK",
        help="tasks such as worker-1 (default: all tasks)",
    )
    logs.add_argument(
        "-f", "--follow", action="store_true", help="show new output until the job is over"
    )
    logs.add_argument(
        "--tail", type=options.count, metavar="N", help="show the last N lines of each attempt"
    )
    logs.add_argument(
        "--since",
        type=options.seconds,
        metavar="TIME",
        help="show lines not older than TIME, such as 10m; on this machine, attempts that have "
        "written since then",
    )
    logs.add_argument("--no-prefix", action="store_true", help="leave out the names of the tasks")
    options.cluster(logs)


def _top(commands: "_Commands[argparse.ArgumentParser]") -> None:
    top = commands.add_parser(
        "top",
        help="show the tasks of a job, live",
        description=(
            "Show the state, node, step and speed of each task, and its processors and memory if "
            "the cluster measures them. On a terminal the table is live until the job is over or "
            "Ctrl-C. In a pipe it is printed once. Without JOB, all jobs are shown, on a terminal "
            "until Ctrl-C, because new jobs may come."
        ),
        epilog=f"{options.WHERE} {options.EXIT}",
    )
    options.job(top, optional=True)
    top.add_argument("--once", action="store_true", help="print the table once, also on a terminal")
    options.cluster(top)
    options.output(top)


def _wait(commands: "_Commands[argparse.ArgumentParser]") -> None:
    wait = commands.add_parser(
        "wait",
        help="wait for the end of a job",
        description=(
            "Wait until a job has finished, until all its tasks run, or until it is gone. A job "
            "that has succeeded counts as running, because its tasks have run."
        ),
        epilog=(
            f"{options.WHERE} Exit status: 0 the job has reached the awaited state; 1 the job "
            "cannot reach this state any more, because it failed, is Invalid, was deleted, or no "
            "capstanctl runs it; 3 the time is over; 2 wrong input, no such job, no cluster or no "
            "rights."
        ),
    )
    options.job(wait)
    wait.add_argument(
        "--for",
        dest="awaited",
        choices=AWAITED,
        default=AWAITED[0],
        help="the state to wait for (default: %(default)s)",
    )
    wait.add_argument(
        "--timeout",
        type=options.seconds,
        metavar="TIME",
        help="the longest wait, such as 90s or 1h30m (default: no limit)",
    )
    options.cluster(wait)
    options.output(wait)


def _delete(commands: "_Commands[argparse.ArgumentParser]") -> None:
    delete = commands.add_parser(
        "delete",
        help="delete a job",
        description=(
            "Delete a job. In a cluster, its pods and its Service are deleted too, and with "
            "spec.checkpoint.volumeClaim its claim with the checkpoints. On this machine, its "
            "status and logs are deleted, unless the job runs, and its checkpoints stay."
        ),
        epilog=f"{options.WHERE} {options.EXIT}",
    )
    options.job(delete)
    options.cluster(delete)


def _render(commands: "_Commands[argparse.ArgumentParser]") -> None:
    render = commands.add_parser(
        "render",
        help="print the objects that the operator would create",
        description=(
            "Print the Service and the pods of a job, as the operator creates them for the first "
            "attempt. Uses no cluster. The UID of the job, which only an API server gives, is "
            "shown as zeros."
        ),
        epilog="Exit status: 0 done, 2 wrong input.",
    )
    options.file(render)
    render.add_argument(
        *("-n", "--namespace"),
        type=options.namespace,
        metavar="NAME",
        help="the namespace of the job",
    )
    options.output(render, default="yaml")


def _convert(commands: "_Commands[argparse.ArgumentParser]") -> None:
    convert = commands.add_parser(
        "convert",
        help="turn a Kubeflow TFJob into a TrainingJob",
        description=(
            "Turn a TFJob (kubeflow.org/v1) into a TrainingJob. Uses no cluster. Each field "
            "that a TrainingJob cannot keep gets a line on stderr."
        ),
        epilog="Exit status: 0 done, 2 wrong input, or the result would not be a valid job.",
    )
    convert.add_argument("file", metavar="TFJOB.yaml", help="the TFJob; - reads standard input")
    options.output(convert, default="yaml")


def _version(commands: "_Commands[argparse.ArgumentParser]") -> None:
    version = commands.add_parser(
        "version",
        help="show the versions of this command and of a cluster",
        description=(
            "Show the version of this command and, if a cluster answers, its version, the served "
            "versions of TrainingJob, and the images of the operator."
        ),
        epilog="Exit status: 0, also if no cluster answers; 2 wrong input.",
    )
    version.add_argument("--client", action="store_true", help="do not ask a cluster")
    options.cluster(version)
    options.output(version)


def _completion(commands: "_Commands[argparse.ArgumentParser]") -> None:
    completion = commands.add_parser(
        "completion",
        help="print the completion script of a shell",
        description=(
            "Print a script that completes commands, flags and the names of jobs. "
            "bash: source <(capstanctl completion bash). "
            "zsh: source <(capstanctl completion zsh), after compinit. "
            "fish: capstanctl completion fish | source. "
            "kubectl completes `kubectl capstan` by itself."
        ),
    )
    completion.add_argument("shell", choices=["bash", "zsh", "fish"], help="the shell")
