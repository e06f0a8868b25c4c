"""tf.contrib.layers: the tensors of feature columns, from features and from Examples."""

from typing import Any

import numpy as np
import pytest

import capstan as tf

layers = tf.contrib.layers


def columns() -> tuple[Any, Any, Any]:
    number = layers.real_valued_column("number", 2)
    bucket = layers.bucketized_column(layers.real_valued_column("age"), [10.0, 20.0])
    word = layers.sparse_column_with_keys("word", ["a", "b"])
    return number, bucket, word


def feature(value: Any) -> tf.train.Feature:
    if isinstance(value[0], str):
        return tf.train.Feature(
            bytes_list=tf.train.BytesList(value=[each.encode() for each in value])
        )
    return tf.train.Feature(float_list=tf.train.FloatList(value=value))


def run(fetches: Any) -> Any:
    with tf.Session() as session:
        session.run(tf.tables_initializer())
        return session.run(fetches)


def test_features_become_the_tensors_of_columns() -> None:
    number, bucket, word = columns()
    features = {
        "number": tf.constant([[1.0, 2.0], [3.0, 4.0]]),
        "age": tf.constant([[5.0], [20.0]]),
        "word": tf.SparseTensor([[0, 0], [1, 0], [1, 1]], ["b", "a", "c"], [2, 2]),
    }
    tensors = layers.transform_features(features, [number, word, bucket])
    assert set(tensors) == {number, bucket, word}
    found = run(tensors)
    np.testing.assert_array_equal(found[number], [[1, 2], [3, 4]])
    np.testing.assert_array_equal(found[bucket], [[0], [2]])
    np.testing.assert_array_equal(found[word].values, [1, 0, -1])


def test_examples_become_features_and_the_tensors_of_columns() -> None:
    number, bucket, word = columns()
    examples = [
        tf.train.Example(
            features=tf.train.Features(
                feature={
                    "number": feature([1.0, 2.0 * age]),
                    "age": feature([age]),
                    "word": feature(words),
                }
            )
        ).SerializeToString()
        for age, words in ((5.0, ["a"]), (15.0, ["b", "a"]))
    ]
    parsed = layers.parse_feature_columns_from_examples(
        tf.constant(examples), [number, bucket, word]
    )
    assert set(parsed) == {number, bucket, word, "number", "age", "word"}
    found = run(parsed)
    np.testing.assert_array_equal(found[number], [[1, 10], [1, 30]])
    np.testing.assert_array_equal(found["age"], [[5], [15]])
    np.testing.assert_array_equal(found[bucket], [[0], [1]])
    np.testing.assert_array_equal(found[word].values, [0, 1, 0])


def test_a_sequence_example_becomes_features_and_lists() -> None:
    number, _, word = columns()
    optional = layers.real_valued_column("optional", default_value=1.0)
    lists = {
        "number": tf.train.FeatureList(feature=[feature([1.0, 2.0]), feature([3.0, 4.0])]),
        "word": tf.train.FeatureList(feature=[feature(["a"]), feature(["b", "a"])]),
    }
    example = tf.train.SequenceExample(
        context=tf.train.Features(feature={"age": feature([7.0])}),
        feature_lists=tf.train.FeatureLists(feature_list=lists),
    ).SerializeToString()
    parse = layers.parse_feature_columns_from_sequence_examples
    context, steps = run(
        parse([example], [layers.real_valued_column("age")], [number, word, optional])
    )
    np.testing.assert_array_equal(context["age"], [7])
    np.testing.assert_array_equal(steps["number"], [[1, 2], [3, 4]])
    np.testing.assert_array_equal(steps["word"].dense_shape, [2, 2])
    assert steps["optional"].shape == (0, 1)
    context, steps = parse(example, None, [number])
    assert (context, list(steps)) == ({}, ["number"])
    with pytest.raises(ValueError):
        parse([example, example], None, [number])
    missing = parse(tf.train.SequenceExample().SerializeToString(), None, [number])[1]
    with pytest.raises(tf.errors.InvalidArgumentError, match="number"):
        run(missing)


def test_wrong_collections_of_columns_are_refused() -> None:
    number, bucket, word = columns()
    layers.check_feature_columns([number, bucket, word])
    with pytest.raises(ValueError, match="found dict"):
        layers.check_feature_columns({"number": number})
    with pytest.raises(ValueError, match="Duplicate feature column key found for column: number"):
        layers.transform_features({}, [number, layers.real_valued_column("number", 2)])
