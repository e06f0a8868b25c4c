"""Layers of `tf.layers` and cells of `tf.nn.rnn_cell` are layers of Keras."""

from typing import Any

import numpy as np
import pytest
import yaml

import capstan as tf

layers = tf.keras.layers


@pytest.mark.parametrize(
    "made", [tf.layers.Dense(1), tf.layers.Conv2D(1, 1), tf.nn.rnn_cell.GRUCell(1)]
)
def test_such_a_layer_is_an_instance_of_the_class_of_keras(made: Any) -> None:
    assert isinstance(made, layers.Layer)
    assert isinstance(made, tf.Module)
    assert issubclass(tf.layers.Layer, layers.Layer)
    assert not isinstance(tf.constant(1), layers.Layer)


@pytest.mark.parametrize(
    "kind, base",
    [
        (tf.layers.Dense, layers.Dense),
        (tf.layers.Conv2DTranspose, layers.Conv2D),
        (tf.layers.BatchNormalization, layers.BatchNormalization),
        (layers.DepthwiseConv2D, layers.Conv2D),
        (layers.Conv3DTranspose, layers.Conv3D),
    ],
)
def test_a_layer_counts_as_the_layer_that_it_derives_from_in_tensorflow(
    kind: Any, base: Any
) -> None:
    assert issubclass(kind, base)
    assert not issubclass(base, kind)


def names(variables: Any) -> list[str]:
    return [variable.op.name for variable in variables]


def test_a_model_has_the_variables_of_such_layers() -> None:
    x = tf.keras.Input((4,))
    hidden = tf.layers.dense(x, 3, tf.nn.relu, name="hidden")
    model = tf.keras.Model(x, layers.Dense(1, name="last")(hidden * 2.0))
    found = ["hidden/kernel", "hidden/bias", "last/kernel", "last/bias"]
    assert names(model.weights) == names(model.trainable_weights) == found
    assert model.count_params() == 4 * 3 + 3 + 3 + 1
    assert [layer.name for layer in model.layers][1] == "hidden"
    assert model.get_layer("hidden").output is hidden


def test_a_model_trains_such_layers_with_an_optimizer_of_tf_train() -> None:
    model = tf.keras.Sequential([tf.layers.Dense(2), tf.layers.Dense(1)])
    model.compile(tf.train.GradientDescentOptimizer(0.1), "mse")
    random = np.random.default_rng(0)
    x = random.normal(size=(64, 3)).astype(np.float32)
    y = x @ [[1.0], [2.0], [-1.0]]
    losses = model.fit(x, y, 16, 40, verbose=0).history["loss"]
    assert losses[-1] < 0.01 * losses[0]
    kernel = model.layers[0].get_weights()[0]
    model.layers[0].set_weights([np.zeros_like(kernel), np.zeros(2)])
    assert not model.layers[0].get_weights()[0].any()


def test_a_model_on_other_inputs_shares_the_variables() -> None:
    x = tf.keras.Input((2,))
    model = tf.keras.Model(x, tf.layers.Dense(1, kernel_initializer=tf.ones_initializer())(x))
    output = model(tf.constant([[3.0, 4.0]]))
    assert len(tf.global_variables()) == 2
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(output).tolist() == [[7.0]]


def test_such_a_layer_outside_of_models_is_not_recorded() -> None:
    layer = tf.layers.Dense(1)
    layer(tf.ones([2, 3]))
    assert layer.inbound_nodes == []


def test_wrappers_of_keras_take_such_layers() -> None:
    inputs = tf.ones([2, 5, 4])
    assert layers.TimeDistributed(tf.layers.Dense(3))(inputs).shape.as_list() == [2, 5, 3]
    assert layers.RNN(tf.nn.rnn_cell.LSTMCell(3))(inputs).shape.as_list() == [2, 3]


def test_a_module_has_the_variables_of_its_layers() -> None:
    class Both(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = tf.layers.Dense(1, name="first")
            self.second = layers.Dense(1, name="second", trainable=False)

    both = Both()
    both.second(both.first(tf.ones([1, 1])))
    assert both.submodules == (both.first, both.second)
    found = ["first/kernel", "first/bias", "second/kernel", "second/bias"]
    assert names(both.variables) == found


def test_a_layer_has_the_variables_of_the_layers_in_its_attributes() -> None:
    class Outer(tf.layers.Layer):
        def __init__(self) -> None:
            super().__init__(name="outer")
            self.inner = [tf.layers.Dense(1, name="a"), tf.layers.Dense(1, name="b")]

        def call(self, inputs: Any) -> Any:
            return self.inner[1](self.inner[0](inputs))

    outer = Outer()
    outer(tf.ones([1, 1]))
    found = ["outer/a/kernel", "outer/a/bias", "outer/b/kernel", "outer/b/bias"]
    assert names(outer.trainable_weights) == found
    outer.trainable = False
    assert outer.trainable_weights == []
    assert names(outer.weights) == found


def test_a_cell_that_does_not_call_the_constructor_of_its_class_can_be_stacked() -> None:
    class Old(tf.nn.rnn_cell.RNNCell):
        def __init__(self, units: int) -> None:
            self.units = units

        state_size = output_size = property(lambda self: self.units)

        def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:
            with tf.variable_scope(scope or "old"):
                weights = tf.get_variable("weights", [self.units])
            return inputs + state * weights, state

    cell = tf.nn.rnn_cell.MultiRNNCell([Old(3), Old(3)])
    tf.nn.dynamic_rnn(cell, tf.ones([2, 5, 3]), dtype=tf.float32)
    found = [f"rnn/multi_rnn_cell/cell_{number}/old/weights" for number in (0, 1)]
    assert names(tf.trainable_variables()) == found


def test_a_mask_and_the_training_reach_such_layers() -> None:
    class Seen(tf.layers.Layer):
        def call(self, inputs: Any, mask: Any = None, training: Any = None) -> Any:
            self.seen = mask, training
            return tf.identity(inputs)

    class Outer(layers.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.seen = Seen()

        def call(self, inputs: Any, training: Any = None) -> Any:
            return self.seen(inputs)

    masked = layers.Masking()(tf.ones([1, 2, 3]))
    outer = Outer()
    outer(tf.layers.Dense(3)(masked), training=True)
    mask, training = outer.seen.seen
    assert mask.shape.as_list() == [1, 2]
    assert training is True


def test_the_loss_of_an_activity_is_that_of_one_example() -> None:
    layer = tf.layers.Dense(
        1, activity_regularizer=tf.reduce_sum, kernel_initializer=tf.ones_initializer()
    )
    layer(tf.ones([4, 3]))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(tf.losses.get_regularization_losses()) == [3.0]


def test_the_call_of_a_layer_gets_its_scope() -> None:
    class Scoped(tf.layers.Layer):
        def call(self, inputs: Any, scope: Any = None) -> Any:
            self.seen = scope.name
            return inputs

    layer = Scoped(name="mine")
    with tf.variable_scope("outer"):
        layer(tf.ones([1]))
    assert layer.seen == "outer/mine"


@pytest.mark.parametrize(
    "make",
    [
        lambda: layers.LSTMCell(3),
        lambda: layers.GRUCell(3),
        lambda: layers.SimpleRNNCell(3),
        lambda: layers.StackedRNNCells([layers.LSTMCell(2), layers.GRUCell(3)]),
    ],
)
def test_rnns_take_the_cells_of_keras(make: Any) -> None:
    cell = make()
    inputs = tf.constant(np.random.default_rng(0).normal(size=(2, 4, 5)), tf.float32)
    dynamic, state = tf.nn.dynamic_rnn(cell, inputs, dtype=tf.float32)
    static, _ = tf.nn.static_rnn(cell, tf.unstack(inputs, axis=1), dtype=tf.float32)
    expected = layers.RNN(cell)(inputs)
    assert None not in tf.gradients(dynamic, cell.trainable_weights)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found = session.run([dynamic[:, -1], static[-1], expected, state])
    np.testing.assert_array_equal(found[0], found[2])
    np.testing.assert_array_equal(found[1], found[2])


def test_the_calls_of_layers_are_nodes() -> None:
    x = tf.keras.Input((4,))
    first, second = layers.Dense(3), layers.Dense(2)
    hidden = first(x)
    second(hidden)
    second(hidden)
    node, again = second.inbound_nodes
    assert first.outbound_nodes == [node, again]
    assert second.outbound_nodes == []
    assert (node.outbound_layer, node.inbound_layers) == (second, first)
    assert (node.input_tensors, node.output_tensors) == (hidden, second.get_output_at(0))
    assert (node.input_shapes, node.output_shapes) == ((None, 3), (None, 2))
    assert node.arguments == {}


def test_a_layer_knows_the_metrics_in_it() -> None:
    class Measured(layers.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.mean = tf.keras.metrics.Mean()

    class Outer(layers.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.inner = Measured()

    outer, total = Outer(), tf.keras.metrics.Sum(name="total")
    outer.add_metric(total(tf.ones([3])))
    assert outer.metrics == [total, outer.inner.mean]
    assert total.metrics == []


def test_a_layer_with_arguments_needs_a_configuration_of_its_own() -> None:
    class Scaled(layers.Layer):
        def __init__(self, scale: float, **kwargs: Any) -> None:
            super().__init__(**kwargs)

    with pytest.raises(NotImplementedError, match=r"must override `get_config`\. .* has scale"):
        Scaled(2.0).get_config()
    config = tf.layers.Layer(name="plain", trainable=False).get_config()
    assert config == {"name": "plain", "trainable": False, "dtype": None}
    assert tf.layers.Layer.from_config(config).name == "plain"


def test_a_model_can_be_written_as_yaml() -> None:
    x = tf.keras.Input((4,))
    model = tf.keras.Model(x, layers.Dense(2, activation="relu")(x), name="small")
    text = model.to_yaml(sort_keys=False)
    assert yaml.safe_load(text)["class_name"] == "Model"
    again = tf.keras.models.model_from_yaml(text)
    assert again.get_config() == model.get_config()


def test_metrics_are_set_back() -> None:
    model = tf.keras.Sequential([layers.Dense(1, input_shape=(1,), kernel_initializer="zeros")])
    model.compile("sgd", "mse", metrics=["mae"])
    x, y = np.zeros((2, 1)), np.ones((2, 1))
    assert model.test_on_batch(x, y, reset_metrics=False) == [1.0, 1.0]
    assert model.test_on_batch(x, 3 * y, reset_metrics=False) == [9.0, 2.0]
    model.reset_metrics()
    assert model.test_on_batch(x, 3 * y) == [9.0, 3.0]
    assert model.run_eagerly is False
    with pytest.raises(ValueError, match="in eager execution"):
        model.run_eagerly = True


def test_the_change_of_a_variable_is_no_variable_of_a_layer() -> None:
    layer = layers.Layer()
    layer.count = tf.Variable(1.0, use_resource=True)
    layer.next = layer.count.assign_add(1.0)
    assert layer.weights == [layer.count]


def test_weights_that_were_made_untrained_stay_so() -> None:
    layer = tf.layers.Dense(3, trainable=False)
    layer(tf.ones([1, 2]))
    layer.trainable = True
    assert (layer.trainable_weights, len(layer.non_trainable_weights)) == ([], 2)
    assert tf.trainable_variables() == []
