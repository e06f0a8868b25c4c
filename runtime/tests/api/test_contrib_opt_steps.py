"""Optimizers of `tf.contrib.opt` that know the step or the worker compute their formulas."""

import pathlib
from typing import Any

import clusters
import numpy as np
import pytest

import capstan as tf

pytestmark = pytest.mark.e2e

opt = tf.contrib.opt
START = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], np.float32)
ROWS = [2, 0, 2]
GRADS = np.array([[0.5, -1.0], [1.0, 2.0], [0.25, 0.5]], np.float32)
SUMMED = np.zeros((3, 2))
np.add.at(SUMMED, ROWS, GRADS)


def table(is_resource: bool) -> Any:
    return tf.get_variable("table", initializer=START, use_resource=is_resource)


def gradient(is_sparse: bool) -> Any:
    return tf.IndexedSlices(tf.constant(GRADS), ROWS, [3, 2]) if is_sparse else tf.constant(GRADS)


def adam(grads: Any, rows: Any, first: int) -> Any:
    """Adam with a rate of 0.1, by its formula, from step `first` on. Other rows stay."""
    values, mean, power = START.astype(np.float64), np.zeros((3, 2)), np.zeros((3, 2))
    found = []
    for step in range(first, first + 3):
        mean[rows] = 0.9 * mean[rows] + 0.1 * grads[rows]
        power[rows] = 0.999 * power[rows] + 0.001 * grads[rows] ** 2
        rate = 0.1 * np.sqrt(1 - 0.999**step) / (1 - 0.9**step)
        values[rows] -= rate * mean[rows] / (np.sqrt(power[rows]) + 1e-8)
        found.append(values.copy())
    return found


@pytest.mark.parametrize("is_resource", [False, True])
@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("kind", [opt.AdamGSOptimizer, opt.LazyAdamGSOptimizer])
def test_adam_counts_by_the_global_step(kind: Any, is_sparse: bool, is_resource: bool) -> None:
    step = tf.Variable(4, name="global_step", trainable=False, dtype=tf.int64)
    variable, optimizer = table(is_resource), kind(step, 0.1)
    train = optimizer.apply_gradients([(gradient(is_sparse), variable)], step)
    assert [slot.name for slot in optimizer.variables()] == ["table/Adam:0", "table/Adam_1:0"]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found = []
        for _ in range(3):
            session.run(train)
            found.append(session.run(variable))
    is_lazy = is_sparse and kind is opt.LazyAdamGSOptimizer
    grads = SUMMED if is_sparse else GRADS
    np.testing.assert_allclose(found, adam(grads, [0, 2] if is_lazy else [0, 1, 2], 5), rtol=1e-5)


@pytest.mark.parametrize("is_resource", [False, True])
@pytest.mark.parametrize("is_sparse", [False, True])
def test_adagrad_leaves_its_slots_alone_in_the_block(is_sparse: bool, is_resource: bool) -> None:
    variable, optimizer = table(is_resource), opt.RegAdagradOptimizer(0.5)
    counted = optimizer.apply_gradients([(gradient(is_sparse), variable)])
    with optimizer.avoid_updating_slots():
        uncounted = optimizer.apply_gradients([(gradient(is_sparse), variable)])
    again = optimizer.apply_gradients([(gradient(is_sparse), variable)])
    slot = optimizer.get_slot(variable, "accumulator")
    assert slot.name == "table/RegAdagrad:0"
    grads = SUMMED if is_sparse else GRADS
    values, squares = START.astype(np.float64), np.full((3, 2), 0.1)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for train, is_counted in ((counted, True), (uncounted, False), (again, True)):
            session.run(train)
            squares += grads**2 if is_counted else 0
            values -= 0.5 * grads / np.sqrt(squares)
            np.testing.assert_allclose(session.run(variable), values, rtol=1e-5)
            np.testing.assert_allclose(session.run(slot), squares, rtol=1e-5)


@pytest.mark.parametrize("is_resource", [False, True])
@pytest.mark.parametrize("is_sparse", [False, True])
def test_gradients_are_corrected_by_what_others_changed(is_sparse: bool, is_resource: bool) -> None:
    variable = table(is_resource)
    optimizer = opt.DelayCompensatedGradientDescentOptimizer(0.1, 2.0, num_workers=lambda: 2)
    trains = [
        optimizer.apply_gradients([(gradient(is_sparse), variable)], worker_index=index)
        for index in range(2)
    ]
    grads = SUMMED if is_sparse else GRADS
    values, shadows = START.astype(np.float64), [START.astype(np.float64)] * 2
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for index in (0, 1, 1, 0, 0, 1):
            session.run(trains[index])
            values = values - 0.1 * (grads + 2 * grads**2 * (values - shadows[index]))
            shadows[index] = values
            np.testing.assert_allclose(session.run(variable), values, rtol=1e-5)


class Worker:
    """A worker of two, with a graph of its own. The gradients are 1 and, for two rows, 2."""

    def __init__(self, target: str, index: int) -> None:
        with tf.Graph().as_default():
            device = tf.train.replica_device_setter(1, worker_device=f"/job:worker/task:{index}")
            with tf.device(device):
                step = tf.train.get_or_create_global_step()
                weights = tf.get_variable("weights", [], initializer=tf.zeros_initializer())
                rows = tf.get_variable("rows", [3], initializer=tf.zeros_initializer())
                loss = weights + 2 * tf.reduce_sum(tf.gather(rows, [0, 2]))
                optimizer = opt.DelayCompensatedGradientDescentOptimizer(0.5, 1.0, num_workers=2)
                self.train = optimizer.minimize(loss, step, worker_index=index)
            self.slots = optimizer.variables()
            self.state = [step, weights, rows]
            self.initialize = tf.global_variables_initializer()
            self.saver = tf.train.Saver()
            self.session = tf.Session(target)


def test_two_workers_correct_for_each_other_at_a_parameter_server(tmp_path: pathlib.Path) -> None:
    servers = clusters.start(ps=1, worker=2)
    workers = [Worker(servers[f"worker:{index}"].target, index) for index in range(2)]
    own = [f"{var}/DelayCompensatedGradientDescentOptimizer" for var in ("rows", "weights")]
    names = [f"{name}{end}" for name in own for end in ("", "_1")]
    for worker in workers:
        assert [slot.op.name for slot in worker.slots] == names
        assert {slot.device for slot in worker.slots} == {"/job:ps/task:0"}
    first = workers[0]
    first.session.run(first.initialize)
    value, rows, shadows, row_shadows = 0.0, 0.0, [0.0, 0.0], [0.0, 0.0]
    for step, index in enumerate((0, 1, 0, 0, 1), 1):
        workers[index].session.run(workers[index].train)
        value -= 0.5 * (1 + value - shadows[index])
        rows -= 0.5 * (2 + 4 * (rows - row_shadows[index]))
        shadows[index], row_shadows[index] = value, rows
        assert first.session.run(first.state[:2]) == [step, value]
        assert first.session.run(first.state[2]).tolist() == [rows, 0.0, rows]
    path = first.saver.save(first.session, str(tmp_path / "model"))
    assert {name for name, _ in tf.train.list_variables(path)} == {
        *("global_step", "rows", "weights", *names)
    }
    for worker in workers:
        worker.session.close()


def test_workers_that_do_not_exist_are_refused() -> None:
    with pytest.raises(ValueError, match="num_workers must be positive: 0"):
        opt.DelayCompensatedGradientDescentOptimizer(0.1, num_workers=0)
    optimizer = opt.DelayCompensatedGradientDescentOptimizer(0.1, num_workers=2)
    variable = tf.Variable(1.0)
    for index in (2, -1):
        with pytest.raises(ValueError, match=f"worker_index must be from 0 to 1: {index}"):
            optimizer.minimize(variable, worker_index=index)
