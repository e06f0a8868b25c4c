"""`tf.vectorized_map` gives what the function gives for each slice, by one operation for all."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import capstan as tf
from capstan.framework.raw import raw
from capstan.python.ops import parallel_for

COUNT = 3
WEIGHTS = np.random.RandomState(1).rand(4, 5).astype(np.float32)
FILTER = np.random.RandomState(2).rand(2, 2, 2, 3).astype(np.float32)

RESIZES = tf.image.resize_bilinear, tf.image.resize_nearest_neighbor

Case = tuple[Callable[..., Any], list[list[int]]]

CASES: dict[str, Case] = {
    "elementwise": (lambda x, y: tf.tanh(x) * y + 2.0, [[4], [2, 4]]),
    "scalars": (lambda x, y: tf.maximum(x, y) / 2.0, [[], [3]]),
    "outer": (lambda x: x * tf.constant([[1.0], [2.0]]), [[]]),
    "select": (lambda x: tf.where(x > 0.5, x, -x), [[2, 3]]),
    "select_rows": (lambda x: tf.where(x[:, 0] > 0.5, x, -x), [[2, 3]]),
    "select_by_a_scalar": (lambda x: tf.where(x[0] > 0.5, x, -x), [[3]]),
    "addn": (lambda x, y: tf.add_n([x, y, tf.ones([2])]), [[2], [2]]),
    "clip": (lambda x: tf.clip_by_value(x, 0.2, 0.6), [[5]]),
    "sums": (lambda x: (tf.reduce_sum(x, 0), tf.reduce_mean(x, -1), tf.reduce_max(x)), [[2, 3]]),
    "kept": (lambda x: tf.reduce_logsumexp(x, [0, -1], keepdims=True), [[2, 3]]),
    "arguments": (lambda x: (tf.argmax(x, 0), tf.argmin(x, -1)), [[2, 3]]),
    "cumsum": (lambda x: tf.cumsum(x, 1, exclusive=True) + tf.cumprod(x, -1), [[2, 3]]),
    "norm": (lambda x: tf.nn.l2_normalize(x, 0) * tf.norm(x), [[3, 2]]),
    "matmul": (lambda x: tf.matmul(x, WEIGHTS), [[2, 4]]),
    "matmul_left": (lambda x: tf.matmul(WEIGHTS, x, transpose_a=True), [[4, 2]]),
    "matmul_both": (lambda x, y: tf.matmul(x, y, transpose_a=True), [[4, 2], [4, 3]]),
    "matmul_turned": (lambda x: tf.matmul(x, WEIGHTS, transpose_a=True), [[4, 2]]),
    "batch_matmul": (lambda x, y: tf.matmul(x, y, transpose_b=True), [[2, 3, 4], [2, 5, 4]]),
    "batch_matmul_one": (lambda x: tf.matmul(x, np.ones([2, 4, 1], np.float32)), [[2, 3, 4]]),
    "tensordot": (lambda x, y: tf.tensordot(x, y, 1), [[2, 3], [3, 2]]),
    "einsum": (lambda x, y: tf.einsum("ij,jk->ki", x, y), [[2, 3], [3, 2]]),
    "layer": (
        lambda x: tf.nn.relu(tf.nn.bias_add(tf.matmul(x, WEIGHTS), np.ones(5, "f"))),
        [[2, 4]],
    ),
    "bias": (lambda x, y: tf.nn.bias_add(x, y), [[2, 3], [3]]),
    "reshape": (lambda x: tf.reshape(x, [-1, 2]), [[2, 3]]),
    "shapes": (
        lambda x: tf.zeros(tf.shape(x)) + x * tf.cast(tf.size(x) + tf.rank(x), "float32"),
        [[2, 3]],
    ),
    "transpose": (lambda x: tf.transpose(x, [2, 0, 1]), [[2, 3, 4]]),
    "expand": (lambda x: tf.squeeze(tf.expand_dims(tf.expand_dims(x, -1), 0)), [[2, 3]]),
    "squeeze_axis": (lambda x: tf.squeeze(x, [1]), [[2, 1, 1]]),
    "stack": (lambda x, y: tf.stack([x, y], 1), [[2], [2]]),
    "unstack": (lambda x: tuple(tf.unstack(x, axis=-1)), [[2, 3]]),
    "concat": (lambda x: tf.concat([x, tf.ones([1, 3])], 0), [[2, 3]]),
    "split": (lambda x: tuple(tf.split(x, 2, 1)) + tuple(tf.split(x, [1, 3], -1)), [[2, 4]]),
    "slices": (
        lambda x: (x[1], x[:, ::-1], x[..., 1], x[None, 0], tf.slice(x, [0, 1], [1, -1])),
        [[2, 3]],
    ),
    "slices_anywhere": (
        lambda x, y: tf.slice(x, tf.cast([y * 3, 0, 0.0], tf.int32), [2, 2, 1]),
        [[4, 2, 2], []],
    ),
    "resized": (
        lambda x: [resize(x, [4, 2]) for resize in RESIZES],
        [[1, 2, 3, 2]],
    ),
    "contrast": (
        lambda x, y: [tf.stop_gradient(tf.image.adjust_contrast(x, f)) for f in (2.0, y)],
        [[2, 3, 3], []],
    ),
    "contrast_of_halves": (
        lambda x, y: tf.stop_gradient(
            tf.cast(tf.image.adjust_contrast(tf.cast(x, tf.float16), y), tf.float32)
        ),
        [[2, 3, 3], []],
    ),
    "rows": (lambda x, y: tf.where(x > 0.5, y, -y), [[2], [2, 3, 2]]),
    "colours": (
        lambda x: tf.stop_gradient(tf.image.adjust_hue(tf.image.adjust_saturation(x, 2.0), 0.2)),
        [[2, 3, 3]],
    ),
    "pad": (
        lambda x: tf.pad(x, [[1, 0], [0, 2]]) + tf.pad(x, [[1, 0], [0, 2]], "SYMMETRIC"),
        [[2, 3]],
    ),
    "tile": (lambda x: tf.tile(tf.reverse(x, [1]), [2, 1]), [[2, 3]]),
    "broadcast": (lambda x: tf.broadcast_to(x, [4, 3]), [[3]]),
    "fill": (lambda x: tf.fill([2, 2], x), [[]]),
    "one_hot": (lambda x: tf.one_hot(tf.cast(x * 3, tf.int32), 3, axis=0), [[2]]),
    "gather": (lambda x: tf.gather(WEIGHTS, tf.cast(x * 4, tf.int32)), [[2]]),
    "gather_rows": (lambda x: tf.gather(x, [1, 0], axis=1), [[2, 3]]),
    "gather_both": (lambda x, y: tf.gather(x, tf.cast(y * 2, tf.int32)), [[2, 3], [4]]),
    "softmax": (lambda x: tf.nn.softmax(x) + tf.nn.log_softmax(x), [[2, 3]]),
    "entropy": (
        lambda x, y: tf.nn.softmax_cross_entropy_with_logits_v2(labels=y, logits=x),
        [[2, 3], [2, 3]],
    ),
    "sparse_entropy": (
        lambda x: tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[0, 2], logits=x),
        [[2, 3]],
    ),
    "l2_loss": (lambda x: tf.nn.l2_loss(x), [[2, 3]]),
    "convolution": (lambda x: tf.nn.conv2d(x, FILTER, 1, "SAME"), [[2, 3, 3, 2]]),
    "pooling": (
        lambda x: tf.nn.max_pool(x, 2, 1, "VALID") + tf.nn.avg_pool(x, 2, 1, "VALID"),
        [[1, 3, 3, 2]],
    ),
    "matrices": (
        lambda x: tf.linalg.inv(tf.matmul(x, x, transpose_b=True) + tf.eye(3)), [[3, 2]],
    ),
    "triangle": (lambda x: tf.linalg.band_part(x, -1, 0) + tf.linalg.diag(x[0]), [[3, 3]]),
    "gradient": (lambda x: tf.gradients(tf.sigmoid(tf.matmul(x, WEIGHTS)) ** 2.0, x)[0], [[2, 4]]),
    "gradient_of_slice": (lambda x: tf.gradients(x[1:, ::2] * x[0, 1], x)[0], [[2, 3]]),
    "constant": (lambda x: tf.constant([1.0, 2.0]), [[2]]),
    "structures": (lambda x: {"a": x, "b": [x * 2.0, tf.shape(x)]}, [[2]]),
}  # fmt: skip


def inputs_of(shapes: list[list[int]]) -> list[Any]:
    random = np.random.RandomState(0)
    return [random.rand(COUNT, *shape).astype(np.float32) for shape in shapes]


def types() -> set[str]:
    return {op.type for op in tf.get_default_graph().get_operations()}


def called_for_each(function: Callable[..., Any], tensors: list[Any]) -> Any:
    rows = [function(*(tensor[i] for tensor in tensors)) for i in range(COUNT)]
    columns = zip(*map(tf.nest.flatten, rows), strict=True)
    return [tf.stack(column) for column in columns]


@pytest.mark.parametrize("case", CASES)
def test_one_operation_computes_all_slices(case: str) -> None:
    function, shapes = CASES[case]
    values = inputs_of(shapes)
    tensors = [tf.placeholder_with_default(value, [None, *value.shape[1:]]) for value in values]
    mapped = tf.vectorized_map(lambda parts: function(*parts), tensors)
    results = tf.nest.flatten(mapped)
    assert not {"While", "StatelessWhile", "Enter", "PartitionedCall"} & types()
    wanted = called_for_each(function, tensors)
    slopes = []
    for made in (results, wanted):
        floats = [result for result in made if result.dtype == tf.float32]
        slopes.append([each for each in tf.gradients(floats, tensors) if each is not None])
    with tf.Session() as session:
        found, expected = session.run([[results, slopes[0]], [wanted, slopes[1]]])
    for part, others in zip(found, expected, strict=True):
        for value, other in zip(part, others, strict=True):
            np.testing.assert_allclose(value, other, rtol=2e-5, atol=1e-6)
    for result, value in zip(results, found[0], strict=True):
        assert result.shape.is_compatible_with(value.shape)
        assert result.shape[1:] == value.shape[1:]


def many_roots(x: Any) -> Any:
    return tf.while_loop(lambda y: tf.reduce_sum(y) > 1.0, lambda y: y / 2.0, [x])


def chosen(x: Any) -> Any:
    return tf.cond(x[0] > 0.5, lambda: x * 2.0, lambda: x - 1.0)


def distinct(x: Any) -> Any:
    return tf.reduce_sum(tf.unique(tf.floor(x * 2.0))[0])


def positions(x: Any) -> Any:
    return tf.reduce_sum(tf.where(x > 0.5))


@pytest.mark.parametrize("function", [many_roots, chosen, distinct, positions])
def test_a_function_that_differs_between_slices_runs_in_a_loop(function: Any) -> None:
    values = inputs_of([[4]])
    mapped = tf.vectorized_map(lambda parts: function(*parts), list(map(tf.constant, values)))
    wanted = called_for_each(function, list(map(tf.constant, values)))
    with tf.Session() as session:
        for value, other in zip(*session.run([tf.nest.flatten(mapped), wanted]), strict=True):
            np.testing.assert_allclose(value, other)


def of_any_rank(tensor: Any) -> Any:
    return raw.Reshape(tensor=tensor, shape=tf.placeholder_with_default([2, 2], None))


WITHOUT_RULE: dict[str, Callable[[Any], Any]] = {
    "the range of all values": lambda x: raw.QuantizeAndDequantize(input=x),
    "the places of a vector": lambda x: raw.DataFormatVecPermute(
        x=tf.cast(x[:2] * 9.0, tf.int32), src_format="NHWC", dst_format="NCHW"
    ),
    "a slice of a tensor of any rank": lambda x: tf.slice(
        of_any_rank(x), tf.cast([x[0] * 2.0, 0.0], tf.int32), [1, 2]
    ),
    "a slice without elements": lambda x: tf.slice(x, tf.cast([x[0] * 4.0], tf.int32), [0]),
    "strings of different lengths": lambda x: tf.size(
        tf.decode_raw(tf.as_string(tf.cast(x[0] * 20.0, tf.int32)), tf.uint8)
    ),
    "a bias of a type that cannot be added": lambda x: tf.cast(
        tf.nn.bias_add(tf.ones([1, 4], tf.uint16), tf.cast(x * 9.0, tf.uint16)), tf.int32
    ),
    "one label for all examples": lambda x: tf.nn.softmax_cross_entropy_with_logits_v2(
        labels=[[0.25, 0.75]], logits=tf.reshape(x, [2, 2])
    ),
}


@pytest.mark.parametrize("kind", WITHOUT_RULE)
def test_an_operation_that_no_rule_fits_runs_in_a_loop(kind: str) -> None:
    function = WITHOUT_RULE[kind]
    (values,) = inputs_of([[4]])
    mapped = tf.vectorized_map(function, tf.constant(values))
    wanted = tf.stack([function(row) for row in tf.unstack(tf.constant(values))])
    with tf.Session() as session:
        found, expected = session.run([mapped, wanted])
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_a_dense_table_looks_up_the_keys_of_each_iteration() -> None:
    table = tf.contrib.lookup.MutableDenseHashTable(tf.int64, tf.int64, 7, -1, deleted_key=-2)
    keys = tf.constant([[1, 2], [3, 1]], tf.int64)
    mapped = tf.vectorized_map(lambda row: [table.lookup(row), table.lookup(row[0])], keys)
    with tf.Session() as session:
        session.run(table.insert(tf.constant([1], tf.int64), tf.constant([5], tf.int64)))
        rows, firsts = session.run(mapped)
    assert rows.tolist() == [[5, 7], [7, 5]]
    assert firsts.tolist() == [5, 7]


@pytest.mark.parametrize(
    "begin", [[3, 0, 0], [-1, 0, 0], [0, 1, -1], [0, 4096, 0]], ids=lambda begin: str(begin)
)
def test_a_slice_that_is_out_of_bounds_in_one_iteration_is_refused(begin: list[int]) -> None:
    begins = tf.constant([[0, 0, 0], begin], tf.int32)
    mapped = tf.vectorized_map(lambda place: tf.slice(tf.ones([4, 2, 2]), place, [2, 2, 2]), begins)
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError):
        session.run(mapped)


def test_a_vector_chooses_rows_of_one_shape_in_each_iteration() -> None:
    def chosen_rows(size: Any) -> Any:
        narrow = tf.placeholder_with_default(tf.ones([2, 1]), [None, None]) * size
        wide = tf.placeholder_with_default(tf.ones([2, 3]), [None, None]) * size
        return raw.Select(condition=size > [0.5, 1.5], t=wide, e=narrow)

    mapped = tf.vectorized_map(chosen_rows, tf.constant([1.0, 2.0]))
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError):
        session.run(mapped)


def test_an_op_without_a_rule_runs_in_a_loop_of_its_own() -> None:
    (values,) = inputs_of([[4]])

    def function(x: Any) -> Any:
        return tf.linalg.tensor_diag(x * 2.0)

    mapped = tf.vectorized_map(function, tf.constant(values))
    assert "PartitionedCall" not in types()
    slope = tf.gradients(mapped**2.0, tf.get_default_graph().get_tensor_by_name("Const:0"))
    with tf.Session() as session:
        found, slope = session.run([mapped, slope[0]])
    np.testing.assert_allclose(found, [np.diag(2 * row) for row in values])
    np.testing.assert_allclose(slope, 8 * values, rtol=1e-6)


def test_an_op_without_a_rule_runs_in_a_loop_of_a_traced_function() -> None:
    (values,) = inputs_of([[4]])

    @tf.function
    def mapped(x: Any) -> Any:
        return tf.vectorized_map(lambda row: tf.linalg.tensor_diag(row * 2.0), x)

    with tf.Session() as session:
        found = session.run(mapped(tf.constant(values)))
    np.testing.assert_allclose(found, [np.diag(2 * row) for row in values])


def test_a_shape_of_unknown_rank_is_that_of_each_slice() -> None:
    shape = tf.placeholder_with_default([2], None)
    mapped = tf.vectorized_map(
        lambda x: (tf.fill(shape, x), tf.broadcast_to(x, shape)), tf.constant([1.0, 2.0])
    )
    with tf.Session() as session:
        for found in session.run(mapped):
            assert found.tolist() == [[1.0, 1.0], [2.0, 2.0]]


AXES: dict[str, Callable[..., Any]] = {
    "sum": lambda x: tf.reduce_sum(x, -2),
    "sum_along_a_fed_axis": lambda x: tf.reduce_sum(x, tf.placeholder_with_default([-2], [1])),
    "cumsum": lambda x: tf.cumsum(x, -2),
    "expand": lambda x: tf.expand_dims(x, -3),
    "concat": lambda x: tf.concat([x, x], -2),
    "split": lambda x: tf.split(x, 1, -2),
    "stack": lambda x: tf.stack([x, x], -3),
    "gather": lambda x: tf.gather(x, 0, axis=-2),
    "squeeze": lambda x: tf.squeeze(x[tf.newaxis], -3),
    "softmax": lambda x: raw.Softmax(tf.reduce_sum(x, 0)),
    "band": lambda x: tf.linalg.band_part(x, 0, 0),
}


@pytest.mark.parametrize("case", AXES)
def test_an_axis_beyond_an_unknown_rank_never_is_the_axis_of_the_slices(case: str) -> None:
    (values,) = inputs_of([[1, 4]])
    slices = tf.placeholder(tf.float32)
    mapped = tf.vectorized_map(AXES[case], slices)
    wanted = AXES[case](tf.constant(values[1]))
    with tf.Session() as session:
        found, expected = session.run([mapped, wanted], {slices: values})
        for part, other in zip(tf.nest.flatten(found), tf.nest.flatten(expected), strict=True):
            np.testing.assert_allclose(part[1], other, rtol=1e-6)
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(mapped, {slices: values[:, 0]})


def test_random_integers_have_the_bound_of_their_slice() -> None:
    bounds = np.array([1, 2, 1000], np.int32)
    mapped = tf.vectorized_map(
        lambda bound: tf.random_uniform([50], bound - 1, bound, tf.int32), tf.constant(bounds)
    )
    with tf.Session() as session:
        np.testing.assert_array_equal(session.run(mapped), np.repeat(bounds - 1, 50).reshape(3, 50))


def test_each_slice_draws_its_own_random_numbers() -> None:
    def function(x: Any) -> Any:
        return x + tf.random_uniform([2]), tf.random_normal([]), tf.nn.dropout(tf.ones([40]), 0.5)

    mapped = tf.vectorized_map(function, tf.zeros([COUNT]))
    assert "PartitionedCall" not in types()
    with tf.Session() as session:
        for drawn in session.run(mapped):
            assert len({row.tobytes() for row in drawn}) == COUNT


def test_effects_run_for_each_slice() -> None:
    variable = tf.Variable(0.0, use_resource=True)
    mapped = tf.vectorized_map(variable.assign_add, tf.constant([1.0, 2.0, 3.0]))
    with tf.Session() as session:
        session.run(variable.initializer)
        session.run(mapped)
        assert session.run(variable) == 6.0


def test_gradients_of_variables_go_through_all_slices() -> None:
    weights = tf.Variable([[1.0], [2.0]], use_resource=True)
    x = tf.constant(np.arange(6, dtype=np.float32).reshape(3, 2))
    losses = tf.vectorized_map(lambda row: tf.nn.l2_loss(tf.matmul(row[None], weights)), x)
    assert "PartitionedCall" not in types()
    wanted = tf.gradients(tf.nn.l2_loss(tf.matmul(x, weights)), weights)
    with tf.Session() as session:
        session.run(weights.initializer)
        np.testing.assert_allclose(*session.run([tf.gradients(losses, weights), wanted]))


def test_tensors_with_different_numbers_of_slices_are_refused() -> None:
    with pytest.raises(ValueError, match=r"same number of slices, not \[1, 3\]"):
        tf.vectorized_map(lambda parts: parts[0] + parts[1], (tf.zeros([1]), tf.zeros([3])))
    one = tf.placeholder_with_default([1.0], [None])
    mapped = tf.vectorized_map(lambda parts: parts[0] + parts[1], (one, tf.zeros([3])))
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match="reshape"):
        session.run(mapped)


def test_an_index_that_is_wrong_in_one_slice_is_refused() -> None:
    indices = tf.placeholder_with_default([[0], [2], [1]], [None, 1])
    mapped = tf.vectorized_map(
        lambda parts: tf.gather(*parts), [tf.constant([[1.0, 2.0]] * 3), indices]
    )
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match="2"):
        session.run(mapped)


@pytest.mark.parametrize("use_pfor", [True, False])
def test_a_jacobian_has_the_gradient_of_each_element(use_pfor: bool) -> None:
    (values,) = inputs_of([[2]])
    x, other = tf.constant(values), tf.constant(1.0)
    y = tf.matmul(x, x, transpose_b=True)[:2] * tf.reduce_sum(x)
    found, nothing = parallel_for.gradients.jacobian(y, [x, other], use_pfor)
    rows = [tf.gradients(y[i, j], x)[0] for i in range(2) for j in range(COUNT)]
    assert nothing is None
    assert found.shape == (2, COUNT, COUNT, 2)
    with tf.Session() as session:
        jacobian, wanted = session.run([found, tf.stack(rows)])
    np.testing.assert_allclose(jacobian.reshape(wanted.shape), wanted, rtol=1e-5)


@pytest.mark.parametrize("use_pfor", [True, False])
def test_the_jacobian_of_a_batch_is_that_of_each_row(use_pfor: bool) -> None:
    x = tf.placeholder_with_default(inputs_of([[4]])[0], [None, 4])
    y = tf.reshape(tf.tanh(tf.matmul(x, WEIGHTS[:, :2])) * x[:, :2], [-1, 2, 1])
    found = parallel_for.gradients.batch_jacobian(y, x, use_pfor)
    assert found.shape.as_list() == [None, 2, 1, 4]
    rows = tf.stack([tf.gradients(y[:, i, 0], x)[0] for i in range(2)], 1)
    with tf.Session() as session:
        jacobian, wanted = session.run([found, rows])
    np.testing.assert_allclose(jacobian[:, :, 0], wanted, rtol=1e-5)
    with pytest.raises(ValueError, match="to match"):
        parallel_for.gradients.batch_jacobian(tf.zeros([2, 1]), tf.zeros([3, 1]))


def test_a_jacobian_has_the_random_numbers_of_its_forward_pass() -> None:
    x = tf.ones([3])
    drawn = tf.random_uniform([3])
    found = parallel_for.gradients.jacobian(x * drawn, x)
    with tf.Session() as session:
        jacobian, numbers = session.run([found, drawn])
    np.testing.assert_array_equal(jacobian, np.diag(numbers))


def test_a_jacobian_goes_through_a_loop() -> None:
    x = tf.constant([1.0, 2.0])
    _, y = tf.while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, y * x), [0, x])
    found = parallel_for.gradients.jacobian(y, x)
    with tf.Session() as session:
        np.testing.assert_allclose(session.run(found), np.diag([4.0, 32.0]))


@pytest.mark.parametrize("shape", [None, [None, None]])
def test_a_jacobian_of_unknown_size_goes_through_a_conditional(shape: Any) -> None:
    x = tf.placeholder_with_default([[1.0, 2.0], [3.0, 4.0]], shape)
    y = tf.cond(tf.reduce_sum(x) > 0, lambda: x * x, lambda: x)
    found = parallel_for.gradients.batch_jacobian(y, x)
    with tf.Session() as session:
        np.testing.assert_allclose(session.run(found), [np.diag([2, 4]), np.diag([6, 8])])


def test_a_jacobian_of_unknown_size_cannot_go_through_a_loop() -> None:
    x = tf.placeholder(tf.float32, [None])
    _, y = tf.while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, y * x), [0, x])
    with pytest.raises(NotImplementedError, match="set its static shape"):
        parallel_for.gradients.jacobian(y, x)
