"""The service of workers, called by a real client of a real server over a port."""

import dataclasses
import threading
import time
from typing import Any

import pytest
import recording

from capstan import errors
from capstan.core import node
from capstan.transport import doors, interfaces
from capstan.transport.grpc import (
    intake,
    remote_worker,
)


def test_a_worker_reports_its_identity(
    worker: remote_worker.GrpcWorker, task: recording.Recorder
) -> None:
    task.answer = interfaces.WorkerStatus(2**63 + 5, recording.DEVICES)
    assert worker.get_status() == task.answer


def test_a_worker_of_another_version_is_refused(
    worker: remote_worker.GrpcWorker, task: recording.Recorder
) -> None:
    task.answer = interfaces.WorkerStatus(1, (), protocol_version=99)
    with pytest.raises(errors.FailedPreconditionError, match=r"speaks version 99 .* same release"):
        worker.get_status()


def test_a_part_arrives_as_it_was_sent(
    worker: remote_worker.GrpcWorker, task: recording.Recorder
) -> None:
    task.answer = 12
    master = interfaces.Incarnation("/job:worker/replica:0/task:0", 2**63 + 5)
    assert (
        worker.register_graph("s", recording.PART, master, registration=3, is_isolated=True) == 12
    )
    assert worker.register_graph("t", recording.PART) == 12
    assert task.asked == [
        ("register", "s", recording.PART, master, 3, True),
        ("register", "t", recording.PART, None, 0, False),
    ]


@pytest.mark.parametrize("size", [1, intake.LARGE_BYTES], ids=["small", "large"])
def test_a_part_that_is_registered_too_late_is_deregistered(
    worker: remote_worker.GrpcWorker, task: recording.Recorder, eventually: Any, size: int
) -> None:
    """Its master has given up, and would never deregister the part."""
    task.answer = 12
    task.gate = threading.Event()
    part = dataclasses.replace(
        recording.PART, nodes=(node.Node("x", "NoOp", attrs={"_a": b"b" * size}),)
    )
    with pytest.raises(errors.DeadlineExceededError, match="RegisterGraph: no answer from"):
        worker.register_graph("s", part, deadline=time.monotonic(), registration=3)
    task.gate.set()
    eventually(lambda: task.asked[1:] == [("deregister", "s", 3)])


def test_the_other_worker_calls_arrive_as_they_were_sent(
    worker: remote_worker.GrpcWorker, task: recording.Recorder
) -> None:
    worker.deregister_graph("s")
    worker.deregister_graph("s", [7, 8])
    worker.cleanup_all([])
    task.answer = doors.Offer("tcp", "4711", b"\x00token\xff")
    assert worker.connect("/job:worker", 2**63 + 5, ("tcp", "memory")) == task.answer
    assert task.asked == [
        ("deregister", "s"),
        ("deregister", "s", 7, 8),
        ("cleanup", []),
        ("connect", "/job:worker", 2**63 + 5, ("tcp", "memory")),
    ]
