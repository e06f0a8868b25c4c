"""Feature columns give the tensors, variables and errors of TensorFlow."""

import pathlib
from collections.abc import Callable
from typing import Any

import genuine
import numpy as np
import pytest
from oracle_tables import compare

import capstan

pytestmark = genuine.MARKS

WORDS = [["a", "b"], ["z", ""], ["b", "b"]]


def features(v1: Any) -> dict[str, Any]:
    """Return the features of three examples."""
    places = [[0, 0], [0, 1], [2, 0]]
    return {
        "x": v1.constant([1.0, 5.0, -2.0]),
        "xs": v1.constant([[1.0, 7.0], [3.0, 2.0], [-1.0, 4.0]]),
        "n": v1.constant([[3], [0], [9]]),
        "words": v1.constant(WORDS),
        "tags": v1.SparseTensor(places, ["a", "c", "zz"], [3, 2]),
        "numbers": v1.SparseTensor(places, v1.constant([2, 1, 7], v1.int64), [3, 2]),
        "shares": v1.SparseTensor(places, v1.constant([0.5, 2.0, 3.0]), [3, 2]),
    }


def made(v1: Any, folder: str) -> dict[str, Any]:
    """Return columns of each kind."""
    fc = v1.feature_column
    x, xs = fc.numeric_column("x"), fc.numeric_column("xs", 2, normalizer_fn=lambda t: t * 2)
    words = fc.categorical_column_with_vocabulary_list("words", ["a", "b"], num_oov_buckets=2)
    tags = fc.categorical_column_with_vocabulary_file("tags", f"{folder}/words")
    hashed = fc.categorical_column_with_hash_bucket("numbers", 5, v1.int64)
    identity = fc.categorical_column_with_identity("n", 5, default_value=4)
    buckets = fc.bucketized_column(xs, [0, 2.5, 8])
    weighted = fc.weighted_categorical_column(tags, "shares")
    crossed = fc.crossed_column(["words", "tags", buckets], 20)
    again = fc.crossed_column([fc.crossed_column(["n", identity], 9), "tags"], 7, hash_key=3)
    return {
        "x": x, "xs": xs, "words": words, "tags": tags, "hashed": hashed, "identity": identity,
        "buckets": buckets, "weighted": weighted, "crossed": crossed, "again": again,
    }  # fmt: skip


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> str:
    (tmp_path / "words").write_text("c\na\nq\n")
    return str(tmp_path)


def dense(v1: Any, columns: dict[str, Any]) -> list[Any]:
    """Return columns for `input_layer`."""
    fc = v1.feature_column
    ids = ("words", "tags", "hashed", "identity", "weighted", "crossed", "again", "buckets")
    return [
        columns["x"],
        columns["xs"],
        columns["buckets"],
        *(fc.indicator_column(columns[name]) for name in ids),
        *(
            fc.embedding_column(columns[name], 3, combiner=combiner)
            for name, combiner in (("words", "mean"), ("weighted", "sum"), ("crossed", "sqrtn"))
        ),
    ]


def trained(v1: Any, target: str, folder: str, build: Callable[..., Any]) -> Any:
    """Return the outputs before and after a step of training, and the variables."""
    with v1.Graph().as_default() as graph, v1.Session(target) as session:
        given, of_column = features(v1), {}
        output = build(v1, given, made(v1, folder), of_column)
        loss = v1.reduce_sum(v1.square(output - 0.5))
        train = v1.train.GradientDescentOptimizer(0.01).minimize(loss)
        session.run([v1.global_variables_initializer(), v1.tables_initializer()])
        variables = v1.global_variables()
        for variable in variables:
            shape = variable.shape.as_list()
            value = np.sin(np.arange(int(np.prod(shape))) * 1.7).reshape(shape)
            variable.load(value.astype(np.float32), session)
        results = [session.run(output), session.run([train, output])[1], session.run(output)]
        names = {
            getattr(key, "name", key): [each.name for each in value]
            for key, value in of_column.items()
        }
        kept = [each.name for each in graph.get_collection("model_variables")]
        mine = [each.name for each in graph.get_collection("mine")]
        facts = output.shape.as_list(), [each.name for each in variables], names, kept, mine
        return facts, results


def layer(v1: Any, given: Any, columns: Any, of_column: Any) -> Any:
    return v1.feature_column.input_layer(
        given, dense(v1, columns), ["mine"], cols_to_vars=of_column
    )


def linear(v1: Any, given: Any, columns: Any, of_column: Any) -> Any:
    chosen = [*columns.values(), v1.feature_column.embedding_column(columns["tags"], 2)]
    return v1.feature_column.linear_model(given, chosen, 2, "mean", cols_to_vars=of_column)


def shared(v1: Any, given: Any, columns: Any, of_column: Any) -> Any:
    fc = v1.feature_column
    one, two = (fc.categorical_column_with_identity(name, 10) for name in ("numbers", "n"))
    weighted = fc.weighted_categorical_column(one, "shares")
    chosen = [
        *fc.shared_embedding_columns([two, weighted], 3, combiner="sum"),
        *fc.shared_embedding_columns([one], 2, shared_embedding_collection_name="both"),
        fc.indicator_column(one),
    ]
    return fc.input_layer(given, chosen, ["mine"], cols_to_vars=of_column)


@pytest.mark.parametrize("build", [layer, linear, shared])
def test_models_of_columns_are_those_of_tensorflow(
    v1: Any, tasks: genuine.Tasks, folder: str, build: Any
) -> None:
    facts, expected = trained(v1, "", folder, build)
    found_facts, found = trained(capstan, "", folder, build)
    assert found_facts == facts
    _, client = trained(v1, tasks.target(), folder, build)
    for results in (found, client):
        for value, other in zip(results, expected, strict=True):
            np.testing.assert_allclose(value, other, rtol=1e-4, atol=1e-5)


def test_the_features_that_columns_read_are_the_same(v1: Any, folder: str) -> None:
    specs = []
    for tf in (v1, capstan):
        fc = tf.feature_column
        columns = [*made(tf, folder).values(), fc.numeric_column("y", [2, 1], default_value=3)]
        spec = fc.make_parse_example_spec(columns)
        specs.append({
            key: (type(each).__name__, each.dtype.name, getattr(each, "default_value", None))
            for key, each in spec.items()
        })  # fmt: skip
    assert specs[0] == specs[1]


def test_examples_become_the_input_of_a_model() -> None:
    tf = capstan
    with tf.Graph().as_default(), tf.Session() as session:
        fc = tf.feature_column
        columns = [
            fc.numeric_column("age", default_value=1.0),
            fc.indicator_column(fc.categorical_column_with_identity("kind", 3)),
        ]
        kind = tf.train.Feature(int64_list=tf.train.Int64List(value=[2, 0]))
        example = tf.train.Example(features=tf.train.Features(feature={"kind": kind}))
        spec = fc.make_parse_example_spec(columns)
        parsed = tf.parse_example([example.SerializeToString()], spec)
        assert session.run(fc.input_layer(parsed, columns)).tolist() == [[1, 1, 0, 1]]


def test_an_embedding_begins_with_the_tensor_of_a_checkpoint(tmp_path: pathlib.Path) -> None:
    tf = capstan
    values = np.arange(6, dtype=np.float32).reshape(3, 2)
    with tf.Graph().as_default(), tf.Session() as session:
        saved = tf.get_variable("table", initializer=values)
        session.run(saved.initializer)
        path = tf.train.Saver().save(session, str(tmp_path / "model"))
    for partitioner in (None, tf.fixed_size_partitioner(2)):
        with tf.Graph().as_default(), tf.Session() as session:
            fc = tf.feature_column
            ids = fc.categorical_column_with_identity("n", 3)
            column = fc.embedding_column(
                ids, 2, ckpt_to_load_from=path, tensor_name_in_ckpt="table"
            )
            with tf.variable_scope("model", partitioner=partitioner):
                rows = fc.input_layer({"n": tf.constant([2, 0])}, [column])
            session.run(tf.global_variables_initializer())
            assert session.run(rows).tolist() == [[4, 5], [0, 1]]


REFUSALS: list[Callable[[Any], Any]] = [
    lambda fc: fc.numeric_column("x", [0]),
    lambda fc: fc.numeric_column("x", normalizer_fn=3),
    lambda fc: fc.bucketized_column(fc.numeric_column("x"), [2, 1]),
    lambda fc: fc.bucketized_column("x", [1, 2]),
    lambda fc: fc.categorical_column_with_hash_bucket("x", 0),
    lambda fc: fc.categorical_column_with_vocabulary_list("x", []),
    lambda fc: fc.categorical_column_with_vocabulary_list("x", ["a", "a"]),
    lambda fc: fc.categorical_column_with_vocabulary_list("x", ["a"], None, 0, 3),
    lambda fc: fc.categorical_column_with_vocabulary_file("x", "/none"),
    lambda fc: fc.categorical_column_with_identity("x", 3, 3),
    lambda fc: fc.crossed_column(["x"], 3),
    lambda fc: fc.crossed_column(["x", fc.numeric_column("y")], 3),
    lambda fc: fc.crossed_column(["x", fc.categorical_column_with_hash_bucket("y", 2)], 3),
    lambda fc: fc.indicator_column(fc.numeric_column("x")),
    lambda fc: fc.embedding_column(fc.categorical_column_with_identity("x", 3), 0),
    lambda fc: fc.input_layer({}, []),
    lambda fc: fc.input_layer({}, [fc.numeric_column("x")]),
    lambda fc: fc.input_layer({}, [fc.categorical_column_with_identity("x", 3)]),
    lambda fc: fc.linear_model({}, [fc.numeric_column("x"), fc.numeric_column("x")]),
]


@pytest.mark.parametrize("number", range(len(REFUSALS)))
def test_wrong_columns_are_refused_with_the_same_error(v1: Any, number: int) -> None:
    errors = []
    for tf in (v1, capstan):
        with tf.Graph().as_default(), pytest.raises((ValueError, TypeError)) as raised:
            REFUSALS[number](tf.feature_column)
        errors.append(raised.type)
    assert errors[0] is errors[1]


def test_the_ops_of_columns_give_tensorflows_values(v1: Any) -> None:
    def reshaped(v1: Any, shape: Any) -> list[Any]:
        given = v1.SparseTensor([[0, 1], [1, 2]], [1, 2], [2, 6])
        found = v1.sparse_reshape(given, v1.placeholder_with_default(shape, [None]))
        return [found.indices, found.values, found.dense_shape]

    def sliced(v1: Any, start: Any, size: Any) -> list[Any]:
        given = v1.SparseTensor([[0, 1], [1, 2]], [1, 2], [2, 6])
        found = v1.sparse_slice(given, start, size)
        return [found.indices, found.values, found.dense_shape]

    def gradient(v1: Any, start: Any) -> list[Any]:
        values = v1.constant([1.0, 2.0, 4.0])
        given = v1.SparseTensor([[0, 1], [0, 3], [1, 2]], values, [2, 6])
        return v1.gradients(v1.square(v1.sparse_slice(given, start, [1, 9]).values), values)

    compare(
        v1,
        [
            *(
                lambda v1, shape=shape: reshaped(v1, shape)
                for shape in ([3, 4], [2, -1, 3], [12], [5, -1], [5], [-1, -1])
            ),
            lambda v1: sliced(v1, [0, 1], [1, 9]),
            lambda v1: sliced(v1, [1, 2], [5, 2]),
            lambda v1: sliced(v1, [2, 0], [1, 1]),
            *(lambda v1, start=start: gradient(v1, start) for start in ([0, 1], [1, 0], [2, 0])),
        ],
    )


@pytest.mark.parametrize("kind", ["sum", "mean", "sqrtn"])
def test_gradients_of_lookups_are_the_same_for_a_tensorflow_client(
    tf: Any, v1: Any, tasks: genuine.Tasks, kind: str
) -> None:
    name = {"sum": "Sum", "mean": "Mean", "sqrtn": "SqrtN"}[kind]
    results = []
    for target in ("", tasks.target()):
        with v1.Graph().as_default(), v1.Session(target) as session:
            inputs = {
                "grad": v1.constant([[1.0, 2.0], [3.0, 5.0]]),
                "indices": [2, 0, 2],
                "segment_ids": v1.constant([0, 1, 1], v1.int64),
            }
            whole = getattr(tf.raw_ops, f"SparseSegment{name}Grad")(**inputs, output_dim0=4)
            parts = getattr(tf.raw_ops, f"SparseSegment{name}GradV2")(**inputs, dense_output_dim0=4)
            results.append(session.run([whole, *parts]))
    for theirs, ours in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6, strict=True)


def test_crosses_are_the_same_for_a_tensorflow_client(
    tf: Any, v1: Any, tasks: genuine.Tasks
) -> None:
    results = []
    for target in ("", tasks.target()):
        with v1.Graph().as_default(), v1.Session(target) as session:
            given = features(v1)
            sparse = [given["tags"], given["numbers"]]
            steps: list[Any] = [
                tf.raw_ops.SparseCross(
                    indices=[each.indices for each in sparse],
                    values=[each.values for each in sparse],
                    shapes=[each.dense_shape for each in sparse],
                    dense_inputs=[given["words"], v1.cast(given["n"], v1.int64)],
                    hashed_output=dtype == v1.int64,
                    num_buckets=buckets,
                    hash_key=key,
                    out_type=dtype,
                    internal_type=v1.int64,
                )[at]
                for dtype, buckets, key in ((v1.int64, 0, 5), (v1.int64, 9, 7), (v1.string, 0, 0))
                for at in range(3)
            ]
            steps.append(tf.raw_ops.Bucketize(input=[[1, 2], [5, 0]], boundaries=[1.0, 4.5]))
            results.append(session.run(steps))
    for theirs, ours in zip(*results, strict=True):
        np.testing.assert_array_equal(theirs, ours)


def test_models_read_ids_whose_rank_is_unknown(v1: Any) -> None:
    results = []
    for tf in (capstan, v1):
        with tf.Graph().as_default(), tf.Session() as session:
            ids = tf.SparseTensor(*(tf.placeholder(tf.int64) for _ in range(3)))
            column = tf.feature_column.categorical_column_with_identity("a", 3)
            embedded = tf.feature_column.embedding_column(
                column, 2, initializer=tf.constant_initializer(0.5)
            )
            sums = tf.feature_column.linear_model({"a": ids}, [column])
            found = tf.feature_column.input_layer({"a": ids}, [embedded])
            session.run(tf.global_variables_initializer())
            parts = ([[0, 0], [1, 0], [1, 1]], [2, 0, 1], [3, 2])
            fed = dict(zip((ids.indices, ids.values, ids.dense_shape), parts, strict=True))
            results.append([value.tolist() for value in session.run([sums, found], fed)])
            assert found.shape.as_list() == [None, 2]
    assert results[0] == results[1]
