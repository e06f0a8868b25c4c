"""TensorFlow 1's functions: the operations that they add to the graph, and their results."""

from typing import Any

import examples
import interpreter
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capstan import errors
from capstan.api import (
    array_ops,
    check_ops,
    check_ranks,
    clip_ops,
    control_flow_ops,
    creation_ops,
    gather_ops,
    math_ops,
    nn,
    random_ops,
    reduce_ops,
)
from capstan.core import dtypes, tensor_shape
from capstan.framework import convert, gradients, indexed_slices
from capstan.framework import graph as graphs

MATRIX = np.arange(6.0, dtype=np.float32).reshape(2, 3)


def run(fetches: Any, feeds: Any = None) -> Any:
    return interpreter.Interpreter().run(fetches, feeds)


def unknown(value: Any, shape: Any = None) -> tuple[Any, dict[Any, Any]]:
    """Return a placeholder with `shape`, and the feed that gives it `value`."""
    array = np.asarray(value)
    tensor = creation_ops.placeholder(dtypes.as_dtype(array.dtype), shape)
    return tensor, {tensor: array}


# --- functions that pass their arguments on


def test_a_plain_function_takes_its_arguments_by_position_and_by_name(graph: graphs.Graph) -> None:
    three = np.float32(3)
    for tensor in (
        math_ops.subtract(three, 2.0),
        math_ops.subtract(three, 2.0, "third"),
        math_ops.subtract(y=2.0, x=three, name="fourth"),
    ):
        assert run(tensor) == 1
    assert {"Sub", "third", "fourth"} <= {op.name for op in graph.get_operations()}


def test_a_plain_function_refuses_other_arguments() -> None:
    for arguments, keywords in (((1,), {}), ((1, 2, "n", 4), {}), ((1, 2), {"z": 3})):
        with pytest.raises(TypeError):
            math_ops.subtract(*arguments, **keywords)


def test_a_plain_function_has_a_name_and_a_docstring() -> None:
    assert math_ops.subtract.__name__ == "subtract"
    assert math_ops.subtract.__doc__ == "Return x - y element by element."


# --- names and static shapes


def test_operations_have_tensorflows_names(graph: graphs.Graph) -> None:
    x = creation_ops.placeholder(dtypes.float32, [None, 3], name="x")
    reduce_ops.reduce_mean(math_ops.matmul(x, np.ones((3, 2), np.float32)))
    nn.relu(x)
    reduce_ops.argmax(x, 1)
    assert [op.name for op in graph.get_operations()] == [
        "x", "MatMul/b", "MatMul", "Const", "Mean", "Relu", "ArgMax/dimension", "ArgMax",
    ]  # fmt: skip


def test_known_shapes_are_constants() -> None:
    for tensor in (array_ops.shape(MATRIX), array_ops.size(MATRIX), array_ops.rank(MATRIX)):
        assert tensor.op.type == "Const"
    x, feeds = unknown(MATRIX)
    np.testing.assert_array_equal(run(array_ops.shape(x, out_type=dtypes.int64), feeds), [2, 3])
    assert run(array_ops.size(x), feeds) == 6
    assert run(array_ops.rank(x), feeds) == 2


# --- subscripts


@st.composite
def subscripts(draw: Any) -> Any:
    bound = st.one_of(st.none(), st.integers(-5, 5))
    item = st.one_of(
        st.builds(slice, bound, bound, st.sampled_from([None, 1, 2, -1])),
        st.integers(-2, 1),
        st.none(),
        st.just(...),
    )
    items = draw(st.lists(item, max_size=4))
    if sum(1 for each in items if isinstance(each, int | slice)) > 3 or items.count(...) > 1:
        return ...
    return tuple(items) if len(items) != 1 else items[0]


@pytest.mark.e2e
@given(key=subscripts(), is_known=st.booleans())
def test_subscripts_agree_with_numpy(key: Any, is_known: bool) -> None:
    value = np.arange(2 * 3 * 4).reshape(2, 3, 4)
    with graphs.Graph().as_default():
        x, feeds = unknown(value, value.shape if is_known else None)
        np.testing.assert_array_equal(run(x[key], feeds), value[key])


def test_subscripts_may_be_tensors() -> None:
    at, feeds = unknown(np.int32(1), [])
    x = convert.constant(MATRIX)
    np.testing.assert_array_equal(run(x[at], feeds), MATRIX[1])
    np.testing.assert_array_equal(run(x[:at, at:], feeds), MATRIX[:1, 1:])


def test_a_subscript_of_bool_is_a_mask() -> None:
    x = convert.constant(MATRIX)
    mask, feeds = unknown(MATRIX > 1, MATRIX.shape)
    np.testing.assert_array_equal(run(x[mask], feeds), MATRIX[MATRIX > 1])
    np.testing.assert_array_equal(run(x[MATRIX > 1]), MATRIX[MATRIX > 1])
    np.testing.assert_array_equal(run(x[x > 1]), MATRIX[MATRIX > 1])
    with pytest.raises(ValueError, match="mask cannot be scalar"):
        x[True]


def test_subscripts_that_are_not_integers_are_refused() -> None:
    x = convert.constant(MATRIX)
    for key in (1.0, "a", [0]):
        with pytest.raises(TypeError, match="valid indices"):
            x[key]
    with pytest.raises(ValueError, match="slice index 2 of dimension 0 out of bounds"):
        x[2]


# --- arithmetic


def test_operands_of_different_types_are_refused() -> None:
    with pytest.raises(TypeError) as raised:
        math_ops.add(convert.constant(1.0, name="x"), convert.constant(1))
    assert "Input 'y' of 'Add' Op has type int32 that does not match type float32" in str(
        raised.value
    )


def test_each_division_rounds_as_its_name_says() -> None:
    assert run(math_ops.divide(3, 2)) == 1.5
    assert run(math_ops.truediv(convert.constant(3), 2)).dtype == np.float64
    assert run(math_ops.div(-3, 2)) == -2
    assert run(math_ops.div(3.0, 2.0)) == 1.5
    assert run(math_ops.floordiv(-3, 2)) == -2
    assert run(math_ops.mod(-3, 2)) == 1
    assert run(math_ops.div_no_nan(3.0, 0.0)) == 0
    with pytest.raises(TypeError, match="x and y must have the same dtype"):
        math_ops.truediv(convert.constant(1.0), convert.constant(1))


def test_casts_to_the_same_type_add_nothing() -> None:
    x = convert.constant(1.5)
    assert math_ops.cast(x, dtypes.float32) is x
    assert run(math_ops.to_int32(x)) == 1
    assert run(math_ops.saturate_cast(convert.constant([300.0, -5.0]), dtypes.uint8)).tolist() == [
        255,
        0,
    ]


def test_ranges_take_one_bound_or_two() -> None:
    np.testing.assert_array_equal(run(math_ops.range(3)), [0, 1, 2])
    np.testing.assert_array_equal(run(math_ops.range(3, 9, 3)), [3, 6])
    np.testing.assert_allclose(run(math_ops.range(0, 1, 0.25)), [0, 0.25, 0.5, 0.75])


def test_the_sum_of_one_tensor_is_that_tensor() -> None:
    x = convert.constant([1.0, 2.0])
    assert math_ops.add_n([x]) is x
    np.testing.assert_array_equal(run(math_ops.accumulate_n([x, x], [2])), [2, 4])
    with pytest.raises(ValueError, match="at least one Tensor"):
        math_ops.add_n([])


def test_a_matrix_may_be_transposed_or_adjoint_but_not_both() -> None:
    product = math_ops.matmul(MATRIX, MATRIX, adjoint_b=True)
    np.testing.assert_array_equal(run(product), MATRIX @ MATRIX.T)
    with pytest.raises(ValueError, match="Only one of transpose_a and adjoint_a"):
        math_ops.matmul(MATRIX, MATRIX, transpose_a=True, adjoint_a=True)


def test_log_sigmoid_and_its_gradient_do_not_overflow() -> None:
    x = convert.constant(np.float32([-100, 0, 100]))
    np.testing.assert_allclose(run(math_ops.log_sigmoid(x)), [-100, np.log(0.5), 0], atol=1e-6)
    (slope,) = gradients.gradients(math_ops.log_sigmoid(x), x)
    np.testing.assert_allclose(run(slope), [1, 0.5, 0], atol=1e-6)


# --- reductions


@pytest.mark.parametrize("is_known", [True, False])
def test_a_reduction_without_axis_reduces_all_axes(is_known: bool) -> None:
    x, feeds = unknown(MATRIX, MATRIX.shape if is_known else None)
    assert run(reduce_ops.reduce_sum(x), feeds) == 15
    assert run(reduce_ops.reduce_max(x, keepdims=True), feeds).shape == (1, 1)
    np.testing.assert_array_equal(run(reduce_ops.reduce_mean(x, 0), feeds), [1.5, 2.5, 3.5])
    np.testing.assert_allclose(
        run(reduce_ops.reduce_logsumexp(x, 1), feeds), np.log(np.exp(MATRIX).sum(1)), rtol=1e-6
    )
    assert run(reduce_ops.count_nonzero(x), feeds) == 5


def test_older_names_of_arguments_still_work() -> None:
    np.testing.assert_array_equal(
        run(reduce_ops.reduce_sum(MATRIX, reduction_indices=[1], keep_dims=True)), [[3], [12]]
    )
    np.testing.assert_array_equal(run(reduce_ops.argmax(MATRIX, dimension=1)), [2, 2])
    with pytest.raises(ValueError, match="Cannot specify both 'reduction_indices' and 'axis'"):
        reduce_ops.reduce_sum(MATRIX, axis=1, reduction_indices=1)


# --- shapes and parts


def test_transpose_reverses_the_axes() -> None:
    for shape in (MATRIX.shape, None):
        x, feeds = unknown(MATRIX, shape)
        np.testing.assert_array_equal(run(array_ops.transpose(x), feeds), MATRIX.T)


def test_split_takes_a_number_or_sizes() -> None:
    parts = run(array_ops.split(MATRIX, 3, 1))
    assert [part.tolist() for part in parts] == [[[0], [3]], [[1], [4]], [[2], [5]]]
    assert [part.shape for part in run(array_ops.split(MATRIX, [1, 2], 1))] == [(2, 1), (2, 2)]
    x, feeds = unknown(MATRIX, (None, 3))
    parts = run(array_ops.split(x, x.shape[1], 1), feeds)
    assert [part.tolist() for part in parts] == [[[0], [3]], [[1], [4]], [[2], [5]]]


def test_unstack_needs_a_known_number_of_parts() -> None:
    rows = array_ops.unstack(MATRIX)
    np.testing.assert_array_equal(run(array_ops.stack(rows)), MATRIX)
    x, _ = unknown(MATRIX)
    with pytest.raises(ValueError, match="Cannot infer num from shape <unknown>"):
        array_ops.unstack(x)


def test_concat_of_one_tensor_is_an_identity() -> None:
    assert array_ops.concat([MATRIX], 0).op.type == "Identity"
    np.testing.assert_array_equal(
        run(array_ops.concat([MATRIX, MATRIX], 1)), np.hstack([MATRIX, MATRIX])
    )


def test_concat_refuses_the_argument_order_of_tensorflow_0() -> None:
    parts = [convert.constant(MATRIX), convert.constant(MATRIX)]
    with pytest.raises(ValueError, match=r"Shape \(2, 2, 3\) must have rank 0"):
        array_ops.concat(0, parts)
    with pytest.raises(ValueError, match=r"Shape \(2,\) must have rank 0"):
        array_ops.concat(0, [convert.constant(0), convert.constant(1)])


@pytest.mark.parametrize(
    "dtype, zero, one",
    [
        (dtypes.float32, 0, 1),
        (dtypes.bool_, False, True),
        (dtypes.string, b"", b"1"),
    ],
)
def test_zeros_and_ones_can_have_any_type(dtype: dtypes.DType, zero: Any, one: Any) -> None:
    for shape in ([2], convert.constant([2]), [2000]):
        assert run(creation_ops.zeros(shape, dtype)).tolist()[:2] == [zero, zero]
        assert run(creation_ops.ones(shape, dtype)).tolist()[:2] == [one, one]
    assert creation_ops.zeros([2, 3]).op.type == "Const"
    np.testing.assert_array_equal(
        run(creation_ops.zeros_like(MATRIX, dtypes.int32)), np.zeros((2, 3))
    )


def test_pad_refuses_an_unknown_mode() -> None:
    assert run(array_ops.pad(MATRIX, [[1, 0], [0, 2]])).shape == (3, 5)
    with pytest.raises(ValueError, match="Unknown padding mode: EDGE"):
        array_ops.pad(MATRIX, [[1, 0], [0, 2]], mode="EDGE")


def test_one_hot_has_the_type_of_its_values() -> None:
    assert run(creation_ops.one_hot([1], 2)).dtype == np.float32
    assert run(creation_ops.one_hot([1], 2, on_value=5, off_value=3)).tolist() == [[3, 5]]
    assert run(creation_ops.one_hot([1], 2, dtype=dtypes.int64)).dtype == np.int64
    with pytest.raises(TypeError, match="do not match"):
        creation_ops.one_hot([1], 2, on_value=1.0, dtype=dtypes.int32)


def test_shapes_broadcast_statically_and_in_the_step() -> None:
    assert array_ops.broadcast_static_shape([2, 1], [3]).as_list() == [2, 3]
    np.testing.assert_array_equal(run(array_ops.broadcast_dynamic_shape([2, 1], [3])), [2, 3])
    with pytest.raises(ValueError, match=r"Incompatible shapes for broadcasting: \(2,\) and"):
        array_ops.broadcast_static_shape([2], [3])


# --- lookups and masks


def test_where_selects_values_or_finds_indices() -> None:
    indices = gather_ops.where(convert.constant([[True, False], [False, True]]))
    np.testing.assert_array_equal(run(indices), [[0, 0], [1, 1]])
    chosen = gather_ops.where([True, False], [[1, 2], [3, 4]], [[5, 6], [7, 8]])
    np.testing.assert_array_equal(run(chosen), [[1, 2], [7, 8]])
    with pytest.raises(ValueError, match="must both be non-None or both be None"):
        gather_ops.where([True], x=[1])


@pytest.mark.parametrize("is_known", [True, False])
def test_a_boolean_mask_keeps_the_elements_that_are_true_in_it(is_known: bool) -> None:
    x, feeds = unknown(MATRIX, MATRIX.shape if is_known else None)
    mask = MATRIX > 1
    np.testing.assert_array_equal(run(gather_ops.boolean_mask(x, mask), feeds), MATRIX[mask])
    rows = np.array([False, True])
    np.testing.assert_array_equal(run(gather_ops.boolean_mask(x, rows), feeds), MATRIX[rows])
    columns = np.array([True, False, True])
    np.testing.assert_array_equal(
        run(gather_ops.boolean_mask(x, columns, axis=1), feeds), MATRIX[:, columns]
    )


def test_a_boolean_mask_keeps_the_static_sizes_of_the_other_axes() -> None:
    x, _ = unknown(np.zeros([2, 0, 4, 5]), [2, None, 4, 5])
    assert gather_ops.boolean_mask(x, np.ones([2, 0], bool)).shape.as_list() == [None, 4, 5]
    assert gather_ops.boolean_mask(x, np.ones([4, 5], bool), axis=2).shape.as_list()[:2] == [
        2,
        None,
    ]


def test_a_boolean_mask_of_another_shape_is_refused() -> None:
    with pytest.raises(ValueError, match="mask cannot be scalar"):
        gather_ops.boolean_mask(MATRIX, True)
    with pytest.raises(ValueError, match="are incompatible"):
        gather_ops.boolean_mask(MATRIX, [True])


@pytest.mark.e2e
@settings(deadline=None, max_examples=examples.share(25))
@given(
    parts=st.integers(1, 4),
    rows=st.integers(4, 11),
    strategy=st.sampled_from(["mod", "div"]),
    seed=st.integers(0, 99),
)
def test_a_lookup_in_a_partitioned_table_equals_one_in_the_full_table(
    parts: int, rows: int, strategy: str, seed: int
) -> None:
    table = np.random.default_rng(seed).normal(size=(rows, 2)).astype(np.float32)
    ids = np.random.default_rng(seed).integers(0, rows, (2, 3))
    with graphs.Graph().as_default():
        if strategy == "mod":
            pieces = [table[index::parts] for index in range(parts)]
        else:
            pieces = np.array_split(table, parts)
        tensors = [convert.constant(piece) for piece in pieces]
        looked_up = gather_ops.embedding_lookup(tensors, ids, partition_strategy=strategy)
        np.testing.assert_array_equal(run(looked_up), table[ids])
        assert looked_up.shape.as_list() == [2, 3, 2]
        for slope in gradients.gradients(looked_up, tensors):
            assert isinstance(slope, indexed_slices.IndexedSlices)


# --- neural networks


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_softmax_works_along_any_axis(axis: int) -> None:
    powers = np.exp(MATRIX)
    expected = powers / powers.sum(axis, keepdims=True)
    np.testing.assert_allclose(run(nn.softmax(MATRIX, axis)), expected, rtol=1e-6)
    np.testing.assert_allclose(run(nn.log_softmax(MATRIX, axis)), np.log(expected), rtol=1e-5)


@pytest.mark.parametrize("axis", [0, 1, -2])
def test_the_axis_of_a_softmax_may_be_a_tensor(axis: int) -> None:
    at, feeds = unknown(axis, [])
    expected = np.exp(MATRIX) / np.exp(MATRIX).sum(axis, keepdims=True)
    result = nn.softmax(convert.constant(MATRIX), at)
    assert result.shape.as_list() == [2, 3]
    np.testing.assert_allclose(run(result, feeds), expected, rtol=1e-6)
    constant = nn.log_softmax(MATRIX, convert.constant(axis))
    np.testing.assert_allclose(run(constant), np.log(expected), rtol=1e-5)


def test_an_axis_of_a_softmax_that_does_not_exist_is_an_invalid_argument() -> None:
    with pytest.raises(errors.InvalidArgumentError, match=r"Dimension \(2\) must be in the range"):
        nn.softmax(MATRIX, 2)
    at, feeds = unknown(2, [])
    with pytest.raises(errors.InvalidArgumentError):
        run(nn.softmax(MATRIX, at), feeds)


# If the shape is unknown, only the last axis works: other axes are permuted first.
@pytest.mark.parametrize(
    "axis, is_known", [(0, True), (1, True), (2, True), (-1, True), (-1, False)]
)
def test_losses_take_logits_of_any_rank(axis: int, is_known: bool) -> None:
    random = np.random.default_rng(1)
    logits, labels = random.normal(size=(2, 3, 4)), random.random((2, 3, 4))
    x, feeds = unknown(logits, logits.shape if is_known else None)
    loss = nn.softmax_cross_entropy_with_logits(labels=labels, logits=x, dim=axis)
    log_softmax = logits - np.log(np.exp(logits).sum(axis, keepdims=True))
    np.testing.assert_allclose(run(loss, feeds), -(labels * log_softmax).sum(axis))
    if axis == -1:
        classes = random.integers(0, 4, (2, 3))
        loss = nn.sparse_softmax_cross_entropy_with_logits(labels=classes, logits=x)
        expected = -np.take_along_axis(log_softmax, classes[..., None], -1)[..., 0]
        np.testing.assert_allclose(run(loss, feeds), expected)


def test_losses_require_named_arguments() -> None:
    for loss in (
        nn.softmax_cross_entropy_with_logits,
        nn.sparse_softmax_cross_entropy_with_logits,
        nn.sigmoid_cross_entropy_with_logits,
    ):
        with pytest.raises(ValueError, match="with named arguments"):
            loss(MATRIX, MATRIX)
        with pytest.raises(ValueError, match="Both labels and logits must be provided"):
            loss(logits=MATRIX)
    with pytest.raises(ValueError, match="Rank mismatch: Rank of labels"):
        nn.sparse_softmax_cross_entropy_with_logits(labels=[[1, 2]], logits=MATRIX)


def test_only_the_older_softmax_loss_has_no_gradient_for_labels() -> None:
    labels, logits = convert.constant([[0.3, 0.7]]), convert.constant([[1.0, 2.0]])
    older = nn.softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    newer = nn.softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits)
    assert gradients.gradients(older, labels) == [None]
    assert gradients.gradients(newer, labels) != [None]


def test_logistic_losses_do_not_overflow() -> None:
    x, z = np.float64([-1000, -1, 0, 1, 1000]), np.float64([0, 1, 0, 1, 1])
    exact = np.maximum(x, 0) - x * z + np.log1p(np.exp(-np.abs(x)))
    np.testing.assert_allclose(run(nn.sigmoid_cross_entropy_with_logits(labels=z, logits=x)), exact)
    weighted = nn.weighted_cross_entropy_with_logits(z, x, 1.0)
    np.testing.assert_allclose(run(weighted), exact, atol=1e-12)
    with pytest.raises(ValueError, match="must have the same shape"):
        nn.sigmoid_cross_entropy_with_logits(labels=[1.0], logits=[1.0, 2.0])


def test_dropout_keeps_the_expected_sum() -> None:
    x = convert.constant(np.ones((100, 100), np.float32))
    kept = run(nn.dropout(x, keep_prob=0.25, seed=3))
    assert set(np.unique(kept)) == {0, 4}
    assert abs(kept.mean() - 1) < 0.1
    assert nn.dropout(x, 1.0) is x
    shared = run(nn.dropout(x, rate=0.5, noise_shape=[100, 1], seed=4))
    assert (shared == shared[:, :1]).all()
    for wrong in ({}, {"keep_prob": 0.5, "rate": 0.5}, {"keep_prob": 0.0}, {"rate": 1.5}):
        with pytest.raises(ValueError):
            nn.dropout(x, **wrong)


def test_pools_of_volumes_take_one_size_for_all_axes() -> None:
    x = np.arange(64, dtype=np.float32).reshape(1, 4, 4, 4, 1)
    for pool in (nn.max_pool3d, nn.avg_pool3d):
        expected = run(pool(x, [1, 2, 2, 2, 1], [1, 2, 2, 2, 1], "VALID"))
        for size in (2, [2, 2, 2]):
            np.testing.assert_array_equal(run(pool(x, size, size, "VALID")), expected)


def test_none_in_the_shape_of_noise_is_the_size_of_the_tensor() -> None:
    x, feeds = unknown(np.ones([50, 2], np.float32), [None, 2])
    for shape in ([None, 1], (None, 1), tensor_shape.TensorShape([None, 1])):
        found = run(nn.dropout(x, 0.5, shape), feeds)
        np.testing.assert_array_equal(found[:, 0], found[:, 1])
        assert set(found[:, 0]) == {0, 2}
    columns = run(nn.dropout(np.ones([2, 50], np.float32), 0.5, [1, None]))
    np.testing.assert_array_equal(columns[0], columns[1])


def test_layers_agree_with_numpy() -> None:
    w, b = np.ones((3, 2), np.float32), np.float32([1, -20])
    np.testing.assert_array_equal(run(nn.xw_plus_b(MATRIX, w, b)), MATRIX @ w + b)
    np.testing.assert_array_equal(run(nn.relu_layer(MATRIX, w, b)), np.maximum(MATRIX @ w + b, 0))
    np.testing.assert_allclose(run(nn.leaky_relu([-1.0, 2.0])), [-0.2, 2])
    np.testing.assert_array_equal(run(nn.leaky_relu([-1.0, 2.0], np.float64(3))), [-3, 2])
    np.testing.assert_array_equal(run(nn.leaky_relu([-1, 2], -1)), np.float32([1, 2]))
    np.testing.assert_allclose(run(nn.l2_normalize([[3.0, 4.0]], 1)), [[0.6, 0.8]], rtol=1e-6)
    assert run(nn.zero_fraction(MATRIX)) == np.float32(1 / 6)
    assert run(nn.in_top_k(MATRIX, [2, 0], 1)).tolist() == [True, False]
    k, feeds = unknown(np.int32(1), [])
    assert run(nn.in_top_k(MATRIX, [2, 0], k), feeds).tolist() == [True, False]
    with pytest.raises(ValueError, match="data_format must be"):
        nn.bias_add(MATRIX, b, data_format="NDHWC")


@pytest.mark.parametrize("keep", [True, False])
def test_moments_and_batch_normalization_agree_with_numpy(keep: bool) -> None:
    mean, variance = run(nn.moments(MATRIX, [0], keep_dims=keep))
    np.testing.assert_allclose(mean, MATRIX.mean(0, keepdims=keep))
    np.testing.assert_allclose(variance, MATRIX.var(0, keepdims=keep))
    normal = run(nn.batch_normalization(MATRIX, mean, variance, 1.0, 2.0, 1e-3))
    expected = 2 * (MATRIX - mean) / np.sqrt(variance + 1e-3) + 1
    np.testing.assert_allclose(normal, expected, rtol=1e-5)


# --- random numbers


def test_random_numbers_have_the_requested_range_mean_and_deviation() -> None:
    uniform = run(random_ops.random_uniform([1000], -3, 5, seed=1))
    assert -3 <= uniform.min() < -2.5
    assert 4.5 < uniform.max() <= 5
    normal = run(random_ops.random_normal([1000], 7.0, 2.0, seed=1))
    assert abs(normal.mean() - 7) < 0.5
    assert abs(run(random_ops.truncated_normal([1000], 1.0, 0.1, seed=1)) - 1).max() <= 0.2001
    integers = run(random_ops.random_uniform([100], 0, 3, dtypes.int32, seed=1))
    assert set(integers.tolist()) == {0, 1, 2}


def test_the_graphs_seed_makes_every_stream_repeatable() -> None:
    def draw() -> Any:
        with graphs.Graph().as_default():
            random_ops.set_random_seed(7)
            return run([random_ops.random_normal([3]), random_ops.random_normal([3])])

    first, second = draw(), draw()
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first[0], first[1])


def test_random_ops_refuse_types_without_a_distribution() -> None:
    with pytest.raises(ValueError, match="Must specify maxval for integer dtype"):
        random_ops.random_uniform([2], dtype=dtypes.int32)
    with pytest.raises(ValueError, match="Invalid dtype"):
        random_ops.random_normal([2], dtype=dtypes.int32)


# --- dependencies and assertions


def test_with_dependencies_takes_indexed_slices() -> None:
    check = control_flow_ops.Assert(False, ["never"])
    slices = indexed_slices.IndexedSlices(convert.constant([[1.0]]), convert.constant([3]))
    waiting = control_flow_ops.with_dependencies([check], slices)
    assert waiting.values.op.control_inputs == [check]
    assert waiting.indices.op.control_inputs == [check]
    assert waiting.dense_shape is None


def test_with_dependencies_runs_its_dependencies_first() -> None:
    check = control_flow_ops.Assert(False, ["never"])
    value = control_flow_ops.with_dependencies([check], convert.constant(1.0))
    with pytest.raises(errors.InvalidArgumentError, match="never"):
        run(value)


@pytest.mark.parametrize(
    "check, good, bad, sign",
    [
        (check_ops.assert_equal, ([1, 2], [1, 2]), ([1, 2], [1, 3]), "=="),
        (check_ops.assert_none_equal, ([1], [2]), ([1], [1]), "!="),
        (check_ops.assert_less, ([1], [2]), ([2], [2]), "<"),
        (check_ops.assert_less_equal, ([2], [2]), ([3], [2]), "<="),
        (check_ops.assert_greater, ([3], [2]), ([2], [2]), ">"),
        (check_ops.assert_greater_equal, ([2], [2]), ([1], [2]), ">="),
        (check_ops.assert_positive, ([1],), ([0],), "> 0"),
        (check_ops.assert_negative, ([-1],), ([0],), "< 0"),
        (check_ops.assert_non_negative, ([0],), ([-1],), ">= 0"),
        (check_ops.assert_non_positive, ([0],), ([1],), "<= 0"),
    ],
)
def test_a_failed_assertion_raises_its_message_and_condition(
    check: Any, good: Any, bad: Any, sign: str
) -> None:
    run(check(*good))
    condition = f"Condition x {sign} y" if len(bad) == 2 else f"Condition x {sign}"
    x, feeds = unknown(bad[0])
    dynamic = check(x, *bad[1:], message="the message")
    for fails in (lambda: run(dynamic, feeds), lambda: check(*bad, message="the message")):
        with pytest.raises(errors.InvalidArgumentError) as raised:
            fails()
        assert "the message" in str(raised.value)
        assert f"{condition} did not hold element-wise:" in str(raised.value)


def test_a_tensor_equals_itself_without_a_check() -> None:
    x, feeds = unknown([np.nan])
    assert check_ops.assert_equal(x, x).type == "NoOp"
    run(check_ops.assert_equal(x, x), feeds)


@pytest.mark.parametrize(
    ("check", "rank", "rule"),
    [
        (check_ranks.assert_rank, 2, "have rank"),
        (check_ranks.assert_rank_at_least, 2, "have rank at least"),
        (check_ranks.assert_rank_in, (0, 2), "have rank in"),
        (check_ranks.assert_rank_in, (), "have rank in"),
    ],
)
def test_a_wrong_rank_is_an_error_of_the_step_that_names_the_tensor(
    check: Any, rank: Any, rule: str
) -> None:
    x, feeds = unknown([1])
    with pytest.raises(errors.InvalidArgumentError, match="the message") as raised:
        run(check(x, rank, message="the message"), feeds)
    assert f"Tensor {x.name} must {rule}" in str(raised.value)


def test_a_rank_may_be_a_tensor_that_must_be_a_scalar() -> None:
    x, feeds = unknown([1])
    rank, ranks = unknown(np.int32(1))
    run(check_ranks.assert_rank(x, rank), feeds | ranks)
    run(check_ranks.assert_rank_in(x, (0, rank)), feeds | ranks)
    with pytest.raises(errors.InvalidArgumentError, match="Rank must be a scalar"):
        run(check_ranks.assert_rank(x, rank), {**feeds, rank: np.array([1], np.int32)})
    with pytest.raises(ValueError, match=r"Rank must be a scalar\."):
        check_ranks.assert_rank(x, [1])
    with pytest.raises(TypeError, match="must be of type"):
        check_ranks.assert_rank(x, 1.5)


def test_a_wrong_static_rank_is_refused_while_the_graph_is_built() -> None:
    with pytest.raises(ValueError, match="must have rank 3"):
        check_ranks.assert_rank(MATRIX, 3)


# --- clipping


def test_values_are_clipped_to_bounds() -> None:
    np.testing.assert_array_equal(run(clip_ops.clip_by_value(MATRIX, 1.0, 3.0)), MATRIX.clip(1, 3))
    with pytest.raises(ValueError):
        clip_ops.clip_by_value([1.0], [[0.0, 0.0]], 3.0)


@pytest.mark.e2e
def test_clip_by_norm_scales_only_larger_norms() -> None:
    x = np.float32([3, 4])
    np.testing.assert_allclose(run(clip_ops.clip_by_norm(x, 1.0)), [0.6, 0.8], rtol=1e-6)
    np.testing.assert_allclose(run(clip_ops.clip_by_norm(x, 10.0)), x)
    np.testing.assert_allclose(run(clip_ops.clip_by_average_norm(x, 1.0)), x * 0.4, rtol=1e-6)
    zero = convert.constant([0.0, 0.0])
    (slope,) = gradients.gradients(clip_ops.clip_by_norm(zero, 1.0), zero)
    assert np.isfinite(run(slope)).all()


def test_clipped_indexed_slices_stay_indexed_slices() -> None:
    rows = indexed_slices.IndexedSlices(convert.constant([[3.0, 4.0]]), convert.constant([1]))
    for clipped, expected in (
        (clip_ops.clip_by_value(rows, 0.0, 3.5), [[3, 3.5]]),
        (clip_ops.clip_by_norm(rows, 1.0), [[0.6, 0.8]]),
    ):
        assert isinstance(clipped, indexed_slices.IndexedSlices)
        assert clipped.indices is rows.indices
        np.testing.assert_allclose(run(clipped.values), expected, rtol=1e-6)


def test_a_norm_that_would_enlarge_the_tensor_is_refused() -> None:
    with pytest.raises(ValueError, match="not compatible"):
        clip_ops.clip_by_norm(MATRIX, np.ones([2, 2, 3], np.float32))


def test_a_global_norm_that_is_not_finite_makes_all_tensors_nan() -> None:
    for value in (np.inf, np.nan):
        clipped, _ = clip_ops.clip_by_global_norm([[1.0, value], [2.0]], 1.0)
        assert np.isnan(np.concatenate([run(tensor) for tensor in clipped])).all()


def test_clip_by_global_norm_scales_all_tensors_together() -> None:
    slices = indexed_slices.IndexedSlices(
        convert.constant([[12.0]]), convert.constant([0]), convert.constant([5, 1])
    )
    tensors = [np.float32([3, 4]), None, slices]
    assert run(clip_ops.global_norm(tensors)) == 13
    clipped, norm = clip_ops.clip_by_global_norm(tensors, 6.5)
    assert clipped[1] is None
    assert isinstance(clipped[2], indexed_slices.IndexedSlices)
    np.testing.assert_allclose(run(clipped[0]), [1.5, 2])
    np.testing.assert_allclose(run(clipped[2].values), [[6]])
    assert run(norm) == 13
    with pytest.raises(TypeError, match="should be a sequence"):
        clip_ops.global_norm(convert.constant(1.0))


def test_matrices_above_rank_2_are_multiplied_in_batches() -> None:
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    product = math_ops.matmul(x, MATRIX, transpose_a=True, transpose_b=True)
    assert (product.op.type, product.op.name) == ("BatchMatMulV2", "MatMul")
    assert product.shape.as_list() == [2, 4, 2]
    np.testing.assert_allclose(run(product), x.swapaxes(1, 2) @ MATRIX.T)
    of_unknown_rank, feed = unknown(x)
    columns = np.arange(8, dtype=np.float32).reshape(4, 2)
    np.testing.assert_allclose(run(of_unknown_rank @ columns, feed), x @ columns)
    assert (convert.constant(MATRIX) @ MATRIX.T).op.type == "MatMul"
