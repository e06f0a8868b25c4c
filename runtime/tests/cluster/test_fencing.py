"""Two attempts of one worker that are alive at the same time: only the newer one changes values."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import background
import clusters
import pytest

import capstan as tf

pytestmark = pytest.mark.e2e

Begin = Callable[[int], tf.train.Server]


@pytest.fixture
def begin(monkeypatch: pytest.MonkeyPatch) -> Iterator[Begin]:
    """Start a parameter server. Return a function that starts an attempt of worker 0.

    The attempts have different addresses, as pods on different nodes have.
    """
    [at_ps] = clusters.addresses(1)
    servers: list[tf.train.Server] = []

    def start(job: str, attempt: int) -> tf.train.Server:
        monkeypatch.setenv("CAPSTAN_ATTEMPT", str(attempt))
        cluster = {"ps": [at_ps], "worker": clusters.addresses(1)}
        servers.append(tf.train.Server(cluster, job_name=job, task_index=0))
        return servers[-1]

    start("ps", 1)
    yield lambda attempt: start("worker", attempt)
    for server in servers:
        server.stop()


def model() -> tuple[Any, Any, Any, Any]:
    """Build a graph. Return the variable's initializer, its value, an addition and a dequeue."""
    with tf.device("/job:ps"):
        count = tf.get_variable("count", initializer=0)
        elements = tf.FIFOQueue(1, tf.int32, shapes=[()], shared_name="elements")
    return count.initializer, count, tf.assign_add(count, 1), elements.dequeue()


def assert_replaced(call: Callable[[], object]) -> None:
    """Call until the process learns that another one has replaced it."""
    with contextlib.suppress(
        tf.errors.UnavailableError, tf.errors.FailedPreconditionError
    ):  # if it still uses a link that was closed
        call()
    with pytest.raises(tf.errors.FailedPreconditionError, match=r"Attempt 1 .* End this process"):
        call()


def test_a_parameter_server_refuses_the_steps_of_an_older_attempt(begin: Begin) -> None:
    initializer, value, add, _ = model()
    old = tf.Session(begin(1).target)
    old.run(initializer)
    old.run(add)
    with tf.Session(begin(2).target) as new:
        assert new.run(add) == 2
        assert_replaced(lambda: old.run(add))
        assert new.run([value]) == [2]
    old.close()


def test_an_older_attempt_can_create_no_session(begin: Begin) -> None:
    initializer, _, add, _ = model()
    old = begin(1)
    with tf.Session(begin(2).target) as new:
        new.run(initializer)
        with (
            tf.Session(old.target) as session,
            pytest.raises(tf.errors.FailedPreconditionError, match="End this process"),
        ):
            session.run(add)
        assert new.run(add) == 1


def test_a_waiting_step_of_an_older_attempt_ends(begin: Begin) -> None:
    initializer, _, add, dequeue = model()
    old = tf.Session(begin(1).target)
    old.run(initializer)
    waiting = background.Background(lambda: old.run(dequeue))
    with tf.Session(begin(2).target) as new:
        assert new.run(add) == 1
        # The dequeue may begin after the newer attempt has called.
        with pytest.raises((tf.errors.UnavailableError, tf.errors.FailedPreconditionError)):
            waiting.join()
    old.close()


def test_a_session_that_recovers_from_failures_ends_when_its_process_was_replaced(
    begin: Begin,
) -> None:
    _, _, add, _ = model()
    tf.train.get_or_create_global_step()
    target = begin(1).target
    with tf.train.MonitoredTrainingSession(target) as old:
        old.run(add)
        with tf.Session(begin(2).target) as new:
            new.run(add)
            with pytest.raises(tf.errors.FailedPreconditionError, match="End this process"):
                old.run(add)
            assert new.run(add) == 3


def test_a_client_of_an_older_attempt_is_refused_by_the_master_of_another_task(
    begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    initializer, _, add, _ = model()
    server = begin(2)
    with tf.Session(server.target) as new:
        new.run(initializer)
    [at_ps] = tf.train.ClusterSpec(server.server_def.cluster).job_tasks("ps")
    task = '{"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 0}}'
    monkeypatch.setenv("TF_CONFIG", task)
    monkeypatch.setenv("CAPSTAN_ATTEMPT", "1")
    with (
        tf.Session(f"grpc://{at_ps}") as old,
        pytest.raises(tf.errors.FailedPreconditionError, match="End this process"),
    ):
        old.run(add)


def test_an_attempt_that_is_no_number_is_refused(begin: Begin) -> None:
    with pytest.raises(ValueError, match="CAPSTAN_ATTEMPT must be a number from 1, not 'two'"):
        begin("two")  # type: ignore[arg-type]
