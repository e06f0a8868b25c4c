"""Every failure of a step ends it: the master gets an error, and the worker frees the step."""

import errno
import gc
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from capstan import errors
from capstan.core import dtypes, node
from capstan.executor import run
from capstan.graph import infer
from capstan.partition import partition, parts
from capstan.resources import containers
from capstan.services import (
    early,
    pushes,
    remote_parts,
    step,
    step_run,
    step_server,
    targets,
    worker,
)
from capstan.transport import api, interfaces, listener, stream
from capstan.transport.grpc import remote_worker

MASTER, SOURCE, HERE, SINK = (
    f"/job:{name}/replica:0/task:0" for name in ("master", "source", "here", "sink")
)
Z, DOUBLE, SUM, NEGATIVE = (node.Edge(name) for name in ("z", "double", "sum", "negative"))
ONES = np.ones(3, np.float32)
PATIENCE_S = 60.0
MESSAGE_BYTES = early.size(api.Frame(api.Kind.LEG, 0, 0, [ONES]))


def part(source: str = SOURCE) -> parts.Part:
    """Return a part that awaits a message of `source`, has a fetch, and sends a message to SINK.

    If `source` is HERE, the part awaits no message.
    """
    attrs = {"T": dtypes.float32}
    nodes = {
        "double": node.Node("double", "Add", (Z, Z), attrs=attrs),
        "sum": node.Node("sum", "Add", (DOUBLE, DOUBLE), attrs=attrs),
        "negative": node.Node("negative", "Neg", (SUM,), attrs=attrs),
    }
    fed = {Z: infer.Fed(dtypes.float32, (3,))}
    known = infer.Knowledge(fed)
    for part_node in nodes.values():
        known.learn(part_node)
    tasks = {"double": source, "sum": HERE, "negative": SINK}
    return partition.partition(nodes, tasks, [Z], [SUM, NEGATIVE], known, MASTER)[HERE]


class Broken(targets.NoLinks):
    """Links that cannot be dialled, because the process has no descriptor left."""

    def take(self, task: str, incarnation: int, deadline: float | None = None) -> api.Link:
        raise OSError(errno.EMFILE, "Too many open files")


class Slow(targets.NoLinks):
    """Links to a task that does not answer in time."""

    def take(self, task: str, incarnation: int, deadline: float | None = None) -> api.Link:
        raise errors.DeadlineExceededError(None, None, f"no answer from {task}")


class Sink(targets.NoLinks):
    """Links to a task that accepts every frame."""

    def __init__(self) -> None:
        self._far: list[socket.socket] = []

    def take(self, task: str, incarnation: int, deadline: float | None = None) -> api.Link:
        near, far = socket.socketpair()
        self._far.append(far)
        return stream.StreamLink(near, task)

    def close(self) -> None:
        for far in self._far:
            far.close()


class Peer:
    """The worker of another task, with the methods that a sender calls."""

    def get_status(self) -> interfaces.WorkerStatus:
        return interfaces.WorkerStatus(1, ())


class Served:
    """A worker with `part()`, and links to it like those of a master and of the task SOURCE."""

    def __init__(self, links: api.Links, source: str = SOURCE, **limits: int) -> None:
        self.part = part(source)
        home = worker.Worker(HERE, 1, containers.ResourceManager())
        self.handle = home.register_graph("session", self.part)
        peers: Any = lambda task: Peer()  # noqa: E731 - a row of the constructor below
        self.steps = step_server.StepServer(home, links, peers, **limits)
        self._sink = links
        self._threads: list[threading.Thread] = []
        self._links: list[api.Link] = []

    def link(self, task: str, kind: Callable[..., api.Link] = stream.StreamLink) -> api.Link:
        """Open a link from `task`. `kind` is the class of the worker's end of the link."""
        near, far = socket.socketpair()
        made = stream.StreamLink(near, HERE)
        serving = threading.Thread(
            target=self.steps.serve, args=(kind(far, task), listener.Hello(task)), daemon=True
        )
        serving.start()
        self._threads.append(serving)
        self._links.append(made)
        return made

    def start(self, number: int) -> api.Frame:
        return api.Frame(api.Kind.START, number, self.handle)

    def leg(self, number: int, *values: Any) -> api.Frame:
        (message,) = self.part.incoming
        return api.Frame(api.Kind.LEG, number, message.number, values or [ONES])

    def close(self) -> None:
        for link in self._links:
            link.close()
        for thread in self._threads:
            thread.join()
        self.steps.close()
        self._sink.close()


@pytest.fixture
def serve() -> Iterator[Callable[..., Served]]:
    served: list[Served] = []

    def make(links: api.Links, **options: Any) -> Served:
        served.append(Served(links, **options))
        return served[-1]

    yield make
    for server in served:
        server.close()


def parts_in_flight() -> int:
    gc.collect()
    # `isinstance` would raise for a weak proxy of an object that is gone.
    return sum(issubclass(type(thing), run.PartRun) for thing in gc.get_objects())


def assert_none_stays(before: int) -> None:
    """Wait until the worker has freed every step that began since `before` was counted."""
    deadline = time.monotonic() + PATIENCE_S
    pause = threading.Event()
    while parts_in_flight() > before:
        assert time.monotonic() < deadline, "the worker did not free a step"
        pause.wait(0.02)


def words(frame: api.Frame) -> str:
    return bytes(frame.values[0].item()).decode()


class ExhaustedOnce(stream.StreamLink):
    """A link that has no memory when it sends the first end of a step."""

    is_exhausted = True

    def send(self, frame: api.Frame) -> None:
        if frame.kind is api.Kind.DONE and self.is_exhausted:
            self.is_exhausted = False
            raise MemoryError
        super().send(frame)


class ExhaustedReader(stream.StreamLink):
    """A link that has no memory when it reads its second frame."""

    reads = 0

    def recv(self, deadline: float | None = None) -> api.Frame:
        self.reads += 1
        if self.reads == 2:
            raise MemoryError
        return super().recv(deadline)


def test_a_step_whose_pushed_message_arrives_is_done(serve: Callable[..., Served]) -> None:
    served = serve(Sink())
    master, source = served.link(MASTER), served.link(SOURCE)
    master.send(served.start(1))
    source.send(served.leg(1))
    ended = master.recv()
    assert (ended.kind, ended.step, ended.subject) == (api.Kind.DONE, 1, 0)
    assert ended.values[0].tolist() == [2, 2, 2]


@pytest.mark.alone
def test_a_message_that_cannot_be_sent_without_a_descriptor_ends_the_step(
    serve: Callable[..., Served],
) -> None:
    served = serve(Broken())
    before = parts_in_flight()
    master, source = served.link(MASTER), served.link(SOURCE)
    for number in (1, 2):
        master.send(served.start(number))
        source.send(served.leg(number))
        ended = master.recv()
        assert (ended.kind, ended.step) == (api.Kind.DONE, number)
        assert ended.subject == errors.RESOURCE_EXHAUSTED
        assert "Too many open files" in words(ended)
    assert_none_stays(before)


@pytest.mark.alone
def test_a_step_fails_if_there_is_no_memory_to_send_its_end(
    serve: Callable[..., Served],
) -> None:
    served = serve(Sink())
    before = parts_in_flight()
    master, source = served.link(MASTER, ExhaustedOnce), served.link(SOURCE)
    master.send(served.start(1))
    source.send(served.leg(1))
    ended = master.recv()
    assert (ended.step, ended.subject) == (1, errors.RESOURCE_EXHAUSTED)
    master.send(served.start(2))
    source.send(served.leg(2))
    assert master.recv().subject == 0
    assert_none_stays(before)


@pytest.mark.alone
def test_a_step_ends_if_there_is_no_memory_to_read_its_link(
    serve: Callable[..., Served],
) -> None:
    served = serve(Sink())
    before = parts_in_flight()
    master = served.link(MASTER, ExhaustedReader)
    master.send(served.start(1))
    ended = master.recv()
    assert (ended.step, ended.subject) == (1, errors.RESOURCE_EXHAUSTED)
    with pytest.raises(errors.UnavailableError):
        master.recv()
    assert_none_stays(before)


@pytest.mark.alone
def test_a_second_step_on_a_link_ends_the_first_one(serve: Callable[..., Served]) -> None:
    served = serve(Sink())
    before = parts_in_flight()
    master = served.link(MASTER)
    for number in (1, 2):
        master.send(served.start(number))
    ended = master.recv()
    assert (ended.step, ended.subject) == (1, errors.INTERNAL)
    with pytest.raises(errors.UnavailableError):
        master.recv()
    assert_none_stays(before)


@pytest.mark.alone
@pytest.mark.parametrize("values", [(ONES, ONES), (np.ones(4, np.float32),)])
def test_a_pushed_message_that_does_not_fit_its_part_ends_the_step(
    serve: Callable[..., Served], values: tuple[Any, ...]
) -> None:
    served = serve(Sink())
    before = parts_in_flight()
    master, source = served.link(MASTER), served.link(SOURCE)
    master.send(served.start(1))
    source.send(served.leg(1, *values))
    ended = master.recv()
    assert (ended.kind, ended.step) == (api.Kind.DONE, 1)
    assert ended.subject in (errors.INTERNAL, errors.INVALID_ARGUMENT)
    assert_none_stays(before)


def test_a_task_that_takes_no_message_is_unavailable(
    serve: Callable[..., Served], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pushes, "_SECONDS", 0.0)
    served = serve(Slow())
    master, source = served.link(MASTER), served.link(SOURCE)
    master.send(served.start(1))
    source.send(served.leg(1))
    ended = master.recv()
    assert (ended.step, ended.subject) == (1, errors.UNAVAILABLE)
    assert "no answer from" in words(ended)


def test_a_third_task_that_answers_late_still_gets_its_message(
    serve: Callable[..., Served], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A task that is restarted may not answer for a while, and its old incarnation is refused."""
    answers: list[Exception] = [
        errors.UnavailableError(None, None, "connection refused"),
        errors.DeadlineExceededError(None, None, "GetStatus: no answer"),
        errors.AbortedError(None, None, "the task was restarted between two questions"),
    ]
    asked = Peer.get_status

    def get_status(peer: Peer) -> interfaces.WorkerStatus:
        if answers:
            raise answers.pop()
        return asked(peer)

    monkeypatch.setattr(Peer, "get_status", get_status)
    served = serve(Sink())
    master, source = served.link(MASTER), served.link(SOURCE)
    master.send(served.start(1))
    source.send(served.leg(1))
    ended = master.recv()
    assert (ended.kind, ended.subject) == (api.Kind.DONE, errors.OK)


@pytest.mark.parametrize("begins_with", ["START", "LEG", "pushed LEG", "early LEG"])
def test_a_third_task_is_asked_no_more_when_the_step_has_ended(
    serve: Callable[..., Served], monkeypatch: pytest.MonkeyPatch, begins_with: str
) -> None:
    """The link of the master is read on, whichever frame made the part send its message."""
    monkeypatch.setattr(pushes, "_SECONDS", 3600.0)
    asked = threading.Event()

    def unavailable(peer: Peer) -> interfaces.WorkerStatus:
        asked.set()
        raise errors.UnavailableError(None, None, "connection refused")

    monkeypatch.setattr(Peer, "get_status", unavailable)
    served = serve(Sink(), source=HERE if begins_with == "START" else SOURCE)
    master, source = served.link(MASTER), served.link(SOURCE)
    if begins_with == "early LEG":
        source.send(served.leg(1))
        source.send(api.Frame(api.Kind.RECV_BUF, 0, 0))  # is refused, so the worker ends the link
        with pytest.raises(errors.UnavailableError):
            source.recv()
    master.send(api.Frame(api.Kind.START, 1, served.handle, [ONES] * len(served.part.feeds)))
    if begins_with in ("LEG", "pushed LEG"):
        (master if begins_with == "LEG" else source).send(served.leg(1))
    assert asked.wait(60)
    master.send(api.Frame(api.Kind.CANCEL, 1, 0))
    assert master.recv(time.monotonic() + PATIENCE_S).subject == errors.CANCELLED


def test_a_message_with_an_unknown_number_ends_the_step(serve: Callable[..., Served]) -> None:
    served = serve(Sink())
    master, source = served.link(MASTER), served.link(SOURCE)
    master.send(served.start(1))
    source.send(api.Frame(api.Kind.LEG, 1, 77, [ONES]))
    assert master.recv().subject == errors.INTERNAL


def test_messages_that_arrive_before_their_step_are_kept_for_it(
    serve: Callable[..., Served],
) -> None:
    served = serve(Sink(), max_early_bytes=2 * MESSAGE_BYTES)
    master, source = served.link(MASTER), served.link(SOURCE)
    for number in (1, 2):
        source.send(served.leg(number))
    flush(served, source)
    for number in (1, 2):
        master.send(served.start(number))
        assert master.recv().subject == 0


def test_a_step_whose_early_messages_were_dropped_is_refused(
    serve: Callable[..., Served],
) -> None:
    served = serve(Sink(), max_early_bytes=2 * MESSAGE_BYTES)
    master, source = served.link(MASTER), served.link(SOURCE)
    for number in (1, 2, 3):
        source.send(served.leg(number))
    flush(served, source)
    master.send(served.start(1))
    ended = master.recv()
    assert (ended.step, ended.subject) == (1, errors.RESOURCE_EXHAUSTED)
    for number in (2, 3):
        master.send(served.start(number))
        assert master.recv().subject == 0


def flush(served: Served, link: api.Link) -> None:
    """Return when the worker has read everything that was sent over `link`."""
    link.send(served.start(1 << 40))
    link.send(served.leg(1 << 40))
    assert link.recv().step == 1 << 40


class NoMemory(api.Link):
    """A link that has no memory for any frame."""

    def send(self, frame: api.Frame) -> None:
        raise MemoryError

    def close(self) -> None:
        """Do nothing."""


class NoMemoryLinks(targets.NoLinks):
    def take(self, task: str, incarnation: int, deadline: float | None = None) -> api.Link:
        return NoMemory()


def test_a_master_without_memory_to_send_a_step_raises_resource_exhausted() -> None:
    steps = step.Steps(NoMemoryLinks(), lambda: 1)
    remote = remote_parts.Remote(HERE, 1, 1, parts.Part(HERE, (), {}))
    compiled = step_run.CompiledStep(None, (remote,))
    with pytest.raises(errors.ResourceExhaustedError):
        steps.run(compiled, {}, None)


def test_a_tunnel_without_a_descriptor_is_unavailable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def no_pair() -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(socket, "socketpair", no_pair)
    task = remote_worker.GrpcWorker("127.0.0.1:9")
    with pytest.raises(errors.UnavailableError, match="Too many open files"):
        task.open_tunnel()
    task.close()
