"""A master calls its tasks at the same time, and keeps nothing of a call that nobody waits for."""

import threading
from collections.abc import Callable, Sequence

import background
import pytest

import capstan as tf
from capstan import errors
from capstan.core import config
from capstan.hardware import cpu, device
from capstan.partition import parts
from capstan.resources import containers
from capstan.services import master, targets, together, worker
from capstan.transport import interfaces

HOME = "/job:worker/replica:0/task:0"
PS = [f"/job:ps/replica:0/task:{index}" for index in range(3)]


class Task(worker.Worker):
    """A task that calls `hook` with the name of each method that its master calls."""

    def __init__(self, task: str) -> None:
        devices = device.Devices(cpu.create(task, None))
        super().__init__(task, 1, containers.ResourceManager(devices=devices))
        self.hook: Callable[[str], None] = lambda name: None

    def get_status(self) -> interfaces.WorkerStatus:
        self.hook("get_status")
        return super().get_status()

    def register_graph(
        self,
        session: str,
        part: parts.Part,
        master: interfaces.Incarnation | None = None,
        deadline: float | None = None,
        registration: int = 0,
        is_isolated: bool = False,
    ) -> int:
        self.hook("register_graph")
        return super().register_graph(session, part, master, deadline, registration, is_isolated)

    def deregister_graph(self, session: str, registrations: Sequence[int] = ()) -> None:
        self.hook("deregister_graph")
        super().deregister_graph(session, registrations)

    def cleanup_all(self, names: Sequence[str]) -> None:
        self.hook("cleanup_all")
        super().cleanup_all(names)


class Cluster:
    """A master with its own task and three ps tasks, and a graph with a node on each ps."""

    def __init__(self) -> None:
        self.home = Task(HOME)
        self.ps = {name: Task(name) for name in PS}
        self.master = master.Master(
            self.home, lambda: (HOME, *PS), self.ps.__getitem__, targets.NoLinks()
        )
        with tf.Graph().as_default() as graph:
            for index, name in enumerate(PS):
                with tf.device(name):
                    tf.no_op(f"node{index}")
        self.nodes = graph.nodes()

    def open(self) -> str:
        return self.master.create_session(self.nodes, config.SessionConfig())

    def run(self, session: str) -> None:
        """Run a step. It fails after its parts are registered, because there are no links."""
        targets = [found.name for found in self.nodes]
        self.master.run_step(session, {}, [], targets, interfaces.StepOptions())


class Meeting:
    """A hook that waits in one method until all tasks are called."""

    def __init__(self, method: str) -> None:
        self._method = method
        self._barrier = threading.Barrier(len(PS), timeout=background.PATIENCE_S)

    def __call__(self, name: str) -> None:
        if name == self._method:
            self._barrier.wait()


@pytest.mark.parametrize("method", ["get_status", "register_graph", "deregister_graph"])
def test_the_calls_of_a_session_reach_all_tasks_at_the_same_time(method: str) -> None:
    cluster = Cluster()
    meeting = Meeting(method)
    for task in cluster.ps.values():
        task.hook = meeting
    session = cluster.open()
    with pytest.raises(errors.OpError, match="has no task"):
        cluster.run(session)
    cluster.master.close_session(session)
    assert not any(task.masters() for task in cluster.ps.values())


def test_a_reset_reaches_all_tasks_at_the_same_time() -> None:
    cluster = Cluster()
    meeting = Meeting("cleanup_all")
    for task in cluster.ps.values():
        task.hook = meeting
    cluster.master.reset([])


def test_a_task_that_refuses_its_part_ends_the_wait_for_a_task_that_is_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # The test would end long before the task that is away counts as gone.
    monkeypatch.setattr("capstan.services.step_run.RECONNECT_SECONDS", 10 * background.PATIENCE_S)
    cluster = Cluster()
    is_away = threading.Event()

    def away(name: str) -> None:
        if name == "register_graph":
            is_away.set()
            raise errors.UnavailableError(None, None, "connection refused")

    def refuse(name: str) -> None:
        if name == "register_graph":
            is_away.wait(background.PATIENCE_S)
            raise errors.InvalidArgumentError(None, None, "no such kernel")

    cluster.ps[PS[0]].hook, cluster.ps[PS[1]].hook = away, refuse
    session = cluster.open()
    with pytest.raises(errors.InvalidArgumentError, match=f"From {PS[1]}:\nno such kernel"):
        cluster.run(session)
    assert not any(task.masters() for task in cluster.ps.values())


def test_a_part_that_is_compiled_after_its_caller_was_interrupted_is_removed() -> None:
    cluster = Cluster()
    begun, interrupted, removed = threading.Event(), threading.Event(), threading.Event()

    def slow(name: str) -> None:
        if name == "register_graph":
            begun.set()
            interrupted.wait(background.PATIENCE_S)
        if name == "deregister_graph":
            removed.set()

    def interrupt(name: str) -> None:
        if name == "register_graph":
            begun.wait(background.PATIENCE_S)
            raise KeyboardInterrupt

    cluster.ps[PS[0]].hook, cluster.ps[PS[2]].hook = slow, interrupt
    session = cluster.open()
    with pytest.raises(KeyboardInterrupt):
        cluster.run(session)
    removed.clear()
    interrupted.set()
    assert removed.wait(background.PATIENCE_S)
    background.until(lambda: not cluster.ps[PS[0]].masters())


def test_calls_after_the_end_of_a_master_are_made_by_their_caller() -> None:
    calls = together.Together()
    calls.close()
    made = calls.call([threading.get_ident, threading.get_ident])
    assert [each.result() for each in made] == [threading.get_ident()] * 2
    assert calls.call([]) == []
