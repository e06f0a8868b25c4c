"""Integers and truth values on a GPU: counters of steps, casts, divisions and kept tensors."""

import pathlib
from collections.abc import Iterator
from typing import Any

import clusters
import numpy as np
import pytest
import strict

import capstan as tf

BIG = 1 << 62


@pytest.fixture(autouse=True)
def _devices() -> Iterator[None]:
    tf.reset_default_graph()
    with strict.installed(2):
        yield


def counting() -> tuple[Any, Any, Any]:
    """Build a model. Return its counter of steps, the rate of learning and the training."""
    step = tf.train.get_or_create_global_step()
    rate = tf.train.exponential_decay(1.0, step, 1, 0.5)
    weight = tf.get_variable("weight", initializer=4.0)
    train = tf.train.GradientDescentOptimizer(rate).minimize(weight, global_step=step)
    return step, rate, train


def placed(session: Any, operation: Any) -> dict[str, set[str]]:
    """Return the types of the devices that run each op, apart from constants, in a step."""
    options = tf.RunOptions(output_partition_graphs=True)
    metadata = tf.RunMetadata()
    session.run(operation, options=options, run_metadata=metadata)
    found: dict[str, set[str]] = {}
    for graph in metadata.partition_graphs:
        for node in graph.node:
            if node.op not in ("Const", "_Recv", "_Send"):
                found.setdefault(node.op, set()).add(node.device.rpartition(":")[0][-3:])
    return found


@pytest.mark.e2e
@pytest.mark.parametrize("is_resource", [False, True], ids=["ref", "resource"])
def test_the_counter_of_steps_and_all_that_follows_from_it_is_on_the_gpu(
    is_resource: bool,
) -> None:
    with tf.variable_scope("", use_resource=is_resource):
        _, rate, train = counting()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found = placed(session, train)
        assert {"VarHandleOp" if is_resource else "VariableV2", "Cast", "Pow"} <= found.keys()
        assert not any(op.startswith("_Copy") for op in found)
        assert set().union(*found.values()) == {"GPU"}
        assert session.run(rate) == 0.5


@pytest.mark.e2e
def test_a_saved_counter_goes_on_where_it_was(tmp_path: pathlib.Path) -> None:
    seen: list[int] = []

    class Watch(tf.train.SessionRunHook):
        def before_run(self, _: Any) -> Any:
            return tf.train.SessionRunArgs(tf.train.get_global_step())

        def after_run(self, _: Any, values: Any) -> None:
            seen.append(int(values.results))

    for last in (3, 5):
        with tf.Graph().as_default():
            _, rate, train = counting()
            hooks = [tf.train.StopAtStepHook(last_step=last), Watch()]
            with tf.train.MonitoredTrainingSession(
                checkpoint_dir=str(tmp_path), hooks=hooks, save_checkpoint_secs=600
            ) as session:
                while not session.should_stop():
                    session.run([train, rate])
    assert tf.train.load_variable(str(tmp_path), "global_step") == 5
    assert len(seen) == 5


@pytest.mark.e2e
def test_a_parameter_server_without_a_gpu_counts_the_steps_of_workers_with_gpus() -> None:
    cluster = clusters.spec(ps=1, worker=1)
    hidden = tf.ConfigProto(device_count={"GPU": 0})
    ps = tf.train.Server(cluster, job_name="ps", config=hidden)
    worker = tf.train.Server(cluster, job_name="worker")
    try:
        with tf.device(tf.train.replica_device_setter(cluster=tf.train.ClusterSpec(cluster))):
            step, rate, train = counting()
        with tf.Session(worker.target) as session:
            session.run(tf.global_variables_initializer())
            assert placed(session, train)["AssignAdd"] == {"CPU"}
            for _ in range(2):
                session.run(train)
            assert session.run([step, rate]) == [3, 0.125]
    finally:
        worker.stop()
        ps.stop()


@pytest.mark.e2e
def test_an_operation_without_a_kernel_for_gpus_keeps_its_counter_on_the_cpu() -> None:
    counter = tf.Variable(0, dtype=tf.int64)
    up, limited = counter.assign_add(1), counter.count_up_to(3)
    with tf.Session() as session:
        session.run(counter.initializer)
        assert placed(session, up)["AssignAdd"] == {"CPU"}
        assert session.run(limited) == 1


@pytest.mark.e2e
@pytest.mark.parametrize("is_resource", [False, True], ids=["ref", "resource"])
def test_a_variable_of_64_bit_integers_is_changed_on_the_gpu(is_resource: bool) -> None:
    with tf.device("/gpu:0"), tf.Session() as session:
        v = tf.Variable([BIG, 1, 2], dtype=tf.int64, use_resource=is_resource)
        session.run(v.initializer)
        session.run(v.assign_add([1, 2, 3]))
        session.run(v.assign_sub([0, 1, 0]))
        session.run(v[1:].assign([7, 8]))
        assert session.run(v).tolist() == [BIG + 1, 7, 8]
        assert session.run(tf.is_variable_initialized(v))


@pytest.mark.e2e
def test_a_variable_of_truth_values_is_changed_on_the_gpu() -> None:
    with tf.device("/gpu:0"), tf.Session() as session:
        v = tf.Variable([True, False, True], use_resource=True)
        session.run(v.initializer)
        session.run(tf.scatter_update(v, [0, 1], [False, True]))
        assert session.run(v).tolist() == [False, True, True]
        session.run(v[2:].assign([False]))
        assert session.run(tf.logical_not(v)).tolist() == [True, False, True]


def test_images_of_bytes_become_numbers_on_the_gpu() -> None:
    with tf.device("/gpu:0"), tf.Session() as session:
        images = tf.placeholder(tf.uint8, [2, 2])
        found = session.run(
            [tf.cast(images, tf.float32) / 255, tf.equal(images, 255), images + images],
            {images: [[0, 255], [51, 2]]},
        )
    np.testing.assert_allclose(found[0], np.divide([[0, 255], [51, 2]], 255), rtol=1e-6)
    assert found[1].tolist() == [[False, True], [False, False]]
    assert found[2].tolist() == [[0, 254], [102, 4]]


def test_numbers_become_32_bit_integers_in_host_memory() -> None:
    with tf.device("/gpu:0"), tf.Session() as session:
        x = tf.placeholder(tf.float32, [2])
        y = tf.cast(tf.square(x), tf.int32)
        assert session.run([y, y + 1], {x: [1.5, -3]})[1].tolist() == [3, 10]


def test_quotients_of_64_bit_integers_are_exact_on_the_gpu() -> None:
    with tf.device("/gpu:0"), tf.Session() as session:
        x = tf.placeholder(tf.int64, [4])
        divided = tf.truncatediv(x, tf.constant([3, -3, 2, -5], tf.int64))
        found = session.run(divided, {x: [-BIG - 7, BIG + 7, -9, -10]})
    third = (BIG + 7) // 3
    assert found.tolist() == [-third, -third, -4, 2]


@pytest.mark.e2e
@pytest.mark.parametrize("source", ["/gpu:0", "/cpu:0"])
@pytest.mark.parametrize("target", ["/gpu:0", "/gpu:1", "/cpu:0"])
def test_a_session_keeps_a_tensor_for_steps_on_any_device(source: str, target: str) -> None:
    with tf.Session() as session:
        with tf.device(source):
            floats = tf.get_session_handle(tf.constant([1.0, 2]) * 2)
            integers = tf.get_session_handle(tf.constant([1, 2]))
        kept = session.run([floats, integers])
        assert kept[0].handle.endswith(f"device{source.upper().replace('/', ':')}")
        assert [each.eval().tolist() for each in kept] == [[2, 4], [1, 2]]
        holder, tensor = tf.get_session_tensor(f"other;0;{target}", tf.float32)
        assert session.run(tensor + 1, {holder: kept[0]}).tolist() == [3, 5]
        kept[0].delete()
        with pytest.raises(tf.errors.InvalidArgumentError, match="not in the session store"):
            session.run(tensor, {holder: kept[0].handle})
