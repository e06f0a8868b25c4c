"""The mean losses of examples are TensorFlow's, with and without a strategy."""

from typing import Any

import genuine
import numpy as np
import pytest

import capstan as tf

pytestmark = genuine.MARKS

LOSSES = np.array([[1, 2], [3, 4], [5, 6]], np.float32)


def values(tf: Any) -> Any:
    with tf.Graph().as_default(), tf.Session() as session:
        average, unknown = tf.nn.compute_average_loss, tf.placeholder_with_default(LOSSES, None)
        tensors = [
            average(LOSSES),
            average(LOSSES[:, 0], global_batch_size=10),
            average(LOSSES[:, 0], [1.0, 0.0, 2.0]),
            average(LOSSES, np.array([[1], [2], [3]], np.float32)),
            average(LOSSES.astype(np.float64), 2.0),
            average(unknown),
            tf.nn.scale_regularization_loss(LOSSES),
        ]
        return [(each.dtype.name, session.run(each).tolist()) for each in tensors]


def test_mean_losses_are_tensorflows(v1: Any) -> None:
    assert values(tf) == values(v1)


def test_a_scalar_has_no_mean() -> None:
    with pytest.raises(ValueError, match="Expected a tensor with at least rank 1"):
        tf.nn.compute_average_loss(1.0)
    loss = tf.nn.compute_average_loss(tf.placeholder_with_default(1.0, None))
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match="rank 1"):
        session.run(loss)


def test_each_replica_divides_by_the_number_of_replicas() -> None:
    strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
    with strategy.scope():
        for function in (tf.nn.compute_average_loss, tf.nn.scale_regularization_loss):
            with pytest.raises(RuntimeError, match=f"calling `{function.__name__}` in cross"):
                function(LOSSES)
        parts = strategy.experimental_run_v2(
            lambda: (tf.nn.compute_average_loss(LOSSES), tf.nn.scale_regularization_loss(LOSSES))
        )
        sums = [strategy.reduce(tf.distribute.ReduceOp.SUM, part) for part in parts]
    config = tf.ConfigProto(device_count={"CPU": 2})
    with tf.Session(config=config) as session:
        assert session.run(sums) == [7, 21]


def test_a_benchmark_keeps_the_control_dependencies(v1: Any) -> None:
    ours, theirs = (api.test.benchmark_config() for api in (tf, v1))
    assert ours.SerializeToString() == theirs.SerializeToString()


def test_the_ops_of_a_graph_are_listed() -> None:
    with tf.Graph().as_default() as graph:
        tf.add(tf.constant(1), 2)
    util = tf.contrib.util
    assert sorted(util.ops_used_by_graph_def(graph.as_graph_def())) == ["Add", "Const"]
    ops = util.stripped_op_list_for_graph(graph.as_graph_def()).op
    assert [op.name for op in ops] == ["Add", "Const"]
