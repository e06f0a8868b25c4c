"""The shapes of targets and batches that models of Keras take
(python/keras/engine/training_utils.py).
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from keras_training import Numbered, Reference, X, Y, dataset, linear

import capstan as tf

keras = tf.keras
ONES = np.ones((8, 3), np.float32)
WIDE = keras.initializers.Constant(0.5)


@pytest.fixture(autouse=True)
def session() -> Iterator[None]:
    with tf.Graph().as_default():
        yield
    keras.backend.set_session(None)


def wide(loss: Any, activation: Any = None, **options: Any) -> Any:
    inputs = keras.Input(3, **options)
    outputs = keras.layers.Dense(2, activation, kernel_initializer=WIDE)(inputs)
    model = keras.Model(inputs, outputs)
    model.compile("sgd", loss)
    return model


def test_a_loss_may_compare_one_number_with_all_units() -> None:
    assert wide("mae").evaluate(ONES, np.ones(8), verbose=0) == pytest.approx(0.5)
    data = tf.data.Dataset.from_tensors((ONES, np.zeros((8, 1), np.float32)))
    assert wide("mse").evaluate(data, verbose=0) == pytest.approx(2.25)


def test_a_model_of_a_subclass_may_have_targets_of_another_shape() -> None:
    class Own(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.dense = keras.layers.Dense(2, kernel_initializer=WIDE)

        def call(self, inputs: Any) -> Any:
            return self.dense(inputs)

    model = Own()
    model.compile("sgd", "mse")
    assert model.evaluate(ONES, np.zeros((8, 1)), verbose=0) == pytest.approx(2.25)


@pytest.mark.parametrize(
    ("loss", "targets", "message"),
    [
        ("mse", np.ones(8), r"\(8, 1\) was passed for an output of shape \(None, 2\)"),
        (keras.losses.BinaryCrossentropy(), np.ones((8, 3)), "binary_crossentropy"),
        ("categorical_crossentropy", np.ones(8), "to_categorical"),
        (keras.losses.mean_squared_error, np.ones((8, 4)), "same shape as the output"),
    ],
)
def test_targets_that_a_loss_would_spread_silently_are_refused(
    loss: Any, targets: Any, message: str
) -> None:
    model = wide(loss, "softmax")
    with pytest.raises(ValueError, match=message):
        model.fit(ONES, targets, verbose=0)
    with pytest.raises(ValueError, match=message):
        model.train_on_batch(ONES, targets)


def test_the_batch_size_of_an_input_is_that_of_fit() -> None:
    sizes: list[int] = []
    seen = keras.callbacks.LambdaCallback(on_batch_end=lambda _, logs: sizes.append(logs["size"]))
    model = wide("mae", batch_size=4)
    model.fit(ONES, np.ones((8, 2)), verbose=0, callbacks=[seen])
    assert sizes == [4, 4]
    assert model.predict(ONES).shape == (8, 2)
    with pytest.raises(ValueError, match=r"value 2 is incompatible .* Input Layer: 4"):
        model.fit(ONES, np.ones((8, 2)), batch_size=2)


def test_a_sparse_matrix_is_an_array_of_a_dense_input() -> None:
    model = linear()
    given = pytest.importorskip("scipy.sparse").csr_matrix(ONES)
    np.testing.assert_allclose(model.predict(given), model.predict(ONES))


def test_the_functions_of_generators_take_all_arguments_by_place(capsys: Any) -> None:
    model, epochs = linear(), []
    seen = keras.callbacks.LambdaCallback(on_epoch_begin=lambda epoch, _: epochs.append(epoch))
    model.fit_generator(Numbered(), 2, 4, 0, [seen], (X, Y), None, 1, None, 10, 1, False, False, 2)
    assert epochs == [2, 3]
    model.evaluate_generator(Numbered(), None, [seen], 10, 1, False)
    assert model.predict_generator(Numbered(), 2, [seen], 10, 1, False, 0).shape == (8, 1)
    assert not capsys.readouterr().out


def test_validation_arrays_beside_a_generator_have_batches_of_its_size() -> None:
    model, sizes = linear(), []
    seen = keras.callbacks.LambdaCallback()
    seen.on_test_batch_begin = lambda _, logs: sizes.append(logs["size"])
    options = {"validation_data": (X, Y), "callbacks": [seen], "verbose": 0}
    history = model.fit(Numbered(), shuffle=False, **options).history
    assert sizes == [2, 2, 2, 2, 2]
    assert history["val_loss"] == [pytest.approx(model.evaluate(X, Y, verbose=0))]


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"sample_weight": {"other": X[:, 0]}}, ValueError, "entries in sample_weight dictionary"),
        ({"class_weight": {"other": {0: 1.0}}}, ValueError, "entries in class_weight dictionary"),
        ({"sample_weight": X[:, 0]}, TypeError, "either a list or a dict"),
        ({"sample_weight": [X[:, 0]]}, ValueError, "has 1 arrays, and the model expects 2"),
        ({"validation_data": (X, [0, 0])}, ValueError, "arrays of examples"),
        ({"validation_steps": 2}, ValueError, "`validation_data` is None"),
    ],
)
def test_weights_and_validation_data_must_fit_the_outputs(
    options: dict[str, Any], kind: type[Exception], message: str
) -> None:
    inputs = keras.Input(3)
    outputs = [keras.layers.Dense(1, name=name)(inputs) for name in ("one", "two")]
    model = keras.Model(inputs, outputs)
    model.compile("sgd", "mse")
    with pytest.raises(kind, match=message):
        model.fit(X, [Y, Y], verbose=0, **options)


def test_data_that_are_batches_already_have_no_batch_size() -> None:
    for data in (Numbered(), dataset(2)):
        with pytest.raises(ValueError, match="`batch_size` argument must not be specified"):
            linear().fit(data, batch_size=2)


def test_each_example_has_a_prediction() -> None:
    model = keras.Sequential([keras.layers.Lambda(lambda x: x[1:], input_shape=(3,))])
    with pytest.raises(ValueError, match="Mismatch between expected batch size"):
        model.predict(X)


def test_a_target_tensor_that_is_a_placeholder_is_fed() -> None:
    model, reference = linear(), Reference()
    target = keras.backend.placeholder([None, 1])
    model.compile(keras.optimizers.SGD(0.1), "mse", target_tensors=[target])
    assert model.train_on_batch(X, Y) == pytest.approx(reference.step(X, Y), rel=1e-4)
    with pytest.raises(TypeError, match="a list, a tuple, a dictionary or a single tensor"):
        model.compile("sgd", "mse", target_tensors=set())


@pytest.mark.parametrize(
    "train",
    [
        lambda model, data: model.fit(data, verbose=0),
        lambda model, data: model.fit(ONES, ONES[:, :2], verbose=0, validation_data=data),
        lambda model, data: model.evaluate(data, verbose=0),
        lambda model, data: model.predict(data.map(lambda x, y: x)),
    ],
    ids=["fit", "validation", "evaluate", "predict"],
)
def test_a_dataset_without_end_needs_a_number_of_steps(train: Any) -> None:
    endless = tf.data.Dataset.from_tensors((ONES, ONES[:, :2])).repeat()
    with pytest.raises(ValueError, match="infinitely repeating dataset"):
        train(wide("mse"), endless)


def test_numbers_of_classes_may_have_the_shape_of_the_steps() -> None:
    layer = keras.layers.Dense(5, "softmax", input_shape=(3, 4))
    model = keras.Sequential([layer])
    model.compile("sgd", "sparse_categorical_crossentropy", metrics=["acc"])
    steps, classes = np.ones((4, 3, 4)), np.arange(12).reshape(4, 3) % 5
    expected = model.evaluate(steps, classes[..., np.newaxis], verbose=0)
    np.testing.assert_allclose(model.evaluate(steps, classes, verbose=0), expected, rtol=1e-6)
    data = tf.data.Dataset.from_tensors((steps, classes))
    np.testing.assert_allclose(model.evaluate(data, verbose=0), expected, rtol=1e-6)


def test_a_matrix_in_lists_is_data() -> None:
    model = linear()
    expected = model.evaluate(X, Y, verbose=0)
    for x, y in ((X.tolist(), Y.tolist()), ([X.tolist()], Y)):
        assert model.evaluate(x, y, verbose=0) == pytest.approx(expected, rel=1e-5)


def test_a_program_may_use_the_loss_and_the_targets_of_a_model() -> None:
    model = linear()
    model._make_predict_function()
    model._make_test_function()
    model._make_train_function()
    (slope,) = tf.gradients(model.total_loss, model.weights[0])
    inputs = [model.inputs[0], model.targets[0]]
    found = keras.backend.function(inputs, [slope])([X, Y[:, np.newaxis]])[0]
    errors = model.predict(X)[:, 0] - Y
    np.testing.assert_allclose(found[:, 0], 2 * errors @ X / len(X), rtol=1e-4, atol=1e-6)
    assert [each.name for each in model.loss_functions] == ["mean_squared_error"]
