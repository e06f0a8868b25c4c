"""`python -m capstan serve` runs one task of a cluster and nothing else.

Use it for tasks that run no program of their own: parameter servers, and workers whose sessions
other processes open. The defaults of all flags come from TF_CONFIG. On SIGTERM or Ctrl-C the
process closes its sessions and ports and exits with status 143 or 130. It exits with status 2 if
the flags, TF_CONFIG or the task's address are wrong, or if the port is in use.
"""

import argparse
import os
import signal
import socket
import sys
from collections.abc import Sequence
from typing import Final

from capstan import errors
from capstan.api import logging
from capstan.core import cluster
from capstan.services import server

_USAGE_ERROR: Final = 2
_SIGNALLED: Final = 128


def main(argv: Sequence[str]) -> int:
    """Serve until a signal arrives, then return the exit status."""
    options = _parser().parse_args(argv)
    try:
        return _serve(_task(options), options.protocol)
    except (ValueError, errors.OpError) as error:
        print(f"python -m capstan serve: {error}", file=sys.stderr)  # noqa: T201 - before any log
        return _USAGE_ERROR


def _serve(task: cluster.TaskConfig, protocol: str | None) -> int:
    logging.set_verbosity(logging.INFO)
    signalled, wakes = socket.socketpair()
    wakes.setblocking(False)
    # Handlers of Python run in the main thread. If this thread slept in a lock, it would not notice
    # a signal that came just before it fell asleep. The number of a signal stays in the socket.
    signal.set_wakeup_fd(wakes.fileno())
    for handled in (signal.SIGTERM, signal.SIGINT):
        signal.signal(handled, lambda *_: None)
    running = server.Server(task.cluster, task.task_type, task.task_index, protocol)
    (number,) = signalled.recv(1)
    running.stop()
    logging.info("Server at %s has stopped: %s", running.target, signal.Signals(number).name)
    return _SIGNALLED + number


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m capstan")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    serve = commands.add_parser(
        "serve",
        help="run one task of a cluster until SIGTERM",
        description="Run one task of a cluster until SIGTERM. The defaults come from TF_CONFIG.",
    )
    serve.add_argument(
        "--cluster",
        metavar="JSON",
        help="""all tasks: '{"ps": ["host:2222"], "worker": ["host:2223"]}'""",
    )
    serve.add_argument("--job", metavar="NAME", help="the job of this task")
    serve.add_argument("--task", metavar="INDEX", help="the index of this task in the job")
    serve.add_argument(
        "--protocol",
        choices=["grpc"],
        help="send tensors through gRPC, and open only the port that the cluster names",
    )
    return parser


def _task(options: argparse.Namespace) -> cluster.TaskConfig:
    """Return the cluster and the task that the flags name. TF_CONFIG replaces missing flags.

    Raises:
        ValueError: a value is missing or wrong. The message names the flag or TF_CONFIG.
    """
    if None in (options.cluster, options.job, options.task):
        environment = cluster.from_tf_config(os.environ.get("TF_CONFIG", ""))
    else:
        environment = cluster.TaskConfig(cluster.ClusterSpec({}))
    tasks, job = environment.cluster, options.job or environment.task_type
    if options.cluster is not None:
        try:
            tasks = cluster.from_json(options.cluster)
        except ValueError as error:
            raise ValueError(f"--cluster: {error}") from None
    if not tasks:
        raise ValueError("no cluster: give --cluster or set TF_CONFIG")
    if job is None and len(tasks.jobs) == 1:
        job = tasks.jobs[0]
    if job is None:
        raise ValueError("no job: give --job, or a task in TF_CONFIG")
    if job not in tasks.jobs:
        where = "--job" if options.job else "TF_CONFIG"
        raise ValueError(f"{where}: {job!r} is not a job of the cluster, which has {tasks.jobs}")
    return cluster.TaskConfig(tasks, job, _index(options, environment, tasks.task_indices(job)))


def _index(
    options: argparse.Namespace, environment: cluster.TaskConfig, known: Sequence[int]
) -> int:
    where = "--task"
    if options.task is not None:
        if not options.task.isdecimal():
            raise ValueError(f"--task: {options.task!r} is not a number")
        index = int(options.task)
    elif environment.task_type is not None:
        where, index = "TF_CONFIG", environment.task_index
    elif len(known) == 1:
        return known[0]
    else:
        raise ValueError(f"no task: give --task, one of {list(known)}")
    if index not in known:
        raise ValueError(f"{where}: the job has no task {index}; its tasks are {list(known)}")
    return index


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
