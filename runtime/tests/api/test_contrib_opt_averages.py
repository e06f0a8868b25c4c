"""Optimizers of `tf.contrib.opt` whose workers train variables of their own and share centers."""

import pathlib
from collections.abc import Callable, Iterator
from typing import Any

import background
import clusters
import numpy as np
import pytest

import capstan as tf

pytestmark = pytest.mark.e2e

opt = tf.contrib.opt
GETTERS = [opt.ElasticAverageCustomGetter, opt.ModelAverageCustomGetter, opt.AGNCustomGetter]
CENTER = "global_center_variable/v"


@pytest.fixture
def servers() -> Iterator[dict[str, Any]]:
    with clusters.running(ps=1, worker=2) as started:
        yield started


class Worker:
    """A worker with one variable `v`, whose gradient is the same in each step."""

    def __init__(
        self, index: int, kind: Any, make: Callable[[Any], Any], slope: float = -1.0
    ) -> None:
        self.index, self.graph = index, tf.Graph()
        device = f"/job:worker/task:{index}"
        getter = kind(device)
        with (
            self.graph.as_default(),
            tf.device(tf.train.replica_device_setter(ps_tasks=1, worker_device=device)),
        ):
            self.step = tf.train.get_or_create_global_step()
            with tf.variable_scope("", custom_getter=getter):
                self.variable = tf.get_variable("v", initializer=0.0)
            with tf.device(device):
                self.optimizer = make(getter)
                gradient = tf.constant(slope)
                pairs = [(gradient, self.variable)]
                self.train = self.optimizer.apply_gradients(pairs, self.step)

    def named(self, name: str) -> Any:
        """Return the variable of this name."""
        with self.graph.as_default():
            variables = tf.global_variables() + tf.local_variables()
        return next(var for var in variables if var.op.name == name)

    def begin(self, servers: dict[str, Any], hook: Any) -> None:
        with self.graph.as_default():
            self.session = tf.train.MonitoredTrainingSession(
                servers[f"worker:{self.index}"].target, self.index == 0, hooks=[hook]
            )

    def run(self, steps: int) -> None:
        for _ in range(steps):
            self.session.run(self.train)

    def values(self) -> list[float]:
        """Return the values of the variable, of its center, and of the global step."""
        found = self.session.run([self.variable, self.named(CENTER), self.step])
        return [float(value) for value in found]


def test_elastic_workers_and_the_centers_pull_at_each_other(servers: dict[str, Any]) -> None:
    def make(getter: Any) -> Any:
        return opt.ElasticAverageOptimizer(
            tf.train.GradientDescentOptimizer(1.0), 2, getter, 2, moving_rate=0.5
        )

    one, two = (Worker(index, opt.ElasticAverageCustomGetter, make) for index in range(2))
    assert one.named(CENTER).device == "/job:ps/task:0"
    assert one.named("local_center_variable/v").device == "/job:worker/task:0"
    for worker in (one, two):
        worker.begin(servers, worker.optimizer.make_session_run_hook(worker is one, worker.index))
    one.run(1)
    assert one.values() == [1, 0, 0]
    one.run(1)
    assert one.values() == [1, 1, 1]
    two.run(2)
    assert two.values() == [1.5, 1.5, 2]
    assert two.session.run(two.named("local_center_variable/v")) == 1
    one.run(2)
    assert one.values() == [2.25, 2.25, 3]


def test_synchronous_elastic_workers_begin_when_all_are_ready(servers: dict[str, Any]) -> None:
    def make(getter: Any) -> Any:
        descent = tf.train.GradientDescentOptimizer(1.0)
        return opt.ElasticAverageOptimizer(descent, 2, getter, 1, 0.5, synchronous=True)

    def begin(worker: Worker) -> None:
        worker.begin(servers, worker.optimizer.make_session_run_hook(worker is one, worker.index))

    one, two = (Worker(index, opt.ElasticAverageCustomGetter, make) for index in range(2))
    starting = background.Background(lambda: begin(one))
    with tf.Graph().as_default(), tf.Session(servers["worker:1"].target) as session:
        with tf.device("/job:ps/task:0"):
            queue = tf.FIFOQueue(2, [tf.bool], [[]], shared_name="variable_init_sync_queue1")
        told = queue.size()
        background.until(lambda: session.run(told) == 1)
    assert starting.is_alive()
    begin(two)
    starting.join()
    one.run(1)
    assert one.values() == [0.5, 0.5, 1]


def test_averaging_workers_continue_from_the_mean_of_their_variables(
    servers: dict[str, Any],
) -> None:
    def make_for(index: int) -> Callable[[Any], Any]:
        # The slot of momentum is a variable of the worker, which the chief does not initialize.
        inner = tf.train.MomentumOptimizer(1.0, 0.0)
        return lambda getter: opt.ModelAverageOptimizer(inner, 2, index == 0, getter, 2)

    kind = opt.ModelAverageCustomGetter
    one, two = (Worker(i, kind, make_for(i), slope=-1.0 - i) for i in range(2))
    assert one.named(CENTER).device == "/job:ps/task:0"
    for worker in (one, two):
        worker.begin(servers, worker.optimizer.make_session_run_hook())
        worker.run(1)
    assert (one.values(), two.values()) == ([1, 0, 0], [2, 0, 0])
    waiting = background.Background(lambda: two.run(5))
    one.run(5)
    waiting.join()
    assert (one.values(), two.values()) == ([9, 9, 3], [9, 9, 3])


def test_a_worker_does_not_take_the_token_that_a_slow_worker_has_left(
    servers: dict[str, Any],
) -> None:
    def make_for(index: int) -> Callable[[Any], Any]:
        inner = tf.train.GradientDescentOptimizer(1.0)
        return lambda getter: opt.ModelAverageOptimizer(inner, 2, index == 0, getter, 1)

    kind = opt.ModelAverageCustomGetter
    one, two = (Worker(i, kind, make_for(i), slope=-1.0 - i) for i in range(2))
    for worker in (one, two):
        worker.begin(servers, worker.optimizer.make_session_run_hook())
    with tf.Graph().as_default(), tf.Session(servers["worker:0"].target) as session:
        with tf.device("/job:ps/task:0"):
            # The first average is that of step 0.
            queue = tf.FIFOQueue(-1, [tf.bool], [[]], shared_name="sync_queue_even")
            total = tf.ConditionalAccumulator(tf.float32, [], f"{CENTER}:0/var_accum")
        count, left = total.num_accumulated(), queue.enqueue(False)
        first = background.Background(lambda: two.run(1))
        one.run(1)
        first.join()
        session.run(left)
        second = background.Background(lambda: two.run(1))
        background.until(lambda: session.run(count) == 1)
        one.run(1)
        second.join()
    assert (one.values(), two.values()) == ([3, 3, 2], [3, 3, 2])


def test_accumulated_gradients_train_the_centers_by_their_mean(servers: dict[str, Any]) -> None:
    def make(getter: Any) -> Any:
        return opt.AGNOptimizer(tf.train.MomentumOptimizer(1.0, 0.9), 2, getter, 2)

    kind = opt.AGNCustomGetter
    one, two = (Worker(i, kind, make, slope=-1.0 - i) for i in range(2))
    assert one.named(CENTER).device == "/job:ps/task:0"
    assert one.named(f"{CENTER}/Momentum").device == "/job:ps/task:0"
    assert one.named("grad_variable/v").device == "/job:worker/task:0"
    with one.graph.as_default():
        names = {var.op.name for var in tf.global_variables()}
    assert names == {"global_step", CENTER, f"{CENTER}/Momentum"}
    for worker in (one, two):
        worker.begin(servers, worker.optimizer.make_session_run_hook(worker is one, worker.index))
    one.run(1)
    assert one.values() == [1, 0, 0]
    one.run(1)
    assert one.values() == [1, 1, 1]
    two.run(2)
    np.testing.assert_allclose(two.values(), [3.9, 3.9, 2], rtol=1e-6)
    one.run(2)  # The mean of the gradients is 1 again: the first two do not count again.
    np.testing.assert_allclose(one.values(), [7.51, 7.51, 3], rtol=1e-6)


def test_accumulated_gradients_may_be_sparse() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        getter = opt.AGNCustomGetter("")
        with tf.variable_scope("", custom_getter=getter):
            table = tf.get_variable("v", initializer=[[1.0], [2.0], [3.0]])
        optimizer = opt.AGNOptimizer(tf.train.GradientDescentOptimizer(1.0), 1, getter, 2)
        train = optimizer.minimize(tf.reduce_sum(tf.gather(table, [2, 0, 2])))
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        session.run(optimizer.get_init_op(0))
        for _ in range(2):
            session.run(train)
        np.testing.assert_array_equal(session.run(getter._global_map[table]), [[0], [2], [1]])


def test_the_loss_of_an_elastic_worker_grows_with_the_distance_from_the_center() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        getter = opt.ElasticAverageCustomGetter("")
        with tf.variable_scope("", custom_getter=getter):
            first = tf.get_variable("first", initializer=[1.0, 2.0])
            second = tf.get_variable("second", initializer=1.0)
        optimizer = opt.ElasticAverageOptimizer(
            tf.train.GradientDescentOptimizer(0.5), 3, getter, communication_period=6
        )
        loss = 3.0 * second + tf.reduce_sum(first)
        ((gradient, of),) = optimizer.compute_gradients(loss, [second])
        assert of is second
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        session.run([second.assign(5.0), first.assign([9.0, 9.0])])
        # By default, the rate is 0.9 / 6 / 3 = 0.05, and rho is 0.05 / 0.5.
        np.testing.assert_allclose(session.run(gradient), 3.0 + 0.1 * 4.0, rtol=1e-6)
        assert len(optimizer.compute_gradients(loss)) == 2


@pytest.mark.parametrize("is_listed", [False, True])
def test_a_swapping_saver_saves_centers_under_the_names_of_variables(
    is_listed: bool, tmp_path: pathlib.Path
) -> None:
    path = str(tmp_path / "model")
    with tf.Graph().as_default(), tf.Session() as session:
        getter = opt.ElasticAverageCustomGetter("")
        optimizer = opt.ElasticAverageOptimizer(
            tf.train.GradientDescentOptimizer(1.0), 1, getter, moving_rate=0.5
        )
        with pytest.raises(RuntimeError, match="no center variables"):
            optimizer.swapping_saver()
        with tf.variable_scope("", custom_getter=getter):
            whole = tf.get_variable("whole", initializer=1.0)
            cut = tf.get_variable(
                "cut", [2, 2], partitioner=tf.fixed_size_partitioner(2), initializer=tf.ones
            )
        saver = optimizer.swapping_saver([whole, cut] if is_listed else None)
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        session.run([var.assign(var + 7.0) for var in [whole, *cut]])
        saver.save(session, path)
    reader = tf.train.load_checkpoint(path)
    assert reader.get_variable_to_shape_map() == {"cut": [2, 2], "whole": []}
    assert reader.get_tensor("whole") == 1
    np.testing.assert_array_equal(reader.get_tensor("cut"), np.ones((2, 2)))


@pytest.mark.parametrize("kind", GETTERS)
def test_only_trainable_variables_get_centers(kind: Any) -> None:
    with tf.Graph().as_default(), tf.device("/job:ps"):
        getter = kind("/job:worker")
        with tf.variable_scope("", custom_getter=getter):
            trained = tf.get_variable("v", initializer=1.0)
            fixed = tf.get_variable("fixed", initializer=1.0, trainable=False)
            local = tf.get_variable("local", initializer=1.0, collections=["local_variables"])
            tf.get_variable(
                "count", initializer=1.0, trainable=False, collections=["local_variables"]
            )
        with tf.variable_scope("", custom_getter=getter, reuse=True):
            assert tf.get_variable("v", dtype=tf.float32) is trained
        assert tf.trainable_variables() == [trained, local]
        places = {var.op.name: var.device for var in tf.global_variables()}
        assert places == {CENTER: "/job:ps", "fixed": "/job:ps", f"{CENTER[:-1]}local": "/job:ps"}
        assert {var.device for var in tf.local_variables()} == {"/job:worker"}
        assert fixed not in getter._global_map


def optimizers(inner: Any) -> list[Any]:
    return [
        opt.ElasticAverageOptimizer(inner, 1, GETTERS[0]("")),
        opt.ModelAverageOptimizer(inner, 1, True, GETTERS[1]("")),
        opt.AGNOptimizer(inner, 1, GETTERS[2]("")),
    ]


@pytest.mark.parametrize("index", range(3))
def test_a_variable_without_a_center_is_refused(index: int) -> None:
    with tf.Graph().as_default(), tf.variable_scope("", reuse=tf.AUTO_REUSE):
        variable = tf.get_variable("plain", initializer=1.0)
        optimizer = optimizers(tf.train.GradientDescentOptimizer(1.0))[index]
        step = tf.train.get_or_create_global_step()
        wanted = f"plain has no center variable.*{GETTERS[index].__name__}"
        with pytest.raises(ValueError, match=wanted):
            optimizer.apply_gradients([(tf.constant(1.0), variable)], step)


def test_an_average_needs_variables_a_global_step_and_a_train_op() -> None:
    with tf.Graph().as_default(), tf.variable_scope("", reuse=tf.AUTO_REUSE):
        optimizer = optimizers(tf.train.GradientDescentOptimizer(1.0))[1]
        with pytest.raises(ValueError, match="Must supply at least one variable"):
            optimizer.apply_gradients([], None)
        with pytest.raises(ValueError, match="Global step is required"):
            optimizer.apply_gradients([(None, None)])
        with pytest.raises(ValueError, match="no trainable variables"):
            optimizer.get_init_op()
        with pytest.raises(ValueError, match="apply_gradients must be called"):
            optimizer.make_session_run_hook().begin()
