"""`tf.train.experimental` scales losses, and leaves out steps whose gradients are not finite."""

from typing import Any

import numpy as np
import pytest

import capstan as tf
from capstan.python.training.experimental import loss_scale as scales

EXPERIMENTAL = tf.train.experimental


def test_a_fixed_factor_changes_the_loss_and_not_the_update() -> None:
    variable = tf.Variable(2.0)
    optimizer = EXPERIMENTAL.MixedPrecisionLossScaleOptimizer(
        tf.train.GradientDescentOptimizer(0.5), 8
    )
    seen = []

    @tf.custom_gradient
    def observed(x: Any) -> Any:
        def gradient(grad: Any) -> Any:
            seen.append(grad)
            return grad

        return tf.identity(x), gradient

    step = tf.train.get_or_create_global_step()
    train = optimizer.minimize(observed(variable * 3.0), step)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        assert sess.run(seen) == [8.0]
        sess.run(train)
        assert sess.run([variable, step]) == [0.5, 1]


@pytest.mark.parametrize("kind", [tf.float16, tf.float64])
def test_a_factor_takes_losses_of_each_type(kind: tf.DType) -> None:
    variable = tf.Variable(2.0, dtype=kind)
    optimizer = EXPERIMENTAL.MixedPrecisionLossScaleOptimizer(
        tf.train.GradientDescentOptimizer(0.5), 8
    )
    train = optimizer.minimize(variable * 3.0)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(train)
        assert sess.run(variable) == 0.5


def test_a_factor_grows_with_finite_steps_and_falls_with_others() -> None:
    variable, x = tf.Variable(1.0), tf.placeholder(tf.float32)
    scale = EXPERIMENTAL.DynamicLossScale(4.0, increment_period=2, multiplier=2.0)
    optimizer = EXPERIMENTAL.enable_mixed_precision_graph_rewrite(
        tf.train.GradientDescentOptimizer(1.0), scale
    )
    train = optimizer.minimize(variable * x)
    expected = [(1.0, 0.0, 4.0), (1.0, -1.0, 8.0), (np.nan, -1.0, 4.0), (np.inf, -1.0, 2.0),
                (np.nan, -1.0, 1.0), (np.inf, -1.0, 1.0), (1.0, -2.0, 1.0)]  # fmt: skip
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for given, value, factor in expected:
            sess.run(train, {x: given})
            assert sess.run([variable, scale()]) == [value, factor]


def test_the_replicas_of_a_strategy_skip_a_step_together() -> None:
    strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
    fed = tf.placeholder(tf.float32, [2])
    with strategy.scope():
        variable = tf.Variable(1.0)
        scale = EXPERIMENTAL.DynamicLossScale(4.0)
        optimizer = EXPERIMENTAL.MixedPrecisionLossScaleOptimizer(
            tf.train.GradientDescentOptimizer(1.0), scale
        )

        def train() -> Any:
            number = tf.distribute.get_replica_context().replica_id_in_sync_group
            return optimizer.minimize(lambda: variable * tf.gather(fed, number))

        updates = strategy.group(strategy.experimental_run_v2(train))
        with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as sess:
            sess.run(tf.global_variables_initializer())
            sess.run(updates, {fed: [1.0, np.inf]})
            assert sess.run([variable, scale()]) == [1.0, 2.0]
            sess.run(updates, {fed: [1.0, 2.0]})
            assert sess.run([variable, scale()]) == [-2.0, 2.0]


def test_sparse_gradients_are_scaled_and_checked() -> None:
    table = tf.Variable([[1.0], [2.0]])
    optimizer = EXPERIMENTAL.MixedPrecisionLossScaleOptimizer(
        tf.train.GradientDescentOptimizer(1.0), "dynamic"
    )
    train = optimizer.minimize(tf.reduce_sum(tf.nn.embedding_lookup(table, [1])))
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(train)
        assert sess.run(table).tolist() == [[1.0], [1.0]]


def test_a_factor_is_described_and_checked() -> None:
    fixed, dynamic = EXPERIMENTAL.FixedLossScale(3), EXPERIMENTAL.DynamicLossScale(8, 5, 3)
    assert repr(fixed) == "FixedLossScale(3.0)"
    assert repr(dynamic) == (
        "DynamicLossScale(initial_loss_scale=8.0, increment_period=5, multiplier=3.0)"
    )
    for each in (fixed, dynamic):
        again = type(each).from_config(each.get_config())
        assert again.get_config() == each.get_config()
    assert scales.get(None) is None
    assert scales.get(fixed) is fixed
    for wrong, message in (("x", "Could not interpret"), (0.5, "must be at least 1")):
        with pytest.raises(ValueError, match=message):
            scales.get(wrong)
    with pytest.raises(ValueError, match="must be a Python int or float"):
        EXPERIMENTAL.FixedLossScale("1")
    with pytest.raises(RuntimeError, match="Duplicate variables"):
        dynamic._add_weight("good_steps", 0)


def test_an_optimizer_is_wrapped_once() -> None:
    inner = tf.train.GradientDescentOptimizer(1.0)
    outer = EXPERIMENTAL.enable_mixed_precision_graph_rewrite(inner)
    with pytest.raises(ValueError, match="must not already be an instance"):
        EXPERIMENTAL.enable_mixed_precision_graph_rewrite(outer)
    with pytest.raises(ValueError, match=r"must be an instance of a tf\.train\.Optimizer"):
        EXPERIMENTAL.enable_mixed_precision_graph_rewrite(1)
    with pytest.raises(ValueError, match="must be an instance of Optimizer"):
        EXPERIMENTAL.MixedPrecisionLossScaleOptimizer(1, 2)
    EXPERIMENTAL.disable_mixed_precision_graph_rewrite()
    with pytest.raises(AttributeError, match="PythonState"):
        _ = EXPERIMENTAL.PythonState
