"""What a layer of `tf.keras` owns: variables, losses, updates, masks and other layers."""

import copy
from typing import Any

import numpy as np
import pytest

import capstan as tf

pytestmark = pytest.mark.e2e
layers = tf.keras.layers


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as graph:
        tf.set_random_seed(4)
        yield graph


def names(variables: Any) -> list[str]:
    return [variable.name for variable in variables]


class Scale(layers.Layer):
    """Multiplies by a variable, and by 10 in training."""

    def build(self, input_shape: Any) -> None:
        self.factor = self.add_weight("factor", [int(input_shape[-1])], initializer="ones")
        self.built = True

    def call(self, inputs: Any, training: Any = None) -> Any:
        return inputs * self.factor * (10 if training else 1)


class Pair(layers.Layer):
    """Two layers one behind the other, of which one is in a list."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.first = Scale()
        self.rest = [layers.Dense(2, kernel_regularizer="l2")]

    def call(self, inputs: Any, training: Any = None) -> Any:
        return self.rest[0](self.first(inputs))


def test_variables_have_the_names_of_keras() -> None:
    one, other = layers.Dense(2), layers.Dense(3, name="head")
    again = layers.Dense(2)
    x = tf.placeholder(tf.float32, [None, 4])
    again(other(one(x)))
    with tf.name_scope("tower"):
        layers.Dense(1)(x)
    assert names(tf.trainable_variables()) == [
        "dense/kernel:0", "dense/bias:0", "head/kernel:0", "head/bias:0",
        "dense_1/kernel:0", "dense_1/bias:0", "tower/dense_2/kernel:0", "tower/dense_2/bias:0",
    ]  # fmt: skip
    assert names(one.weights) == ["dense/kernel:0", "dense/bias:0"]
    assert one.count_params() == 10


def test_a_second_call_uses_the_same_variables() -> None:
    layer = layers.Dense(2)
    layer(tf.ones([1, 3]))
    layer(tf.ones([5, 3]))
    assert len(tf.trainable_variables()) == 2
    with pytest.raises(ValueError, match=r"axis -1 of input shape to have value 3 .* \[1, 4\]$"):
        layer(tf.ones([1, 4]))
    with pytest.raises(ValueError, match=r"found ndim=1. Full shape received: \[None\]$"):
        layer(tf.placeholder(tf.float32, [None]))
    with pytest.raises(AttributeError, match="was called 2 times"):
        layer.output  # noqa: B018 - the attribute raises


def test_layers_inside_share_the_training_of_the_call_around() -> None:
    x = tf.ones([1, 2])
    outer = Pair()
    scaled = {}
    for training in (True, False):
        outer(x, training=training)
        scaled[training] = outer.first._outputs[-1]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(scaled[True]).tolist() == [[10, 10]]
        assert session.run(scaled[False]).tolist() == [[1, 1]]
    assert names(outer.weights) == [
        "pair/scale/factor:0", "pair/dense/kernel:0", "pair/dense/bias:0",
    ]  # fmt: skip


def test_a_layer_that_does_not_train_hides_the_variables_of_its_layers() -> None:
    outer = Pair()
    outer(tf.ones([1, 2]))
    assert len(outer.trainable_weights) == 3
    outer.trainable = False
    assert outer.trainable_weights == []
    assert not outer.first.trainable
    assert len(outer.non_trainable_weights) == 3


def test_the_losses_are_those_of_weights_outputs_and_calls() -> None:
    layer = layers.Dense(
        2, use_bias=False, kernel_initializer="ones",
        kernel_regularizer=tf.keras.regularizers.l2(3),
        activity_regularizer="l1",
    )  # fmt: skip
    x = tf.fill([4, 2], 0.5)
    layer(x)
    layer.add_loss(lambda: tf.constant(7.0))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert sorted(np.round(session.run(layer.losses), 5)) == [0.02, 7, 12]
        assert len(layer.get_losses_for(x)) == 1
        assert len(layer.get_losses_for(None)) == 2


def test_training_with_the_losses_of_layers_keeps_constraints() -> None:
    layer = layers.Dense(1, use_bias=False, kernel_initializer="ones", kernel_constraint="NonNeg")
    loss = tf.reduce_mean(layer(tf.ones([2, 3]))) * 4
    train = tf.train.GradientDescentOptimizer(1.0).minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
        assert layer.get_weights()[0].tolist() == [[0]] * 3


def test_weights_are_read_and_set_in_the_default_session() -> None:
    layer = layers.Dense(2, bias_initializer="ones")
    layer(tf.ones([1, 3]))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        kernel = np.arange(6, dtype=np.float32).reshape(3, 2)
        layer.set_weights([kernel, np.zeros(2, np.float32)])
        assert layer.get_weights()[0].tolist() == kernel.tolist()
        with pytest.raises(ValueError, match="weight list of length 1"):
            layer.set_weights([kernel])
        with pytest.raises(ValueError, match=r"has the shape \(3, 2\), and the array"):
            layer.set_weights([kernel.T, np.zeros(2, np.float32)])


def test_variables_are_placed_as_the_device_function_says() -> None:
    with tf.device(tf.train.replica_device_setter(ps_tasks=2, worker_device="/job:worker")):
        outputs = layers.Dense(2)(tf.ones([1, 3]))
    assert [variable.device for variable in tf.trainable_variables()] == [
        "/job:ps/task:0", "/job:ps/task:1",
    ]  # fmt: skip
    assert outputs.device == "/job:worker"


def test_masks_go_through_layers_that_support_them() -> None:
    ids = tf.constant([[1, 0, 2], [0, 0, 3]])
    embedding = layers.Embedding(4, 2, mask_zero=True)
    embedded = embedding(ids)
    scaled = layers.Lambda(lambda x: x * 1)(embedded)
    kept = layers.Dropout(0.5)(embedded, training=False)
    means = [layers.GlobalAveragePooling1D()(each) for each in (kept, scaled)]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        table, (of_kept, of_scaled) = session.run([embedding.embeddings, means])
    np.testing.assert_allclose(of_kept, [(table[1] + table[2]) / 2, table[3]], 1e-5)
    np.testing.assert_allclose(of_scaled[1], (2 * table[0] + table[3]) / 3, 1e-5)
    assert scaled.shape.as_list() == [2, 3, 2]
    with pytest.raises(TypeError, match="does not support masking"):
        layers.UpSampling1D().compute_mask(embedded, ids)


@pytest.mark.parametrize(
    "make, error, message",
    [
        (lambda: layers.Dense(2, units2=3), TypeError, "Keyword argument not understood: units2"),
        (lambda: layers.Dense(2, dynamic=True), NotImplementedError, "run eagerly"),
        (lambda: layers.Dense(2, activation="rellu"), ValueError, "Unknown activation function"),
        (lambda: layers.Dense(2, weights=[1])(tf.ones([1, 1])), ValueError, "weight list of"),
        (lambda: layers.Permute((1, 3)), ValueError, "Invalid permutation"),
        (lambda: layers.Reshape((5,))(tf.ones([2, 4])), ValueError, "total size"),
        (lambda: layers.Add()([tf.ones([1])]), ValueError, "at least 2 inputs"),
        (lambda: layers.ReLU(-1.0), ValueError, "cannot be negative"),
        (lambda: layers.Dens, AttributeError, "Did you mean: 'Dense'"),
        (lambda: layers.SyncBatchNormalization, AttributeError, "has no such name"),
        (lambda: tf.keras.backend.pool4d, AttributeError, "has no such name"),
        (lambda: layers.Dense(2)(tf.constant([[1]])), TypeError, "non-floating point dtype int32"),
        (lambda: tf.keras.layers.experimental, AttributeError, "has no such name"),
    ],
)
def test_wrong_uses_are_refused(make: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()


def test_an_input_may_be_none_and_build_then_gets_no_shapes() -> None:
    shapes = []

    class Optional(layers.Layer):
        def build(self, input_shape: Any) -> None:
            shapes.append(input_shape)
            super().build(input_shape)

        def call(self, inputs: Any) -> Any:
            return inputs[0] if inputs[1] is None else inputs[1]

    with tf.Graph().as_default():
        given = tf.keras.Input((2,))
        layer = Optional()
        layer([given, None])
        assert shapes == [None]
        assert layer.dtype == "float32"
        Optional()([None, given])


def test_the_outputs_of_a_layer_have_a_signature() -> None:
    layer = tf.keras.layers.Conv1D(4, 2)
    spec = layer.compute_output_signature(tf.TensorSpec((None, 5, 3), tf.float64))
    assert (spec.shape.as_list(), spec.dtype) == ([None, 4, 4], tf.float64)
    with pytest.raises(TypeError, match="Only TensorSpec signature types are supported"):
        layer.compute_output_signature((None, 5, 3))


def test_the_calls_of_a_layer_are_numbered() -> None:
    layer = layers.Masking()
    a, b = tf.keras.Input((4, 3)), tf.keras.Input((None, 3))
    first, second = layer(a), layer(b)
    assert [layer.get_input_at(0), layer.get_input_at(1)] == [a, b]
    assert [layer.get_output_at(0), layer.get_output_at(1)] == [first, second]
    assert [layer.get_output_at(-2), layer.get_output_at(-1)] == [first, second]
    assert layer.get_input_shape_at(0) == layer.get_output_shape_at(0) == (None, 4, 3)
    assert layer.get_input_mask_at(0) is None
    assert layer.get_output_mask_at(1).shape.as_list() == [None, None]
    with pytest.raises(AttributeError, match=r"different output shapes.*get_output_shape_at"):
        _ = layer.output_shape
    with pytest.raises(ValueError, match="Asked to get output at node 2, but the layer masking"):
        layer.get_output_at(2)
    with pytest.raises(ValueError, match="Asked to get output at node -3, but the layer masking"):
        layer.get_output_at(-3)
    same = layers.Dense(2)
    assert [same(a).shape.as_list(), same(a).shape.as_list()] == [[None, 4, 2]] * 2
    assert (same.input_shape, same.output_shape) == ((None, 4, 3), (None, 4, 2))


def test_the_copy_of_a_layer_has_layers_of_its_own_until_they_have_variables() -> None:
    pair = Pair()
    copied = copy.deepcopy(pair)
    assert (copied.name, copied.built, copied.graph) == (pair.name, False, pair.graph)
    outputs = [layer(tf.ones([2, 3])) for layer in (pair, copied)]
    assert len(copied.weights) == len(pair.weights) > 0
    assert not set(copied.weights) & set(pair.weights)
    assert outputs[0].shape == outputs[1].shape
    assert copy.deepcopy(pair).weights == pair.weights


def test_a_layer_may_have_its_own_attribute_with_the_name_of_the_list_of_layers() -> None:
    class Stack(layers.Layer):
        def __init__(self) -> None:
            super().__init__()
            assert self._layers == []
            self.first = layers.Dense(2)
            self._layers = [layers.Dense(3), layers.Dense(4)]

        def call(self, inputs: Any) -> Any:
            for layer in self._layers:
                inputs = layer(inputs)
            return self.first(inputs)

    stack = Stack()
    assert stack(tf.ones([1, 5])).shape.as_list() == [1, 2]
    assert [each.units for each in stack._layers] == [3, 4]
    assert len(stack.trainable_weights) == 6


class Recurrent(layers.Layer):
    """Has layers of `tf.layers` and cells in an attribute, inside a wrapper, and in a list."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        rnn = tf.nn.rnn_cell
        dropped = rnn.DropoutWrapper(rnn.BasicLSTMCell(3), input_keep_prob=1.0)
        self.cell = rnn.MultiRNNCell([dropped, rnn.GRUCell(3)])
        self.more: list[Any] = []
        self.more.append(tf.layers.Dense(1))

    def call(self, inputs: Any) -> Any:
        outputs, _ = tf.nn.dynamic_rnn(self.cell, inputs, dtype=tf.float32)
        self.late = tf.layers.Dense(2)
        return self.more[0](self.late(outputs))


def test_layers_of_tf_layers_inside_a_layer_have_variables_that_keras_trains() -> None:
    inputs = layers.Input((3, 2))
    layer = Recurrent()
    model = tf.keras.Model(inputs, layer(inputs))
    assert len(layer.trainable_weights) == 10
    assert {type(variable).__name__ for variable in layer.weights} == {"ResourceVariable"}
    model.compile("adam", "mse")
    before = model.get_weights()
    model.fit(np.ones((4, 3, 2)), np.ones((4, 3, 1)), verbose=0)
    changed = [np.any(old != new) for old, new in zip(before, model.get_weights(), strict=True)]
    assert sum(changed) == 10


def test_layers_of_tf_layers_alone_have_reference_variables() -> None:
    tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.GRUCell(3)])(tf.zeros([1, 3]), [tf.zeros([1, 3])])
    tf.layers.dense(tf.zeros([1, 3]), 2)
    assert {type(variable).__name__ for variable in tf.global_variables()} == {"RefVariable"}


def test_the_weights_of_a_layer_are_its_initial_values() -> None:
    table = np.arange(8, dtype=np.float32).reshape(4, 2)
    embedding = layers.Embedding(4, 2, weights=[table], trainable=False)
    kernels = [np.ones((2, 6), np.float32), np.zeros((2, 6), np.float32), np.ones(6, np.float32)]
    found = layers.GRU(2, weights=kernels)(embedding(tf.constant([[1, 3]])))
    np.testing.assert_array_equal(tf.keras.backend.get_value(embedding.embeddings), table)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        np.testing.assert_array_equal(session.run(embedding.embeddings), table)
        assert np.isfinite(session.run(found)).all()


def test_a_getter_makes_the_weights_of_a_layer() -> None:
    layer = layers.Layer(name="own")
    with tf.variable_scope("outer", partitioner=tf.fixed_size_partitioner(2)):
        made = layer.add_weight(
            "table", (4, 2), initializer="ones", regularizer="l2", getter=tf.get_variable
        )
    assert [each.op.name for each in layer.weights] == ["outer/table/part_0", "outer/table/part_1"]
    assert len(layer.trainable_weights) == len(layer.losses) == 2
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(tf.convert_to_tensor(made)).tolist() == [[1.0, 1.0]] * 4
        np.testing.assert_allclose(session.run(tf.add_n(layer.losses)), 0.08, 1e-6)


def test_a_weight_that_is_summed_when_it_is_read_is_not_trained() -> None:
    layer = layers.Layer()
    on_read = tf.VariableSynchronization.ON_READ
    layer.add_weight("count", (), synchronization=on_read)
    assert (len(layer.trainable_weights), len(layer.non_trainable_weights)) == (0, 1)
    with pytest.raises(ValueError, match="only for non-trainable variables"):
        layer.add_weight("other", (), synchronization=on_read, trainable=True)


def test_the_losses_of_a_variable_are_found_by_it() -> None:
    variable = tf.keras.backend.variable(np.ones((2, 3, 2)))
    layer = layers.LSTM(2, activity_regularizer="l2", kernel_regularizer="l1")
    layer(variable)
    assert len(layer.get_losses_for(variable)) == len(layer.get_losses_for(None)) == 1
    assert layer.get_losses_for(tf.keras.backend.variable(1.0)) == []
