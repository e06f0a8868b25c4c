"""Repeating an action many times does not make a process hold more."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

SOAK = pathlib.Path(__file__).with_name("soak.py")
TESTS = SOAK.parents[1]
SOURCES = TESTS.parent / "src"

MARKS = [
    pytest.mark.e2e,
    pytest.mark.alone,
    pytest.mark.timeout(600),
    pytest.mark.skipif(sys.platform != "linux", reason="counts descriptors in /proc"),
]
pytestmark = MARKS

# The allocator keeps some memory, and more of it on a busy machine. A leak of two hundred bytes a
# step would exceed this bound. One object a round exceeds the bound of objects.
SLACK_BYTES = 5 << 20
SLACK_OBJECTS = 300
# gRPC opens and closes descriptors of its own at any time.
SLACK_DESCRIPTORS = 4
# A pool starts a thread when all others are busy, and keeps it. A leak of a thread in 50 rounds
# exceeds the bound.
SLACK_THREADS = 4
ROUNDS_PER_THREAD = 100


def soak(action: str, warm: int, count: int) -> tuple[dict[str, int], dict[str, int]]:
    """Run `soak.py`. Return the resources of its process after `warm` rounds and at the end."""
    done = subprocess.run(
        [sys.executable, str(SOAK), action, str(warm), str(count)],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(SOURCES), str(TESTS)]),
            "OPENBLAS_NUM_THREADS": "1",
        },
        stdout=subprocess.PIPE,
        check=True,
    )
    before, after = (json.loads(line) for line in done.stdout.splitlines())
    return before, after


@pytest.mark.parametrize(
    "action, warm, count",
    [
        # An update of a variable is compiled after some 8 500 steps.
        ("steps", 10_000, 37_000),
        ("calls", 500, 5_000),
        # Links remember the layouts of 256 graphs: the warm rounds must register more.
        ("sessions", 300, 900),
        # Each round registers a hundred graphs. The allocator's fragments settle after ten rounds.
        ("extensions", 10, 20),
        ("failures", 300, 2_000),
        ("failed-calls", 200, 1_000),
        # A round has ten steps with loops, queues and cancellations.
        ("flows", 50, 200),
        pytest.param("steps", 10_000, 100_000, marks=pytest.mark.soak),
        pytest.param("calls", 1_000, 10_000, marks=pytest.mark.soak),
        pytest.param("sessions", 300, 3_000, marks=pytest.mark.soak),
        pytest.param("extensions", 10, 60, marks=pytest.mark.soak),
        pytest.param("failures", 500, 5_000, marks=pytest.mark.soak),
        pytest.param("failed-calls", 200, 2_000, marks=pytest.mark.soak),
        pytest.param("flows", 500, 10_000, marks=[pytest.mark.soak, pytest.mark.timeout(2 * 3600)]),
    ],
)
def test_memory_does_not_grow_with_the_rounds(action: str, warm: int, count: int) -> None:
    before, after = soak(action, warm, count)
    assert after["objects"] - before["objects"] <= SLACK_OBJECTS
    assert after["bytes"] - before["bytes"] <= SLACK_BYTES
    assert after["descriptors"] - before["descriptors"] <= SLACK_DESCRIPTORS
    assert (
        after["threads"] - before["threads"] <= SLACK_THREADS + (count - warm) / ROUNDS_PER_THREAD
    )


def test_memory_grows_only_with_the_nodes_of_a_growing_graph() -> None:
    before, after = soak("growing", 100, 500)
    # A round adds two nodes on both sides and a compiled signature: ten to twenty kilobytes.
    assert after["bytes"] - before["bytes"] <= 400 * 30_000
