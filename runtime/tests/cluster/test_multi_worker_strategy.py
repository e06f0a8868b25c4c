"""Training in step on several workers. The workers are servers and threads of this process.

Each worker builds the same graph. The results are those of gradient descent on whole batches.
"""

import json
import pathlib
from collections.abc import Callable, Sequence
from typing import Any

import clusters
import numpy as np
import pytest
from background import Background

import capstan as tf
from capstan.services import server as servers

WORKERS = 2
X = np.random.RandomState(0).rand(24, 3).astype(np.float32)
Y = X @ np.array([[1.0], [-2.0], [0.5]], np.float32)
RATE = 0.1

Strategy = Any
MultiWorker = tf.distribute.experimental.MultiWorkerMirroredStrategy


def environment(cluster: Any, task_type: str, index: int) -> str:
    return json.dumps({"cluster": cluster, "task": {"type": task_type, "index": index}})


class Cluster:
    """The strategies of the workers, and their servers."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **jobs: int) -> None:
        self.spec = clusters.spec(**jobs)
        self.tasks = [(job, index) for job in jobs for index in range(jobs[job])]
        self._monkeypatch = monkeypatch

    def each(self, make: Callable[[str, int], Any]) -> list[Any]:
        """Call `make(job, index)` with the TF_CONFIG of each task."""
        found = []
        for job, index in self.tasks:
            self._monkeypatch.setenv("TF_CONFIG", environment(self.spec, job, index))
            found.append(make(job, index))
        self._monkeypatch.delenv("TF_CONFIG")
        return found

    def servers(self, strategies: Sequence[Strategy], settings: Any = None) -> list[Any]:
        settings = tf.ConfigProto() if settings is None else settings
        return [
            tf.train.Server(
                self.spec,
                job,
                index,
                config=strategy.update_config_proto(settings),
            )
            for strategy, (job, index) in zip(strategies, self.tasks, strict=True)
        ]


def together(work: Callable[[int], Any], count: int = WORKERS) -> list[Any]:
    started = [Background(lambda number=number: work(number)) for number in range(count)]
    return [each.join() for each in started]


def descended(steps: int, batch: int) -> Any:
    """Return the weights after gradient descent on batches of the examples, from zeros."""
    weights = np.zeros((3, 1), np.float64)
    for step in range(steps):
        rows = [row % len(X) for row in range(step * batch, (step + 1) * batch)]
        slope = 2 * X[rows].T @ (X[rows] @ weights - Y[rows]) / batch
        weights = weights - RATE * slope
    return weights


def model(x: Any) -> Any:
    return tf.layers.dense(x, 1, use_bias=False, kernel_initializer=tf.zeros_initializer())


@pytest.mark.parametrize("jobs", [{"worker": 2}, {"chief": 1, "worker": 1}])
def test_workers_train_on_parts_of_whole_batches(
    monkeypatch: pytest.MonkeyPatch, jobs: dict[str, int]
) -> None:
    cluster = Cluster(monkeypatch, **jobs)
    strategies = cluster.each(lambda *_: MultiWorker())
    servers = cluster.servers(strategies)

    def work(number: int) -> Any:
        strategy = strategies[number]
        with tf.Graph().as_default(), strategy.scope():
            dataset = tf.data.Dataset.from_tensor_slices((X, Y)).repeat().batch(8)
            inputs = strategy.make_dataset_iterator(dataset)

            def step(x: Any, y: Any) -> Any:
                loss = tf.reduce_sum((model(x) - y) ** 2) / 8
                train = tf.train.GradientDescentOptimizer(RATE).minimize(loss)
                with tf.control_dependencies([train]):
                    return tf.identity(loss)

            part = strategy.experimental_run_v2(step, args=inputs.get_next())
            loss = strategy.reduce("SUM", part)
            config = strategy.update_config_proto(tf.ConfigProto())
            with tf.Session(servers[number].target, config=config) as session:
                session.run([tf.global_variables_initializer(), inputs.initialize()])
                losses = [session.run(loss) for _ in range(5)]
                return losses, session.run(tf.trainable_variables()[0])

    try:
        (losses, weights), (other_losses, other) = together(work)
    finally:
        for server in servers:
            server.stop()
    np.testing.assert_allclose(weights, descended(5, 8), rtol=1e-5, atol=1e-7)
    np.testing.assert_array_equal(weights, other)
    assert losses == other_losses
    assert losses[0] == pytest.approx(np.mean(Y[:8] ** 2))
    assert all(strategy.num_replicas_in_sync == 2 for strategy in strategies)
    assert [strategy.extended.should_checkpoint for strategy in strategies] == [True, False]


def test_workers_with_several_devices_train_on_whole_batches(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster = Cluster(monkeypatch, worker=WORKERS)
    local = ["/device:CPU:0", "/device:CPU:1"]
    strategies = cluster.each(lambda *_: MultiWorker(local_devices=local))
    settings = tf.ConfigProto(device_count={"CPU": 2})
    servers = cluster.servers(strategies, settings)

    def work(number: int) -> Any:
        strategy = strategies[number]
        with tf.Graph().as_default(), strategy.scope():
            dataset = tf.data.Dataset.from_tensor_slices((X, Y)).repeat().batch(8)
            inputs = strategy.make_dataset_iterator(dataset)

            def step(x: Any, y: Any) -> Any:
                loss = tf.reduce_sum((model(x) - y) ** 2) / 8
                with tf.control_dependencies(
                    [tf.train.GradientDescentOptimizer(RATE).minimize(loss)]
                ):
                    return tf.identity(loss), x

            loss, rows = strategy.experimental_run_v2(step, args=inputs.get_next())
            total = strategy.reduce("SUM", loss)
            config = strategy.update_config_proto(tf.ConfigProto())
            with tf.Session(servers[number].target, config=config) as session:
                session.run([tf.global_variables_initializer(), inputs.initialize()])
                parts = session.run([total, *strategy.experimental_local_results(rows)])[1:]
                session.run(total)
                weights = tf.trainable_variables()[0]
                return parts, session.run(list(strategy.experimental_local_results(weights)))

    try:
        found = together(work)
    finally:
        for server in servers:
            server.stop()
    rows = [part for pair in zip(*(parts for parts, _ in found), strict=True) for part in pair]
    np.testing.assert_array_equal(np.concatenate(rows), X[:8])
    for _, copies in found:
        for copy in copies:
            np.testing.assert_allclose(copy, descended(2, 8), rtol=1e-5, atol=1e-7)
    assert strategies[0].num_replicas_in_sync == 4


def test_variables_start_with_the_values_of_the_chief(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster(monkeypatch, worker=WORKERS)
    strategies = cluster.each(lambda *_: MultiWorker())
    servers = cluster.servers(strategies)

    def work(number: int) -> Any:
        strategy = strategies[number]
        with tf.Graph().as_default(), strategy.scope():
            made = [tf.get_variable("random", [3], initializer=tf.random_normal_initializer())]
            if not tf.test.is_gpu_available():  # GPUs have no variables of these types.
                made.append(tf.Variable(number, name="number"))
                text = [b"text"] * (number + 1)
                made.append(tf.Variable(text, name="text", shape=tf.TensorShape(None)))
            config = strategy.update_config_proto(tf.ConfigProto())
            with tf.Session(servers[number].target, config=config) as session:
                session.run(tf.global_variables_initializer())
                return session.run(made)

    try:
        first, second = together(work)
    finally:
        for server in servers:
            server.stop()
    np.testing.assert_array_equal(first[0], second[0])
    assert first[1:2] == second[1:2] == ([] if tf.test.is_gpu_available() else [0])
    assert all(len(text) == 2 for text in second[2:])  # Collective operations have no texts.


def test_a_sum_that_is_assigned_is_the_sum_of_all_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster(monkeypatch, worker=WORKERS)
    strategies = cluster.each(lambda *_: MultiWorker())
    servers = cluster.servers(strategies)

    def work(number: int) -> Any:
        strategy = strategies[number]
        with tf.Graph().as_default(), strategy.scope():
            total = tf.Variable(
                0.0,
                trainable=False,
                synchronization=tf.VariableSynchronization.ON_READ,
                aggregation=tf.VariableAggregation.SUM,
            )
            added = strategy.experimental_run_v2(lambda: total.assign_add(number + 1.0))
            assigned, value = total.assign(6.0), total.read_value()
            config = strategy.update_config_proto(tf.ConfigProto())
            with tf.Session(servers[number].target, config=config) as session:
                session.run(tf.global_variables_initializer())
                found = []
                for change in (assigned, added):
                    session.run(change)
                    found.append(session.run(value))
                return found

    try:
        assert together(work) == [[6.0, 9.0]] * WORKERS
    finally:
        for server in servers:
            server.stop()


def test_the_rows_of_all_workers_change_an_embedding(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster(monkeypatch, worker=WORKERS)
    strategies = cluster.each(lambda *_: MultiWorker())
    servers = cluster.servers(strategies)

    def work(number: int) -> Any:
        strategy = strategies[number]
        with tf.Graph().as_default(), strategy.scope():
            rows = tf.placeholder(tf.int64, [None])

            def step() -> Any:
                table = tf.get_variable("table", [4, 2], initializer=tf.zeros_initializer())
                loss = tf.reduce_sum(tf.gather(table, rows))
                return tf.train.GradientDescentOptimizer(1.0).minimize(loss)

            train = strategy.experimental_run_v2(step)
            config = strategy.update_config_proto(tf.ConfigProto())
            with tf.Session(servers[number].target, config=config) as session:
                session.run(tf.global_variables_initializer())
                session.run(train, {rows: [number, 3]})
                return session.run(tf.trainable_variables()[0])[:, 0].tolist()

    try:
        assert together(work) == [[-1.0, -1.0, 0.0, -2.0]] * WORKERS
    finally:
        for server in servers:
            server.stop()


def test_gradients_of_one_type_are_added_together(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster(monkeypatch, worker=WORKERS)
    (strategy, _) = cluster.each(lambda *_: MultiWorker())
    with tf.Graph().as_default() as graph, strategy.scope():

        def step() -> Any:
            hidden = tf.layers.dense(tf.layers.dense(tf.constant(X), 4), 1)
            loss = tf.reduce_sum(hidden)
            return tf.train.GradientDescentOptimizer(RATE).minimize(loss)

        strategy.experimental_run_v2(step)
        sums = [op for op in graph.get_operations() if op.type == "CollectiveReduce"]
    assert len(sums) == 1
    assert sums[0].get_attr("group_size") == WORKERS


def test_keras_starts_servers_and_trains_on_whole_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster(monkeypatch, worker=WORKERS)
    strategies = cluster.each(lambda *_: MultiWorker())
    started: list[Any] = []
    make_server = tf.train.Server

    def start(*arguments: Any, **named: Any) -> Any:
        started.append(make_server(*arguments, **named))
        return started[-1]

    monkeypatch.setattr(servers, "Server", start)

    def work(number: int) -> Any:
        with tf.Graph().as_default():
            with strategies[number].scope():
                dense = tf.keras.layers.Dense(
                    1, use_bias=False, kernel_initializer="zeros", input_shape=(3,)
                )
                network = tf.keras.Sequential([dense])
                network.compile(tf.keras.optimizers.SGD(RATE), "mse", metrics=["mae"])
            history = network.fit(X, Y, batch_size=8, epochs=2, shuffle=False, verbose=0).history
            return history, network.get_weights()[0]

    try:
        (history, weights), (other_history, other) = together(work)
    finally:
        for server in started:
            server.stop()
    assert len(started) == WORKERS
    np.testing.assert_allclose(weights, descended(6, 8), rtol=1e-5, atol=1e-7)
    np.testing.assert_array_equal(weights, other)
    assert history == other_history


def test_estimators_train_in_step_without_a_chief_or_a_ps(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    cluster = Cluster(monkeypatch, worker=WORKERS)

    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        loss = tf.losses.mean_squared_error(labels, model(features))
        step = tf.train.get_global_step()
        train_op = tf.train.GradientDescentOptimizer(RATE).minimize(loss, step)
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)

    def input_fn(input_context: Any = None) -> Any:
        dataset = tf.data.Dataset.from_tensor_slices((X, Y))
        if input_context is not None:
            count, number = input_context.num_input_pipelines, input_context.input_pipeline_id
            dataset = dataset.batch(4).shard(count, number)  # 2 parts of batches of 8
            return dataset.repeat()
        return dataset.batch(8)

    def make(*_: Any) -> Any:
        config = tf.estimator.RunConfig(
            str(tmp_path), save_checkpoints_steps=3, train_distribute=MultiWorker()
        )
        return tf.estimator.Estimator(model_fn, config=config)

    estimators = cluster.each(make)
    assert [each.config.is_chief for each in estimators] == [True, False]
    assert [each.config.num_worker_replicas for each in estimators] == [2, 2]

    def work(number: int) -> None:
        tf.estimator.train_and_evaluate(
            estimators[number],
            tf.estimator.TrainSpec(input_fn, max_steps=6),
            tf.estimator.EvalSpec(input_fn),
        )

    together(work)
    reader = tf.train.load_checkpoint(str(tmp_path))
    assert reader.get_tensor("global_step") == 6
    np.testing.assert_allclose(
        reader.get_tensor("dense/kernel"), descended(6, 8), rtol=1e-5, atol=1e-7
    )


def test_a_run_config_refuses_a_ps_beside_equal_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster(monkeypatch, worker=1, ps=1)
    monkeypatch.setenv("TF_CONFIG", environment(cluster.spec, "worker", 0))
    with pytest.raises(ValueError, match="which needs no ps, but TF_CONFIG describes a cluster"):
        tf.estimator.RunConfig(train_distribute=MultiWorker())


def test_an_evaluator_uses_the_devices_of_its_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(
        "TF_CONFIG", environment({"chief": ["a:1"], "worker": ["b:1"]}, "evaluator", 0)
    )
    strategy = MultiWorker()
    assert strategy.num_replicas_in_sync == 1
    assert strategy.extended.default_device is None
    settings = strategy.update_config_proto(tf.ConfigProto())
    assert not settings.experimental.collective_group_leader


def test_a_session_sees_only_its_worker_and_knows_the_leader(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TF_CONFIG", environment({"worker": ["a:1", "b:1"]}, "worker", 1))
    settings = MultiWorker().update_config_proto(tf.ConfigProto())
    assert list(settings.device_filters) == ["/job:worker/task:1"]
    assert settings.experimental.collective_group_leader == "/job:worker/replica:0/task:0"


def test_the_strategy_has_its_names_in_contrib() -> None:
    strategy = tf.contrib.distribute.CollectiveAllReduceStrategy(num_gpus_per_worker=0)
    assert strategy.num_replicas_in_sync == 1
    assert isinstance(strategy, MultiWorker)
    with pytest.raises(AssertionError, match="CollectiveCommunication"):
        MultiWorker("ring")
