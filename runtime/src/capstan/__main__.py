"""`python -m capstan serve`: one task of a cluster, and nothing else in its process.

For tasks that run no program of their own: parameter servers, and workers whose sessions come from
elsewhere. Every flag defaults to what TF_CONFIG says. SIGTERM and Ctrl-C end it cleanly: sessions
are closed, ports given back, then it exits with 143 or 130. Exit status 2: the flags, TF_CONFIG or
the task's address are wrong, or the port is taken.
"""

import argparse
import os
import signal
import sys
import threading
from collections.abc import Sequence
from types import FrameType
from typing import Final

from capstan import errors
from capstan.api import logging
from capstan.core import cluster
from capstan.services import server

_USAGE_ERROR: Final = 2
_SIGNALLED: Final = 128


def main(argv: Sequence[str]) -> int:
    """Serve until a signal; return the exit status."""
    options = _parser().parse_args(argv)
    try:
        return _serve(_task(options), options.protocol)
    except (ValueError, errors.OpError) as error:
        print(f"python -m capstan serve: {error}", file=sys.stderr)  # noqa: T201 - before any log
        return _USAGE_ERROR


def _serve(task: cluster.TaskConfig, protocol: str | None) -> int:
    logging.set_verbosity(logging.INFO)
    asked = threading.Event()
    caught: list[int] = []

    def end(number: int, frame: FrameType | None) -> None:
        caught.append(number)
        asked.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)
    running = server.Server(task.cluster, task.task_type, task.task_index, protocol)
    asked.wait()
    running.stop()
    logging.info("Server at %s has stopped: %s", running.target, signal.Signals(caught[0]).name)
    return _SIGNALLED + caught[0]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m capstan")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    serve = commands.add_parser(
        "serve",
        help="be one task of a cluster until SIGTERM",
        description="Be one task of a cluster until SIGTERM. What is not given is in TF_CONFIG.",
    )
    serve.add_argument(
        "--cluster",
        metavar="JSON",
        help="""all tasks: '{"ps": ["host:2222"], "worker": ["host:2223"]}'""",
    )
    serve.add_argument("--job", metavar="NAME", help="the job of this task")
    serve.add_argument("--task", metavar="INDEX", help="its index in the job")
    serve.add_argument(
        "--protocol",
        choices=["grpc"],
        help="send tensors through gRPC too, and open no other port",
    )
    return parser


def _task(options: argparse.Namespace) -> cluster.TaskConfig:
    """Put together what the flags say and, where they are silent, TF_CONFIG.

    Raises:
        ValueError: it is not enough, or wrong; the message names the flag or TF_CONFIG.
    """
    if None in (options.cluster, options.job, options.task):
        told = cluster.from_tf_config(os.environ.get("TF_CONFIG", ""))
    else:
        told = cluster.TaskConfig(cluster.ClusterSpec({}))
    tasks, job = told.cluster, options.job or told.task_type
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
        raise ValueError(f"{where}: {job!r} is no job of the cluster, which has {tasks.jobs}")
    return cluster.TaskConfig(tasks, job, _index(options, told, tasks.task_indices(job)))


def _index(options: argparse.Namespace, told: cluster.TaskConfig, known: Sequence[int]) -> int:
    where = "--task"
    if options.task is not None:
        if not options.task.isdecimal():
            raise ValueError(f"--task: {options.task!r} is no number")
        index = int(options.task)
    elif told.task_type is not None:
        where, index = "TF_CONFIG", told.task_index
    elif len(known) == 1:
        return known[0]
    else:
        raise ValueError(f"no task: give --task, one of {list(known)}")
    if index not in known:
        raise ValueError(f"{where}: the job has no task {index}, but {list(known)}")
    return index


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
