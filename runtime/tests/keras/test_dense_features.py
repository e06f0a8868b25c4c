"""tf.keras.layers.DenseFeatures: feature columns as the inputs of models of Keras."""

import pathlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import capstan as tf

keras = tf.keras
fc = tf.feature_column
RANDOM = np.random.default_rng(4)
AGES = RANDOM.uniform(size=40).astype(np.float32)
SORTS = RANDOM.choice(["cat", "dog", "cow"], 40)
LABELS = (AGES + (SORTS == "dog") > 0.8).astype(np.float32)
FEATURES = {"sort": SORTS, "age": AGES}


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with tf.Graph().as_default():
        tf.set_random_seed(1)
        yield
    keras.backend.set_session(None)


def columns() -> list[Any]:
    sort = fc.categorical_column_with_vocabulary_list("sort", ["cat", "dog", "cow"])
    return [
        fc.numeric_column("age"),
        fc.embedding_column(sort, 2),
        fc.indicator_column(sort),
        fc.bucketized_column(fc.numeric_column("age"), [0.5]),
    ]


def evaluate(tensors: Any) -> Any:
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        return session.run(tensors)


def test_the_columns_stand_side_by_side_in_the_order_of_their_names() -> None:
    layer = keras.layers.DenseFeatures(columns(), name="given")
    features = {"sort": tf.constant([["dog"], ["cow"]]), "age": tf.constant([0.25, 0.75])}
    parts: dict[Any, Any] = {}
    matrix = layer(features, cols_to_output_tensors=parts)
    again = layer(features)
    assert [each.name for each in layer.weights] == ["given/sort_embedding/embedding_weights:0"]
    assert layer.trainable_weights == layer.weights == tf.trainable_variables()
    assert matrix.shape.as_list() == [2, 8]
    assert layer.compute_output_shape((None, 1)).as_list() == [None, 8]
    found, repeated, table, vectors = evaluate(
        [matrix, again, layer.weights[0], part_named(parts, "sort_embedding")]
    )
    expected = [
        [0.25, 1, 0, *table[1], 0, 1, 0],
        [0.75, 0, 1, *table[2], 0, 0, 1],
    ]
    order = [0, 1, 2, 3, 4, 5, 6, 7]
    np.testing.assert_allclose(found, np.array(expected)[:, order], rtol=1e-6)
    np.testing.assert_array_equal(found, repeated)
    np.testing.assert_array_equal(vectors, table[[1, 2]])


def part_named(parts: dict[Any, Any], name: str) -> Any:
    (found,) = [part for column, part in parts.items() if column.name == name]
    return found


def test_a_layer_that_is_not_trained_has_no_trainable_weights() -> None:
    layer = keras.layers.DenseFeatures(columns(), trainable=False)
    layer({"sort": tf.constant([["dog"]]), "age": tf.constant([0.5])})
    assert len(layer.non_trainable_weights) == 1
    assert not tf.trainable_variables()


def test_the_partitioner_of_the_scope_parts_the_table() -> None:
    layer = keras.layers.DenseFeatures(columns(), name="given")
    features = {"sort": tf.constant([["dog"]]), "age": tf.constant([0.5])}
    with tf.variable_scope("", partitioner=tf.fixed_size_partitioner(2)):
        matrix = layer(features)
    names = [each.op.name for each in layer.weights]
    assert names == [f"given/sort_embedding/embedding_weights/part_{place}" for place in (0, 1)]
    found, parts = evaluate([matrix, layer.weights])
    np.testing.assert_array_equal(found[0, 3:5], np.concatenate(parts)[1])


def classifier() -> Any:
    layers = [keras.layers.DenseFeatures(columns()), keras.layers.Dense(1, activation="sigmoid")]
    model = keras.Sequential(layers)
    model.compile(keras.optimizers.Adam(0.05), "binary_crossentropy", ["acc"])
    return model


@pytest.mark.parametrize("is_dataset", [False, True])
def test_a_sequential_begins_with_columns(is_dataset: bool) -> None:
    model = classifier()
    data = tf.data.Dataset.from_tensor_slices((FEATURES, LABELS)).batch(8)
    given = (data,) if is_dataset else (FEATURES, LABELS)
    # Half of the epochs are enough for any initial values. The accuracy is then above 0.8.
    losses = model.fit(*given, epochs=40, shuffle=False, verbose=0).history["loss"]
    assert losses[-1] < 0.8 * losses[0]
    assert model.input_names == ["age", "sort"]
    np.testing.assert_allclose(model.predict(FEATURES).shape, (40, 1))
    assert model.evaluate(*given, verbose=0)[1] > 0.8


def test_a_function_of_layers_begins_with_columns(tmp_path: pathlib.Path) -> None:
    inputs = {
        "age": keras.Input((1,), name="age"),
        "sort": keras.Input((1,), name="sort", dtype="string"),
    }
    matrix = keras.layers.DenseFeatures(columns())(inputs)
    model = keras.Model(inputs, keras.layers.Dense(1)(matrix))
    model.compile("adam", "mse")
    model.fit(FEATURES, LABELS, verbose=0)
    expected = model.predict(FEATURES)
    model.save_weights(str(tmp_path / "weights"))
    model.fit(FEATURES, LABELS, verbose=0)
    model.load_weights(str(tmp_path / "weights"))
    np.testing.assert_array_equal(model.predict(FEATURES), expected)


@pytest.mark.e2e
def test_a_model_with_columns_becomes_an_estimator(tmp_path: pathlib.Path) -> None:
    estimator = keras.estimator.model_to_estimator(
        classifier(),
        model_dir=str(tmp_path),
        config=tf.estimator.RunConfig(tf_random_seed=1),
    )

    def data(count: int | None) -> Any:
        return lambda: tf.data.Dataset.from_tensor_slices((FEATURES, LABELS)).repeat(count).batch(8)

    estimator.train(data(None), steps=60)
    assert estimator.evaluate(data(1))["acc"] > 0.8
    assert "dense_features/sort_embedding/embedding_weights" in estimator.get_variable_names()


def test_wrong_columns_and_features_are_refused() -> None:
    sort = fc.categorical_column_with_identity("sort", 3)
    with pytest.raises(ValueError, match="must be a DenseColumn"):
        keras.layers.DenseFeatures([sort])
    with pytest.raises(ValueError, match="must not be empty"):
        keras.layers.DenseFeatures([])
    with pytest.raises(ValueError, match="expected a dictionary"):
        keras.layers.DenseFeatures(columns())(tf.ones([2]))
    with pytest.raises(ValueError, match="Feature sort is not in features"):
        keras.layers.DenseFeatures(columns())({"age": tf.ones([2])})
