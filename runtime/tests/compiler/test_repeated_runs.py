"""Sessions repeat runs of nodes on a device, and steps keep their values (`executor.runs`)."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest
import strict
from hypothesis import given, settings
from hypothesis import strategies as st

import capstan as tf
from capstan.executor import repeats
from capstan.framework.raw import raw
from capstan.hardware import device

ENOUGH = repeats.CALLS_BEFORE + 3


@pytest.fixture
def session() -> Iterator[tf.Session]:
    tf.reset_default_graph()
    with strict.installed(), tf.Session() as made:
        yield made


def sources(monkeypatch: pytest.MonkeyPatch) -> list[device.Device]:
    """Return a list that gets the device of each recording."""
    found: list[device.Device] = []
    plain = strict.Strict.record

    def record(home: strict.Strict, work: Callable[[], Any]) -> Any:
        found.append(home)
        return plain(home, work)

    monkeypatch.setattr(strict.Strict, "record", record)
    return found


def test_a_training_step_is_recorded_and_gives_the_values_of_a_cpu(
    session: tf.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded = sources(monkeypatch)
    x = tf.placeholder(tf.float32, [None, 3])
    values = []
    for place in ("/gpu:0", "/cpu:0"):
        with tf.device(place):
            weights = tf.Variable(np.ones((3, 2), np.float32))
            loss = tf.reduce_mean(tf.square(tf.tanh(tf.matmul(x, weights)) - 0.5))
            values.append((loss, tf.train.AdamOptimizer(0.1).minimize(loss)))
    session.run(tf.global_variables_initializer())
    random = np.random.default_rng(0)
    for size in (4, 4, 4, 4, 4, 2, 4, 2, 2, 2, 4):
        batch = random.normal(size=(size, 3)).astype("f")
        (found, _), (expected, _) = session.run(values, {x: batch})
        np.testing.assert_allclose(found, expected, rtol=1e-5)
    assert len(recorded) >= 2


def test_a_read_after_a_change_gives_the_changed_value(session: tf.Session) -> None:
    with tf.device("/gpu:0"):
        v, copy = tf.Variable(1.0), tf.Variable(0.0)
        read = tf.identity(v)
        with tf.control_dependencies([read]):
            change = v.assign_add(1.0)
        with tf.control_dependencies([change]):
            keep = copy.assign(read * 1.0 + 0.0 * v)
    session.run([v.initializer, copy.initializer])
    for number in range(ENOUGH):
        session.run(keep.op)
        assert session.run(copy) == number + 2.0


def test_a_result_with_the_memory_of_a_variable_changes_with_the_variable(
    session: tf.Session,
) -> None:
    with tf.device("/gpu:0"):
        v, copy = tf.Variable([1.0]), tf.Variable([0.0])
        read = tf.identity(v)
        total = tf.reduce_sum(tf.matmul(tf.reshape(read, [1, 1]), [[1.0]]))
    with tf.device("/cpu:0"), tf.control_dependencies([read]):
        here = tf.tanh(total)
    with tf.device("/gpu:0"):
        with tf.control_dependencies([here]):
            change = v.assign_add([1.0])
        with tf.control_dependencies([change]):
            keep = copy.assign(read)
    session.run([v.initializer, copy.initializer])
    for number in range(ENOUGH):
        session.run(keep.op)
        assert session.run(copy).tolist() == [number + 2.0]


def test_sizes_in_host_memory_are_those_of_the_step(session: tf.Session) -> None:
    with tf.device("/cpu:0"):
        queue = tf.FIFOQueue(1, [tf.float32])
        value = tf.placeholder(tf.float32, [None])
        put, x = queue.enqueue(value), tf.reshape(queue.dequeue(), [-1])
    with tf.device("/gpu:0"):
        total = tf.reduce_sum(tf.tanh(tf.expand_dims(x, 0)))
        size = tf.shape(x) * 3
    for length in (*[2] * ENOUGH, *[3] * ENOUGH, 2, 3):
        session.run(put, {value: np.zeros(length)})
        assert session.run([total, size])[1].tolist() == [3 * length]


def test_a_run_may_read_a_reference_whose_variable_is_on_a_cpu(session: tf.Session) -> None:
    with tf.device("/cpu:0"):
        v = raw.VariableV2(shape=[2], dtype=tf.float32)
        start = raw.Assign(v, [1.0, 3.0])
        step = raw.AssignAdd(v, [1.0, 1.0])
    with tf.device("/gpu:0"):
        read, again = raw.Identity(v), raw.Identity(v)
        total = tf.reduce_sum(tf.square(tf.tanh(again * 2.0)))
    session.run(start)
    for number in range(ENOUGH):
        found = session.run([read, total])
        expected = np.add([1.0, 3.0], number)
        np.testing.assert_array_equal(found[0], expected)
        np.testing.assert_allclose(found[1], np.square(np.tanh(expected * 2)).sum(), rtol=1e-6)
        session.run(step)


def test_a_run_may_read_a_variable_that_a_node_before_it_has_changed(session: tf.Session) -> None:
    with tf.device("/gpu:0"):
        v = raw.VariableV2(shape=[2], dtype=tf.float32, shared_name="v")
        start = raw.Assign(v, [1.0, 1.0])
        changed = raw.AssignAdd(v, [1.0, 1.0])
    with tf.device("/cpu:0"), tf.control_dependencies([changed.op]):
        here = tf.random_uniform([])
    with tf.device("/gpu:0"), tf.control_dependencies([here]):
        total = tf.reduce_sum(tf.square(tf.expand_dims(changed, 0)))
    session.run(start.op)
    for number in range(ENOUGH):
        assert session.run(total) == 2.0 * (number + 2) ** 2


def test_the_variables_that_a_run_changes_are_known(
    session: tf.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[tuple[list[str], list[str]]] = []
    plain = repeats.Repeats.__init__

    def noted(made: repeats.Repeats, *arguments: Any, **named: Any) -> None:
        found.append(tuple([cell.name for cell in named[key]] for key in ("variables", "changed")))
        plain(made, *arguments, **named)

    with tf.device("/gpu:0"):
        read, changed = tf.Variable([1.0], name="read"), tf.Variable([1.0], name="changed")
        train = tf.train.GradientDescentOptimizer(0.1).minimize(
            tf.reduce_sum(tf.square(changed * read)), var_list=[changed]
        )
    session.run([read.initializer, changed.initializer])
    monkeypatch.setattr(repeats.Repeats, "__init__", noted)
    session.run(train)
    [(used, written)] = found
    assert sorted(used) == ["changed", "read"]
    assert written == ["changed"]


def test_an_error_names_the_node_of_the_run_that_failed(session: tf.Session) -> None:
    with tf.device("/gpu:0"):
        x = tf.placeholder(tf.float32, [None])
        y = tf.exp(tf.add(tf.square(x), tf.ones([2]), name="the_sum"))
    for _ in range(ENOUGH):
        with pytest.raises(tf.errors.InvalidArgumentError, match="the_sum"):
            session.run(y, {x: [1.0, 2.0, 3.0]})


def test_a_traced_step_keeps_its_nodes_apart(session: tf.Session) -> None:
    with tf.device("/gpu:0"):
        x = tf.placeholder(tf.float32, [2])
        y = tf.reduce_sum(tf.matmul(tf.reshape(tf.exp(x), [2, 1]), [[1.0, 2.0]]), name="total")
    for _ in range(ENOUGH):
        session.run(y, {x: [1.0, 2.0]})
    metadata = tf.RunMetadata()
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    session.run(y, {x: [1.0, 2.0]}, options=options, run_metadata=metadata)
    names = {
        stats.node_name for device in metadata.step_stats.dev_stats for stats in device.node_stats
    }
    assert {"Exp", "MatMul", "total"} <= names


CHANGES: dict[str, Callable[[Any, Any], Any]] = {
    "assign": lambda v, x: raw.Assign(v, x),
    "add": lambda v, x: raw.AssignAdd(v, x),
    "subtract": lambda v, x: raw.AssignSub(v, x * 2.0),
    "through": lambda v, x: raw.AssignAdd(v, x) * 2.0,
    "read": lambda v, x: tf.identity(v) * x,
    "alias": lambda v, x: tf.identity(v),
    "compute": lambda v, x: tf.tanh(x) + tf.reduce_sum(x),
}


@pytest.mark.e2e
@settings(deadline=None, max_examples=25)
@given(
    names=st.lists(st.sampled_from(sorted(CHANGES)), min_size=3, max_size=8),
    batches=st.lists(st.integers(-3, 3), min_size=ENOUGH, max_size=ENOUGH + 3),
)
def test_any_chain_of_reads_and_changes_gives_the_values_of_a_cpu(
    names: Sequence[str], batches: Sequence[int]
) -> None:
    def losses(place: str) -> list[Any]:
        with tf.Graph().as_default(), tf.device(place):
            x = tf.placeholder(tf.float32, [2])
            v = raw.VariableV2(shape=[2], dtype=tf.float32, shared_name="v")
            start, results = raw.Assign(v, np.ones(2, np.float32)), []
            for name in names:
                with tf.control_dependencies([result.op for result in results[-1:]]):
                    results.append(CHANGES[name](v, x))
            with tf.control_dependencies([result.op for result in results]):
                results.append(tf.identity(v) + 0.0)
            with tf.Session() as session:
                session.run(start.op)
                return [session.run(results[-1], {x: np.float32([batch, 1])}) for batch in batches]

    with strict.installed():
        found, expected = losses("/gpu:0"), losses("/cpu:0")
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
