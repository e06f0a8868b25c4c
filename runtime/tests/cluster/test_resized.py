"""An assignment may change the shape of a variable, and every task then uses the new shape."""

import clusters
import numpy as np
import pytest

import capstan as tf
from capstan.framework.raw import raw


@pytest.fixture(scope="module")
def target() -> str:
    return clusters.start(ps=1, worker=1)["worker:0"].target


@pytest.mark.e2e
@pytest.mark.parametrize("device", [None, "/job:ps", "/job:worker"])
def test_values_computed_from_a_resized_variable_have_its_new_shape(
    target: str, device: str | None
) -> None:
    with tf.Graph().as_default(), tf.Session(target if device else "") as session:
        with tf.device(device):
            var = tf.Variable([1.0, 2.0])
        computed = [var + 1.0, raw.Shape(var), tf.concat([var, var], 0)]
        session.run(var.initializer)
        assert [value.tolist() for value in session.run(computed)] == [[2, 3], [2], [1, 2, 1, 2]]

        # Until these nodes are sent, the master assumes that the shape cannot change.
        shorter = tf.assign(var, [5.0], validate_shape=False)
        longer = tf.assign(tf.assign(var, [[5.0]], validate_shape=False), np.ones(3), False)
        session.run(shorter)
        assert [value.tolist() for value in session.run(computed)] == [[6], [1], [5, 5]]
        session.run(longer)
        assert session.run(computed[0]).tolist() == [2, 2, 2]
        with pytest.raises(tf.errors.InvalidArgumentError, match="shapes of both tensors"):
            session.run(tf.assign(var.op.outputs[0], [1.0, 2.0]))
