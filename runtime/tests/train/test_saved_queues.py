"""Tests of queues and datasets in checkpoints."""

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import background
import clusters
import pytest

import capstan as tf

pytestmark = pytest.mark.e2e

HERE = pathlib.Path(__file__).parent
KINDS: dict[str, Callable[[], tf.QueueBase]] = {
    "fifo": lambda: tf.FIFOQueue(9, [tf.int64, tf.string], shapes=[[], [2]], name="q"),
    "fifo of any shapes": lambda: tf.FIFOQueue(9, [tf.int64, tf.string], name="q"),
    "padding": lambda: tf.PaddingFIFOQueue(9, [tf.int64, tf.string], [[], [None]], name="q"),
    "shuffle": lambda: tf.RandomShuffleQueue(9, 0, [tf.int64, tf.string], [[], [2]], name="q"),
    "priority": lambda: tf.PriorityQueue(9, [tf.string], [[2]], name="q"),
}


class Saved:
    """A queue with the operations that the tests run, and a saver."""

    def __init__(self, kind: str) -> None:
        self.queue = KINDS[kind]()
        saveable = tf.train.make_saveable_from_queue(self.queue)
        tf.add_to_collection(tf.GraphKeys.SAVEABLE_OBJECTS, saveable)
        self.saver = tf.train.Saver()
        self.number = tf.placeholder(tf.int64, [])
        words = tf.stack([tf.as_string(self.number), "word"])
        self.add = self.queue.enqueue([self.number, words])
        self.take, self.close = self.queue.dequeue(), self.queue.close()

    def put(self, session: Any, *numbers: int) -> None:
        for number in numbers:
            session.run(self.add, {self.number: number})

    def numbers(self, session: Any) -> list[int]:
        """Take all elements of a closed queue, check them, and return their numbers."""
        found = []
        with contextlib.suppress(tf.errors.OutOfRangeError):
            while True:
                number, words = session.run(self.take)
                assert words.tolist() == [b"%d" % number, b"word"]
                found.append(int(number))
        return found


@pytest.mark.parametrize("kind", KINDS)
def test_a_queue_gets_the_elements_of_the_checkpoint(kind: str, tmp_path: pathlib.Path) -> None:
    saved = Saved(kind)

    def check(session: Any, *numbers: int) -> None:
        expected = sorted(numbers) if kind == "priority" else list(numbers)
        in_order: Callable[[list[int]], list[int]] = sorted if kind == "shuffle" else list
        assert in_order(saved.numbers(session)) == in_order(expected)

    with tf.Session() as session:
        saved.put(session, 1, 5, 3)
        still_open = saved.saver.save(session, str(tmp_path / "open"))
        session.run(saved.close)
        closed = saved.saver.save(session, str(tmp_path / "closed"))
        check(session, 1, 5, 3)  # a save takes no elements from the queue
    with tf.Session() as session:
        saved.saver.restore(session, closed)
        check(session, 1, 5, 3)
        saved.saver.restore(session, still_open)
        saved.put(session, 7)
        saved.saver.restore(session, still_open)
        saved.put(session, 8)
        session.run(saved.close)
        check(session, 1, 5, 3, 8)


def test_the_elements_of_a_waiting_dequeue_are_saved_and_not_doubled(
    tmp_path: pathlib.Path,
) -> None:
    saved = Saved("fifo")
    three, size = saved.queue.dequeue_many(3)[0], saved.queue.size()
    with tf.Session() as session:
        saved.put(session, 1, 2)
        waiting = background.Background(lambda: session.run(three).tolist())
        background.until(lambda: session.run(size) == 0)
        path = saved.saver.save(session, str(tmp_path / "model"))
        saved.saver.restore(session, path)
        saved.put(session, 3)
        assert waiting.join() == [1, 2, 3]
    with tf.Session() as session:
        saved.saver.restore(session, path)
        session.run(saved.close)
        assert saved.numbers(session) == [1, 2]


def test_a_variable_gets_its_value_after_the_queues_of_its_task() -> None:
    with tf.device("/job:ps/task:0"):
        tf.get_variable("weights", [2])
        Saved("fifo")
    operations = tf.get_default_graph().get_operations()
    (assign,) = [op for op in operations if op.type == "Assign" and op.name.startswith("save/")]
    assert [op.type for op in assign.control_inputs] == ["DeserializeQueue"]


def test_elements_that_do_not_fit_the_queue_are_refused(tmp_path: pathlib.Path) -> None:
    with tf.Session() as session:
        saved = Saved("fifo")
        saved.put(session, 1)
        path = saved.saver.save(session, str(tmp_path / "model"))
    for types, message in (
        ([tf.int64], "have shape .1, 2., but the queue has 1 components"),
        ([tf.int64, tf.float32], "Component 1 of a saved element .* has type string"),
    ):
        with tf.Graph().as_default(), tf.Session() as session:
            other = tf.FIFOQueue(9, types, shapes=[[]] * len(types), name="q")
            saver = tf.train.Saver([tf.train.make_saveable_from_queue(other)])
            with pytest.raises(tf.errors.InvalidArgumentError, match=message):
                saver.restore(session, path)


def test_no_task_restores_a_variable_before_another_task_has_restored_its_queue() -> None:
    with tf.device("/job:ps/task:0"):
        variable = tf.Variable(0)
    with tf.device("/job:ps/task:1"):
        saveable = tf.train.make_saveable_from_queue(KINDS["fifo"]())
        tf.add_to_collection(tf.GraphKeys.SAVEABLE_OBJECTS, saveable)
    tf.train.Saver(sharded=True)
    (assign,) = [
        op
        for op in tf.get_default_graph().get_operations()
        if op.type == "Assign" and op.name.startswith("save/") and op.inputs[0] is variable._ref()
    ]
    assert [op.type for op in assign.control_inputs] == ["DeserializeQueue"]


@contextlib.contextmanager
def parameter_server(cluster: dict[str, list[str]]) -> Iterator["subprocess.Popen[bytes]"]:
    server = [sys.executable, str(HERE / "trainee.py"), "ps", "0", json.dumps(cluster), "", "0", ""]
    process = subprocess.Popen(
        server, env={**os.environ, "PYTHONPATH": str(HERE.parents[1] / "src")}
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@pytest.mark.alone
def test_a_restarted_parameter_server_gets_back_its_queue_and_its_dataset(
    tmp_path: pathlib.Path,
) -> None:
    """Each step counts an element of both. In the end, each element was counted exactly once."""
    count, cluster = 20, clusters.spec(ps=1, worker=1)
    worker = tf.train.Server(cluster, job_name="worker", task_index=0)
    with tf.device("/job:ps/task:0"):
        step = tf.train.get_or_create_global_step()
        counts = tf.get_variable("counts", [2, count], initializer=tf.zeros_initializer())
        queue = tf.FIFOQueue(count, tf.int64, shapes=(), shared_name="work")
        with tf.control_dependencies([queue.enqueue_many([tf.range(count, dtype=tf.int64)])]):
            fill = queue.close()
        dataset = tf.data.Dataset.range(count).shuffle(8)
        iterator = tf.data.make_initializable_iterator(dataset, shared_name="data")
        tf.add_to_collection(tf.GraphKeys.TABLE_INITIALIZERS, iterator.initializer)
        for saveable in (
            tf.train.make_saveable_from_queue(queue),
            tf.data.experimental.make_saveable_from_iterator(iterator),
        ):
            tf.add_to_collection(tf.GraphKeys.SAVEABLE_OBJECTS, saveable)
        taken = tf.one_hot(tf.stack([queue.dequeue(), iterator.get_next()]), count)
        with tf.control_dependencies([tf.assign_add(counts, taken)]):
            train = tf.assign_add(step, 1)
    scaffold = tf.train.Scaffold(init_op=tf.group(tf.global_variables_initializer(), fill))
    with contextlib.ExitStack() as processes:
        ps = processes.enter_context(parameter_server(cluster))
        with tf.train.MonitoredTrainingSession(
            worker.target,
            checkpoint_dir=str(tmp_path),
            scaffold=scaffold,
            save_checkpoint_steps=5,
            save_checkpoint_secs=None,
        ) as session:
            while session.run(train) < 13:
                pass
            ps.send_signal(signal.SIGKILL)
            ps.wait()
            processes.enter_context(parameter_server(cluster))
            assert 5 < session.run(train) < 13  # from a checkpoint
            while session.run(train) < count:
                pass
            assert session.run(counts).tolist() == [[1.0] * count] * 2
