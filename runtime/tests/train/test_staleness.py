"""Tests of asynchronous training whose learning rate depends on the age of a gradient."""

from typing import Any

import background
import clusters
import numpy as np
import pytest

import capstan as tf

MAKERS = {
    "momentum": lambda rate: tf.train.MomentumOptimizer(rate, 0.9),
    "adam": tf.train.AdamOptimizer,
}


def read_step() -> Any:
    """Return the step that a worker reads together with the variables. A feed replaces it."""
    return tf.get_default_graph().get_tensor_by_name("staleness_aware/read_step:0")


def model() -> tuple[Any, list[Any]]:
    """Return a loss with a dense and a sparse gradient, and its variables."""
    weights = tf.get_variable("weights", [2], initializer=tf.ones_initializer())
    table = tf.get_variable("table", [3, 2], initializer=tf.ones_initializer())
    rows = tf.nn.embedding_lookup(table, [0, 2, 0])
    return tf.reduce_sum(tf.square(weights)) + tf.reduce_sum(tf.square(rows)), [weights, table]


@pytest.mark.e2e
@pytest.mark.parametrize("use_resource", [False, True])
@pytest.mark.parametrize("name", MAKERS)
def test_the_learning_rate_is_divided_by_the_staleness(name: str, use_resource: bool) -> None:
    step = tf.train.get_or_create_global_step()
    with tf.variable_scope("aware", use_resource=use_resource):
        loss, variables = model()
    optimizer = tf.train.StalenessAwareOptimizer(MAKERS[name], 0.1)
    train = optimizer.minimize(loss, step)
    with tf.variable_scope("plain", use_resource=use_resource):
        loss, expected = model()
    rate = tf.placeholder(tf.float32, [])
    reference = MAKERS[name](rate).minimize(loss, var_list=expected)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for number, staleness in enumerate((0, 1, 2, 5)):
            feeds = {read_step(): number - staleness, rate: 0.1 / max(1, staleness)}
            found, *_ = session.run([optimizer.staleness, train, reference], feeds)
            assert found == staleness
            for pair in zip(*session.run([variables, expected]), strict=True):
                np.testing.assert_allclose(*pair, rtol=1e-6)
        assert session.run(step) == 4


@pytest.mark.e2e
def test_a_gradient_above_the_bound_changes_no_variable_and_is_counted() -> None:
    step = tf.train.get_or_create_global_step()
    loss, variables = model()
    optimizer = tf.train.StalenessAwareOptimizer(MAKERS["momentum"], 0.1, max_staleness=3)
    train = optimizer.minimize(loss, step)
    assert tf.get_collection(tf.GraphKeys.TRAIN_OP) == [train]
    slots = [optimizer.get_slot(var, "momentum") for var in variables]
    own = ["staleness_aware/average:0", "staleness_aware/dropped:0"]
    assert [var.name for var in optimizer.variables()] == [
        *own,
        "table/Momentum:0",
        "weights/Momentum:0",
    ]
    summaries = tf.summary.merge_all()

    def state() -> Any:
        return session.run([step, *variables, *slots])

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train, {read_step(): -3})
        before = state()
        for _ in range(2):
            session.run(train, {read_step(): -3})
        for value, earlier in zip(state(), before, strict=True):
            np.testing.assert_array_equal(value, earlier)
        assert before[0] == 1
        message = tf.Summary.FromString(session.run(summaries))
    values = {value.tag: value.simple_value for value in message.value}
    average = 0.0
    for staleness in (3, 4, 4):
        average += 0.01 * (staleness - average)
    assert values == {
        "staleness_aware/staleness": pytest.approx(average),
        "staleness_aware/dropped_gradients": 2,
    }


class Worker:
    """A worker with a graph of its own. If it is slow, its gradients wait for `gate`.

    The gradient of `v0`, on one parameter server, is 1. The gradient of `v1`, on the other, is 2.
    """

    def __init__(self, server: Any, *, is_slow: bool) -> None:
        with tf.Graph().as_default():
            with tf.device("/job:ps/task:0"):
                step = tf.train.get_or_create_global_step()
                v0 = tf.get_variable("v0", [], initializer=tf.zeros_initializer())
                self.gate = tf.FIFOQueue(1, tf.float32, shapes=(), shared_name="gate")
                began = tf.FIFOQueue(1, tf.int64, shapes=(), shared_name="began")
            with tf.device("/job:ps/task:1"):
                v1 = tf.get_variable("v1", [], initializer=tf.zeros_initializer())
            optimizer = tf.train.StalenessAwareOptimizer(
                tf.train.GradientDescentOptimizer, 1.0, max_staleness=4
            )
            factor = self.gate.dequeue() if is_slow else 1.0
            train = optimizer.minimize(factor * (v0 + 2 * v1), step)
            self.run = [optimizer.staleness, train]
            if is_slow:
                self.run.append(began.enqueue(read_step()))
            self.open_gate, self.wait = self.gate.enqueue(1.0), began.dequeue()
            self.state = [step, v0, v1]
            self.initialize = tf.global_variables_initializer()
            self.session = tf.Session(server.target)


@pytest.mark.e2e
def test_workers_measure_the_updates_that_other_workers_make_in_the_meantime() -> None:
    servers = clusters.start(ps=2, worker=2)
    slow = Worker(servers["worker:0"], is_slow=True)
    fast = Worker(servers["worker:1"], is_slow=False)
    fast.session.run(fast.initialize)
    for updates, expected in ((4, [5, -4.25, -8.5]), (5, [10, -9.25, -18.5])):
        call = background.Background(lambda: slow.session.run(slow.run))
        fast.session.run(fast.wait)
        for _ in range(updates):
            assert fast.session.run(fast.run)[0] == 0
        fast.session.run(fast.open_gate)
        assert call.join()[0] == updates
        assert fast.session.run(fast.state) == expected
    slow.session.close()
    fast.session.close()


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match=r"max_staleness must be 0 or more.*: -1"):
        tf.train.StalenessAwareOptimizer(tf.train.AdamOptimizer, 0.1, max_staleness=-1)
    optimizer = tf.train.StalenessAwareOptimizer(tf.train.AdamOptimizer, 0.1)
    with pytest.raises(ValueError, match=r"staleness is known after minimize\(\)"):
        _ = optimizer.staleness
    loss, _ = model()
    with pytest.raises(ValueError, match="Global step is required to measure staleness"):
        optimizer.minimize(loss)
