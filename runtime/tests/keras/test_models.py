"""Models of `tf.keras` in graphs: subclasses, functions of layers, and sequences."""

from typing import Any

import numpy as np
import pytest

import capstan as tf

pytestmark = pytest.mark.e2e
keras, layers = tf.keras, tf.keras.layers
ROWS = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as graph:
        tf.set_random_seed(4)
        yield graph


def names(variables: Any) -> list[str]:
    return [variable.name for variable in variables]


class Classifier(keras.Model):
    def __init__(self) -> None:
        super().__init__()
        self.hidden = layers.Dense(4, "tanh")
        self.drop = layers.Dropout(0.5)
        self.heads = {"logits": layers.Dense(2)}

    def call(self, inputs: Any, training: Any = None) -> Any:
        return self.heads["logits"](self.drop(self.hidden(inputs), training=training))


def test_a_subclass_trains_and_is_restored(tmp_path: Any) -> None:
    model = Classifier()
    loss = tf.losses.sparse_softmax_cross_entropy([0, 1], model(ROWS, training=False))
    train = tf.train.AdamOptimizer(0.1).minimize(loss)
    saver = tf.train.Saver(model.weights)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        before = session.run(loss)
        for _ in range(30):
            session.run(train)
        after = session.run(loss)
        path = saver.save(session, str(tmp_path / "model"))
        session.run(tf.global_variables_initializer())
        saver.restore(session, path)
        assert session.run(loss) == after
    assert after < before / 2
    assert names(model.trainable_weights) == [
        "classifier/dense/kernel:0", "classifier/dense/bias:0",
        "classifier/dense_1/kernel:0", "classifier/dense_1/bias:0",
    ]  # fmt: skip


def test_a_function_of_layers_repeats_their_calls_on_other_inputs() -> None:
    first, second = keras.Input((3,)), keras.Input((2,), name="side")
    shared = layers.Dense(2)
    hidden = shared(first)
    both = layers.Concatenate()([hidden, layers.Add()([hidden, second])])
    model = keras.Model([first, second], both)
    outputs = model([tf.constant(ROWS), tf.ones([2, 2])])
    assert [layer.name for layer in model.layers] == [
        "input_1", "dense", "side", "add", "concatenate",
    ]  # fmt: skip
    assert names(model.weights) == ["dense/kernel:0", "dense/bias:0"]
    assert model.get_layer("dense") is shared
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        values, kernel = session.run([outputs, shared.kernel])
        fed = session.run(both, {first: ROWS, second: np.ones((2, 2))})
    expected = np.concatenate([ROWS @ kernel, ROWS @ kernel + 1], 1)
    np.testing.assert_allclose(values, expected, 1e-5)
    np.testing.assert_allclose(fed, expected, 1e-5)


def test_a_sequence_with_an_input_shape_is_built_at_once() -> None:
    model = keras.Sequential([layers.Dense(4, input_shape=(3,)), layers.Dense(2)])
    assert model.built
    assert names(model.weights)[::2] == ["dense/kernel:0", "dense_1/kernel:0"]
    assert model.outputs[0].shape.as_list() == [None, 2]
    assert model(ROWS).shape.as_list() == [2, 2]
    model.pop()
    assert model.outputs[0].shape.as_list() == [None, 4]


def test_the_input_of_a_sequence_has_the_name_of_its_first_layer() -> None:
    inner = keras.Sequential([layers.Dense(4, input_shape=(3,), name="first")], name="inner")
    outer = keras.Sequential([inner, layers.Dense(2)])
    assert (inner.input_names, outer.input_names) == (["first_input"], ["inner_input"])
    assert inner.inputs[0].name == "first_input:0"


def test_a_sequence_without_an_input_shape_is_built_by_its_first_call() -> None:
    model = keras.Sequential([layers.Flatten(), layers.Dense(2)])
    assert model.weights == []
    model(ROWS)
    assert names(model.weights) == ["sequential/dense/kernel:0", "sequential/dense/bias:0"]


def table(model: Any, **options: Any) -> list[str]:
    lines: list[str] = []
    model.summary(print_fn=lines.append, **options)
    return lines


def test_a_summary_is_the_table_of_keras() -> None:
    model = keras.Sequential(
        [layers.Dense(4, input_shape=(3,)), layers.BatchNormalization(), layers.Dense(1200)]
    )
    narrow, wide = "_" * 65, "=" * 65
    assert table(model) == [
        'Model: "sequential"',
        narrow,
        "Layer (type)                 Output Shape              Param #   ",
        wide,
        "dense (Dense)                (None, 4)                 16        ",
        narrow,
        "batch_normalization (BatchNo (None, 4)                 16        ",
        narrow,
        "dense_1 (Dense)              (None, 1200)              6000      ",
        wide,
        "Total params: 6,032",
        "Trainable params: 6,024",
        "Non-trainable params: 8",
        narrow,
    ]
    assert table(model, line_length=40, positions=[0.5, 0.9, 1.0])[4] == (
        "dense (Dense)       (None, 4)       16  "
    )


def test_the_summary_of_a_branched_model_names_the_inputs_of_each_layer() -> None:
    shared, a, b = layers.Dense(2), keras.Input((3,)), keras.Input((3,))
    joined = layers.Concatenate()([shared(a), shared(b)])
    model = keras.Model([a, b], layers.Dense(1)(joined))
    rows = [line.split("  ") for line in table(model) if line[0] not in "_="][2:-3]
    assert [[each.strip() for each in row if each.strip()] for row in rows] == [
        ["input_1 (InputLayer)", "[(None, 3)]", "0"],
        ["input_2 (InputLayer)", "[(None, 3)]", "0"],
        ["dense (Dense)", "(None, 2)", "8", "input_1[0][0]"],
        ["input_2[0][0]"],
        ["concatenate (Concatenate)", "(None, 4)", "0", "dense[0][0]"],
        ["dense[1][0]"],
        ["dense_1 (Dense)", "(None, 1)", "5", "concatenate[0][0]"],
    ]
    assert {len(line) for line in table(model)[1:-4]} == {98}


def test_a_model_without_variables_has_no_summary() -> None:
    with pytest.raises(ValueError, match="has not yet been built"):
        keras.Sequential([layers.Dense(4)]).summary()


@pytest.mark.parametrize(
    "use, error, message",
    [
        (lambda: keras.Model()(ROWS), NotImplementedError, "implement a `call` method"),
        (lambda: keras.Sequential([3]), TypeError, "must be an instance of class Layer"),
        (lambda: keras.Sequential().pop(), TypeError, "no layers"),
        (lambda: keras.Model(keras.Input((2,)), keras.Input((2,)) * 2), ValueError, "disconnected"),
        (lambda: keras.Input(), ValueError, "either a `shape` or a `tensor`"),
        (lambda: keras.Sequential().get_layer("a"), ValueError, "No such layer: a"),
    ],
)
def test_wrong_uses_are_refused(use: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        use()


def test_an_estimator_trains_a_model_and_runs_its_updates(tmp_path: Any) -> None:
    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        is_training = mode == tf.estimator.ModeKeys.TRAIN
        model = keras.Sequential([layers.BatchNormalization(), layers.Dense(1)])
        loss = tf.losses.mean_squared_error(labels, model(features, training=is_training))
        train = tf.train.GradientDescentOptimizer(0.1).minimize(
            loss, tf.train.get_or_create_global_step()
        )
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=tf.group(train, *model.updates))

    def input_fn() -> Any:
        return tf.data.Dataset.from_tensors((ROWS, np.ones((2, 1), np.float32))).repeat(5)

    estimator = tf.estimator.Estimator(model_fn, str(tmp_path))
    estimator.train(input_fn)
    mean = estimator.get_variable_value("sequential/batch_normalization/moving_mean")
    np.testing.assert_allclose(mean, ROWS.mean(0) * (1 - 0.99**5), 1e-4)


def test_build_makes_the_variables_that_a_call_would_make() -> None:
    model = keras.Sequential([layers.Dense(3), layers.Dense(2)])
    model.build((None, 4))
    assert names(model.weights)[::2] == ["dense/kernel:0", "dense_1/kernel:0"]
    model(tf.ones([1, 4]))
    subclass = Classifier()
    subclass.build([None, 4])
    assert subclass.built
    assert len(subclass.trainable_weights) == 4
    assert len(tf.trainable_variables()) == 8
    with pytest.raises(NotImplementedError, match="implement a `call` method"):
        keras.Model().build((None, 4))


@pytest.mark.parametrize(
    "make",
    [
        lambda: _sum_of(keras.Input((2,), name="length"), keras.Input((2,), name="length")),
        lambda: keras.Sequential(
            [layers.Dense(2, input_shape=(2,), name="length"), layers.Dense(2, name="length")]
        ),
    ],
)
def test_two_layers_of_one_name_are_refused(make: Any) -> None:
    with pytest.raises(ValueError, match='The name "length" is used 2 times in the model'):
        make()


def _sum_of(*inputs: Any) -> Any:
    return keras.Model(list(inputs), layers.add(list(inputs)))


def test_a_subclass_may_make_variables_in_build() -> None:
    class Scale(keras.Model):
        def build(self, input_shape: Any) -> None:
            self.factor = self.add_weight("factor", [int(input_shape[-1])], initializer="ones")
            self.built = True

        def call(self, inputs: Any) -> Any:
            return inputs * self.factor

    model = Scale()
    assert model(ROWS).shape.as_list() == [2, 3]
    assert names(model.weights) == ["scale/factor:0"]


def test_a_sequence_takes_its_input_from_its_first_layer() -> None:
    inner = keras.Sequential([layers.Dense(3, input_dim=4)])
    models = [
        keras.Sequential([keras.Input((4,)), layers.Dense(2)]),
        keras.Sequential([inner, layers.Dense(2)]),
    ]
    for model in models:
        assert model.output_shape == (None, 2)
        assert model.input_shape == (None, 4)
    assert names(models[1].weights)[::2] == ["dense/kernel:0", "dense_2/kernel:0"]


def test_the_ends_of_a_model_are_ends_of_other_models() -> None:
    first, second = keras.Input((4,)), keras.Input((4,))
    hidden = layers.Dense(3, name="hidden")(layers.Add()([first, second]))
    model = keras.Model([first, second], layers.Dense(2)(hidden))
    assert model.input == [first, second]
    features = keras.Model(model.input, model.get_layer("hidden").output)
    assert features([tf.ones([5, 4])] * 2).shape.as_list() == [5, 3]
    assert model.output.shape.as_list() == [None, 2]


def test_an_embedding_begins_a_model_that_is_built_at_once() -> None:
    model = tf.keras.Sequential([tf.keras.layers.Embedding(3, 2), tf.keras.layers.Dense(1)])
    assert [weight.name for weight in model.weights] == [
        "embedding/embeddings:0", "dense/kernel:0", "dense/bias:0",
    ]  # fmt: skip
    assert model.input_shape == (None, None)


def test_a_model_may_be_made_of_one_layer() -> None:
    assert len(tf.keras.Sequential(tf.keras.layers.Dense(1)).layers) == 1


def test_a_model_sets_the_states_of_its_layers_to_zero() -> None:
    model = tf.keras.Sequential(
        [tf.keras.layers.SimpleRNN(2, stateful=True, batch_input_shape=(1, 1, 2))]
    )
    value = np.ones((1, 1, 2), np.float32)
    first, second = model.predict(value), model.predict(value)
    assert (first != second).any()
    model.reset_states()
    assert (model.predict(value) == first).all()
    model.compile("sgd", "mse")
    losses = [model.evaluate(value, np.zeros((1, 2)), verbose=0) for _ in range(2)]
    model.reset_states()
    assert losses[0] == pytest.approx(np.mean(second**2))
    assert losses[0] != losses[1]
    assert model.evaluate(value, np.zeros((1, 2)), verbose=0) == pytest.approx(np.mean(first**2))


@pytest.mark.parametrize("layer", [tf.keras.layers.Cropping2D, tf.keras.layers.ZeroPadding3D])
def test_wrong_borders_are_named(layer: Any) -> None:
    with pytest.raises(ValueError, match="should be either an int, or a tuple of"):
        layer(None)


def test_losses_of_integers_are_integers() -> None:
    labels = tf.constant([[4, 8], [2, 1]])
    loss = tf.keras.losses.MeanSquaredError()(labels, labels)
    with tf.Session() as session:
        assert (loss.dtype, session.run(loss)) == (tf.int32, 0)


def test_a_model_inside_of_time_distributed_takes_and_computes_masks() -> None:
    steps = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    steps[0, 1:] = 0
    inner = keras.Sequential([layers.Dense(1, "linear", False, "ones", input_shape=(4,))])
    inputs = keras.Input((3, 4))
    outputs = layers.TimeDistributed(inner)(layers.Masking()(inputs))
    model = keras.Model(inputs, layers.SimpleRNN(1, None, False, "ones", "ones")(outputs))
    kept = steps.sum(2)
    np.testing.assert_allclose(model.predict(steps)[:, 0], kept.sum(1), rtol=1e-6)
    model.compile("sgd", "mse")
    model.fit(steps, np.zeros((2, 1)), verbose=0)


def test_a_model_passes_a_given_mask_to_its_layers() -> None:
    inner_inputs = keras.Input((3, 1))
    inner = keras.Model(
        inner_inputs, layers.SimpleRNN(1, None, False, "ones", "ones")(inner_inputs)
    )
    values, mask = tf.ones([2, 3, 1]), tf.constant([[True, False, True], [True, True, True]])
    found = inner(values, mask=mask)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(found).tolist() == [[2.0], [3.0]]


def test_a_model_computes_the_shapes_of_its_outputs() -> None:
    one, other = keras.Input((None, 3)), keras.Input(4)
    hidden = keras.layers.LSTM(2, return_state=True)(one)
    model = keras.Model([one, other], [keras.layers.concatenate([hidden[0], other]), hidden[1]])
    found = model.compute_output_shape([(5, 7, 3), (5, 4)])
    assert [each.as_list() for each in found] == [[5, 6], [5, 2]]
    with pytest.raises(ValueError, match="2 tensor inputs"):
        model.compute_output_shape((5, 7, 3))
    layers = [keras.layers.Dense(4), keras.layers.Reshape((2, 2)), keras.layers.Flatten()]
    assert keras.Sequential(layers).compute_output_shape((None, 3)).as_list() == [None, 4]


def test_a_list_of_one_output_is_that_output() -> None:
    with tf.Graph().as_default():
        x = tf.keras.Input((3,))
        model = tf.keras.Model(inputs=[x], outputs=[tf.keras.layers.Dense(2)(x)])
        for each in (model, tf.keras.models.clone_model(model)):
            found = [each(tf.ones([4, 3])), each([tf.ones([4, 3])])]
            assert [tensor.shape.as_list() for tensor in found] == [[4, 2], [4, 2]]


class Twice(keras.layers.Layer):
    def call(self, inputs: Any) -> Any:
        return [inputs, inputs]


def without_init() -> Any:
    class Forgetful(keras.Model):
        def __init__(self) -> None:
            self.dense = keras.layers.Dense(2)

    return Forgetful()


def inputs(*sizes: int | None) -> list[Any]:
    return [keras.Input((2,), batch_size=size) for size in sizes]


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (without_init, RuntimeError, "forgot to call `super"),
        (lambda: keras.Input((2,), batch_shape=(1, 2)), ValueError, "not both"),
        (lambda: keras.Input((2,), size=3), ValueError, "Unrecognized keyword arguments: size"),
        (lambda: keras.Sequential([Twice(input_shape=(2,))]), ValueError, "single output tensor"),
        (
            lambda: keras.Sequential([keras.layers.ReLU(input_shape=(2,)), Twice()]),
            TypeError,
            "single output tensor",
        ),
        (lambda: keras.Model(inputs(None) * 2, inputs(None)), ValueError, "redundant"),
        (lambda: keras.Model(*[inputs(2, None, 3)] * 2), ValueError, "batch sizes"),
    ],
)
def test_models_that_cannot_be_meant_are_refused(make: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        make()


def test_outputs_in_a_dictionary_stay_so_in_a_configuration() -> None:
    given = {"b": keras.Input((2,), name="first"), "a": keras.Input((2,), name="second")}
    outputs = {"sum": keras.layers.add([*given.values()]), "same": given["a"]}
    model = keras.Model(given, outputs)
    config = model.get_config()
    assert config["input_layers"] == {"b": ["first", 0, 0], "a": ["second", 0, 0]}
    for made in (keras.Model.from_config(config), keras.models.clone_model(model)):
        found = made({"a": tf.ones([1, 2]), "b": 2 * tf.ones([1, 2])})
        with tf.Session() as session:
            values = session.run(found)
        assert {name: value.tolist() for name, value in values.items()} == {
            "sum": [[3.0, 3.0]],
            "same": [[1.0, 1.0]],
        }


def test_the_mask_of_several_outputs_is_a_list() -> None:
    model = keras.Model(*[inputs(None, None)] * 2)
    assert model.compute_mask([tf.ones([1, 2])] * 2) == [None, None]


def test_the_weights_of_a_model_are_those_of_its_layers_in_order_and_then_its_own() -> None:
    class Own(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.fixed = tf.Variable(1.0, False, name="fixed", use_resource=True)
            self.factor = tf.Variable(1.0, name="factor", use_resource=True)
            self.scale, self.last = layers.BatchNormalization(), layers.Dense(1)

        def call(self, inputs: Any) -> Any:
            return self.last(self.scale(inputs)) * self.factor * self.fixed

    def last_names(variables: Any) -> list[str]:
        return [variable.op.name.split("/")[-1] for variable in variables]

    of_scale = ["gamma", "beta", "moving_mean", "moving_variance"]
    model = Own()
    model(tf.ones([1, 2]))
    assert last_names(model.weights) == [*of_scale, "kernel", "bias", "factor", "fixed"]
    assert last_names(model.trainable_weights) == ["gamma", "beta", "kernel", "bias", "factor"]
    assert last_names(model.non_trainable_weights) == [*of_scale[2:], "fixed"]
    model.trainable = False
    assert model.trainable_weights == []
    assert last_names(model.non_trainable_weights) == [
        *("factor", *of_scale, "kernel", "bias", "fixed"),
    ]
    sequence = keras.Sequential([layers.BatchNormalization(input_shape=(2,)), layers.Dense(1)])
    assert last_names(sequence.weights) == [*of_scale, "kernel", "bias"]
    assert [value.shape for value in sequence.get_weights()][4:] == [(2, 1), (1,)]
