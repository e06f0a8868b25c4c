"""Loops whose iterations are steps of their own, on one task without a cluster."""

import queue
from typing import Any

import numpy as np

from capstan import errors
from capstan.core import cancellation, dtypes
from capstan.core import node as ir
from capstan.hardware import cpu, device
from capstan.resources import containers
from capstan.services import iterations, worker
from capstan.transport import api

HERE = "/job:worker/replica:0/task:0"
PATIENCE_S = 50.0


class NoLinks(api.Links):
    """The links of a task without peers."""

    def take(self, task: str, incarnation: int, deadline: float | None = None) -> api.Link:
        raise AssertionError(task)

    def give_back(self, task: str, incarnation: int, link: api.Link) -> None:
        raise AssertionError(task)


def test_a_loop_that_returns_an_unreadable_handle_fails() -> None:
    resources = containers.ResourceManager(devices=device.Devices(cpu.create(HERE, 1)))
    looping = iterations.Iterations(worker.Worker(HERE, 1, resources), NoLinks())
    more, handle = ir.Edge("more"), ir.Edge("handle")
    cond = iterations.LoopFunction(((0, more),), (more,), ())
    body = iterations.LoopFunction(((0, more), (1, handle)), (more, handle), ())
    unreadable = np.frombuffer(b"\xff", dtypes.np_resource)
    ends: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def done(outputs: Any, error: Any, give_back: Any = None) -> bool:
        ends.put(error)
        return True

    values = [np.asarray(False), unreadable]
    looping.start(
        cond.to_text().encode(),
        body.to_text().encode(),
        values,
        done,
        cancellation.Cancellation(),
    )
    assert isinstance(ends.get(timeout=PATIENCE_S), errors.InvalidArgumentError)
