"""A parameter server that is killed ends the loops that use it, for both kinds of clients."""

import threading
import time
from collections.abc import Iterator
from concurrent import futures
from typing import Any

import genuine
import numpy as np
import pytest

import capstan

pytestmark = genuine.MARKS

PS, WORKER = "/job:ps/task:0", "/job:worker/task:0"
PATIENCE_S = 120.0


@pytest.fixture
def cluster() -> Iterator[genuine.Tasks]:
    """One ps and one worker, for a test that kills the ps."""
    started = genuine.Tasks(ps=1, worker=1)
    yield started
    started.close()


@pytest.fixture(params=["Capstan", "TensorFlow"])
def client(request: pytest.FixtureRequest) -> Any:
    """The module that builds the graph and runs the session."""
    return capstan if request.param == "Capstan" else request.getfixturevalue("v1")


class Loop:
    """A graph with a loop of the worker that adds to a variable of the ps, round by round."""

    def __init__(self, client: Any, *, is_endless: bool) -> None:
        with client.Graph().as_default() as self.graph:
            with client.device(PS):
                self.held = client.get_variable("held", initializer=np.float32([0, 0]))
                self.queue = client.FIFOQueue(100, [client.float32], [[2]], shared_name="q")
                self.enqueue = self.queue.enqueue(np.float32([1, 10]))

            def body(i: Any, total: Any) -> Any:
                with client.control_dependencies([total]):
                    taken = client.constant([1.0, 10.0]) if is_endless else self.queue.dequeue()
                    changed = client.assign_add(self.held, taken)
                return i + 1, total + changed

            with client.device(WORKER):
                _, self.total = client.while_loop(
                    lambda i, _: client.constant(True) if is_endless else i < 3,
                    body,
                    [client.constant(0), client.zeros([2])],
                )
            self.initializer = self.held.initializer


def until(session: Any, tensor: Any, value: float) -> None:
    """Wait until the first element of a tensor is at least `value`."""
    limit, pause = time.monotonic() + PATIENCE_S, threading.Event()
    while np.ravel(session.run(tensor))[0] < value:
        assert time.monotonic() < limit
        pause.wait(0.01)


def test_a_loop_that_dequeues_and_changes_a_variable_of_a_ps_gives_the_values_of_tensorflow(
    v1: Any, client: Any, tasks: genuine.Tasks
) -> None:
    def values(module: Any, target: str) -> list[Any]:
        loop = Loop(module, is_endless=False)
        with module.Session(target, graph=loop.graph) as session:
            session.run(loop.initializer)
            for _ in range(3):
                session.run(loop.enqueue)
            return [session.run(loop.total), session.run(loop.held)]

    spec = genuine.clusters.spec(ps=1, worker=1)
    servers = [v1.train.Server(spec, job_name=job, task_index=0) for job in spec]
    found = values(client, tasks.target())
    for value, expected in zip(found, values(v1, servers[1].target), strict=True):
        np.testing.assert_array_equal(value, expected)


@pytest.mark.parametrize("is_endless", [True, False], ids=["variable", "dequeue"])
def test_a_killed_ps_ends_a_loop_in_the_middle(
    client: Any, cluster: genuine.Tasks, is_endless: bool
) -> None:
    loop = Loop(client, is_endless=is_endless)
    with (
        client.Session(cluster.target(), graph=loop.graph) as session,
        futures.ThreadPoolExecutor(1) as threads,
    ):
        session.run(loop.initializer)
        running = threads.submit(session.run, loop.total)
        if not is_endless:
            session.run(loop.enqueue)
        until(session, loop.held, 1)
        assert not running.done()
        cluster.kill("ps")
        with pytest.raises(client.errors.UnavailableError):
            running.result(PATIENCE_S)
