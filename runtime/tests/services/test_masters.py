"""Tasks remove the parts of a master that is gone, and keep the parts of a live one."""

import contextlib
import itertools
import secrets
import threading
import time
from collections.abc import Callable, Iterator

import clusters
import genuine
import pytest

import capstan as tf
from capstan import errors
from capstan.partition import parts
from capstan.resources import containers
from capstan.services import masters, worker
from capstan.transport import api, interfaces, listener, sockets
from capstan.transport.grpc import remote_worker

PS = "/job:ps/replica:0/task:0"
MASTER = "/job:worker/replica:0/task:0"
PATIENCE_S = 120.0


class Task:
    """A client of a task, which can start parts over a link."""

    def __init__(self, address: str) -> None:
        self._worker = remote_worker.GrpcWorker(address)
        incarnation = self._worker.get_status().incarnation
        offer = self._worker.connect("/job:test", incarnation, (listener.TCP,))
        sock = sockets.dial("127.0.0.1", int(offer.address), 20)
        self._link = listener.greet(sock, offer, PS)
        self._steps = itertools.count(secrets.randbits(60))

    def has(self, handle: int) -> bool:
        """Return whether a part with that handle is registered. The part must need no feed."""
        self._link.send(api.Frame(api.Kind.START, next(self._steps), handle))
        code = self._link.recv(time.monotonic() + PATIENCE_S).subject
        assert code in (errors.OK, errors.ABORTED)
        return code == errors.OK

    def close(self) -> None:
        self._link.close()
        self._worker.close()


def eventually(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    pause = threading.Event()
    while not condition():
        assert time.monotonic() < deadline, "the condition did not become true"
        pause.wait(0.1)


@pytest.fixture
def tasks() -> Iterator[genuine.Tasks]:
    made = genuine.Tasks(ps=1, worker=2)
    yield made
    made.close()


def count_on_ps(target: str) -> tf.Session:
    """Open a session that registers one part on the ps: it initialises a counter."""
    with tf.Graph().as_default(), tf.device("/job:ps/task:0"):
        counter = tf.get_variable("counter", [], initializer=tf.zeros_initializer())
        session = tf.Session(target)
        session.run(counter.initializer)
    return session


@pytest.mark.alone
@pytest.mark.e2e
def test_the_parts_of_a_killed_master_are_removed_when_it_restarts(tasks: genuine.Tasks) -> None:
    other = count_on_ps(tasks.target("worker", 1))
    abandoned = count_on_ps(tasks.target("worker", 0))
    with contextlib.closing(Task(tasks.spec["ps"][0])) as ps:
        assert [ps.has(handle) for handle in (1, 2, 3)] == [True, True, False]
        tasks.kill("worker", 0)
        tasks.start("worker", 0)
        fresh = count_on_ps(tasks.target("worker", 0))
        eventually(lambda: not ps.has(2))
        assert [ps.has(handle) for handle in (1, 3)] == [True, True]
    for session in (other, abandoned, fresh):
        session.close()


def empty_part() -> parts.Part:
    return parts.Part(PS, (), {})


@pytest.fixture
def home() -> worker.Worker:
    return worker.Worker(PS, 1, containers.ResourceManager())


@contextlib.contextmanager
def unreachable(*tasks: str) -> Iterator[remote_worker.Peers]:
    """Yield the peers of a cluster of `tasks`, of which none listens."""
    peers = remote_worker.Peers(dict(zip(tasks, clusters.addresses(len(tasks)), strict=True)))
    yield peers
    peers.close()


def test_the_parts_of_a_master_that_stays_away_are_removed_after_ten_minutes(
    home: worker.Worker,
) -> None:
    master = interfaces.Incarnation(MASTER, 7)
    handle = home.register_graph("session", empty_part(), master)
    with unreachable(MASTER) as peers:
        watching = masters.Masters(home, peers.worker)
        for now in (0.0, masters.GONE_S - 1):
            watching.sweep(now)
            assert home.masters() == {master}
        watching.sweep(masters.GONE_S)
    with pytest.raises(errors.AbortedError, match="Graph handle is not found"):
        home.program(handle)


def test_a_master_that_starts_steps_keeps_its_parts_although_it_cannot_be_asked(
    home: worker.Worker,
) -> None:
    handle = home.register_graph("session", empty_part(), interfaces.Incarnation(MASTER, 7))
    with unreachable(MASTER) as peers:
        watching = masters.Masters(home, peers.worker)
        for sweep in range(5):
            watching.sweep(sweep * masters.GONE_S)
            assert home.program(handle)
        watching.sweep(5 * masters.GONE_S)
        watching.sweep(6 * masters.GONE_S)
    assert not home.masters()


def test_a_master_that_registers_a_part_keeps_its_parts(home: worker.Worker) -> None:
    master = interfaces.Incarnation(MASTER, 7)
    with unreachable(MASTER) as peers:
        watching = masters.Masters(home, peers.worker)
        for sweep in range(5):
            home.register_graph("session", empty_part(), master)
            watching.sweep(sweep * masters.GONE_S)
            assert home.masters() == {master}


def test_a_master_outside_the_cluster_of_the_task_is_kept_for_a_day(home: worker.Worker) -> None:
    master = interfaces.Incarnation(MASTER, 7)
    home.register_graph("session", empty_part(), master)
    with unreachable(PS) as peers:
        watching = masters.Masters(home, peers.worker)
        for now in (0.0, masters.GONE_S, masters.UNLISTED_S - 1):
            watching.sweep(now)
            assert home.masters() == {master}
        watching.sweep(masters.UNLISTED_S)
    assert not home.masters()


class Answers:
    """The masters of tasks. Each answers with its number in `incarnations`."""

    def __init__(self, **incarnations: int) -> None:
        self.incarnations = incarnations

    def worker(self, task: str) -> interfaces.WorkerApi:
        number = self.incarnations[task]
        return worker.Worker(task, number, containers.ResourceManager())


def test_a_master_that_answers_keeps_its_parts_and_a_replaced_one_loses_them(
    home: worker.Worker,
) -> None:
    answers = Answers(one=1, other=1)
    watching = masters.Masters(home, answers.worker)
    handles = {
        task: home.register_graph(task, empty_part(), interfaces.Incarnation(task, 1))
        for task in ("one", "other")
    }
    for now in (0.0, 1e6, 2e6):
        watching.sweep(now)
    answers.incarnations["one"] = 2
    watching.sweep(2e6 + 1)
    with pytest.raises(errors.AbortedError):
        home.program(handles["one"])
    assert home.program(handles["other"])


def test_parts_without_a_master_and_parts_of_the_task_itself_stay(home: worker.Worker) -> None:
    watching = masters.Masters(home, Answers().worker)
    handles = [
        home.register_graph("unknown", empty_part()),
        home.register_graph("mine", empty_part(), interfaces.Incarnation(PS, 1)),
    ]
    for now in (0.0, 1e6):
        watching.sweep(now)
    assert all(map(home.program, handles))
