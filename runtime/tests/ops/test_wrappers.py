"""TensorFlow 1's functions: the operations that they add to the graph, and their results."""

from typing import Any

import examples
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from interpreter import run, unknown

from capstan.api import (
    array_ops,
    broadcast_ops,
    creation_ops,
    gather_ops,
    math_ops,
    nn,
    reduce_ops,
    tensor_products,
)
from capstan.core import dtypes
from capstan.framework import convert, gradients, indexed_slices
from capstan.framework import graph as graphs

MATRIX = np.arange(6.0, dtype=np.float32).reshape(2, 3)


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


@pytest.mark.parametrize(
    "axes, error, message",
    [
        (-1, ValueError, "at least 0"),
        (3, ValueError, "larger than the number of dimensions"),
        ([1], ValueError, "have length 2"),
        ([[1], [0, 1]], ValueError, "1 != 2"),
        ([[0], [7]], IndexError, "axis 7 is not in"),
        ([[-3], [0]], IndexError, "axis -3 is not in"),
    ],
)
def test_a_sum_of_products_over_axes_that_do_not_exist_is_refused(
    axes: Any, error: Any, message: str
) -> None:
    with pytest.raises(error, match=message):
        tensor_products.tensordot(MATRIX, MATRIX, axes)


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
    hint = "Pass the tensors before the axis"
    with pytest.raises(ValueError, match=rf"Shape \(2, 2, 3\) must have rank 0\. {hint}"):
        array_ops.concat(0, parts)
    with pytest.raises(ValueError, match=r"Shape \(2,\) must have rank 0"):
        array_ops.concat(0, [convert.constant(0), convert.constant(1)])


@pytest.mark.parametrize("sizes", [2, [1, 1]])
def test_split_refuses_an_axis_that_is_no_scalar(sizes: Any) -> None:
    with pytest.raises(ValueError, match="Input must be scalar but has rank 2"):
        array_ops.split(1, sizes, MATRIX)
    with pytest.raises(ValueError, match="Input must be scalar but has rank 1"):
        array_ops.split(MATRIX, sizes, [0])


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
    assert broadcast_ops.broadcast_static_shape([2, 1], [3]).as_list() == [2, 3]
    np.testing.assert_array_equal(run(broadcast_ops.broadcast_dynamic_shape([2, 1], [3])), [2, 3])
    with pytest.raises(ValueError, match=r"Incompatible shapes for broadcasting: \(2,\) and"):
        broadcast_ops.broadcast_static_shape([2], [3])


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
