"""A task has each part once, and none of a closed session or of a compilation that failed."""

import contextlib
import gc
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import background
import clusters
import numpy as np
import pytest

import capstan as tf
from capstan import errors
from capstan.core import config, dtypes, node
from capstan.hardware import cpu, device
from capstan.partition import parts
from capstan.resources import containers
from capstan.services import master, registrations, targets, together, worker
from capstan.transport import interfaces

HOME = "/job:worker/replica:0/task:0"
PS = "/job:ps/replica:0/task:0"
NODES = (
    node.Node("x", "Placeholder", attrs={"dtype": dtypes.float32}),
    node.Node("y", "Neg", (node.Edge("x"),), device="/job:ps", attrs={"T": dtypes.float32}),
)


class Task(worker.Worker):
    """A task that calls `before` and `after` around each registration of a part.

    While `is_cut_off` is set, no part can be removed.
    """

    def __init__(self, task: str) -> None:
        devices = device.Devices(cpu.create(task, None))
        super().__init__(task, 1, containers.ResourceManager(devices=devices))
        self.before: Callable[[], None] = lambda: None
        self.after: Callable[[], None] = lambda: None
        self.is_cut_off = False
        self.registered: list[int] = []

    def register_graph(
        self,
        session: str,
        part: parts.Part,
        master: interfaces.Incarnation | None = None,
        deadline: float | None = None,
        registration: int = 0,
        is_isolated: bool = False,
    ) -> int:
        self.before()
        handle = super().register_graph(session, part, master, deadline, registration, is_isolated)
        self.registered.append(handle)
        self.after()
        return handle

    def deregister_graph(self, session: str, registrations: Sequence[int] = ()) -> None:
        if self.is_cut_off:
            raise errors.UnavailableError(None, None, "cut off")
        super().deregister_graph(session, registrations)

    def held(self) -> list[tuple[str, int]]:
        """Return the registered parts that the task still has."""
        found = []
        for handle in dict.fromkeys(self.registered):
            with contextlib.suppress(errors.AbortedError):
                self.program(handle)
                found.append((self.task, handle))
        return found


class Cluster:
    """A master, its own task, and a ps."""

    def __init__(self, nodes: Sequence[node.Node] = NODES) -> None:
        self.nodes = nodes
        self.home, self.ps = Task(HOME), Task(PS)
        self.master = master.Master(
            self.home, lambda: (HOME, PS), lambda name: self.ps, targets.NoLinks()
        )

    def open(self) -> str:
        return self.master.create_session(self.nodes, config.SessionConfig())

    def held(self) -> list[tuple[str, int]]:
        return self.home.held() + self.ps.held()

    def run(self, session: str, timeout_ms: int = 0, fetches: Sequence[str] = ("y:0",)) -> None:
        """Run a step. It fails after its parts are registered, because there are no links."""
        feeds = {"x:0": np.zeros((), np.float32)}
        self.master.run_step(session, feeds, fetches, [], interfaces.StepOptions(timeout_ms))


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_session_that_is_closed_while_a_part_is_registered_leaves_no_part(moment: str) -> None:
    cluster = Cluster()
    session = cluster.open()
    setattr(cluster.ps, moment, lambda: cluster.master.close_session(session))
    with pytest.raises(errors.CancelledError, match=r"Session::Close\(\)"):
        cluster.run(session)
    assert not cluster.ps.masters()


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_session_that_is_closed_while_a_function_is_registered_leaves_no_part(
    moment: str,
) -> None:
    ps = Task(PS)
    status = interfaces.WorkerStatus(1, ())
    tasks = {PS: registrations.Task(PS, ps, status)}
    registered = registrations.Registrations(
        "session", PS, tasks, registrations.Leftovers(), together.Together()
    )
    setattr(ps, moment, registered.close)
    with pytest.raises(errors.CancelledError, match=r"Session::Close\(\)"):
        registered.attempt(None).register_function({PS: parts.Part(PS, (), {})})
    assert not ps.masters()


@pytest.mark.e2e
def test_a_part_of_a_task_that_a_closing_session_cannot_reach_is_removed_later() -> None:
    cluster = Cluster()
    closed, other = cluster.open(), cluster.open()
    with pytest.raises(errors.OpError):
        cluster.run(closed)
    assert cluster.ps.masters()
    cluster.ps.is_cut_off = True
    cluster.master.close_session(closed)
    cluster.ps.is_cut_off = False
    with pytest.raises(errors.OpError):
        cluster.run(other)
    cluster.master.close_session(other)
    assert not cluster.ps.masters()


def loop() -> list[node.Node]:
    """Return the nodes of a loop whose body is on both tasks."""
    with tf.Graph().as_default() as graph, tf.device("/job:worker"):
        x = tf.placeholder(tf.float32, [], "x")

        def body(number: Any, value: Any) -> Any:
            with tf.device("/job:ps"):
                return number + 1, tf.tanh(value)

        _, y = tf.while_loop(lambda number, _: number < 3, body, [tf.constant(0), x])
        tf.identity(y, name="y")
        return [op.node for op in graph.get_operations()]


def fail_at(cluster: Cluster, number: int) -> None:
    """Let the tasks refuse the part with this number, counted from 0, over both tasks."""
    parts_so_far = itertools.count()

    def refuse() -> None:
        if next(parts_so_far) == number:
            raise errors.InvalidArgumentError(None, None, "refused")

    cluster.home.before = cluster.ps.before = refuse


def test_a_compilation_that_fails_leaves_no_part_on_any_task() -> None:
    cluster = Cluster(loop())
    session = cluster.open()
    with pytest.raises(errors.OpError):
        cluster.run(session)
    earlier = cluster.held()
    assert len(earlier) > 3  # the parts of the condition, of the body, and of the step
    for number in range(len(earlier)):
        fail_at(cluster, number)
        other = cluster.open()
        with pytest.raises(errors.InvalidArgumentError, match="refused"):
            cluster.run(other)
        assert cluster.held() == earlier
        # The session still compiles the step, once.
        with pytest.raises(errors.OpError):
            cluster.run(other)
        assert len(cluster.held()) == 2 * len(earlier)
        cluster.master.close_session(other)
        assert cluster.held() == earlier


def lose_answers(task: Task, count: int) -> None:
    """Break the connection of the next registrations after the task has registered the part."""
    left = itertools.count(count, -1)

    def lose() -> None:
        if next(left) > 0:
            raise errors.UnavailableError(None, None, "the connection broke")

    task.after = lose


def test_a_part_whose_answer_was_lost_is_registered_once() -> None:
    cluster = Cluster()
    session = cluster.open()
    lose_answers(cluster.ps, 1)
    with pytest.raises(errors.InternalError, match="has no task"):
        cluster.run(session)
    assert len(cluster.ps.registered) == 2
    assert len(cluster.ps.held()) == 1


@pytest.mark.parametrize("is_cut_off", [False, True], ids=["at once", "when the task answers"])
def test_a_part_whose_answer_never_came_is_removed(is_cut_off: bool) -> None:
    """The session stays open with its other parts, and other sessions register parts."""
    cluster = Cluster()
    session, other = cluster.open(), cluster.open()
    with pytest.raises(errors.InternalError, match="has no task"):
        cluster.run(session)
    (kept,) = cluster.ps.held()
    lose_answers(cluster.ps, 1_000_000)
    cluster.ps.is_cut_off = is_cut_off
    for fetches in (["x:0", "y:0"], ["y:0", "x:0"]):
        with pytest.raises(errors.UnavailableError, match="the connection broke"):
            cluster.run(session, 1, fetches)
    assert len(cluster.ps.held()) == 1 + 2 * is_cut_off
    cluster.ps.is_cut_off = False
    lose_answers(cluster.ps, 0)
    with pytest.raises(errors.InternalError, match="has no task"):
        cluster.run(other)
    assert cluster.ps.held() == [kept, (PS, cluster.ps.registered[-1])]


def test_a_registration_that_is_withdrawn_or_repeated_while_it_is_compiled_leaves_one_part(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ps, part = Task(PS), parts.Part(PS, (), {})
    compile_part = worker.program.Program
    first: list[int] = []

    def repeat(*arguments: Any) -> Any:
        monkeypatch.setattr(worker.program, "Program", compile_part)
        first.append(ps.register_graph("session", part, registration=7))
        return compile_part(*arguments)

    def withdraw(*arguments: Any) -> Any:
        monkeypatch.setattr(worker.program, "Program", compile_part)
        ps.deregister_graph("session", [7])
        return compile_part(*arguments)

    monkeypatch.setattr(worker.program, "Program", repeat)
    assert [ps.register_graph("session", part, registration=7)] == first
    assert len(ps.held()) == 1
    monkeypatch.setattr(worker.program, "Program", withdraw)
    ps.deregister_graph("session", [7])
    with pytest.raises(errors.CancelledError, match="withdrawn"):
        ps.register_graph("session", part, registration=7)
    assert not ps.held()
    assert not ps.masters()


def managers() -> int:
    """Return how many managers of resources are alive."""
    gc.collect()
    return sum(type(each) is containers.ResourceManager for each in gc.get_objects())


@pytest.mark.e2e
def test_the_pipelines_of_an_isolated_session_end_with_it() -> None:
    settings = tf.ConfigProto(isolate_session_state=True)
    with clusters.running(worker=1) as servers, tf.Graph().as_default():
        numbers = tf.data.Dataset.range(10**6).map(lambda number: number + 1).prefetch(3)
        iterator = tf.data.make_initializable_iterator(numbers, shared_name="numbers")
        following = iterator.get_next()

        def use() -> None:
            with tf.Session(servers["worker:0"].target, config=settings) as session:
                session.run(iterator.initializer)
                assert session.run(following) == 1

        before = managers()
        for _ in range(3):
            use()
        background.until(lambda: managers() <= before)
