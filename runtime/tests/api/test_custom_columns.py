"""Columns that a program derives from the bases of `feature_column_v2`."""

import collections
from typing import Any

import numpy as np
import pytest

import capstan as tf
from capstan.python.feature_column import feature_column_v2 as fc


class Scaled(fc.DenseColumn, collections.namedtuple("Scaled", ["key", "size"])):  # type: ignore[misc]
    """Numbers multiplied by a variable."""

    @property
    def name(self) -> str:
        return f"{self.key}_scaled"

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        return {self.key: tf.FixedLenFeature([self.size], tf.float32)}

    @property
    def variable_shape(self) -> Any:
        return tf.TensorShape([self.size])

    def transform_feature(self, transformation_cache: Any, state_manager: Any) -> Any:
        return transformation_cache.get(self.key, state_manager) + 1.0

    def create_state(self, state_manager: Any) -> None:
        state_manager.create_variable(
            self, "scale", [self.size], initializer=tf.constant_initializer(2.0)
        )

    def get_dense_tensor(self, transformation_cache: Any, state_manager: Any) -> Any:
        numbers = transformation_cache.get(self, state_manager)
        return numbers * state_manager.get_variable(self, "scale")


class Remainder(fc.CategoricalColumn, collections.namedtuple("Remainder", ["key", "count"])):  # type: ignore[misc]
    """Numbers modulo `count`, as ids."""

    @property
    def name(self) -> str:
        return f"{self.key}_remainder"

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        return {self.key: tf.FixedLenFeature([1], tf.int64)}

    @property
    def num_buckets(self) -> int:
        return self.count

    def transform_feature(self, transformation_cache: Any, state_manager: Any) -> Any:
        ids = transformation_cache.get(self.key, state_manager) % self.count
        places = tf.where(tf.greater_equal(ids, 0))
        return tf.SparseTensor(places, tf.reshape(ids, [-1]), tf.shape(ids, out_type=tf.int64))

    def get_sparse_tensors(self, transformation_cache: Any, state_manager: Any) -> Any:
        found = transformation_cache.get(self, state_manager)
        return fc.CategoricalColumn.IdWeightPair(found, None)


def value_of(tensor: Any) -> Any:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(tensor)


@pytest.mark.parametrize("layer", [tf.feature_column.input_layer, None])
def test_a_column_of_numbers_has_a_variable(layer: Any) -> None:
    features, column = {"x": tf.constant([[0.0, 1.0], [2.0, 3.0]])}, Scaled("x", 2)
    found = layer(features, [column]) if layer else tf.keras.layers.DenseFeatures(column)(features)
    np.testing.assert_array_equal(value_of(found), [[2, 4], [6, 8]])
    assert len(tf.trainable_variables()) == 1
    assert tf.feature_column.make_parse_example_spec([column]) == column.parse_example_spec


def test_a_variable_and_an_object_of_a_column_may_have_one_name() -> None:
    state, column, table = fc.StateManager(), Scaled("x", 2), object()
    state.add_resource(column, "words", table)
    with pytest.raises(ValueError, match="Variable does not exist"):
        state.get_variable(column, "words")
    variable = state.create_variable(column, "words", [2])
    assert state.get_variable(column, "words") is variable
    assert state.get_resource(column, "words") is table
    with pytest.raises(ValueError, match="Variable already exists"):
        state.create_variable(column, "words", [2])
    with pytest.raises(ValueError, match="Resource does not exist"):
        state.get_resource(column, "others")


class Shifted(Scaled):
    """Numbers to which an object of the column adds something."""

    def create_state(self, state_manager: Any) -> None:
        super().create_state(state_manager)
        state_manager.add_resource(self, "shift", 10.0)

    def transform_feature(self, transformation_cache: Any, state_manager: Any) -> Any:
        number = super().transform_feature(transformation_cache, state_manager)
        return number + state_manager.get_resource(self, "shift")


def test_a_column_finds_its_objects_when_it_transforms_its_feature() -> None:
    features, column = {"x": tf.constant([[0.0, 1.0]])}, Shifted("x", 2)
    found = tf.keras.layers.DenseFeatures(column)(features)
    np.testing.assert_array_equal(value_of(found), [[22, 24]])


def test_a_column_of_steps_has_a_variable() -> None:
    class Steps(fc.SequenceDenseColumn, collections.namedtuple("Steps", ["key"])):  # type: ignore[misc]
        name = "steps"
        variable_shape = (1,)

        @property
        def parse_example_spec(self) -> dict[str, Any]:
            return {}

        def transform_feature(self, transformation_cache: Any, state_manager: Any) -> Any:
            return transformation_cache.get(self.key, state_manager)

        def create_state(self, state_manager: Any) -> None:
            state_manager.create_variable(
                self, "scale", [1], initializer=tf.constant_initializer(3.0)
            )

        def get_sequence_dense_tensor(self, transformation_cache: Any, state_manager: Any) -> Any:
            numbers = transformation_cache.get(self, state_manager)
            lengths = tf.constant([2], tf.int64)
            return numbers * state_manager.get_variable(self, "scale"), lengths

    features = {"x": tf.constant([[[1.0], [2.0]]])}
    layer = tf.contrib.feature_column.sequence_input_layer
    numbers, lengths = value_of(layer(features, [Steps("x")]))
    np.testing.assert_array_equal(numbers, [[[3], [6]]])
    assert lengths == [2]


def test_ids_of_a_column_choose_rows_of_tables() -> None:
    features = {"x": tf.constant([[1], [5]], tf.int64)}
    column = Remainder("x", 3)
    indicator = tf.feature_column.indicator_column(column)
    rows = value_of(tf.feature_column.input_layer(features, [indicator]))
    np.testing.assert_array_equal(rows, [[0, 1, 0], [0, 0, 1]])
    assert value_of(tf.feature_column.linear_model(features, [column])).shape == (2, 1)


def test_columns_are_instances_of_the_bases() -> None:
    number = tf.feature_column.numeric_column("x")
    assert isinstance(number, fc.DenseColumn)
    assert isinstance(number, fc.FeatureColumn)
    assert not isinstance(number, fc.CategoricalColumn)
    assert not isinstance(number, Scaled)
    words = tf.feature_column.categorical_column_with_hash_bucket("w", 2)
    assert isinstance(words, fc.CategoricalColumn)
