"""Tests of partitioned variables whose parts are on several parameter servers."""

import pathlib
from collections.abc import Iterator
from typing import Any

import clusters
import numpy as np
import pytest

import capstan as tf

IDS = [[0, 6], [4, 4]]


@pytest.fixture(scope="module")
def servers() -> Iterator[dict[str, Any]]:
    with clusters.running(ps=2, worker=1) as started:
        yield started


def table_on_two_servers(count: int) -> Any:
    """Return a table in `count` parts. Each part is on the server that has the fewest bytes."""
    training = tf.contrib.training
    strategy = training.GreedyLoadBalancingStrategy(2, training.byte_size_load_fn)
    with tf.device(tf.train.replica_device_setter(ps_tasks=2, ps_strategy=strategy)):
        return tf.get_variable(
            "table",
            [7, 2],
            initializer=tf.ones_initializer(),
            partitioner=tf.fixed_size_partitioner(count),
        )


def session_of(servers: dict[str, Any]) -> Any:
    return tf.Session(servers["worker:0"].target)


@pytest.mark.e2e
def test_a_table_on_two_servers_is_trained_saved_and_restored_in_other_parts(
    servers: dict[str, Any], tmp_path: pathlib.Path
) -> None:
    path = str(tmp_path / "model")
    with tf.Graph().as_default(), session_of(servers) as session:
        table = table_on_two_servers(3)
        assert [part.device for part in table] == [f"/job:ps/task:{index}" for index in (0, 1, 1)]
        rows = tf.nn.embedding_lookup(table, IDS, partition_strategy="div")
        optimizer = tf.train.MomentumOptimizer(1.0, 0.9)
        train = optimizer.minimize(tf.reduce_sum(rows))
        slots = [optimizer.get_slot(part, "momentum") for part in table]
        assert [slot.device for slot in slots] == [part.device for part in table]
        session.run(tf.global_variables_initializer())
        session.run(train)
        tf.train.Saver(sharded=True).save(session, path)
        trained = session.run(table.as_tensor())
    np.testing.assert_array_equal(trained[:, 0], [0, 1, 1, 1, -1, 1, 0])
    assert tf.train.list_variables(path) == [("table", [7, 2]), ("table/Momentum", [7, 2])]
    assert len(list(tmp_path.glob("model.data-*-of-00002"))) == 2
    with tf.Graph().as_default(), tf.container("restored"), session_of(servers) as session:
        table = table_on_two_servers(2)
        tf.train.Saver().restore(session, path)
        np.testing.assert_array_equal(session.run(table.as_tensor()), trained)


@pytest.mark.e2e
def test_a_part_from_a_meta_graph_is_still_saved_as_a_slice(tmp_path: pathlib.Path) -> None:
    path = str(tmp_path / "model")
    with tf.Graph().as_default():
        tf.get_variable("table", [7, 2], partitioner=tf.fixed_size_partitioner(2))
        exported = tf.train.export_meta_graph()
    with tf.Graph().as_default(), tf.Session() as session:
        tf.train.import_meta_graph(exported)
        session.run(tf.global_variables_initializer())
        tf.train.Saver().save(session, path)
    assert tf.train.list_variables(path) == [("table", [7, 2])]


@pytest.mark.e2e
def test_an_initializer_draws_a_part_with_the_scale_of_the_full_variable() -> None:
    seen = []

    def initializer(shape: list[int], dtype: Any, partition_info: Any) -> Any:
        place = partition_info.full_shape, partition_info.single_offset(shape)
        seen.append((shape, place))
        return tf.zeros(shape, dtype)

    partitioner = tf.fixed_size_partitioner(2)
    with tf.Graph().as_default(), tf.Session() as session:
        tf.get_variable("v", [5, 2], initializer=initializer, partitioner=partitioner)
        scaled = tf.get_variable(
            "w",
            [200, 1],
            initializer=tf.variance_scaling_initializer(distribution="uniform", seed=1),
            partitioner=partitioner,
        )
        session.run(tf.global_variables_initializer())
        # The limit is sqrt(3 / 200) = 0.122. For the fan of a part it would be 0.173.
        assert 0.11 < abs(session.run(scaled.as_tensor())).max() < 0.1225
    assert seen == [([3, 2], ([5, 2], 0)), ([2, 2], ([5, 2], 3))]
