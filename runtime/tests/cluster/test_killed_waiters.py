"""Steps that wait for a queue of another task end when a client, a master or the queue is killed.

The other tasks run in this process, so that the tests see which steps are in flight.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import background
import clusters
import genuine
import pytest

import capstan as tf

pytestmark = [pytest.mark.e2e, pytest.mark.alone, pytest.mark.timeout(300)]

PS = "/job:ps/task:0"
START_S = 200.0
"""How long a client may take to start. It may import TensorFlow."""

CLIENT = """
import json, sys
{imports}
spec, target = json.loads(sys.argv[1]), sys.argv[2]
if target == "its own":
    target = tf.train.Server(spec, job_name="worker", task_index=0).target
if target == "none":
    tf.train.Server(spec, job_name="ps", task_index=0)
    print("up", flush=True)
    sys.stdin.read()
with tf.device("/job:ps/task:0"):
    elements = tf.FIFOQueue(10, [tf.float32], shapes=[[]], shared_name="shared")
with tf.Session(target) as session:
    session.run(elements.dequeue())
"""

IMPORTS = {
    "capstan": "import capstan as tf",
    "tensorflow": "import tensorflow; tf = tensorflow.compat.v1; tf.disable_v2_behavior(); "
    "tf.FIFOQueue = tf.queue.FIFOQueue",
}

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start() -> Iterator[Start]:
    """A function that starts a program, which ends with the test at the latest."""
    started: list[subprocess.Popen[str]] = []

    def run(spec: Any, target: str, library: str = "capstan") -> "subprocess.Popen[str]":
        program = CLIENT.format(imports=IMPORTS[library])
        process = subprocess.Popen(
            [sys.executable, "-c", program, json.dumps(spec), target],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield run
    for process in started:
        process.kill()
        process.communicate()


def server(spec: Any, job: str) -> Any:
    return tf.train.Server(spec, job_name=job, task_index=0)


def elements() -> Any:
    with tf.device(PS):
        return tf.FIFOQueue(10, [tf.float32], shapes=[[]], shared_name="shared")


def hold_one_element(target: str) -> None:
    """Enqueue an element, and check that no step takes it."""
    with tf.Graph().as_default(), tf.Session(target) as session:
        queue = elements()
        session.run(queue.enqueue(1.0))
        assert session.run(queue.size()) == 1


@pytest.mark.parametrize("library", ["capstan", pytest.param("tensorflow", marks=genuine.MARKS)])
def test_a_killed_client_ends_its_steps_long_before_its_session(start: Start, library: str) -> None:
    spec = clusters.spec(ps=1, worker=1)
    ps, worker = server(spec, "ps"), server(spec, "worker")
    try:
        client = start(spec, worker.target, library)
        background.until(lambda: ps._steps._runs, START_S)
        client.kill()
        background.until(lambda: not ps._steps._runs)
        (session,) = worker.master._sessions.all()
        background.until(lambda: not session._steps._runs)
        # A session outlives its client by a minute.
        assert worker.master._sessions.all()
        hold_one_element(worker.target)
    finally:
        worker.stop()
        ps.stop()


def test_a_killed_master_ends_its_steps(start: Start) -> None:
    spec = clusters.spec(ps=1, worker=2)
    ps = server(spec, "ps")
    other = tf.train.Server(spec, job_name="worker", task_index=1)
    try:
        master = start(spec, "its own")
        background.until(lambda: ps._steps._runs, START_S)
        master.kill()
        background.until(lambda: not ps._steps._runs)
        with tf.Graph().as_default():
            queue = elements()
            settings = tf.ConfigProto(device_filters=["/job:ps"])
            with tf.Session(other.target, config=settings) as session:
                session.run(queue.enqueue(1.0))
                assert session.run(queue.size()) == 1
    finally:
        other.stop()
        ps.stop()


def test_the_steps_that_wait_for_a_queue_fail_when_its_owner_is_killed(start: Start) -> None:
    spec = clusters.spec(ps=1, worker=1)
    owner, worker = start(spec, "none"), server(spec, "worker")
    try:
        assert owner.stdout is not None
        assert owner.stdout.readline() == "up\n"
        with tf.Graph().as_default():
            queue = elements()
            dequeue = queue.dequeue()
            with tf.Session(worker.target) as session:
                session.run(queue.size())
                waiting = [background.Background(lambda: session.run(dequeue)) for _ in range(3)]
                (held,) = worker.master._sessions.all()
                background.until(lambda: len(held._steps._runs) == len(waiting))
                owner.kill()
                for step in waiting:
                    with pytest.raises(tf.errors.UnavailableError):
                        step.join()
    finally:
        worker.stop()
