"""A tensor that is too large for memory ends its step with ResourceExhaustedError."""

import clusters
import pytest
from tensorboard.compat.proto import graph_pb2

import capstan as tf


@pytest.fixture(scope="module")
def target() -> str:
    return clusters.start(ps=1, worker=1)["worker:0"].target


@pytest.mark.parametrize("side", [1 << 22, 1 << 40])
@pytest.mark.parametrize("device", [None, "/job:worker", "/job:ps"])
def test_a_tensor_too_large_for_memory_raises_resource_exhausted_on_any_task(
    target: str, device: str | None, side: int
) -> None:
    with tf.Graph().as_default(), tf.Session(target if device else "") as session:
        with tf.device(device):
            any_matrix = tf.placeholder_with_default([[1.0]], [None, None])
            row = tf.placeholder_with_default(any_matrix, [1, side])
            column = tf.placeholder_with_default(any_matrix, [side, 1])
            total = tf.reduce_sum(row + column)
            small = tf.placeholder_with_default(2.0, []) + 1.0
        with pytest.raises(tf.errors.ResourceExhaustedError, match=rf"shape\[{side},{side}\]"):
            session.run(total)
        assert session.run(small) == 3.0


@pytest.mark.parametrize("device", ["/job:worker/cpu:0", "/job:ps/cpu:0"])  # A GPU has no room.
def test_a_constant_of_one_value_may_be_larger_than_a_message(target: str, device: str) -> None:
    with tf.Graph().as_default() as small:
        tf.constant(0.5, shape=[64, 64], name="table")  # as one value
    definition = graph_pb2.GraphDef.FromString(small.as_graph_def().SerializeToString())
    for axis in definition.node[0].attr["value"].tensor.tensor_shape.dim:
        axis.size = 1 << 20
    with tf.Graph().as_default(), tf.Session(target) as session:
        with tf.device(device):
            (table,) = tf.import_graph_def(definition, return_elements=["table:0"])
            row = table[tf.placeholder_with_default(7, []), :3]
        assert session.run(row).tolist() == [0.5] * 3
