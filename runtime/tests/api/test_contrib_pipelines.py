"""Small parts of `tf.contrib`: records of LibSVM, lists in turns, slices, copies of graphs."""

from typing import Any

import numpy as np
import pytest

import capstan as tf

LINES = ["1 1:3.4 2:0.5 4:0.231", "1 2:2.5 3:inf 5:0.503", " 2\t3:2.5 2:nan 1:0.105 "]
ROWS = [[0, 3.4, 0.5, 0, 0.231, 0], [0, 0, 2.5, np.inf, 0, 0.503], [0, 0.105, np.nan, 2.5, 0, 0]]


@pytest.mark.parametrize("repeats", [0, 2])
def test_records_of_libsvm_become_a_sparse_tensor(graph: Any, repeats: int) -> None:
    content = [[line] * repeats for line in LINES] if repeats else LINES
    features, labels = tf.contrib.libsvm.decode_libsvm(content, 6)
    dense = tf.sparse_tensor_to_dense(features, validate_indices=False)
    assert labels.shape.as_list() == ([3, repeats] if repeats else [3])
    with tf.Session() as session:
        found, numbers, shape = session.run([dense, labels, features.dense_shape])
    expected = np.float32([[row] * repeats for row in ROWS] if repeats else ROWS)
    np.testing.assert_array_equal(found, expected)
    assert numbers.dtype == np.int64
    assert numbers.tolist() == ([[1, 1], [1, 1], [2, 2]] if repeats else [1, 1, 2])
    assert shape.tolist() == [*numbers.shape, 6]


def test_records_have_the_types_that_are_asked_for(graph: Any) -> None:
    features, labels = tf.contrib.libsvm.decode_libsvm(
        ["0.5 7:3", "1"], 8, dtype=tf.int32, label_dtype=tf.float64
    )
    with tf.Session() as session:
        found, numbers = session.run([features, labels])
    assert found.indices.tolist() == [[0, 7]]
    assert (found.values.dtype, found.values.tolist()) == (np.int32, [3])
    assert (numbers.dtype, numbers.tolist()) == (np.float64, [0.5, 1.0])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("  ", "No label found"),
        ("x 1:2", "x"),
        ("1 2", "Invalid feature"),
        ("1 a:2", "a"),
        ("1 -1:2", "Feature index should be >= 0"),
        ("1 1:b", "b"),
    ],
)
def test_a_wrong_record_is_refused(graph: Any, line: str, message: str) -> None:
    features, labels = tf.contrib.libsvm.decode_libsvm(["1 1:2", line], 3)
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match=message):
        session.run([features, labels])
    with pytest.raises(ValueError, match="at least 1"):
        tf.contrib.libsvm.decode_libsvm([line], 0)


def test_a_list_gives_its_strings_in_turns(graph: Any) -> None:
    ops = tf.contrib.input_pipeline
    counter = tf.Variable(np.int64(-1))
    string = ops.obtain_next(tf.constant(["a", "b", "c"]), counter)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert [session.run(string) for _ in range(5)] == [b"a", b"b", b"c", b"a", b"b"]


def test_a_list_ends_after_its_rounds(graph: Any) -> None:
    string = tf.contrib.input_pipeline.seek_next(["a", "b"], num_epochs=2)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert [session.run(string) for _ in range(4)] == [b"a", b"b"] * 2
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(string)


def test_each_round_of_a_shuffled_list_has_all_strings(graph: Any) -> None:
    names = [str(number) for number in range(9)]
    string = tf.contrib.input_pipeline.seek_next(names, shuffle=True, seed=1, num_epochs=2)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found = [session.run(string).decode() for _ in range(18)]
    assert sorted(found[:9]) == sorted(found[9:]) == names
    assert found[:9] != found[9:]
    assert found[:9] != names


DATA = np.int32([[1, 20, 3], [400, 5, 60], [70, 8, 900], [1000, 2000, 3000]])
REDUCTIONS = {"sum": np.sum, "prod": np.prod, "max": np.max, "min": np.min}
EMPTY = {"sum": 0, "prod": 1, "max": np.iinfo(np.int32).min, "min": np.iinfo(np.int32).max}


@pytest.mark.parametrize("kind", REDUCTIONS)
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize(
    "indices", [[[0, 1], [1, 1], [0, 2], [1, 9], [2, 1]], [0, 2, 3, 9], [[0], [2], [7]]]
)
def test_slices_are_reduced(graph: Any, kind: str, axis: int, indices: Any) -> None:
    data = DATA // 10 if kind == "prod" else DATA
    reduce = getattr(tf.contrib.reduce_slice_ops, f"reduce_slice_{kind}")
    found = reduce(tf.constant(data), tf.constant(indices), axis)
    pairs = indices if np.shape(indices)[1:] == (2,) else np.ravel(indices)
    pairs = pairs if np.ndim(pairs) == 2 else np.stack([pairs[:-1], pairs[1:]], 1)
    rows = np.moveaxis(data, axis, 0)
    expected = [
        REDUCTIONS[kind](rows[start:end], 0)
        if len(rows[start:end])
        else np.full(rows.shape[1], EMPTY[kind])
        for start, end in pairs
    ]
    with tf.Session() as session:
        got = session.run(found)
    assert got.dtype == np.int32
    np.testing.assert_array_equal(got, np.moveaxis(np.int32(expected), 0, axis))


def test_sums_of_slices_have_gradients(graph: Any) -> None:
    data = tf.constant([1.0, 2.0, 3.0])
    sums = tf.contrib.reduce_slice_ops.reduce_slice_sum(data, [[0, 2], [1, 3]], 0)
    with tf.Session() as session:
        assert session.run(tf.gradients(sums, data)[0]).tolist() == [1.0, 2.0, 1.0]


@pytest.mark.parametrize("use_resource", [False, True])
@pytest.mark.parametrize("scope", ["", "copied"])
def test_an_expression_is_copied_to_another_graph(use_resource: bool, scope: str) -> None:
    copying, (here, there) = tf.contrib.copy_graph, (tf.Graph(), tf.Graph())
    with here.as_default():
        x = tf.placeholder(tf.float32, name="x")
        a = tf.Variable(3.0, name="a", use_resource=use_resource)
        product = x * a
        with tf.control_dependencies([tf.no_op("first")]), tf.colocate_with(a.op):
            y = tf.add(product, 4.0, name="y")
        tf.add_to_collection("kept", y)
    copy = copying.copy_variable_to_graph(a, there, scope)
    result = copying.copy_op_to_graph(y, there, [copy], scope)
    assert result.name == (f"{scope}/y:0" if scope else "y:0")
    assert there.get_collection(f"{scope}/kept" if scope else "kept") == [result]
    assert there.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES) == [copy]
    given = copying.get_copied_op(x, there, scope)
    assert [each.name for each in result.op.inputs[1].op.control_inputs] == [
        f"{scope}/first".lstrip("/")
    ]
    assert copying.copy_op_to_graph(y, there, [copy], scope) is result
    assert copying.copy_op_to_graph(y.op, there, [copy], scope) is result.op
    with there.as_default(), tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(result, {given: 5.0}) == 19.0


def test_what_is_no_part_of_a_graph_is_not_copied() -> None:
    with pytest.raises(TypeError, match="is not a Variable"):
        tf.contrib.copy_graph.copy_variable_to_graph(3, tf.Graph())
    with pytest.raises(TypeError, match="Could not copy instance"):
        tf.contrib.copy_graph.copy_op_to_graph("x", tf.Graph(), [])


def test_a_long_chain_is_copied(graph: Any) -> None:
    value = tf.constant(0)
    for _ in range(1500):
        value = tf.add(value, 1)
    other = tf.Graph()
    copy = tf.contrib.copy_graph.copy_op_to_graph(value, other, [])
    with other.as_default(), tf.Session() as session:
        assert session.run(copy) == 1500
