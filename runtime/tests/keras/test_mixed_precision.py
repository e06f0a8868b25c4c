"""tf.keras.mixed_precision: policies of layers, and optimizers that scale the loss."""

import pathlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import capstan as tf

experimental = tf.keras.mixed_precision.experimental
layers = tf.keras.layers
HALF = np.random.default_rng(2).standard_normal((2, 6, 4)).astype(np.float16)


@pytest.fixture(autouse=True)
def default_policy() -> Iterator[None]:
    yield
    experimental.set_policy(None)


@pytest.mark.parametrize(
    ("name", "compute", "variable"),
    [
        ("float32", "float32", "float32"),
        ("float64", "float64", "float64"),
        ("mixed_float16", "float16", "float32"),
        ("mixed_bfloat16", "bfloat16", "float32"),
        ("float16_with_float32_vars", "float16", "float32"),
        ("float32_with_float32_vars", "float32", "float32"),
        ("infer", None, None),
        ("infer_with_float32_vars", None, "float32"),
        ("infer_float32_vars", None, "float32"),
    ],
)
def test_a_policy_names_two_types(name: str, compute: Any, variable: Any) -> None:
    policy = experimental.Policy(name, loss_scale=None)
    assert (policy.compute_dtype, policy.variable_dtype) == (compute, variable)
    assert policy.should_cast_variables is (compute != variable)
    assert policy.loss_scale is None
    shown = {
        "infer_float32_vars": "infer_with_float32_vars",
        "float32_with_float32_vars": "float32",
    }.get(name, name)
    assert policy.name == shown
    assert repr(policy) == f'<Policy "{shown}", loss_scale=None>'


def test_a_policy_has_a_loss_scale() -> None:
    dynamic = experimental.Policy("mixed_float16").loss_scale
    assert isinstance(dynamic, tf.train.experimental.DynamicLossScale)
    assert experimental.Policy("mixed_bfloat16").loss_scale is None
    fixed = experimental.Policy("float16", loss_scale=4).loss_scale
    assert fixed.get_config() == {"loss_scale_value": 4.0}


def test_wrong_policies_are_refused() -> None:
    with pytest.raises(TypeError, match=r"'name' must be a string, not a DType\. .*float16"):
        experimental.Policy(tf.float16)
    with pytest.raises(TypeError, match="'name' must be a string, but got: 3"):
        experimental.Policy(3)
    for name in ("abc", "abc_with_float32_vars"):
        with pytest.raises(ValueError, match=f"Cannot convert value {name} to a mixed precision"):
            experimental.Policy(name)


def test_the_global_policy_may_infer_types() -> None:
    assert experimental.global_policy().name == "infer"
    experimental.set_policy("infer_with_float32_vars")
    assert experimental.global_policy().name == "infer_with_float32_vars"
    layer = layers.Dense(3)
    outputs = layer(tf.constant(HALF))
    assert (outputs.dtype, layer.kernel.dtype) == (tf.float16, tf.float32)
    with pytest.raises(ValueError, match="only be set to a non-infer policy in TensorFlow 2"):
        experimental.set_policy("mixed_float16")
    experimental.set_policy(None)
    assert layers.Dense(3)(tf.constant(HALF)).dtype == tf.float16


MADE = {
    "dense": lambda kind: layers.Dense(3, dtype=kind),
    "convolution": lambda kind: layers.Conv1D(3, 2, dtype=kind),
    "moments": lambda kind: layers.BatchNormalization(dtype=kind),
    "each example": lambda kind: layers.LayerNormalization(dtype=kind),
    "lstm": lambda kind: layers.LSTM(3, dtype=kind),
    "gru": lambda kind: layers.GRU(3, return_sequences=True, dtype=kind),
    "cells": lambda kind: layers.RNN([layers.SimpleRNNCell(3, dtype=kind)]),
    "rectifier": lambda kind: layers.PReLU(dtype=kind),
    "local": lambda kind: layers.LocallyConnected1D(3, 2, dtype=kind),
}


@pytest.mark.parametrize("name", MADE)
def test_variables_stay_float32_where_a_layer_computes_in_float16(name: str) -> None:
    tf.set_random_seed(1)
    layer, plain = MADE[name](experimental.Policy("mixed_float16", 1)), MADE[name]("float32")
    outputs, wanted = layer(tf.constant(HALF)), plain(tf.constant(HALF, tf.float32))
    assert outputs.dtype == tf.float16
    assert {variable.dtype.base_dtype for variable in layer.weights} == {tf.float32}
    grads = tf.gradients(tf.reduce_sum(tf.cast(outputs, tf.float32)), layer.trainable_weights)
    assert {grad.dtype for grad in grads} == {tf.float32}
    values = [np.linspace(-0.5, 1, int(np.prod(each.shape))).reshape(each.shape)
              for each in layer.get_weights()]  # fmt: skip
    layer.set_weights(values)
    plain.set_weights(values)
    session = tf.keras.backend.get_session()
    np.testing.assert_allclose(*session.run([outputs, wanted]), atol=2e-2)
    assert all(isinstance(each, tf.Variable) for each in layer.weights)


@pytest.mark.parametrize("training", [True, False])
def test_batches_of_float16_are_normalized_with_float32_parameters(training: bool) -> None:
    inputs = np.random.default_rng(3).normal(300, 100, (50, 4)).astype(np.float16)
    outputs = tf.layers.batch_normalization(tf.constant(inputs), training=training)
    assert outputs.dtype == tf.float16
    assert {variable.dtype.base_dtype for variable in tf.global_variables()} == {tf.float32}
    wide = inputs.astype(np.float64)
    wanted = (wide - wide.mean(0)) / wide.std(0) if training else wide
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        np.testing.assert_allclose(session.run(outputs), wanted, rtol=2e-2, atol=2e-2)


def test_inputs_are_cast_if_the_layer_asks_for_it() -> None:
    policy = experimental.Policy("mixed_float16", 1)
    single = tf.constant(HALF, tf.float32)
    layer = layers.Dense(3, dtype=policy, autocast=True)
    assert layer(single).dtype == tf.float16
    assert layers.Dense(3, dtype="float64", autocast=True)(single).dtype == tf.float64
    activation = layers.Lambda(lambda x: x, dtype=policy)
    assert activation(single).dtype == tf.float32
    counts = layers.Lambda(lambda x: x, dtype="int32", autocast=True)
    assert counts(single).dtype == tf.float32


def stepped(optimizer: Any, factors: list[float]) -> list[float]:
    """Return the values of a variable after steps with these gradients."""
    var = tf.Variable(5.0, use_resource=True)
    factor = tf.placeholder(tf.float32, [])
    step = optimizer.minimize(lambda: var * factor, [var])
    found = []
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for value in factors:
            session.run(step, {factor: value})
            found.append(float(session.run(var)))
    return found


def test_a_fixed_scale_changes_no_step() -> None:
    sgd = tf.keras.optimizers.SGD(2.0)
    optimizer = experimental.LossScaleOptimizer(sgd, 10)
    assert stepped(optimizer, [1.0, 0.5]) == [3.0, 2.0]
    assert optimizer.iterations is sgd.iterations
    assert optimizer.weights == sgd.weights == optimizer.variables()
    with tf.Session() as session:
        assert session.run(optimizer.get_scaled_loss(tf.constant(2.0))) == 20
        assert session.run(optimizer.get_scaled_loss(lambda: tf.constant(2.0))()) == 20
        grads = optimizer.get_unscaled_gradients([tf.constant(5.0), None])
        assert grads[1] is None
        np.testing.assert_allclose(session.run(grads[0]), 0.5)


@pytest.mark.parametrize("kind", [tf.float16, tf.float64])
def test_a_scale_takes_losses_of_each_type(kind: tf.DType) -> None:
    optimizer = experimental.LossScaleOptimizer(opt=tf.keras.optimizers.SGD(0.5), loss_scale=8)
    var = tf.Variable([1.0, 2.0], dtype=kind, use_resource=True)
    grads = optimizer.get_gradients(tf.reduce_sum(var * var), [var])
    step = optimizer.minimize(lambda: tf.reduce_sum(tf.gather(var, [0, 0])), [var])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        np.testing.assert_array_equal(session.run(grads), [[2, 4]])
        session.run(step)
        np.testing.assert_array_equal(session.run(var), [0, 2])


def test_a_dynamic_scale_skips_steps_that_are_not_finite() -> None:
    scale = tf.train.experimental.DynamicLossScale(4.0, increment_period=1, multiplier=2.0)
    optimizer = experimental.LossScaleOptimizer(tf.keras.optimizers.SGD(1.0), scale)
    assert stepped(optimizer, [1.0, float("nan"), 1.0, 3e38]) == [4.0, 4.0, 3.0, 3.0]
    assert optimizer.loss_scale is scale


def test_a_model_trains_with_a_scaled_loss() -> None:
    found = []
    for is_scaled in (False, True):
        optimizer = tf.keras.optimizers.Adam(0.1)
        if is_scaled:
            optimizer = tf.train.experimental.enable_mixed_precision_graph_rewrite(optimizer)
            assert isinstance(optimizer, experimental.LossScaleOptimizer)
        model = tf.keras.Sequential([layers.Dense(1, "relu", True, "ones", input_shape=(4,))])
        model.compile(optimizer, "mse")
        inputs = np.linspace(0, 1, 32, dtype=np.float32).reshape(8, 4)
        model.fit(inputs, np.ones(8), epochs=2, verbose=0, shuffle=False)
        assert float(tf.keras.backend.get_value(optimizer.lr)) == pytest.approx(0.1)
        optimizer.lr = 0.5
        assert float(tf.keras.backend.get_value(optimizer.learning_rate)) == 0.5
        found.append(model.get_weights())
        tf.keras.backend.clear_session()
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-5)


def test_a_scaled_optimizer_has_a_configuration() -> None:
    scale = tf.train.experimental.DynamicLossScale(8.0, 3, 4.0)
    optimizer = experimental.LossScaleOptimizer(tf.keras.optimizers.SGD(0.25, 0.5), scale)
    again = tf.keras.optimizers.deserialize(tf.keras.optimizers.serialize(optimizer))
    assert isinstance(again, experimental.LossScaleOptimizer)
    assert again.get_config() == optimizer.get_config()
    assert again.loss_scale.get_config() == scale.get_config()
    fixed = experimental.LossScaleOptimizer(tf.keras.optimizers.SGD(0.25), 2)
    config = experimental.LossScaleOptimizer.from_config(fixed.get_config()).get_config()
    assert config["loss_scale"] == {
        "class_name": "FixedLossScale", "config": {"loss_scale_value": 2.0}
    }  # fmt: skip


def test_a_checkpoint_has_the_slots_once(tmp_path: pathlib.Path) -> None:
    optimizer = experimental.LossScaleOptimizer(tf.keras.optimizers.Adam(), "dynamic")
    var = tf.Variable(5.0, use_resource=True)
    step = optimizer.minimize(lambda: var * 2.0, [var])
    checkpoint = tf.train.Checkpoint(optimizer=optimizer, var=var)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(step)
        path = checkpoint.save(str(tmp_path / "model"), session=session)
        names = {name for name, _ in tf.train.list_variables(path) if "SLOT" in name}
        assert names == {
            f"var/.OPTIMIZER_SLOT/optimizer/base_optimizer/{slot}/.ATTRIBUTES/VARIABLE_VALUE"
            for slot in ("m", "v")
        }
        before = session.run([var, optimizer.loss_scale()])
        session.run(step)
        checkpoint.restore(path).run_restore_ops(session)
        assert session.run([var, optimizer.loss_scale()]) == before


def test_wrong_optimizers_are_refused() -> None:
    with pytest.raises(ValueError, match="must be an instance of OptimizerV2"):
        experimental.LossScaleOptimizer(tf.train.GradientDescentOptimizer(1.0), 1)
    for limit in ("clipnorm", "clipvalue"):
        with pytest.raises(
            ValueError, match=f"does not support wrapping optimizers with a {limit}"
        ):
            experimental.LossScaleOptimizer(tf.keras.optimizers.SGD(1.0, **{limit: 1.0}), 1)
    optimizer = experimental.LossScaleOptimizer(tf.keras.optimizers.SGD(1.0), 1)
    with pytest.raises(ValueError, match="must not already be an instance of a LossScaleOptimizer"):
        tf.train.experimental.enable_mixed_precision_graph_rewrite(optimizer)
    with pytest.raises(AttributeError, match="cannot call get_slot"):
        optimizer.get_slot(None, "m")
    with pytest.raises(AttributeError, match="cannot call add_slot"):
        optimizer.add_slot(None, "m")


def test_a_weight_may_stay_as_it_is() -> None:
    kinds: list[Any] = []

    class Scale(layers.Layer):
        def build(self, input_shape: Any) -> None:
            self.cast = self.add_weight("cast", (4,))
            self.fixed = self.add_weight("fixed", (4,), experimental_autocast=False)

        def call(self, inputs: Any) -> Any:
            kinds.extend([self.cast.dtype, self.fixed.dtype])
            return inputs

    Scale(dtype=experimental.Policy("mixed_float16"))(tf.constant(HALF))
    assert kinds == [tf.float16, tf.float32]


def test_the_policy_of_a_model_scales_the_loss_of_its_optimizer() -> None:
    experimental.set_policy(experimental.Policy("infer_float32_vars", loss_scale=4.0))
    model = tf.keras.Sequential([layers.Dense(1, input_shape=(4,))])
    model.compile("sgd", "mse")
    assert isinstance(model.optimizer, experimental.LossScaleOptimizer)
    assert model.optimizer.loss_scale.get_config() == {"loss_scale_value": 4.0}
    given = experimental.LossScaleOptimizer(tf.keras.optimizers.SGD(), 2.0)
    model.compile(given, "mse")
    assert model.optimizer is given
    with pytest.raises(ValueError, match="with a loss scale is used"):
        model.compile(tf.train.GradientDescentOptimizer(0.1), "mse")
