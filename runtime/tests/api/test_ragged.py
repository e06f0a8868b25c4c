"""Ragged tensors in sessions, gradients, loops, datasets and structures."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import capstan as tf
from capstan.api.ragged import broadcast
from capstan.api.ragged.shape import RaggedTensorDynamicShape
from capstan.resources import ragged_variant, variant, variant_message

ROWS = [[1, 2], [], [3, 4, 5]]
DEEP = [[[1.0, 2], [3]], [], [[4, 5, 6]]]


@pytest.fixture
def session() -> Iterator[tf.Session]:
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def elements(session: Any, dataset: Any) -> list[Any]:
    """Return all elements, with lists in the place of ragged values and arrays."""
    following = tf.data.make_one_shot_iterator(dataset).get_next()
    found: list[Any] = []
    while True:
        try:
            value = session.run(following)
        except tf.errors.OutOfRangeError:
            return found
        found.append(tf.nest.map_structure(_as_list, value))


def _as_list(value: Any) -> Any:
    is_ragged = isinstance(value, tf.ragged.RaggedTensorValue)
    return value.to_list() if is_ragged else value.tolist()


def test_a_fetched_ragged_tensor_is_a_value(session: Any) -> None:
    rows, deep = tf.ragged.constant(ROWS), tf.ragged.constant(DEEP)
    found = session.run({"rows": rows, "more": (deep, [rows.row_splits, rows])})
    assert isinstance(found["rows"], tf.compat.v1.ragged.RaggedTensorValue)
    assert found["rows"].to_list() == ROWS
    deep_value, (splits, again) = found["more"]
    assert deep_value.to_list() == DEEP
    assert deep_value.ragged_rank == 2
    assert splits.tolist() == [0, 2, 2, 5]
    assert again.to_list() == ROWS


def test_a_value_feeds_a_placeholder(session: Any) -> None:
    rows = tf.ragged.placeholder(tf.float32, 2)
    total = tf.reduce_sum(rows, axis=2)
    value = tf.ragged.constant_value(DEEP, np.float32)
    assert session.run(total, {rows: value}).to_list() == [[3.0, 3.0], [], [15.0]]
    run = session.make_callable(total, [rows.flat_values, *rows.nested_row_splits])
    assert run(value.flat_values, *value.nested_row_splits).to_list() == [[3.0, 3.0], [], [15.0]]


def test_a_value_with_other_axes_feeds_no_placeholder(session: Any) -> None:
    rows = tf.ragged.placeholder(tf.int32, 1)
    for value in ([[1], [2, 3]], np.ones([2, 2]), tf.ragged.constant(ROWS)):
        with pytest.raises(TypeError, match=r"feed .* by a tf\.ragged\.RaggedTensorValue, such as"):
            session.run(rows.flat_values, {rows: value})
    with pytest.raises(ValueError, match=r"ragged rank 2 .* of ragged rank 1"):
        session.run(rows.flat_values, {rows: tf.ragged.constant_value(DEEP)})


def test_partial_runs_take_ragged_tensors(session: Any) -> None:
    rows = tf.ragged.placeholder(tf.int32, 1)
    total = tf.reduce_sum(rows, axis=1)
    value = tf.ragged.constant_value(ROWS, np.int32)
    handle = session.partial_run_setup([total], [rows])
    assert session.partial_run(handle, total, {rows: value}).tolist() == [3, 0, 12]


def test_gradients_reach_the_values(session: Any) -> None:
    deep = tf.ragged.constant(DEEP)
    for made, expected in (
        (lambda: deep * deep, [2, 4, 6, 8, 10, 12]),
        (lambda: tf.gather(deep, [2, 0, 2]), [1, 1, 1, 2, 2, 2]),
        (lambda: deep.to_tensor(), [1] * 6),
        (lambda: deep[:, :, 1:], [0, 1, 0, 0, 1, 1]),
        (lambda: tf.reduce_max(deep, axis=2), [0, 1, 1, 0, 0, 1]),
        (lambda: tf.concat([deep, deep * 3.0], axis=1), [4] * 6),
        (lambda: tf.tile(deep, [1, 2, 1]), [2] * 6),
    ):
        result = made()
        flat = result.flat_values if isinstance(result, tf.RaggedTensor) else result
        (gradient,) = tf.gradients(flat, deep.flat_values)
        assert session.run(tf.convert_to_tensor(gradient)).tolist() == expected
    (gradient,) = tf.gradients(deep.to_sparse().values * 3.0, deep.flat_values)
    assert session.run(gradient).tolist() == [3] * 6


def test_a_model_of_ragged_words_learns(session: Any) -> None:
    words = tf.ragged.constant([[0, 1], [2], [3, 1, 0]])
    labels = tf.constant([1.0, -1.0, 0.5])
    table = tf.get_variable("table", [4, 1], initializer=tf.zeros_initializer())
    vectors = tf.ragged.map_flat_values(tf.nn.embedding_lookup, table, words)
    scores = tf.squeeze(tf.reduce_mean(vectors, axis=1), 1)
    loss = tf.reduce_sum((scores - labels) ** 2)
    step = tf.train.GradientDescentOptimizer(0.3).minimize(loss)
    session.run(tf.global_variables_initializer())
    before = session.run(loss)
    for _ in range(60):
        session.run(step)
    assert session.run(loss) < before / 100


def test_loops_and_conditionals_carry_ragged_tensors(session: Any) -> None:
    rows = tf.ragged.constant(ROWS)
    _, grown = tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), [0, rows])
    assert session.run(grown).to_list() == [[8, 16], [], [24, 32, 40]]
    _, longer = tf.while_loop(
        lambda i, x: i < 2,
        lambda i, x: (i + 1, tf.concat([x, x], axis=1)),
        [0, rows],
        shape_invariants=[tf.TensorShape([]), tf.TensorShape([3, None])],
    )
    assert session.run(longer).to_list() == [[1, 2] * 4, [], [3, 4, 5] * 4]
    _, more = tf.while_loop(
        lambda i, x: i < 1,
        lambda i, x: (i + 1, tf.concat([x, x], axis=0)),
        [0, rows],
        shape_invariants=[tf.TensorSpec([], tf.int32), tf.RaggedTensorSpec([None, None], tf.int32)],
    )
    assert more.shape.as_list() == [None, None]
    assert session.run(more).to_list() == ROWS * 2
    chosen = tf.cond(tf.size(rows) > 4, lambda: rows[1:], lambda: rows)
    assert session.run(chosen).to_list() == [[], [3, 4, 5]]


def test_structures_may_expand_ragged_tensors(session: Any) -> None:
    deep = tf.ragged.constant(DEEP)
    given = {"a": deep, "b": 1}
    assert tf.nest.flatten(given) == [deep, 1]
    flat = tf.nest.flatten(given, expand_composites=True)
    assert flat == [deep.flat_values, *deep.nested_row_splits, 1]
    packed = tf.nest.pack_sequence_as(given, [flat[0] * 2, *flat[1:]], expand_composites=True)
    assert session.run(packed["a"]).to_list() == [[[2.0, 4], [6]], [], [[8, 10, 12]]]


def test_datasets_have_ragged_components(session: Any) -> None:
    rows, deep = tf.ragged.constant(ROWS), tf.ragged.constant(DEEP)
    make = tf.data.Dataset
    cases: list[tuple[Any, list[Any]]] = [
        (make.from_tensors(rows), [ROWS]),
        (make.from_tensor_slices(deep), DEEP),
        (make.from_tensor_slices(rows), ROWS),
        (make.from_tensor_slices(rows).batch(2), [ROWS[:2], ROWS[2:]]),
        (make.from_tensor_slices(deep).batch(2), [DEEP[:2], DEEP[2:]]),
        (make.from_tensors(rows).repeat(3).batch(2), [[ROWS, ROWS], [ROWS]]),
        (make.from_tensors(deep).apply(tf.data.experimental.unbatch()), DEEP),
        (make.from_tensor_slices(deep).filter(lambda x: x.nrows() > 0), [DEEP[0], DEEP[2]]),
        (make.range(3).map(lambda i: tf.ragged.range([i, 1])), [[[], [0]], [[0], [0]],
                                                                [[0, 1], [0]]]),
        (make.from_tensor_slices((deep, [1, 2, 3])).map(lambda x, y: (y, x * 2.0)),
         [(1, [[2.0, 4.0], [6.0]]), (2, []), (3, [[8.0, 10.0, 12.0]])]),
        (make.from_tensor_slices({"a": deep}).shuffle(1).prefetch(1).map(lambda x: x["a"] + 1.0),
         [[[2.0, 3.0], [4.0]], [], [[5.0, 6.0, 7.0]]]),
    ]  # fmt: skip
    for number, (dataset, expected) in enumerate(cases):
        assert elements(session, dataset) == expected, number


def test_the_specs_of_datasets_name_ragged_components() -> None:
    with tf.Graph().as_default():
        deep = tf.ragged.constant(DEEP)
        dataset = tf.data.Dataset.from_tensor_slices(deep)
        spec = tf.RaggedTensorSpec([None, None], tf.float32)
        assert dataset.element_spec == spec
        assert dataset.output_classes == spec
        assert dataset.output_types == tf.float32
        assert dataset.batch(2, drop_remainder=True).element_spec == tf.RaggedTensorSpec(
            [2, None, None], tf.float32
        )
        structure = tf.data.experimental.RaggedTensorStructure(tf.float32, [None, None], 1)
        assert structure == spec
        again = tf.data.Iterator.from_structure(
            dataset.output_types, dataset.output_shapes, output_classes=dataset.output_classes
        )
        assert again.get_next().shape.as_list() == [None, None]
        with pytest.raises(TypeError, match="padded sparse tensors"):
            dataset.padded_batch(2, [None, None])


def test_specs_describe_ragged_tensors() -> None:
    with tf.Graph().as_default():
        rows = tf.ragged.constant(ROWS)
        spec = tf.RaggedTensorSpec.from_value(rows)
        assert spec == tf.RaggedTensorSpec([3, None], tf.int32)
        assert spec.is_compatible_with(rows)
        assert spec.is_compatible_with(tf.ragged.constant_value(ROWS, np.int32))
        assert tf.RaggedTensorSpec([None, None], tf.int32).is_compatible_with(rows)
        assert not tf.RaggedTensorSpec([None, None], tf.int64).is_compatible_with(rows)
        assert not tf.RaggedTensorSpec([3, None, None], tf.int32).is_compatible_with(rows)
        assert not spec.is_compatible_with(rows.flat_values)
        assert spec.value_type is tf.RaggedTensor
    for options, error in (
        ({}, ValueError), ({"shape": [2]}, None), ({"shape": [2], "ragged_rank": 1}, ValueError),
        ({"ragged_rank": 1.0}, TypeError),
    ):  # fmt: skip
        if error is None:
            assert tf.RaggedTensorSpec(**options).value_type is tf.Tensor
        else:
            with pytest.raises(error):
                tf.RaggedTensorSpec(**options)


def test_a_variant_with_rows_comes_from_another_task() -> None:
    value = ragged_variant.RaggedVariant((np.array([0, 1]),), np.array([b"a"], object))
    sent = np.empty((), object)
    sent[()] = variant.to_bytes(value)
    found = variant_message.decoded(sent).item()
    assert isinstance(found, ragged_variant.RaggedVariant)
    assert found.splits[0].tolist() == [0, 1]
    assert found.values.tolist() == [b"a"]


def test_ragged_tensors_broadcast_to_a_shape(session: Any) -> None:
    sizes = RaggedTensorDynamicShape.from_dim_sizes([2, [1, 3], 2])
    assert (sizes.rank, sizes.is_ragged(1), sizes.num_inner_dimensions) == (3, True, 1)
    for given, expected in (
        (7, [[[7, 7]], [[7, 7]] * 3]),
        ([7, 8], [[[7, 8]], [[7, 8]] * 3]),
        ([[[5]], [[6]]], [[[5, 5]], [[6, 6]] * 3]),
        (tf.ragged.constant([[[1]], [[2], [3], [4]]], ragged_rank=1),
         [[[1, 1]], [[2, 2], [3, 3], [4, 4]]]),
    ):  # fmt: skip
        assert session.run(broadcast.broadcast_to(given, sizes)).to_list() == expected
    rows = tf.ragged.constant(ROWS)
    for other in (tf.constant([[1], [2]]), tf.ragged.constant([[1], [2, 3], []])):
        with pytest.raises(tf.errors.InvalidArgumentError, match="Unable to broadcast"):
            session.run(rows + other)


def test_a_tensor_is_no_ragged_tensor() -> None:
    with tf.Graph().as_default():
        rows = tf.ragged.constant(ROWS)
        with pytest.raises(TypeError):
            tf.convert_to_tensor(rows)
        with pytest.raises(TypeError):
            tf.matmul(rows, rows)
        with pytest.raises(TypeError, match=r"not iterable\. Use tf\.map_fn"):
            iter(rows)
        assert not isinstance(rows, tf.Tensor)
        assert tf.abs(tf.constant([-1])).op.type == "Abs"
