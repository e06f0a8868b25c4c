"""Choose the ports of a job's tasks on 127.0.0.1, once per run.

The kernel gives ports of its ephemeral range to outgoing connections. Such a connection could take
the port of a task that restarts. Ports are therefore chosen outside that range, and each port is
bound on trial before it is chosen.
"""

import itertools
import socket
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from capstan_operator import errors
from capstan_operator.api.names import TaskName

HOST = "127.0.0.1"

_EPHEMERAL = Path("/proc/sys/net/ipv4/ip_local_port_range")
_EPHEMERAL_ELSEWHERE = range(32768, 65536)
"""Covers the defaults of macOS (49152-65535) and Linux (32768-60999)."""

_LAST = 65535
_QUIET = range(10000, _LAST + 1)
_CROWDED = range(1024, 10000)
"""The ports of servers that people start by hand. They are used only if no others are free."""


@dataclass(frozen=True, slots=True)
class Base:
    """The first of consecutive ports. `source` is the flag or the field that asks for it."""

    number: int
    source: str


def choose(
    seed: str, tasks: Sequence[TaskName], base: Base | None = None
) -> Mapping[TaskName, int]:
    """Return a free port of 127.0.0.1 for each task.

    Without a base, the search starts at a port that follows from `seed`, so that jobs which start
    together try different ports. Raises `errors.Invalid`, which names the base's source and every
    port in use.
    """
    if base is not None:
        return _consecutive(base, tasks)
    free = itertools.islice(filter(is_free, _candidates(seed, _ephemeral())), len(tasks))
    chosen = dict(zip(tasks, free, strict=False))
    if len(chosen) < len(tasks):
        raise _refusal(
            "",
            f"needs {len(tasks)} ports of {HOST}, and only {len(chosen)} are free; "
            "end the servers that listen there",
        )
    return chosen


def _consecutive(base: Base, tasks: Sequence[TaskName]) -> Mapping[TaskName, int]:
    if not 1 <= base.number <= _LAST:
        raise _refusal(base.source, f"must be a port, from 1 to {_LAST}")
    ports = range(base.number, base.number + len(tasks))
    if ports.stop > _LAST + 1:
        raise _refusal(
            base.source,
            f"{len(tasks)} tasks need the ports {ports[0]} to {ports[-1]}, "
            f"and the last port is {_LAST}; choose a lower port",
        )
    chosen = dict(zip(tasks, ports, strict=True))
    busy = [f"{port} ({task})" for task, port in chosen.items() if not is_free(port)]
    if busy:
        raise _refusal(
            base.source,
            f"in use on {HOST}: {', '.join(busy)}; choose another port, or leave the port out",
        )
    return chosen


def is_free(port: int) -> bool:
    """Return whether a server could listen on `port` of 127.0.0.1 now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as trial:
        # gRPC sets this option too. Ports of connections in TIME_WAIT then count as free.
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind((HOST, port))
            trial.listen(1)
        except OSError:
            return False
    return True


def _ephemeral() -> range:
    try:
        low, high = map(int, _EPHEMERAL.read_text().split())
    except (OSError, ValueError):
        return _EPHEMERAL_ELSEWHERE
    return range(low, high + 1)


def _candidates(seed: str, ephemeral: range) -> Iterator[int]:
    """Yield every port once, in the order in which they are tried."""
    quiet = [port for port in _QUIET if port not in ephemeral]
    start = zlib.crc32(seed.encode()) % max(len(quiet), 1)
    yield from quiet[start:]
    yield from quiet[:start]
    yield from (port for port in _CROWDED if port not in ephemeral)
    yield from (port for port in ephemeral if port >= _CROWDED.start)


def _refusal(path: str, message: str) -> errors.Invalid:
    return errors.Invalid((errors.Fault(path, message),))
