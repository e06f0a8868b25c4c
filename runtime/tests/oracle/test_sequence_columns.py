"""Columns of sequences give the numbers, lengths, variables and errors of TensorFlow."""

import pathlib
from collections.abc import Callable
from typing import Any

import genuine
import numpy as np
import pytest

import capstan

pytestmark = genuine.MARKS


def features(v1: Any) -> dict[str, Any]:
    """Return the sequences of four examples, of which the second and the last are empty."""
    places, nested = [[0, 0], [0, 1], [0, 3], [2, 0]], [[0, 0, 0], [0, 0, 1], [0, 1, 0], [2, 0, 0]]
    numbers = [[0, 0], [0, 1], [0, 2], [0, 3], [0, 6], [2, 0], [2, 1]]
    return {
        "words": v1.SparseTensor(places, ["a", "c", "zz", "q"], [4, 4]),
        "ids": v1.SparseTensor(places, v1.constant([2, 1, 1, 0], v1.int64), [4, 4]),
        "nested": v1.SparseTensor(nested, v1.constant([2, 1, 1, 0], v1.int64), [4, 4, 2]),
        "numbers": v1.SparseTensor(numbers, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], [4, 8]),
        "steps": v1.SparseTensor(nested, [1.0, 2.0, 3.0, 4.0], [4, 4, 2]),
        "target": v1.constant([[3], [0], [1], [2]], v1.int64),
    }


def identity(fc: Any, key: str = "ids", size: int = 4) -> Any:
    return fc.sequence_categorical_column_with_identity(key, size)


def columns_of_ids(fc: Any, folder: str) -> list[Any]:
    words = fc.sequence_categorical_column_with_vocabulary_list("words", ["a", "q"])
    tags = fc.sequence_categorical_column_with_vocabulary_file(
        "words", f"{folder}/words", num_oov_buckets=2
    )
    return [
        words,
        tags,
        fc.sequence_categorical_column_with_hash_bucket("words", 5),
        identity(fc),
        identity(fc, "nested"),
        fc.sequence_categorical_column_with_identity("ids", 2, default_value=1),
    ]


def shared(fc: Any) -> list[Any]:
    target = fc.categorical_column_with_identity("target", 4)
    return list(fc.shared_embedding_columns([target, identity(fc)], 3, combiner="sum"))


def doubled(sparse: Any) -> Any:
    return type(sparse)(sparse.indices, sparse.values * 2.0, sparse.dense_shape)


def numeric(fc: Any) -> list[Any]:
    return [
        fc.sequence_numeric_column("numbers"),
        fc.sequence_numeric_column("numbers", 2),
        fc.sequence_numeric_column("numbers", (2, 2), default_value=-1.0),
        fc.sequence_numeric_column("steps", 2),
        fc.sequence_numeric_column("numbers", 4, normalizer_fn=doubled),
    ]


def genuine_layer(v1: Any, given: Any, column: Any) -> Any:
    """Return the numbers and lengths of one column of TensorFlow, as its contrib made them."""
    from tensorflow.python.feature_column import feature_column as old
    from tensorflow.python.feature_column import feature_column_v2 as new

    if not hasattr(column, "_get_sequence_dense_tensor"):
        pair = column.get_sequence_dense_tensor(new.FeatureTransformationCache(given), None)
    else:
        with (
            v1.variable_scope(None, "sequence_input_layer"),
            v1.variable_scope(None, column._var_scope_name),
        ):
            pair = column._get_sequence_dense_tensor(
                old._LazyBuilder(given), ["mine", "variables", "model_variables"], True
            )
    batch, steps = v1.shape(pair[0])[0], v1.shape(pair[0])[1]
    shape = column.variable_shape if hasattr(column, "variable_shape") else column._variable_shape
    size = int(np.prod(shape))
    return v1.reshape(pair[0], v1.stack([batch, steps, size])), pair[1]


def own_layer(v1: Any, given: Any, column: Any) -> Any:
    return v1.contrib.feature_column.sequence_input_layer(given, column, ["mine"])


def run(v1: Any, layer: Callable[..., Any], make: Callable[[Any], list[Any]]) -> Any:
    """Return the values, lengths and variables of each column."""
    results = []
    for number in range(len(make(v1.feature_column))):
        with v1.Graph().as_default() as graph, v1.Session() as session:
            column = make(v1.feature_column)[number]
            numbers, lengths = layer(v1, features(v1), column)
            session.run([v1.global_variables_initializer(), v1.tables_initializer()])
            for variable in v1.global_variables():
                shape = variable.shape.as_list()
                values = np.sin(np.arange(int(np.prod(shape))) * 1.7).reshape(shape)
                variable.load(values.astype(np.float32), session)
            kept = [
                [each.op.name for each in graph.get_collection(key)]
                for key in ("variables", "trainable_variables", "model_variables", "mine")
            ]
            results.append([*session.run([numbers, lengths]), kept])
    return results


def check(v1: Any, make: Callable[[Any], list[Any]]) -> None:
    expected, found = run(v1, genuine_layer, make), run(capstan, own_layer, make)
    for (numbers, lengths, kept), (own, own_lengths, own_kept) in zip(expected, found, strict=True):
        np.testing.assert_allclose(own, numbers, rtol=1e-5, strict=True)
        np.testing.assert_array_equal(own_lengths, lengths, strict=True)
        assert own_kept == kept


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> str:
    (tmp_path / "words").write_text("c\na\n")
    return str(tmp_path)


@pytest.mark.parametrize("combiner", ["mean", "sqrtn"])
def test_embeddings_of_sequences_are_those_of_tensorflow(
    v1: Any, folder: str, combiner: str
) -> None:
    check(
        v1,
        lambda fc: [
            fc.embedding_column(ids, 3, combiner=combiner) for ids in columns_of_ids(fc, folder)
        ],
    )


def test_indicators_of_sequences_are_those_of_tensorflow(v1: Any, folder: str) -> None:
    check(v1, lambda fc: list(map(fc.indicator_column, columns_of_ids(fc, folder))))


def test_a_sequence_shares_its_table_with_a_column_of_single_ids(v1: Any) -> None:
    check(v1, lambda fc: shared(fc)[1:])


def test_numbers_of_sequences_are_those_of_tensorflow(v1: Any) -> None:
    check(v1, numeric)


def test_the_features_that_columns_of_sequences_read_are_the_same(tf: Any, folder: str) -> None:
    specs = []
    # The function in compat.v1 refuses columns of numbers.
    for fc in (tf.feature_column, capstan.feature_column):
        ids = [fc.indicator_column(each) for each in columns_of_ids(fc, folder)]
        spec = fc.make_parse_example_spec([*ids, *numeric(fc)])
        specs.append({key: (type(each).__name__, each.dtype.name) for key, each in spec.items()})
    assert specs[0] == specs[1]


REFUSALS: list[Callable[[Any], Any]] = [
    lambda fc: fc.sequence_numeric_column("x", [0]),
    lambda fc: fc.sequence_numeric_column("x", normalizer_fn=3),
    lambda fc: identity(fc, "x", 0),
    lambda fc: fc.sequence_categorical_column_with_hash_bucket("x", 0),
    lambda fc: fc.sequence_categorical_column_with_vocabulary_list("x", []),
    lambda fc: fc.sequence_categorical_column_with_vocabulary_file("x", "/none"),
    lambda fc: fc.indicator_column(fc.sequence_numeric_column("x")),
    lambda fc: fc.shared_embedding_columns([identity(fc), identity(fc, "x", 5)], 3),
    lambda fc: fc.input_layer({"ids": [[1]]}, fc.embedding_column(identity(fc), 3)),
    lambda fc: fc.input_layer({"ids": [[1]]}, fc.indicator_column(identity(fc))),
]


@pytest.mark.parametrize("number", range(len(REFUSALS)))
def test_wrong_columns_of_sequences_are_refused_with_the_same_error(v1: Any, number: int) -> None:
    errors = []
    for tf in (v1, capstan):
        with tf.Graph().as_default(), pytest.raises((ValueError, TypeError)) as raised:
            REFUSALS[number](tf.feature_column)
        errors.append(raised.type)
    assert errors[0] is errors[1]
