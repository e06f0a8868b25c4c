"""The configurations of feature columns, and models with DenseFeatures in files."""

import json
import pathlib
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import pytest

import capstan as tf
from capstan.python.feature_column import feature_column_v2, serialization

keras = tf.keras
fc = tf.feature_column
IDS = fc.categorical_column_with_identity("shop", 4, default_value=1)
WORDS = fc.categorical_column_with_vocabulary_list("sort", ["cat", "dog"], num_oov_buckets=1)


def halved(numbers: Any) -> Any:
    return numbers / 2


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield
    keras.backend.set_session(None)


@pytest.mark.parametrize(
    "column",
    [
        fc.numeric_column("age", [2], [1.0, 2.0], tf.float64, halved),
        fc.bucketized_column(fc.numeric_column("age"), [1.0, 2.0]),
        fc.embedding_column(WORDS, 2, "sum", max_norm=1.5, trainable=False),
        fc.embedding_column(WORDS, 2, initializer=tf.zeros_initializer()),
        fc.embedding_column(WORDS, 2, ckpt_to_load_from="/x", tensor_name_in_ckpt="y"),
        fc.indicator_column(fc.weighted_categorical_column(IDS, "weight")),
        fc.indicator_column(fc.crossed_column(["sort", IDS], 7, hash_key=3)),
        fc.categorical_column_with_hash_bucket("name", 9, tf.int32),
        fc.categorical_column_with_vocabulary_list("year", np.array([1999, 2000])),
        fc.categorical_column_with_vocabulary_file("name", "/x", 5, 2),
        fc.sequence_numeric_column("steps", 2, 0.5, normalizer_fn=halved),
        fc.embedding_column(fc.sequence_categorical_column_with_identity("shop", 4), 2),
    ],
    ids=lambda column: column.name,
)
def test_a_column_that_json_has_held_is_an_equal_column(column: Any) -> None:
    config = serialization.serialize_feature_column(column)
    assert config["class_name"] == type(column).__name__
    again = serialization.deserialize_feature_column(
        json.loads(json.dumps(config)), {"halved": halved}
    )
    assert serialization.serialize_feature_column(again) == config
    plain = getattr(column, "initializer", None)
    # Initializers have no equality.
    assert plain is not None or again == column


def test_a_configuration_has_the_names_and_values_of_tensorflow() -> None:
    column = fc.bucketized_column(fc.numeric_column("age", normalizer_fn=halved), [1.0, 2.0])
    assert serialization.serialize_feature_columns([column, "raw"]) == [
        {
            "class_name": "BucketizedColumn",
            "config": {
                "source_column": {
                    "class_name": "NumericColumn",
                    "config": {
                        "key": "age",
                        "shape": (1,),
                        "default_value": None,
                        "dtype": "float32",
                        "normalizer_fn": "halved",
                    },
                },
                "boundaries": (1.0, 2.0),
            },
        },
        "raw",
    ]


def test_columns_of_one_name_that_differ_stay_apart() -> None:
    plain = fc.numeric_column("age")
    given = [fc.numeric_column("age", normalizer_fn=halved), fc.bucketized_column(plain, [1.0])]
    configs = serialization.serialize_feature_columns([*given, plain])
    made = serialization.deserialize_feature_columns(configs, {"halved": halved})
    assert made == [*given, plain]
    alike = serialization.deserialize_feature_columns(configs[1:])
    assert alike[0].source_column is alike[1]


def test_a_column_of_the_program_describes_itself() -> None:
    class Length(feature_column_v2.DenseColumn):
        def __init__(self, key: str) -> None:
            self.key = key

        @property
        def name(self) -> str:
            return self.key

        variable_shape = (1,)  # type: ignore[assignment]
        parse_example_spec: ClassVar = {}

        def transform_feature(self, transformation_cache: Any, state_manager: Any = None) -> Any:
            return tf.strings.length(transformation_cache.get(self.key, state_manager))

        def get_dense_tensor(self, transformation_cache: Any, state_manager: Any) -> Any:
            return tf.to_float(transformation_cache.get(self, state_manager))

        def _get_config(self) -> Any:
            return {"key": self.key}

        @classmethod
        def _from_config(
            cls, config: Any, custom_objects: Any = None, columns_by_name: Any = None
        ) -> Any:
            return cls(**config)

    layer = keras.layers.DenseFeatures([Length("word")])
    config = keras.layers.serialize(layer)
    again = keras.layers.deserialize(config, {"Length": Length})
    with tf.Session() as session:
        assert session.run(again({"word": tf.constant(["abc", "d"])})).tolist() == [[3.0], [1.0]]


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (3, "Improper config format"),
        ({"class_name": "Other", "config": {}}, "Unknown feature column: Other"),
        ({"class_name": "IndicatorColumn", "config": {}}, "expected keys"),
        ({"class_name": "dict", "config": {}}, "Expected FeatureColumn class"),
    ],
)
def test_a_wrong_configuration_is_refused(config: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        serialization.deserialize_feature_column(config, {"dict": dict})


def test_what_has_no_configuration_is_refused() -> None:
    (shared,) = fc.shared_embedding_columns([WORDS], 2)
    for column, message in ((shared, "cannot be saved"), (3, "is not a FeatureColumn")):
        with pytest.raises(ValueError, match=message):
            serialization.serialize_feature_column(column)


def test_a_saved_model_with_dense_features_predicts_the_same(tmp_path: pathlib.Path) -> None:
    chosen = [
        fc.numeric_column("age", normalizer_fn=halved),
        fc.bucketized_column(fc.numeric_column("age"), [1.0]),
        fc.embedding_column(WORDS, 2),
    ]
    inputs = {
        "age": keras.Input((1,), name="age"),
        "sort": keras.Input((1,), name="sort", dtype="string"),
    }
    features = keras.layers.DenseFeatures(chosen)(inputs)
    model = keras.Model(inputs, keras.layers.Dense(1)(features))
    model.compile("adam", "mse")
    data = {"age": np.array([[0.5], [1.0]]), "sort": np.array([["dog"], ["cow"]])}
    model.fit(data, np.ones((2, 1)), verbose=0)
    path, expected = str(tmp_path / "model.h5"), model.predict(data)
    model.save(path)
    keras.backend.set_session(None)
    with tf.Graph().as_default():
        again = keras.models.load_model(path, {"halved": halved})
        np.testing.assert_allclose(again.predict(data), expected, rtol=1e-6)
        again.fit(data, np.ones((2, 1)), verbose=0)
