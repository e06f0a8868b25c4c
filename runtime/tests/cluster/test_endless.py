"""Loops without end: a deadline, `close` and a lost task end them, and they delay no other step."""

from collections.abc import Iterator
from typing import Any

import background
import clusters
import pytest

import capstan as tf
from capstan.services import step_server

PS, WORKER = "/job:ps/task:0", "/job:worker/task:0"


@pytest.fixture
def servers() -> Iterator[dict[str, Any]]:
    with clusters.running(ps=1, worker=1) as started:
        yield started


@pytest.fixture(params=["local", "remote"])
def session(request: pytest.FixtureRequest, servers: Any) -> Iterator[tf.Session]:
    """A session. Each test runs with loops in this process and with loops on another task."""
    target = servers["worker:0"].target if request.param == "remote" else ""
    device = PS if request.param == "remote" else ""
    with tf.Graph().as_default(), tf.device(device), tf.Session(target) as opened:
        yield opened


def endless() -> Any:
    """Return a loop without end."""
    return tf.while_loop(lambda count: count >= 0.0, lambda count: count + 1.0, [tf.constant(0.0)])


def begin(session: tf.Session, fetches: Any) -> background.Background:
    """Begin a step of a session without other steps. Return when the step is in flight."""
    session.run(tf.constant(1.0))
    step = background.Background(lambda: session.run(fetches))
    steps = session._master._sessions.get(session._connection.handle)._steps
    background.until(lambda: steps._runs)
    return step


@pytest.mark.e2e
def test_closing_the_session_ends_a_loop(session: tf.Session) -> None:
    running = begin(session, endless())
    session.close()
    with pytest.raises(tf.errors.CancelledError, match="explicit call to `Session::Close"):
        running.join()


@pytest.mark.e2e
def test_a_deadline_ends_a_loop(session: tf.Session, servers: Any) -> None:
    loop = endless()
    with pytest.raises(tf.errors.DeadlineExceededError):
        session.run(loop, options=tf.RunOptions(timeout_in_ms=500))
    for server in servers.values():
        background.until(lambda server=server: not server._steps._runs)


def test_the_loss_of_a_task_ends_a_loop_of_the_masters_own_task(servers: Any) -> None:
    with tf.Graph().as_default(), tf.Session(servers["worker:0"].target) as session:
        with tf.device(PS):
            taken = tf.FIFOQueue(10, [tf.float32], shapes=[[]]).dequeue()
        with tf.device(WORKER):
            loop = endless()
        running = begin(session, [taken, loop])
        background.until(lambda: servers["ps:0"]._steps._runs)
        servers["ps:0"].stop()
        with pytest.raises(tf.errors.UnavailableError):
            running.join()


@pytest.mark.e2e
def test_a_loop_takes_no_thread_from_other_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """A task has many threads for the messages and the waits of steps. With only one thread, a
    loop that held a thread would stop the other step.
    """
    monkeypatch.setattr(step_server, "_PUSH_THREADS", 1)
    cluster = clusters.spec(ps=1, worker=1)
    started = [tf.train.Server(cluster, job_name=job, task_index=0) for job in cluster]
    try:
        with tf.Graph().as_default(), tf.device(PS), tf.Session(started[-1].target) as session:
            queue = tf.FIFOQueue(10, [tf.float32], shapes=[[]])
            dequeue, put = queue.dequeue(), queue.enqueue(2.0)
            running = begin(session, endless())
            waiting = background.Background(lambda: session.run(dequeue))
            background.until(lambda: len(started[0]._steps._runs) == 2)
            session.run(put)
            assert waiting.join() == 2.0
            session.close()
            with pytest.raises(tf.errors.CancelledError):
                running.join()
    finally:
        for task in started:
            task.stop()
