"""Inputs of models that are sparse or ragged
(python/keras/utils/composite_tensor_support_test.py).
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import capstan as tf

keras = tf.keras
DENSE = np.float32([[1, 0, 2], [0, 0, 0], [0, 3, 0], [0, 0, 4], [5, 0, 0]])
KERNEL = np.float32([[1], [10], [100]])
PLACES = np.argwhere(DENSE)
SPARSE = tf.SparseTensorValue(PLACES, DENSE[tuple(PLACES.T)], DENSE.shape)
ROWS = [[[1, 2]], [], [[3, 4], [5, 6]], [[7, 8]]]
RAGGED = tf.ragged.constant_value(ROWS, np.float32, ragged_rank=1)


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield
    keras.backend.set_session(None)


def product() -> Any:
    """Return a model that multiplies a sparse input by a matrix."""
    inputs = keras.Input(3, sparse=True, name="given")
    weights = tf.Variable(KERNEL, use_resource=True)
    multiply = keras.layers.Lambda(lambda x: tf.sparse.matmul(x, weights))
    model = keras.Model(inputs, multiply(inputs))
    model.compile("sgd", "mse")
    return model


def matrices() -> list[Any]:
    scipy = pytest.importorskip("scipy.sparse")
    return [SPARSE, scipy.csr_matrix(DENSE), scipy.coo_matrix(DENSE), {"given": SPARSE}]


def test_a_sparse_input_takes_sparse_matrices_in_batches() -> None:
    model = product()
    for given in matrices():
        np.testing.assert_allclose(model.predict(given, batch_size=2), DENSE @ KERNEL)
        assert model.evaluate(given, DENSE @ KERNEL, batch_size=2, verbose=0) == 0
        model.fit(given, DENSE @ KERNEL, batch_size=2, verbose=0)
        np.testing.assert_allclose(model.predict_on_batch(given), DENSE @ KERNEL)


def test_a_dataset_or_a_tensor_feeds_a_sparse_input() -> None:
    model = product()
    data = tf.data.Dataset.from_tensor_slices(tf.SparseTensor(*SPARSE)).batch(2)
    np.testing.assert_allclose(model.predict(data), DENSE @ KERNEL)
    np.testing.assert_allclose(model.predict(tf.SparseTensor(*SPARSE), steps=1), DENSE @ KERNEL)
    labeled = tf.data.Dataset.from_tensors((tf.SparseTensor(*SPARSE), DENSE @ KERNEL))
    assert model.evaluate(labeled, verbose=0) == 0


class Summed(keras.layers.Layer):
    """Adds up the rows of each example of a ragged input."""

    def call(self, inputs: Any) -> Any:
        return tf.reduce_sum(inputs, axis=1)


@pytest.mark.parametrize("is_sequential", [False, True])
def test_a_ragged_input_takes_ragged_values_in_batches(is_sequential: bool) -> None:
    inputs = keras.Input((None, 2), ragged=True)
    model = keras.Model(inputs, Summed()(inputs))
    if is_sequential:
        first = keras.layers.InputLayer((None, 2), ragged=True)
        model = keras.Sequential([first, Summed()])
    expected = np.float32([np.sum(each, 0) if each else [0, 0] for each in ROWS])
    np.testing.assert_array_equal(model.predict(RAGGED), expected)
    np.testing.assert_array_equal(model.predict(RAGGED, batch_size=3), expected)
    np.testing.assert_array_equal(model.predict(tf.ragged.constant(ROWS, tf.float32, 1)), expected)
    data = tf.data.Dataset.from_tensors(tf.ragged.constant(ROWS, tf.float32, ragged_rank=1))
    np.testing.assert_array_equal(model.predict(data), expected)
    model.compile("sgd", "mse")
    for shuffle in (False, True):
        model.fit(RAGGED, expected, batch_size=3, shuffle=shuffle, verbose=0)
    assert model.evaluate(RAGGED, expected, verbose=0) == 0


def test_outputs_may_be_sparse_or_ragged() -> None:
    class Sparse(keras.layers.Layer):
        def call(self, inputs: Any) -> Any:
            return tf.sparse.from_dense(inputs)

    class Ragged(keras.layers.Layer):
        def call(self, inputs: Any) -> Any:
            return tf.RaggedTensor.from_tensor(inputs, padding=0.0)

    inputs = keras.Input(3)
    model = keras.Model(inputs, [Sparse()(inputs), Ragged()(inputs)])
    sparse, ragged = model.predict(DENSE, batch_size=2)
    for found, expected in zip(sparse, SPARSE, strict=True):
        np.testing.assert_array_equal(found, expected)
    assert ragged.to_list() == [[1, 0, 2], [], [0, 3], [0, 0, 4], [5]]


def test_a_model_without_inputs_gets_sparse_or_ragged_ones() -> None:
    class Model(keras.Model):
        def call(self, inputs: Any) -> Any:
            is_sparse = isinstance(inputs, tf.SparseTensor)
            return tf.sparse.to_dense(inputs) if is_sparse else inputs.to_tensor(-1.0)

    np.testing.assert_array_equal(Model().predict(SPARSE), DENSE)
    ragged = tf.ragged.constant_value([[1.0], [2.0, 3.0]], np.float32)
    np.testing.assert_array_equal(Model().predict(ragged), [[1, -1], [2, 3]])
    model = Model()
    model._set_inputs(keras.Input((None,), ragged=True))
    np.testing.assert_array_equal(model.predict(ragged), [[1, -1], [2, 3]])


def test_a_configuration_says_which_inputs_are_sparse_or_ragged() -> None:
    for kind in ("sparse", "ragged"):
        inputs = keras.Input((None,), **{kind: True})
        model = keras.Model(inputs, keras.layers.Lambda(lambda x: x)(inputs))
        config = model.get_config()["layers"][0]["config"]
        assert config[kind]
        assert config["batch_input_shape"] == (None, None)
        copy = keras.layers.InputLayer.from_config(config)
        assert type(copy.output) is type(inputs)
    with pytest.raises(ValueError, match="sparse or ragged, and not both"):
        keras.Input(3, sparse=True, ragged=True)


def test_the_data_of_an_input_have_its_shape() -> None:
    narrow = tf.SparseTensorValue(PLACES[:1], np.ones(1, np.float32), [5, 2])
    with pytest.raises(ValueError, match=r"expected given to have shape \(3,\) but got .* \(2,\)"):
        product().predict(narrow)
    inputs = keras.Input((None, 4), ragged=True)
    with pytest.raises(ValueError, match=r"to have shape \(None, 4\) but got"):
        keras.Model(inputs, Summed()(inputs)).predict(RAGGED)
    with pytest.raises(ValueError, match="to have 2 dimensions"):
        keras.Sequential([keras.layers.Dense(1, input_shape=(3,))]).predict(np.ones((2, 3, 1)))
