"""Capstan and TensorFlow read each other's checkpoints of objects."""

import pathlib
from typing import Any

import genuine
import numpy as np
import pytest

import capstan

pytestmark = genuine.MARKS

OPTIMIZERS = {
    "Adam": lambda tf: tf.train.AdamOptimizer(0.1),
    "Momentum": lambda tf: tf.train.MomentumOptimizer(0.1, 0.9),
    "Adagrad": lambda tf: tf.train.AdagradOptimizer(0.1),
    "RMSProp": lambda tf: tf.train.RMSPropOptimizer(0.1),
    "Ftrl": lambda tf: tf.train.FtrlOptimizer(0.1),
    "GradientDescent": lambda tf: tf.train.GradientDescentOptimizer(0.1),
}


def built(tf: Any, make: Any, start: float, *, resource: bool) -> tuple[Any, Any]:
    """Return a checkpoint of two variables, an inner checkpoint and an optimizer, and a step."""
    step = tf.train.get_or_create_global_step()
    weights = tf.Variable(np.full((2, 3), start, np.float32), use_resource=resource)
    biases = tf.Variable(np.full(3, start, np.float32), name="b", use_resource=resource)
    optimizer = make(tf)
    loss = tf.reduce_sum(tf.square(weights) * biases)
    train = optimizer.minimize(loss, step)
    inner = tf.train.Checkpoint(biases=biases)
    inner.parts = {"x/y": [weights]}
    root = tf.train.Checkpoint(inner=inner, weights=weights, optimizer=optimizer, step=step)
    return root, train


@pytest.mark.parametrize("resource", [False, True])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_checkpoint_of_objects_goes_both_ways(
    v1: Any, tmp_path: pathlib.Path, name: str, resource: bool
) -> None:
    values: dict[bool, Any] = {}
    paths = {}
    for tf, is_capstan in ((v1, False), (capstan, True)):
        with tf.Graph().as_default(), tf.Session() as session:
            root, train = built(tf, OPTIMIZERS[name], 0.5 + is_capstan, resource=resource)
            session.run(tf.global_variables_initializer())
            session.run(train)
            folder = tmp_path / tf.__name__
            paths[is_capstan] = root.save(str(folder / "model"), session=session)
            session.run(train)
            values[is_capstan] = session.run(tf.global_variables()[:-1])
    listed = [capstan.train.list_variables(path) for path in paths.values()]
    assert listed[0] == listed[1]
    for tf, is_other in ((v1, True), (capstan, False)):
        with tf.Graph().as_default(), tf.Session() as session:
            root, train = built(tf, OPTIMIZERS[name], 9.0, resource=resource)
            made = tf.global_variables()
            status = root.restore(paths[is_other])
            status.assert_consumed().initialize_or_restore(session)
            session.run(train)
            assert session.run(root.save_counter) == 1
            for found, wanted in zip(session.run(made), values[is_other], strict=True):
                np.testing.assert_allclose(found, wanted, rtol=1e-5)
