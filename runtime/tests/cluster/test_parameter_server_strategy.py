"""A ParameterServerStrategy puts variables on ps tasks, and each worker trains at its own pace."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import clusters
import numpy as np
import pytest
from background import Background

import capstan as tf

Strategy = tf.distribute.experimental.ParameterServerStrategy
SPEC = {"ps": ["a:1", "b:1"], "chief": ["c:1"], "worker": ["d:1", "e:1"], "evaluator": ["f:1"]}
X = np.random.RandomState(0).rand(40, 3).astype(np.float32)
Y = X @ np.array([[1.0], [-2.0], [0.5]], np.float32)


def made(task_type: str | None, task_id: int | None, spec: Any = None) -> Any:
    cluster = tf.train.ClusterSpec(spec or SPEC)
    resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(
        cluster, task_type=task_type, task_id=task_id
    )
    return Strategy(resolver)


def test_variables_and_their_parts_are_on_the_ps_tasks_in_turn() -> None:
    strategy = made("worker", 1)
    with strategy.scope():
        table = tf.get_variable("table", [4, 2], partitioner=tf.fixed_size_partitioner(2))
        bias = tf.get_variable("bias", [2], use_resource=False)
    homes = [variable.device for variable in [*table, bias]]
    assert homes == ["/job:ps/task:0", "/job:ps/task:1", "/job:ps/task:0"]
    assert bias.op.type == "VarHandleOp"
    assert strategy.extended.variable_created_in_scope(bias)
    assert strategy.extended.parameter_devices == ("/job:ps/task:0", "/job:ps/task:1")


def test_a_variable_that_a_replica_makes_is_on_no_gpu_of_a_ps() -> None:
    config = tf.train.ClusterSpec(SPEC)
    resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(
        config, task_type="worker", task_id=0
    )
    strategy = Strategy(resolver, local_device="/gpu:0")
    with strategy.scope():
        made_inside = strategy.experimental_run_v2(lambda: tf.get_variable("v", [2]))
    assert made_inside.device == "/job:ps/task:0"


def test_the_model_is_on_the_worker_and_slots_and_updates_are_beside_their_variables() -> None:
    strategy = made("worker", 1)
    optimizer = tf.train.AdamOptimizer(0.1)

    def step(x: Any) -> Any:
        loss = tf.reduce_sum(first * x + second)
        return optimizer.minimize(loss), loss

    with strategy.scope():
        first, second = tf.get_variable("first", [2]), tf.get_variable("second", [2])
        _, loss = strategy.experimental_run_v2(step, ([1.0, 2.0],))
    (worker,) = strategy.extended.worker_devices
    assert worker.startswith("/job:worker/task:1/device:")
    assert loss.device == worker
    graph = tf.get_default_graph()
    assert graph.get_operation_by_name("gradients/mul_grad/Mul").device == worker
    for variable in (first, second):
        update = graph.get_operation_by_name(f"Adam/update_{variable.op.name}/ResourceApplyAdam")
        slots = [optimizer.get_slot(variable, name) for name in optimizer.get_slot_names()]
        assert {each.device for each in (*slots, update)} == {variable.device}
    assert first.device != second.device


@pytest.mark.parametrize(
    "task, is_chief, pipeline, filters",
    [
        (("chief", 0), True, 0, ["/job:chief/task:0", "/job:ps"]),
        (("worker", 1), False, 2, ["/job:worker/task:1", "/job:ps"]),
        (("evaluator", 0), True, 0, []),
    ],
)
def test_a_task_knows_its_place(
    task: tuple[str, int], is_chief: bool, pipeline: int, filters: list[str]
) -> None:
    strategy = made(*task)
    extended = strategy.extended
    for promise in ("experimental_should_init", "should_checkpoint", "should_save_summary"):
        assert getattr(extended, promise) is is_chief
    contexts: list[Any] = []

    def elements(context: Any) -> Any:
        contexts.append(context)
        return tf.data.Dataset.range(3)

    strategy.make_input_fn_iterator(elements)
    (context,) = contexts
    count = 1 if task[0] == "evaluator" else 3
    assert (context.input_pipeline_id, context.num_input_pipelines) == (pipeline, count)
    assert context.num_replicas_in_sync == strategy.num_replicas_in_sync == 1
    assert list(strategy.update_config_proto(tf.ConfigProto()).device_filters) == filters


def test_a_strategy_that_does_not_know_its_ps_or_its_task_is_refused() -> None:
    with pytest.raises(ValueError, match=r"needs to have `ps` jobs.*MultiWorkerMirroredStrategy"):
        made("worker", 0, {"worker": ["a:1"]})
    with pytest.raises(ValueError, match="you must also specify `task_type` and `task_id`"):
        made(None, None)
    strategy = Strategy()
    with pytest.raises(ValueError, match="needs to have `ps` jobs"):
        strategy.configure(None, {"worker": ["a:1"]}, "worker", 0)


def test_a_strategy_gets_its_cluster_later() -> None:
    strategy, config = Strategy(), tf.ConfigProto()
    strategy.configure(config, SPEC, "worker", 0)
    assert list(config.device_filters) == ["/job:worker/task:0", "/job:ps"]
    with strategy.scope():
        assert tf.get_variable("v", [1]).device == "/job:ps/task:0"


def train_step(x: Any, y: Any) -> Any:
    weights = tf.get_variable("weights", [3, 1], initializer=tf.zeros_initializer())
    loss = tf.reduce_mean(tf.square(tf.matmul(x, weights) - y))
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    return optimizer.minimize(loss, tf.train.get_or_create_global_step()), weights


def test_without_a_cluster_it_trains_in_this_process() -> None:
    strategy = Strategy()
    with strategy.scope():
        train, weights = strategy.experimental_run_v2(train_step, (X, Y))
    with tf.Session(config=strategy.update_config_proto(tf.ConfigProto())) as session:
        session.run(tf.global_variables_initializer())
        for _ in range(3):
            session.run(train)
        expected = np.zeros((3, 1))
        for _ in range(3):
            expected = expected - 0.2 * X.T @ (X @ expected - Y) / len(X)
        np.testing.assert_allclose(session.run(weights), expected, rtol=1e-5)


@contextmanager
def training(server: Any, index: int) -> Iterator[Callable[[Any], Any]]:
    """Yield a function that runs `train`, `weights` or `step` in the session of a worker."""
    strategy = made("worker", index, tf.train.ClusterSpec(server.server_def.cluster))
    with tf.Graph().as_default(), strategy.scope():
        dataset = tf.data.Dataset.from_tensors((X, Y)).repeat()
        iterator = strategy.make_dataset_iterator(dataset)
        train, weights = strategy.experimental_run(lambda batch: train_step(*batch), iterator)
        fetches = {"train": train, "weights": weights, "step": tf.train.get_global_step()}
        scaffold = tf.train.Scaffold(local_init_op=iterator.initialize())
        with tf.train.MonitoredTrainingSession(
            master=server.target,
            is_chief=strategy.extended.experimental_should_init,
            config=strategy.update_config_proto(tf.ConfigProto()),
            scaffold=scaffold,
        ) as session:
            yield lambda name: session.run(fetches[name])


@pytest.mark.e2e
def test_workers_share_the_variables_and_wait_for_nobody() -> None:
    with clusters.running(ps=2, worker=2) as servers:

        def five_steps() -> Any:
            with training(servers["worker:1"], 1) as run:
                for _ in range(5):
                    run("train")
                return run("step")

        with training(servers["worker:0"], 0) as run:
            assert Background(five_steps).join() == 5
            for _ in range(300):
                run("train")
            assert run("step") == 305
            np.testing.assert_allclose(run("weights"), [[1.0], [-2.0], [0.5]], atol=0.5)
