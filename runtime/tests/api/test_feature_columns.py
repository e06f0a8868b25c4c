"""Columns under the names of TensorFlow 1.4 to 1.12, columns of programs, and wrong features."""

import copy
from typing import Any

import numpy as np
import pytest

import capstan as tf
from capstan.python.feature_column import feature_column as fc


def test_the_columns_have_the_names_of_tensorflow_1_4() -> None:
    price = tf.feature_column.numeric_column("price", (2,))
    buckets = tf.feature_column.bucketized_column(price, [0.0, 1.0])
    words = tf.feature_column.categorical_column_with_hash_bucket("words", 9)
    vectors = tf.feature_column.embedding_column(words, 3)
    shared = tf.feature_column.shared_embedding_columns([words], 3)[0]
    assert price._variable_shape == price.variable_shape == (2,)
    assert price._parse_example_spec == price.parse_example_spec
    assert (words._num_buckets, words._var_scope_name) == (9, "words")
    assert (vectors.ckpt_to_load_from, vectors.tensor_name_in_ckpt) == (None, None)
    assert shared._var_scope_name == shared.shared_embedding_collection_name
    assert isinstance(buckets, fc._DenseColumn)
    assert isinstance(buckets, fc._CategoricalColumn)
    assert not isinstance(words, fc._DenseColumn)
    features = fc._LazyBuilder({"price": [[0.5, 2.0]]})
    with tf.Session() as session:
        made = buckets._get_dense_tensor(features)
        assert session.run(made).tolist() == [[[0, 1, 0], [0, 0, 1]]]
        ids = buckets._get_sparse_tensors(features).id_tensor
        assert session.run(ids).values.tolist() == [1, 5]
        found = fc._transform_features({"price": [[0.5, 2.0]]}, [buckets, price])
        assert session.run(found[buckets]).tolist() == [[1, 2]]
        assert buckets.transform_feature(features, None) is not None
        assert buckets.get_sparse_tensors(features, None).weight_tensor is None


class Doubled(fc._DenseColumn, fc._CategoricalColumn):  # type: ignore[name-defined, misc]
    """A column of a program: twice a feature, or the feature as an id."""

    @property
    def name(self) -> str:
        return "doubled"

    @property
    def _parse_example_spec(self) -> dict[str, Any]:
        return {"a": tf.FixedLenFeature((1,), tf.float32)}

    def _transform_feature(self, inputs: Any) -> Any:
        return 2 * tf.cast(inputs.get("a"), tf.float32)

    @property
    def _variable_shape(self) -> Any:
        return tf.TensorShape(1)

    def _get_dense_tensor(
        self, inputs: Any, weight_collections: Any = None, trainable: Any = None
    ) -> Any:
        return inputs.get(self)

    @property
    def _num_buckets(self) -> int:
        return 4

    def _get_sparse_tensors(
        self, inputs: Any, weight_collections: Any = None, trainable: Any = None
    ) -> Any:
        ids = tf.SparseTensor([[0, 0], [1, 0]], tf.constant([1, 3], tf.int64), [2, 1])
        return self.IdWeightPair(ids, None)


def test_a_column_of_a_program_is_an_input_of_a_model() -> None:
    assert tf.feature_column.make_parse_example_spec([Doubled()]).keys() == {"a"}
    inputs = tf.feature_column.input_layer({"a": [1.0, 2.0]}, [Doubled()])
    sums = tf.feature_column.linear_model({"a": [1.0, 2.0]}, [Doubled()])
    assert [variable.op.name for variable in tf.global_variables()] == [
        "linear_model/doubled/weights", "linear_model/bias_weights",
    ]  # fmt: skip
    with tf.Session() as session:
        assert session.run(inputs).tolist() == [[2.0], [4.0]]
        session.run(tf.global_variables()[0].assign([[1.0], [2.0], [3.0], [4.0]]).op)
        session.run(tf.global_variables()[1].initializer)
        assert session.run(sums).tolist() == [[2.0], [4.0]]


def test_a_column_of_a_program_is_dense_or_has_ids() -> None:
    class Neither(fc._FeatureColumn):  # type: ignore[name-defined, misc]
        name = "neither"
        _parse_example_spec = None

        def _transform_feature(self, inputs: Any) -> Any:
            return inputs.get("a")

    with pytest.raises(ValueError, match="must be either a _DenseColumn or _CategoricalColumn"):
        tf.feature_column.linear_model({"a": [[1.0]]}, [Neither()])


def test_the_features_of_a_batch_have_one_number_of_examples() -> None:
    columns = [tf.feature_column.numeric_column(name) for name in "ab"]
    features = {"a": [[1.0]], "b": [[1.0], [2.0]]}
    for model in (tf.feature_column.input_layer, tf.feature_column.linear_model):
        with pytest.raises(ValueError, match=r"Batch size \(first dimension\) of each feature"):
            model(features, columns)
    with pytest.raises(ValueError, match=r"\(a, b\): \(1, 2\)"):
        tf.keras.layers.DenseFeatures(columns)(
            {name: tf.constant(value) for name, value in features.items()}
        )


def test_the_rank_of_a_feature_may_be_known_in_the_step_only() -> None:
    words = tf.feature_column.categorical_column_with_identity("words", 3)
    price = tf.feature_column.numeric_column("price")
    features = {"words": tf.sparse_placeholder(tf.int64), "price": tf.placeholder(tf.float32)}
    inputs = tf.feature_column.input_layer(
        features, [price, tf.feature_column.indicator_column(words)]
    )
    given = tf.SparseTensorValue([[0], [1]], [2, 0], [2])
    with tf.Session() as session:
        feeds = {features["words"]: given, features["price"]: np.array([7.0, 8.0])}
        assert session.run(inputs, feeds).tolist() == [[7, 0, 0, 1], [8, 1, 0, 0]]
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"price\) cannot have rank 0"):
            session.run(inputs, {**feeds, features["price"]: np.array(7.0)})


@pytest.mark.parametrize(
    ("word", "message"), [(3, "exceeds number of buckets"), (-1, "Negative bucket index")]
)
def test_an_id_that_is_out_of_range_ends_the_step(word: int, message: str) -> None:
    words = tf.feature_column.categorical_column_with_identity("words", 3)
    ids = tf.sparse_placeholder(tf.int64, [1, 1])
    found = words.sparse_tensors(fc._LazyBuilder({"words": ids}))
    given = tf.SparseTensorValue([[0, 0]], [word], [1, 1])
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match=message):
        session.run(found.id_tensor, {ids: given})


def test_columns_that_share_a_table_have_own_weights_in_a_linear_model() -> None:
    words = [tf.feature_column.categorical_column_with_identity(name, 3) for name in "ab"]
    columns = tf.feature_column.shared_embedding_columns(words, 2)
    tf.feature_column.linear_model({"a": [[0]], "b": [[1]]}, columns)
    assert sorted(variable.op.name for variable in tf.global_variables()) == [
        "linear_model/a_b_shared_embedding/embedding_weights",
        "linear_model/a_b_shared_embedding/weights",
        "linear_model/a_b_shared_embedding_1/weights",
        "linear_model/bias_weights",
    ]


def test_wrong_arguments_of_columns_are_named() -> None:
    columns = tf.feature_column
    with pytest.raises(TypeError, match="shape dimensions must be integer"):
        columns.numeric_column("a", (1.5,))
    with pytest.raises(TypeError, match="must be compatible with dtype"):
        columns.numeric_column("a", default_value=["text"])
    with pytest.raises(ValueError, match=r"hash_bucket_size must be set\."):
        columns.categorical_column_with_hash_bucket("a", None)
    with pytest.raises(ValueError, match="must be non-empty"):
        columns.categorical_column_with_vocabulary_list("a", None)


def test_a_copy_of_a_column_is_equal() -> None:
    column = tf.feature_column.numeric_column("price", (2,))
    assert copy.deepcopy(column) == column
