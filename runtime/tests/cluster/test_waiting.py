"""Steps whose nodes wait: they hold no thread, delay no other node, and end when the step ends."""

import signal
import threading
import traceback
from collections.abc import Iterator
from typing import Any

import background
import clusters
import numpy as np
import pytest
import signals

import capstan as tf
from capstan import errors
from capstan.api import data_flow_ops
from capstan.framework.raw import raw
from capstan.services import alone, remote_parts, step_run

PS = "/job:ps/task:0"
OTHER_PS = "/job:ps/task:1"


@pytest.fixture(scope="module")
def servers() -> Iterator[dict[str, tf.train.Server]]:
    with clusters.running(ps=2, worker=1) as started:
        yield started


@pytest.fixture(params=["local", "remote"])
def session(request: pytest.FixtureRequest, servers: Any) -> Iterator[tf.Session]:
    """A session. Each test runs with queues in this process and with queues on another task."""
    target = servers["worker:0"].target if request.param == "remote" else ""
    device = PS if request.param == "remote" else ""
    with tf.Graph().as_default(), tf.device(device), tf.Session(target) as opened:
        yield opened


def queue(capacity: int = 100, name: str | None = None) -> Any:
    return data_flow_ops.FIFOQueue(capacity, [tf.float32], shapes=[[]], shared_name=name)


def _options(timeout_ms: int) -> Any:
    return tf.RunOptions(timeout_in_ms=timeout_ms)


@pytest.mark.e2e
def test_an_enqueue_never_waits_for_a_dequeue_of_the_same_step(session: tf.Session) -> None:
    elements = queue()
    value = elements.dequeue() * 2.0
    put = elements.enqueue(21.0)
    assert session.run([value, put])[0] == 42.0


@pytest.mark.e2e
def test_a_chain_of_waiting_nodes_runs_in_order_and_does_not_recurse(session: tf.Session) -> None:
    elements = queue(1000)
    values: list[Any] = []
    previous = elements.enqueue_many([np.arange(300, dtype=np.float32)])
    for _ in range(300):
        with tf.control_dependencies([previous]):
            values.append(elements.dequeue())
        previous = values[-1].op
    assert session.run(values) == list(range(300))


@pytest.mark.e2e
def test_a_deadline_ends_a_wait_and_takes_it_out_of_the_queue(
    session: tf.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The master of a step that is late asks its tasks to end their parts. On a busy machine, an
    # answer may take longer than the master waits by default.
    monkeypatch.setattr(remote_parts, "WITHDRAW_SECONDS", background.PATIENCE_S)
    elements = queue()
    value = elements.dequeue()
    put, size = elements.enqueue(5.0), elements.size()
    session.run(size)
    with pytest.raises(tf.errors.DeadlineExceededError):
        session.run(value, options=tf.RunOptions(timeout_in_ms=100))
    session.run(put)
    assert session.run(size) == 1
    assert session.run(value) == 5.0


@pytest.mark.e2e
def test_a_step_that_computes_beyond_its_deadline_fails(session: tf.Session) -> None:
    value = tf.placeholder(tf.float32, [])
    for _ in range(300):
        value = tf.tanh(value)
    # Compiling 300 nodes alone takes longer.
    with pytest.raises(tf.errors.DeadlineExceededError):
        session.run(value, {value.graph.get_operations()[0].outputs[0]: 0.5}, _options(1))
    assert session.run(tf.constant(1.0)) == 1.0


def test_a_negative_timeout_is_no_timeout(session: tf.Session) -> None:
    with session.graph.as_default():
        total = tf.constant(1) + tf.placeholder_with_default(2, [])
    assert session.run(total, options=tf.RunOptions(timeout_in_ms=-5)) == 3


@pytest.mark.e2e
def test_the_operation_timeout_of_a_session_ends_a_wait(servers: Any) -> None:
    for target, device, words in (
        ("", "", "Timed out waiting for notification"),
        (servers["worker:0"].target, PS, "Operation timed out."),
    ):
        with tf.Graph().as_default(), tf.device(device):
            value = queue().dequeue()
            config = tf.ConfigProto(operation_timeout_in_ms=2000)
            with (
                tf.Session(target, config=config) as session,
                pytest.raises(tf.errors.DeadlineExceededError, match=words),
            ):
                session.run(value)


@pytest.mark.e2e
def test_closing_the_session_ends_a_wait(session: tf.Session) -> None:
    elements = queue()
    value, size = elements.dequeue(), elements.size()
    session.run(size)
    waiting = background.Background(lambda: session.run(value))
    steps = session._master._sessions.get(session._connection.handle)._steps
    background.until(lambda: bool(steps._runs))
    session.close()
    with pytest.raises(tf.errors.CancelledError, match="explicit call to `Session::Close"):
        waiting.join()


def test_an_error_of_another_node_ends_a_wait(session: tf.Session) -> None:
    elements = queue()
    x = tf.placeholder(tf.int32, [])
    fault = tf.constant(1) // x
    value, put = elements.dequeue(), elements.enqueue(3.0)
    with pytest.raises(tf.errors.InvalidArgumentError):
        session.run([value, fault], {x: 0})
    session.run(put)
    assert session.run(value) == 3.0


def test_the_error_of_a_waiting_node_names_the_node(session: tf.Session) -> None:
    elements = queue()
    value = elements.dequeue(name="taken")
    session.run(elements.close())
    with pytest.raises(tf.errors.OutOfRangeError) as caught:
        session.run(value)
    assert caught.value.op is value.op
    assert "{{node taken}}" in caught.value.message


def test_a_wait_in_a_branch_that_is_not_taken_does_not_happen(session: tf.Session) -> None:
    elements = queue()
    choice = tf.placeholder(tf.bool, [])
    value = tf.cond(choice, lambda: elements.dequeue() + 1.0, lambda: tf.constant(0.5))
    put = elements.enqueue(1.0)
    assert session.run(value, {choice: False}) == 0.5
    session.run(put)
    assert session.run(value, {choice: True}) == 2.0


@pytest.mark.e2e
def test_a_value_that_was_read_does_not_change_while_its_reader_waits(session: tf.Session) -> None:
    first, second = queue(), queue()
    ones, of = np.ones(3, np.float32), {"dtype": tf.float32}
    variable = raw.VarHandleOp(**of, shape=[3], shared_name="changing")
    read = raw.ReadVariableOp(variable, **of)
    with tf.control_dependencies([read, second.dequeue()]):
        changed = raw.AssignAddVariableOp(variable, ones, **of)
    total = read + first.dequeue()
    put_first, put_second, now = first.enqueue(10.0), second.enqueue(0.0), read[0]
    session.run(raw.AssignVariableOp(variable, ones, **of))
    waiting = background.Background(lambda: session.run([total, changed])[0])
    session.run(put_second)
    background.until(lambda: session.run(now) == 2.0)
    session.run(put_first)
    assert waiting.join().tolist() == [11.0, 11.0, 11.0]


@pytest.mark.e2e
def test_waiting_nodes_hold_no_thread(session: tf.Session) -> None:
    elements = queue(2000)
    values = [elements.dequeue() for _ in range(1000)]
    put = elements.enqueue_many([np.arange(1000, dtype=np.float32)])
    total = tf.add_n(values)
    session.run([elements.size()])
    with pytest.raises(tf.errors.DeadlineExceededError):
        session.run(total, options=tf.RunOptions(timeout_in_ms=1))  # compiles the step
    threads = threading.active_count()
    waiting = background.Background(lambda: session.run(total))
    steps = session._master._sessions.get(session._connection.handle)._steps
    background.until(lambda: bool(steps._runs))
    session.run(put)
    assert waiting.join() == sum(range(1000))
    # Servers of this and of earlier tests start some threads when they like.
    assert threading.active_count() < threads + 100


@pytest.mark.e2e
def test_a_value_that_depends_on_no_wait_crosses_tasks_while_another_node_waits(
    servers: Any,
) -> None:
    with tf.Graph().as_default(), tf.Session(servers["worker:0"].target) as session:
        with tf.device(PS):
            first = queue(name="crossing")
            taken = first.dequeue()
            source = tf.Variable(4.0)
        with tf.device("/job:worker/task:0"):
            doubled = source * 2.0
            product = taken * doubled
        with tf.device(OTHER_PS):
            put = first.enqueue(doubled + 1.0)
        session.run(source.initializer)
        assert session.run([product, put])[0] == 72.0


@pytest.mark.e2e
def test_the_end_of_the_owner_of_a_queue_ends_a_wait() -> None:
    with (
        clusters.running(ps=1, worker=1) as servers,
        tf.Graph().as_default(),
        tf.device(PS),
    ):
        elements = queue()
        value, size = elements.dequeue(), elements.size()
        session = tf.Session(servers["worker:0"].target)
        session.run(size)
        waiting = background.Background(lambda: session.run(value))
        runs = servers["ps:0"]._steps._runs
        background.until(lambda: bool(runs))
        servers["ps:0"].stop()
        with pytest.raises(errors.UnavailableError):
            waiting.join()


WAITS = {step_run.StepRun._receive.__code__, alone.WaitingRun._sleep.__code__}
"""The functions in which the thread of a step waits."""


def a_step_waits() -> bool:
    """Return whether the main thread waits in a step."""
    main = threading.main_thread().ident
    assert main is not None
    frames = traceback.walk_stack(background.frame_of(main))
    return any(frame.f_code in WAITS for frame, _ in frames)


def test_an_interrupted_dequeue_takes_no_element(session: tf.Session) -> None:
    elements = queue()
    taken, enqueue = elements.dequeue(), elements.enqueue(tf.constant(1.0))
    with signals.raising(signal.SIGINT, KeyboardInterrupt) as handled:
        interrupt = background.Background(
            lambda: signals.send(signal.SIGINT, a_step_waits, handled)
        )
        with pytest.raises(KeyboardInterrupt):
            session.run(taken)
        interrupt.join()
    session.run(enqueue)
    assert session.run(taken) == 1.0


@pytest.mark.e2e
def test_a_fetch_that_cannot_be_copied_fails_the_step(
    session: tf.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The test replaces the copy, because memory cannot run out for the copy alone."""
    elements = queue()
    session.run(elements.enqueue(tf.constant(1.0)))
    taken = elements.dequeue() + tf.constant([1.0, 2.0])

    def too_little(value: Any) -> Any:
        raise MemoryError

    with monkeypatch.context() as patched:
        patched.setattr(step_run, "owned", too_little)
        with pytest.raises(errors.ResourceExhaustedError):
            session.run(taken)
    session.run(elements.enqueue(tf.constant(2.0)))
    assert session.run(taken).tolist() == [3.0, 4.0]
