"""A part may take elements in a step that then fails on another task. An UNDO gives them back."""

import itertools
import socket
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import background
import pytest

import capstan as tf
from capstan.core import node as ir
from capstan.executor import bind
from capstan.graph import infer
from capstan.partition import partition
from capstan.resources import containers
from capstan.services import step_server, targets, worker
from capstan.transport import api, interfaces, listener, stream

MASTER = "/job:worker/replica:0/task:0"
HERE = "/job:ps/replica:0/task:0"
CPU = f"{HERE}/device:CPU:0"


def no_peer(task: str) -> interfaces.WorkerApi:
    raise tf.errors.InternalError(None, None, f"there is no {task}")


class Stalled(stream.StreamLink):
    """A link whose reader notices its end only when the test sets `may_notice`."""

    may_notice: threading.Event
    serving: threading.Thread
    must_notice = False
    """Whether the reader notices the end of the link as soon as another thread asks for it."""

    def has_ended(self) -> bool:
        if self.must_notice:
            self.may_notice.set()
            self.serving.join()
        return super().has_ended()

    def recv(self, deadline: float | None = None) -> api.Frame:
        try:
            return super().recv(deadline)
        except tf.errors.UnavailableError:
            self.may_notice.wait()
            raise


def connection() -> tuple[socket.socket, socket.socket]:
    """Return both ends of a TCP connection, whose first `send` after its end does not fail."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        near = socket.create_connection(server.getsockname())
        return near, server.accept()[0]


class Owner:
    """The task of a queue, and its master."""

    def __init__(self) -> None:
        self._home = worker.Worker(HERE, 1, containers.ResourceManager())
        with tf.Graph().as_default() as self._graph:
            queue = tf.FIFOQueue(10, tf.float32, [()], name="q")
            self.put = self._part("", queue.enqueue(7.0).name)
            self.take = self._part("taken:0", queue.dequeue(name="taken").op.name)
            self.size = self._part("size:0", queue.size(name="size").op.name)
        self.steps = step_server.StepServer(self._home, targets.NoLinks(), no_peer)
        self.may_notice = threading.Event()
        self._serving: list[threading.Thread] = []
        self.link = self.connect()

    def connect(self) -> api.Link:
        """Open a link from the master."""
        near, far = connection()
        served = self.served = Stalled(far, "master")
        served.may_notice = self.may_notice
        serving = threading.Thread(target=self.steps.serve, args=(served, listener.Hello(MASTER)))
        served.serving = serving
        serving.start()
        self._serving.append(serving)
        return stream.StreamLink(near, "ps")

    def _part(self, fetch: str, name: str) -> int:
        """Register a step that runs an operation. Return its handle."""
        nodes = {
            node.name: replace(node, device=CPU)
            for node in self._graph.nodes()
            if node.name in ("q", name, f"{name}/component_0")
        }
        known = infer.Knowledge()
        for node in nodes.values():
            known.learn(node)
        fetches = [ir.parse_tensor(fetch)] if fetch else []
        waiting = [name for name, node in nodes.items() if bind.waits(node)]
        placed = dict.fromkeys(nodes, HERE)
        cut = partition.partition(nodes, placed, [], fetches, known, MASTER, waiting)
        return self._home.register_graph("session", cut[HERE])

    def begin(self, number: int, handle: int) -> None:
        self.link.send(api.Frame(api.Kind.START, number, handle))

    def run(self, number: int, handle: int) -> list[Any]:
        self.begin(number, handle)
        return self.end(number)

    def end(self, number: int) -> list[Any]:
        ended = self.link.recv()
        assert (ended.kind, ended.step, ended.subject) == (api.Kind.DONE, number, 0)
        return [value.item() for value in ended.values]

    def waits_in(self, number: int) -> bool:
        """Return whether a step has begun, and only waits for the queue."""
        run = self.steps._runs.get(number)
        return run is not None and bool(run._waits.started) and not run._is_running

    def stop(self) -> None:
        self.link.close()
        self.may_notice.set()
        for serving in self._serving:
            serving.join()
        self.steps.close()


@pytest.fixture
def owner() -> Iterator[Owner]:
    started = Owner()
    yield started
    started.stop()


def test_an_undone_step_gives_back_the_element_that_it_took(owner: Owner) -> None:
    owner.run(1, owner.put)
    assert owner.run(2, owner.take) == [7.0]
    owner.link.send(api.Frame(api.Kind.UNDO, 2, 0))
    assert owner.run(3, owner.size) == [1]
    assert owner.run(4, owner.take) == [7.0]


def test_a_step_that_was_undone_twice_gives_its_element_back_once(owner: Owner) -> None:
    owner.run(1, owner.put)
    owner.run(2, owner.take)
    for _ in range(2):
        owner.link.send(api.Frame(api.Kind.UNDO, 2, 0))
    assert owner.run(3, owner.size) == [1]


def test_the_next_step_of_a_link_makes_the_last_one_final(owner: Owner) -> None:
    owner.run(1, owner.put)
    owner.run(2, owner.take)
    owner.run(3, owner.size)
    owner.link.send(api.Frame(api.Kind.UNDO, 2, 0))
    assert owner.run(4, owner.size) == [0]


def test_an_undo_ends_a_wait(owner: Owner) -> None:
    owner.begin(1, owner.take)
    owner.link.send(api.Frame(api.Kind.UNDO, 1, 0))
    assert owner.link.recv().subject == tf.errors.CANCELLED
    owner.run(2, owner.put)
    assert owner.run(3, owner.size) == [1]


@pytest.mark.parametrize("must_notice", [False, True])
def test_an_element_that_arrives_after_the_end_of_the_master_stays_in_the_queue(
    owner: Owner, must_notice: bool
) -> None:
    owner.served.must_notice = must_notice
    waiting, owner.link = owner.link, owner.connect()
    waiting.send(api.Frame(api.Kind.START, 1, owner.take))
    background.until(lambda: owner.waits_in(1))
    waiting.close()
    owner.run(2, owner.put)
    steps = itertools.count(3)
    background.until(lambda: owner.run(next(steps), owner.size) == [1])
