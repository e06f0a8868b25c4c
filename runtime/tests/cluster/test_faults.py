"""The errors of a session whose task dies, restarts, or never starts."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import background
import clusters
import numpy as np
import pytest

import capstan as tf

TASK = """
import json, sys
import capstan as tf
server = tf.train.Server(json.loads(sys.argv[1]), job_name=sys.argv[2], task_index=int(sys.argv[3]))
print("up", flush=True)
server.join()
"""

# Each test starts processes, or waits for a timeout.
pytestmark = pytest.mark.e2e

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start() -> Iterator[Start]:
    """A function that starts a task in its own process, which ends with the test."""
    started: list[subprocess.Popen[str]] = []

    def run(cluster: dict[str, list[str]], job: str, index: int = 0) -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            [sys.executable, "-c", TASK, json.dumps(cluster), job, str(index)],
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        return process

    yield run
    for process in started:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def kill(process: "subprocess.Popen[str]") -> None:
    os.kill(process.pid, signal.SIGKILL)
    process.wait()


def stop(process: "subprocess.Popen[str]") -> None:
    """Stop a process and wait until it has stopped, because until then it may still answer."""
    os.kill(process.pid, signal.SIGSTOP)
    _, status = os.waitpid(process.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status)


@pytest.mark.alone
def test_a_killed_ps_is_unavailable_and_a_restarted_one_aborts_old_sessions(start: Start) -> None:
    cluster = clusters.spec(ps=1, worker=1)
    ps = start(cluster, "ps")
    server = tf.train.Server(cluster, job_name="worker", task_index=0)
    with tf.Graph().as_default():
        with tf.device("/job:ps"):
            there = tf.Variable(1.0, name="there")
        with tf.device("/job:worker"):
            here = tf.Variable(2.0, name="here")
        initialise = tf.global_variables_initializer()
        session = tf.Session(server.target)
        session.run(initialise)
        assert session.run([there, here]) == [1.0, 2.0]

        kill(ps)
        with pytest.raises(tf.errors.UnavailableError, match="/job:ps"):
            session.run(there, options=tf.RunOptions(timeout_in_ms=50_000))
        assert session.run(here) == 2.0  # a step that needs no ps succeeds

        start(cluster, "ps")
        with pytest.raises(tf.errors.AbortedError, match="restarted"):
            session.run(there)
        fresh = tf.Session(server.target)
        with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized value there"):
            fresh.run(there)
        assert fresh.run(tf.report_uninitialized_variables()).tolist() == [b"there"]
        fresh.run(initialise)
        assert fresh.run(there) == 1.0


@pytest.mark.alone
def test_a_ps_that_dies_during_a_step_ends_the_step(start: Start) -> None:
    cluster = clusters.spec(ps=1, worker=1)
    ps = start(cluster, "ps")
    server = tf.train.Server(cluster, job_name="worker", task_index=0)
    with tf.Graph().as_default():
        with tf.device("/job:ps"):
            counter = tf.Variable(0, name="counter")
            count = tf.assign_add(counter, 1)
        session = tf.Session(server.target)
        session.run(counter.initializer)
        session.run(count)
        stop(ps)
        raised: list[BaseException] = []

        def step() -> None:
            try:
                session.run(count)
            except tf.errors.OpError as error:
                raised.append(error)

        thread = threading.Thread(target=step)
        thread.start()
        thread.join(1)
        assert thread.is_alive()  # the ps has the step and does not answer
        kill(ps)
        thread.join()
        assert [type(error) for error in raised] == [tf.errors.UnavailableError]


@pytest.mark.alone
def test_closing_a_session_cancels_a_waiting_step(start: Start) -> None:
    cluster = clusters.spec(ps=1, worker=1)
    ps = start(cluster, "ps")
    server = tf.train.Server(cluster, job_name="worker", task_index=0)
    with tf.Graph().as_default():
        with tf.device("/job:ps"):
            read = tf.identity(tf.constant(1.0) + tf.placeholder(tf.float32, []))
        session = tf.Session(server.target)
        fed = read.op.inputs[0].op.inputs[1]
        assert session.run(read, {fed: 1.0}) == 2.0
        stop(ps)
        waiting = background.Background(lambda: session.run(read, {fed: 1.0}))
        (held,) = server.master._sessions.all()
        background.until(lambda: held._steps._runs)
        closing = background.Background(session.close)
        with pytest.raises(tf.errors.CancelledError):
            waiting.join()
        os.kill(ps.pid, signal.SIGCONT)
        closing.join()


@pytest.mark.alone
def test_a_step_has_a_deadline_and_the_session_outlives_it(start: Start) -> None:
    cluster = clusters.spec(ps=1, worker=1)
    ps = start(cluster, "ps")
    server = tf.train.Server(cluster, job_name="worker", task_index=0)
    with tf.Graph().as_default(), tf.device("/job:ps"):
        value = tf.Variable(np.ones(3, np.float32))
        session = tf.Session(server.target)
        session.run(value.initializer)
        stop(ps)
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(value, options=tf.RunOptions(timeout_in_ms=200))
        os.kill(ps.pid, signal.SIGCONT)
        assert session.run(value).tolist() == [1, 1, 1]


def test_a_session_of_an_incomplete_cluster_fails_after_its_timeout() -> None:
    cluster = clusters.spec(ps=1, worker=1)
    server = tf.train.Server(cluster, job_name="worker", task_index=0)
    with tf.Graph().as_default():
        one = tf.constant(1)
        config = tf.ConfigProto(operation_timeout_in_ms=400)
        with pytest.raises(tf.errors.DeadlineExceededError, match="/job:ps/replica:0/task:0"):
            tf.Session(server.target, config=config).run(one)
        filters = tf.ConfigProto(device_filters=["/job:worker"])
        assert tf.Session(server.target, config=filters).run(one) == 1


def test_a_port_in_use_is_an_unknown_error_that_names_it() -> None:
    cluster = clusters.spec(worker=1)
    tf.train.Server(cluster)
    with pytest.raises(tf.errors.UnknownError, match="Could not start gRPC server") as caught:
        tf.train.Server(cluster)
    assert cluster["worker"][0] in str(caught.value)


def test_variables_are_shared_by_name_across_sessions_and_survive_them() -> None:
    servers = clusters.start(ps=1, worker=2)

    def client(index: int) -> tuple[Any, Any]:
        with tf.Graph().as_default() as graph, tf.device("/job:ps"):
            shared = tf.Variable(0, name="shared")
            return tf.Session(servers[f"worker:{index}"].target, graph), tf.assign_add(shared, 1)

    first, add = client(0)
    first.run(add.op.inputs[0].op.graph.get_operation_by_name("shared/Assign"))
    assert first.run(add) == 1
    first.close()
    second, add = client(1)
    assert second.run(add) == 2
    tf.Session.reset(servers["worker:1"].target)
    with pytest.raises(tf.errors.AbortedError, match="is not found"):
        second.run(add)
    third, add = client(0)
    with pytest.raises(tf.errors.FailedPreconditionError):
        third.run(add)
