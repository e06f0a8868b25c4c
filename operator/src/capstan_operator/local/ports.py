"""Choose the ports of a job's tasks on 127.0.0.1, once per run.

The kernel hands out ports of its ephemeral range to every outgoing connection, so a task that is
down for a second could find its port taken. Ports are therefore chosen outside that range, and
each is tried with a bind before it is chosen.
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
"""Covers what macOS (49152-65535) and Linux (32768-60999) use when not configured."""

_LAST = 65535
_QUIET = range(10000, _LAST + 1)
_CROWDED = range(1024, 10000)
"""Where the servers live that people start by hand: taken only when nothing else is left."""


@dataclass(frozen=True, slots=True)
class Base:
    """A wish for consecutive ports from `number` on; `source` is the flag or field that has it."""

    number: int
    source: str


def choose(
    seed: str, tasks: Sequence[TaskName], base: Base | None = None
) -> Mapping[TaskName, int]:
    """Give each task a port of 127.0.0.1 of its own that can be bound now.

    Without a base, the search starts where `seed` says, so that jobs which start together do not
    try the same ports. Raises `errors.Invalid`, naming the base's source and every port in use.
    """
    if base is not None:
        return _consecutive(base, tasks)
    free = itertools.islice(filter(is_free, _candidates(seed, _ephemeral())), len(tasks))
    chosen = dict(zip(tasks, free, strict=False))
    if len(chosen) < len(tasks):
        raise _refusal(
            "",
            f"needs {len(tasks)} ports of {HOST}, of which only {len(chosen)} are free; "
            "end what listens there",
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
            f"and the last port is {_LAST}; choose a lower one",
        )
    chosen = dict(zip(tasks, ports, strict=True))
    taken = [f"{port} ({task})" for task, port in chosen.items() if not is_free(port)]
    if taken:
        raise _refusal(
            base.source,
            f"in use on {HOST}: {', '.join(taken)}; choose another port, or none for free ones",
        )
    return chosen


def is_free(port: int) -> bool:
    """Say whether a server could listen on `port` of 127.0.0.1 now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as trial:
        # As gRPC binds: connections in TIME_WAIT do not matter, a listener does.
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
    """Yield every port that may be tried, once, in the order of preference."""
    quiet = [port for port in _QUIET if port not in ephemeral]
    start = zlib.crc32(seed.encode()) % max(len(quiet), 1)
    yield from quiet[start:]
    yield from quiet[:start]
    yield from (port for port in _CROWDED if port not in ephemeral)
    yield from (port for port in ephemeral if port >= _CROWDED.start)


def _refusal(path: str, message: str) -> errors.Invalid:
    return errors.Invalid((errors.Fault(path, message),))
