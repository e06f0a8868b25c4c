"""Clusters for tests: servers in this process, on free loopback ports."""

import contextlib
import os
import pathlib
import random
import socket
from collections.abc import Iterator

import capstan as tf

_QUIET = range(10_000, 20_000)
"""The end-to-end tests, which run at the same time, take lower or higher ports."""
_EPHEMERAL = pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range")


def addresses(count: int) -> list[str]:
    """Return addresses with free ports outside of the range from which the kernel chooses ports.

    The kernel therefore gives none of them to another process before a task starts or restarts.
    """
    found: list[str] = []
    with contextlib.ExitStack() as held:  # hold each port, so that the next one differs
        for port in _ports():
            with contextlib.suppress(OSError):
                held.enter_context(socket.create_server(("127.0.0.1", port)))
                found.append(f"127.0.0.1:{port}")
            if len(found) == count:
                return found
    raise AssertionError(f"there are fewer than {count} free ports")


def _ports() -> list[int]:
    low, high = map(int, _EPHEMERAL.read_text().split()) if _EPHEMERAL.exists() else (0, -1)
    ports = [port for port in _QUIET if not low <= port <= high] or list(_QUIET)
    # pytest-xdist names its workers gw0, gw1, ... Each draws from ports of its own, because a port
    # is closed between the moment it is drawn and the moment its task starts.
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    ports = ports[worker :: int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))]
    # A new seed: with the seed of the tests, each test would try the ports of the test before it.
    first = random.Random().randrange(len(ports))
    return ports[first:] + ports[:first]


def spec(**jobs: int) -> dict[str, list[str]]:
    """Return a cluster with the given number of tasks per job, for `tf.train.ClusterSpec`."""
    free = addresses(sum(jobs.values()))
    return {job: [free.pop() for _ in range(count)] for job, count in jobs.items()}


def start(**jobs: int) -> dict[str, "tf.train.Server"]:
    """Start all tasks of a cluster. Return the servers by `job:index`."""
    cluster = spec(**jobs)
    return {
        f"{job}:{index}": tf.train.Server(cluster, job_name=job, task_index=index)
        for job, tasks in cluster.items()
        for index in range(len(tasks))
    }


@contextlib.contextmanager
def running(**jobs: int) -> Iterator[dict[str, "tf.train.Server"]]:
    """Start all tasks of a cluster, and stop them at the end of the block.

    The value is the servers by `job:index`.
    """
    servers = start(**jobs)
    try:
        yield servers
    finally:
        for server in servers.values():
            server.stop()
