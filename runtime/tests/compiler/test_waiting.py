"""Steps that wait for a queue, as parts of one task: memory, threads and order."""

import collections
import gc
import pathlib
import threading
from collections.abc import Callable
from typing import Any

import pytest

import capstan as tf
import capstan.kernels
from capstan import errors
from capstan.core import node as ir
from capstan.executor import bind, program, run
from capstan.graph import infer
from capstan.partition import partition
from capstan.resources import containers

HERE = "/job:worker/replica:0/task:0"
STEPS = 10_000

Work = Callable[[], None]


class Task:
    """A task that runs the steps of one graph. Its only thread is the caller's."""

    def __init__(self, graph: tf.Graph) -> None:
        self.graph = graph
        self.work: collections.deque[Work] = collections.deque()
        self._resources = containers.ResourceManager().for_session()

    def compiled(self, fetch: str, *needed: str) -> program.Program:
        """Compile the nodes called `needed` into a step that fetches `fetch`."""
        nodes = {node.name: node for node in self.graph.nodes() if node.name in needed}
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
        step = run.PartRun(compiled, lambda *_: None, done, self.work.append)
        step.start([])
        return step

    def settle(self) -> None:
        """Run the continuations of the steps that were answered."""
        while self.work:
            self.work.popleft()()


@pytest.fixture
def task() -> Task:
    with tf.Graph().as_default() as graph:
        queue = tf.FIFOQueue(-1, tf.int32, [()], name="q")
        queue.dequeue(name="dequeue")
        queue.enqueue_many([tf.range(STEPS, name="numbers")], name="enqueue/")
        queue.size(name="size")
    return Task(graph)


def enqueue(task: Task) -> None:
    """Add the numbers from 0 to STEPS."""
    names = [op.name for op in task.graph.get_operations() if op.name not in ("dequeue", "size")]
    task.start(task.compiled("", *names), lambda *_: None)
    task.settle()


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
    assert threading.active_count() == threads
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
    sizes: list[int] = []
    task.start(task.compiled("size", "q", "size"), lambda fetches, _: sizes.append(int(fetches[0])))
    assert sizes == [STEPS - 1]
