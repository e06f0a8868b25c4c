"""Steps of one task that wait, as parts: memory, threads, order, and how they end."""

import collections
import gc
import pathlib
import threading
import weakref
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

import capstan as tf
import capstan.kernels
from capstan import errors
from capstan.core import node as ir
from capstan.executor import bind, program, run, source, waiting_run
from capstan.graph import infer
from capstan.hardware import cpu, device
from capstan.kernels import registry
from capstan.partition import partition
from capstan.resources import containers, queue_attempts

HERE = "/job:worker/replica:0/task:0"
STEPS = 10_000
PATIENCE_S = 60.0

Work = Callable[[], None]


class Task:
    """A task that runs the steps of one graph. Its only thread is the caller's."""

    def __init__(self, graph: tf.Graph, cpus: int = 1) -> None:
        self.graph = graph
        self.work: collections.deque[Work] = collections.deque()
        devices = device.Devices(cpu.create(HERE, cpus))
        self._resources = containers.ResourceManager(devices=devices).for_session()

    def compiled(self, fetch: str, *needed: str) -> program.Program:
        """Compile the nodes called `needed` into a step that fetches `fetch`, if it is not ""."""
        nodes = {
            node.name: replace(node, device=_placed(node.device))
            for node in self.graph.nodes()
            if node.name in needed
        }
        known = infer.Knowledge()
        for node in nodes.values():
            known.learn(node)
        fetches = [ir.Edge(fetch)] if fetch else []
        (part,) = partition.partition(
            nodes,
            dict.fromkeys(nodes, HERE),
            [],
            fetches,
            known,
            HERE,
            [name for name, node in nodes.items() if bind.waits(node)],
        ).values()
        return program.Program(part, self._resources)

    def start(self, compiled: program.Program, done: run.Done) -> run.PartRun:
        step = waiting_run.part_run(compiled, lambda *_: None, done, self.work.append)
        step.start([])
        return step

    def settle(self) -> None:
        """Run the continuations of the steps that were answered."""
        while self.work:
            self.work.popleft()()


def _placed(device_name: str) -> str:
    """Return the device of a node. If the test did not choose a device, it is the first CPU."""
    return device_name if device_name.startswith(HERE) else f"{HERE}/device:CPU:0"


@pytest.fixture
def task() -> Task:
    with tf.Graph().as_default() as graph:
        queue = tf.FIFOQueue(-1, tf.int32, [()], name="q")
        queue.dequeue(name="dequeue")
        queue.enqueue_many([tf.range(STEPS, name="numbers")], name="enqueue/")
        queue.size(name="size")
    return Task(graph)


def begin_enqueue(task: Task) -> None:
    """Enqueue the numbers below STEPS. Steps that get one do not continue before `settle`."""
    names = [op.name for op in task.graph.get_operations() if op.name not in ("dequeue", "size")]
    task.start(task.compiled("", *names), lambda *_: None)


def enqueue(task: Task) -> None:
    begin_enqueue(task)
    task.settle()


def size(task: Task) -> int:
    sizes: list[int] = []
    task.start(task.compiled("size", "q", "size"), lambda fetches, _: sizes.append(int(fetches[0])))
    return sizes[0]


def resident_bytes() -> int:
    fields = pathlib.Path("/proc/self/statm").read_text().split()
    return int(fields[1]) * 4096


@pytest.mark.alone
def test_ten_thousand_steps_wait_without_threads_and_are_served_in_order(task: Task) -> None:
    dequeue, answers = task.compiled("dequeue", "q", "dequeue"), []

    def done(fetches: Any, error: errors.OpError | None) -> None:
        assert error is None
        answers.append(int(fetches[0]))

    gc.collect()
    threads, memory = threading.active_count(), resident_bytes()
    for _ in range(STEPS):
        task.start(dequeue, done)
    assert not answers
    assert threading.active_count() < threads + 100
    assert resident_bytes() - memory < 100e6
    enqueue(task)
    assert answers == list(range(STEPS))


def test_a_step_that_fails_leaves_the_queue_at_once(task: Task) -> None:
    dequeue, ends = task.compiled("dequeue", "q", "dequeue"), []
    steps = [task.start(dequeue, lambda *end: ends.append(end)) for _ in range(3)]
    steps[0].fail(errors.DeadlineExceededError(None, None, "late"))
    steps[2].fail(errors.UnavailableError(None, None, "the peer is gone"))
    assert [type(error) for _, error in ends] == [
        errors.DeadlineExceededError,
        errors.UnavailableError,
    ]
    enqueue(task)
    assert [int(fetches[0]) for fetches, error in ends if error is None] == [0]
    assert size(task) == STEPS - 1


def test_an_element_goes_back_if_its_step_fails_before_it_reads_the_element(task: Task) -> None:
    dequeue, ends = task.compiled("dequeue", "q", "dequeue"), []
    first, _ = (task.start(dequeue, lambda *end: ends.append(end)) for _ in range(2))
    begin_enqueue(task)
    first.fail(errors.DeadlineExceededError(None, None, "late"))
    task.settle()
    (failed, served) = sorted(ends, key=lambda end: end[1] is None)
    assert isinstance(failed[1], errors.DeadlineExceededError)
    assert int(served[0][0]) == 1
    assert size(task) == STEPS - 1
    task.start(dequeue, lambda *end: ends.append(end))
    task.settle()
    assert int(ends[-1][0][0]) == 0


def test_an_element_goes_back_if_its_step_fails_while_it_waits_for_another_element() -> None:
    with tf.Graph().as_default() as graph:
        full, empty = (tf.FIFOQueue(-1, tf.int32, [()], name=name) for name in ("full", "empty"))
        full.enqueue_many([tf.range(3, name="numbers")], name="enqueue/")
        tf.add(full.dequeue(name="first"), empty.dequeue(name="second"), name="sum")
        full.size(name="size")
    task, ends = Task(graph), []
    needed = ("full", "empty", "first", "second", "sum")
    names = [op.name for op in graph.get_operations() if op.name not in (*needed[1:], "size")]
    task.start(task.compiled("", *names), lambda *_: None)
    step = task.start(task.compiled("sum", *needed), lambda *end: ends.append(end))
    task.settle()
    step.fail(errors.CancelledError(None, None, "the session is closed"))
    ((_, error),) = ends
    assert isinstance(error, errors.CancelledError)
    task.start(task.compiled("size", "full", "size"), lambda *end: ends.append(end))
    assert int(ends[-1][0][0]) == 3


@pytest.mark.parametrize("cpus", [1, 2])
def test_a_part_that_fails_ends_after_the_segments_that_run(
    cpus: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    entered, gate, ended = threading.Semaphore(0), threading.Event(), threading.Event()

    def block(x: Any) -> Any:
        entered.release()
        assert gate.wait(PATIENCE_S)
        return x

    kernel = registry.Kernel("Ceil", lambda node: block)
    monkeypatch.setitem(registry._ROWS["Ceil"], "CPU", [kernel])
    with tf.Graph().as_default() as graph:
        for index in range(cpus):
            with tf.device(f"{HERE}/cpu:{index}"):
                tf.ceil(tf.random_uniform([1], name=f"x{index}"), name=f"ceil{index}")
    task, ends = Task(graph, cpus), []

    def done(*end: Any) -> None:
        ends.append(end)
        ended.set()

    names = [op.name for op in graph.get_operations()]
    step = waiting_run.part_run(
        task.compiled("ceil0", *names), lambda *_: None, done, lambda work: work()
    )
    running = threading.Thread(target=step.start, args=([],))
    running.start()
    for _ in range(cpus):
        assert entered.acquire(timeout=PATIENCE_S)
    step.fail(errors.UnavailableError(None, None, "the peer is gone"))
    assert not ends
    gate.set()
    assert ended.wait(PATIENCE_S)
    running.join(PATIENCE_S)
    ((fetches, error),) = ends
    assert (fetches, type(error)) == ((), errors.UnavailableError)


@pytest.mark.parametrize("cpus", [1, 2])
def test_a_part_ends_if_a_kernel_raises_an_exception_that_is_no_error(
    cpus: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A function of `py_func` may call `sys.exit`."""

    def leave(x: Any) -> Any:
        raise SystemExit

    kernel = registry.Kernel("Ceil", lambda node: leave)
    monkeypatch.setitem(registry._ROWS["Ceil"], "CPU", [kernel])
    with tf.Graph().as_default() as graph:
        for index in range(cpus):
            with tf.device(f"{HERE}/cpu:{index}"):
                tf.ceil(tf.random_uniform([1], name=f"x{index}"), name=f"ceil{index}")
    task, ends, ended = Task(graph, cpus), [], threading.Event()

    def done(*end: Any) -> None:
        ends.append(end)
        ended.set()

    compiled = task.compiled("ceil0", *(op.name for op in graph.get_operations()))
    step = waiting_run.part_run(compiled, lambda *_: None, done, lambda work: work())
    with pytest.raises(SystemExit):
        step.start([])
    assert ended.wait(PATIENCE_S)
    ((_, error),) = ends
    assert "SystemExit" in error.message


def dequeues() -> int:
    """Return the number of dequeues in memory. Each of them keeps the elements that it took."""
    # `isinstance` would raise for a weak proxy of an object that is gone.
    return sum(issubclass(type(thing), queue_attempts.Dequeue) for thing in gc.get_objects())


@pytest.mark.e2e
def test_a_step_that_has_ended_keeps_no_element(task: Task) -> None:
    enqueue(task)
    outputs: list[weakref.ref[Any]] = []
    dequeue = task.compiled("dequeue", "q", "dequeue")
    gc.collect()
    before = dequeues()
    gc.disable()
    try:
        task.start(dequeue, lambda fetches, _: outputs.append(weakref.ref(fetches[0])))
        after = dequeues()
    finally:
        gc.enable()
    (output,) = outputs
    assert output() is None
    assert after <= before


@pytest.mark.e2e
def test_steps_that_wait_in_a_long_line_end_without_recursion_when_no_thread_is_left(
    task: Task,
) -> None:
    dequeue, ends = task.compiled("dequeue", "q", "dequeue"), []

    def refuse(work: Work) -> None:
        raise RuntimeError("cannot schedule new futures after shutdown")

    for _ in range(2000):
        step = waiting_run.part_run(dequeue, lambda *_: None, lambda *end: ends.append(end), refuse)
        step.start([])
    enqueue(task)
    assert {type(error) for _, error in ends} == {errors.InternalError}
    assert (len(ends), size(task)) == (2000, STEPS)


@pytest.mark.e2e
def test_a_part_of_very_many_segments_gives_every_value_in_each_step() -> None:
    count = source.MANY_FUNCTIONS + 1
    with tf.Graph().as_default():
        shift = tf.placeholder(tf.int32, [])
        queue = tf.FIFOQueue(count, tf.int32, [()])
        fill = queue.enqueue_many([tf.range(count)])
        values = [queue.dequeue() + shift for _ in range(count)]
        chosen = tf.cond(values[0] > count, lambda: values[1] * 2, lambda: values[1] * 3)
        counted = tf.while_loop(lambda i: i < values[2], lambda i: i + 1, [tf.constant(-1)])
        session = tf.Session()
    for fed in (0, 2 * count):
        session.run(fill)
        found, one, last = session.run([values, chosen, counted], {shift: fed})
        assert sorted(found) == list(range(fed, fed + count))
        assert one == found[1] * (2 if fed else 3)
        assert last == found[2]
    session.close()
