"""`tf.CriticalSection`: one step at a time, in all sessions and tasks, also after failures."""

import threading
from collections.abc import Iterator
from concurrent import futures
from typing import Any

import clusters
import numpy as np
import pytest
import strict

import capstan as tf
from capstan.framework.raw import raw

pytestmark = pytest.mark.e2e

PATIENCE_S = 60.0
PS = "/job:ps/task:0"


@pytest.fixture(scope="module")
def servers() -> Iterator[dict[str, Any]]:
    made = clusters.start(ps=1, worker=2)
    yield made
    for server in made.values():
        server.stop()


def variable(start: Any, name: str = "v") -> Any:
    return tf.get_variable(name, initializer=start, use_resource=True)


def counted(v: Any, by: Any = 1) -> Any:
    """Return a function that reads `v`, computes, and assigns in separate operations."""

    def count() -> Any:
        value = v.read_value()
        with tf.control_dependencies([value]), tf.control_dependencies([v.assign(value + by)]):
            return tf.identity(value)

    return count


def test_the_executions_of_a_step_run_one_after_another() -> None:
    v, section = variable(0), tf.CriticalSection(name="section")
    assert section.name == "section"
    values = [section.execute(counted(v)) for _ in range(6)]
    with tf.Session() as session:
        session.run(v.initializer)
        assert sorted(session.run(values)) == list(range(6))
        assert session.run(v) == 6


def test_the_steps_of_all_sessions_and_tasks_share_the_lock(servers: Any) -> None:
    with tf.device(PS):
        v, section = variable(0, "shared"), tf.CriticalSection(shared_name="shared_by_all")

    def count() -> Any:
        value = v.read_value()
        with tf.device("/job:worker/task:1"):
            later = value + 1
        with tf.control_dependencies([v.assign(later)]):
            return tf.identity(value)

    value = section.execute(count)
    sessions = [tf.Session(servers[f"worker:{n}"].target) for n in (0, 1, 0)]
    sessions[0].run(v.initializer)
    with futures.ThreadPoolExecutor(3) as pool:
        runs = [pool.submit(session.run, value) for session in sessions for _ in range(12)]
        found = sorted(run.result(PATIENCE_S) for run in runs)
    assert found == list(range(36))
    for session in sessions:
        session.close()


@pytest.mark.parametrize("is_remote", [False, True])
def test_a_step_that_fails_gives_back_the_lock(servers: Any, is_remote: bool) -> None:
    with tf.device(PS if is_remote else None):
        section = tf.CriticalSection(shared_name="of_failures")
    divisor = tf.placeholder(tf.int32, [])

    def divide() -> Any:
        with tf.device("/job:worker/task:1" if is_remote else None):
            return tf.floordiv(tf.constant(6), divisor)

    quotient = section.execute(divide)
    with tf.Session(servers["worker:0"].target if is_remote else "") as session:
        for _ in range(3):
            with pytest.raises(tf.errors.InvalidArgumentError, match="by zero"):
                session.run(quotient, {divisor: 0})
        assert session.run(quotient, {divisor: 2}, tf.RunOptions(timeout_in_ms=60_000)) == 3


def test_a_step_that_never_releases_its_lock_gives_it_back_at_its_end() -> None:
    handle = raw.MutexV2(shared_name="held")
    with tf.control_dependencies([raw.MutexLock(handle)]):
        one = tf.constant(1) + tf.placeholder_with_default(0, [])
    with tf.Session() as session:
        assert [session.run(one) for _ in range(3)] == [1, 1, 1]


def test_a_step_that_is_cancelled_while_it_waits_does_not_get_the_lock() -> None:
    section, entered, go = tf.CriticalSection(), threading.Event(), threading.Event()

    def wait() -> Any:
        entered.set()
        assert go.wait(PATIENCE_S)
        return np.int32(1)

    slow = section.execute(lambda: tf.py_func(wait, [], tf.int32))
    fast = section.execute(lambda: tf.identity(2))
    with tf.Session() as session, futures.ThreadPoolExecutor(1) as pool:
        held = pool.submit(session.run, slow)
        assert entered.wait(PATIENCE_S)
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(fast, options=tf.RunOptions(timeout_in_ms=20))
        go.set()
        assert held.result(PATIENCE_S) == 1
        assert session.run(fast) == 2


def test_a_value_that_was_read_under_the_lock_does_not_change_after_it() -> None:
    size = 1 << 10
    v = variable(np.zeros(size, np.float32))
    section, delay = tf.CriticalSection(), tf.placeholder(tf.float32, [])
    entered, go = threading.Event(), threading.Event()

    def wait(value: Any) -> Any:
        entered.set()
        assert go.wait(PATIENCE_S)
        return value

    value = section.execute(lambda: v.read_value())
    with tf.control_dependencies([value]):
        waited = tf.py_func(wait, [delay], tf.float32)
    later = value + waited
    with tf.Session() as session, futures.ThreadPoolExecutor(1) as pool:
        session.run(v.initializer)
        reader = pool.submit(session.run, later, {delay: 1.0})
        assert entered.wait(PATIENCE_S)
        session.run(section.execute(lambda: v.assign(np.ones(size, np.float32)).op))
        go.set()
        np.testing.assert_array_equal(reader.result(PATIENCE_S), np.ones(size))


def test_the_arguments_of_a_function_are_ready_before_the_lock_is_taken() -> None:
    """Else the queue below would fill only after the lock is free, which waits for the queue."""
    queue = tf.FIFOQueue(1, tf.int32, [[]])
    section = tf.CriticalSection()
    element = queue.dequeue()
    taken = section.execute(lambda: element + 1)
    filled = section.execute(lambda: tf.group(queue.enqueue(4)))
    with tf.Session() as session, futures.ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(session.run, taken)
        session.run(filled)
        assert waiting.result(PATIENCE_S) == 5


def test_nests_operations_and_loops_can_be_executed() -> None:
    v, section = variable(1.0), tf.CriticalSection()
    found = section.execute(lambda: {"old": v.read_value(), "two": (tf.constant(2),)})
    update = section.execute(lambda: v.assign_add(1.0).op)
    assert isinstance(update, tf.Operation)

    def body(step: Any) -> Any:
        return section.execute(lambda: tf.identity(v.assign_add(0.0 * step) - v + step + 1.0))

    last = tf.while_loop(lambda step: step < 3.0, body, [tf.constant(0.0)])
    with tf.Session() as session:
        session.run(v.initializer)
        values = session.run(found)
        assert (values["old"], values["two"]) == (1.0, (2,))
        session.run(update)
        assert session.run(v) == 2.0
        assert session.run(last) == 3.0


def test_a_resource_belongs_to_one_section() -> None:
    v, one, other = variable(0), tf.CriticalSection(), tf.CriticalSection()
    one.execute(counted(v))
    one.execute(counted(v))
    with pytest.raises(ValueError, match="would access resources"):
        other.execute(counted(v))
    with pytest.raises(ValueError, match="would access resources"):
        other.execute(counted(v), exclusive_resource_access=False)
    w = variable(0, "w")
    one.execute(counted(w), exclusive_resource_access=False)
    other.execute(counted(w), exclusive_resource_access=False)


def test_a_section_cannot_be_used_in_itself() -> None:
    section = tf.CriticalSection()
    with pytest.raises(ValueError, match="would cause deadlocks"):
        section.execute(lambda: section.execute(lambda: tf.constant(1)))


def test_a_lock_is_released_once_and_stays_in_its_task(servers: Any) -> None:
    lock = raw.MutexLock(raw.MutexV2(shared_name="twice"))
    first = raw.ConsumeMutexLock(lock)
    with tf.control_dependencies([first]):
        second = raw.ConsumeMutexLock(lock)
    wrong = raw.ConsumeMutexLock(raw.OptionalNone())
    with tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="Consume each lock once"):
            session.run(second)
        with pytest.raises(tf.errors.InvalidArgumentError, match="SharedLockReleaser"):
            session.run(wrong)
    with tf.Session(servers["worker:0"].target) as session:
        with tf.device("/job:worker/task:1"):
            elsewhere = raw.ConsumeMutexLock(lock)
        with pytest.raises(tf.errors.UnimplementedError, match="cannot leave its task"):
            session.run(elsewhere)


def test_a_section_on_a_device_guards_the_variables_of_the_device() -> None:
    with strict.installed(), tf.device("/gpu:0"):
        v, section = variable(np.zeros(3, np.float32)), tf.CriticalSection()
        values = [section.execute(counted(v)) for _ in range(4)]
        with tf.Session() as session:
            session.run(v.initializer)
            assert sorted(value[0] for value in session.run(values)) == [0, 1, 2, 3]


def test_a_definition_is_refused() -> None:
    with pytest.raises(ValueError, match="critical_section_def is not supported"):
        tf.CriticalSection(critical_section_def=object())
