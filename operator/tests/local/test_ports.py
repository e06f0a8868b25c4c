"""Ports of tasks are free, distinct, and outside the range from which the kernel chooses ports."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capstan_operator.api.names import TaskName
from capstan_operator.errors import Invalid
from capstan_operator.local import ports

TASKS = tuple(map(TaskName.parse, ("ps-0", "worker-0", "worker-1")))
EPHEMERAL = Path("/proc/sys/net/ipv4/ip_local_port_range")


@pytest.fixture
def taken() -> Iterator[int]:
    """A port in use."""
    with socket.socket() as listener:
        listener.bind((ports.HOST, next(iter(ports.choose("taken", TASKS[:1]).values()))))
        listener.listen()
        yield listener.getsockname()[1]


def test_chosen_ports_are_distinct_and_free() -> None:
    chosen = ports.choose("digits", TASKS)
    assert tuple(chosen) == TASKS
    assert len(set(chosen.values())) == len(TASKS)
    assert all(map(ports.is_free, chosen.values()))


def test_a_port_in_use_is_not_chosen(taken: int) -> None:
    assert taken not in ports.choose("taken", TASKS).values()


def test_jobs_that_start_together_try_different_ports() -> None:
    assert not set(ports.choose("a", TASKS).values()) & set(ports.choose("b", TASKS).values())


@pytest.mark.skipif(not EPHEMERAL.exists(), reason="only Linux says which ports are ephemeral")
def test_chosen_ports_are_outside_the_ephemeral_range() -> None:
    low, high = map(int, EPHEMERAL.read_text().split())
    assert not [port for port in ports.choose("x", TASKS).values() if low <= port <= high]


@pytest.mark.e2e
@settings(max_examples=5)
@given(st.integers(1, 65535), st.integers(1, 65535), st.text(max_size=9))
def test_every_port_is_tried_once_and_ephemeral_ports_last(a: int, b: int, seed: str) -> None:
    ephemeral = range(min(a, b), max(a, b) + 1)
    tried = list(ports._candidates(seed, ephemeral))
    assert len(tried) == len(set(tried))
    assert set(range(1024, 65536)) <= set(tried)
    outside = [port not in ephemeral for port in tried]
    assert outside == sorted(outside, reverse=True)


def test_a_base_gives_consecutive_ports() -> None:
    first = next(
        first
        for first in range(10_000, 20_000)
        if all(map(ports.is_free, range(first, first + len(TASKS))))
    )
    chosen = ports.choose("", TASKS, ports.Base(first, "--port"))
    assert list(chosen.values()) == [first, first + 1, first + 2]


def test_a_base_in_use_is_refused_by_its_flag(taken: int) -> None:
    with pytest.raises(Invalid) as refused:
        ports.choose("", TASKS, ports.Base(taken, f"--port {taken}"))
    (fault,) = refused.value.faults
    assert fault.path == f"--port {taken}"
    assert f"{taken} (ps-0)" in fault.message


@pytest.mark.parametrize(
    "first, fault",
    [
        (-1, "must be a port, from 1 to 65535"),
        (0, "must be a port, from 1 to 65535"),
        (65534, "3 tasks need the ports 65534 to 65536, and the last port is 65535"),
        (70000, "must be a port, from 1 to 65535"),
    ],
)
def test_a_base_that_leads_out_of_range_is_refused(first: int, fault: str) -> None:
    with pytest.raises(Invalid, match=fault):
        ports.choose("", TASKS, ports.Base(first, "--port"))
