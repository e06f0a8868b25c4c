"""Dependencies, assertions and clipping: the operations that they add, and their results."""

from typing import Any

import numpy as np
import pytest
from interpreter import run, unknown

from capstan import errors
from capstan.api import (
    check_ops,
    check_ranks,
    clip_ops,
    control_flow_ops,
    math_ops,
)
from capstan.framework import convert, gradients, indexed_slices

MATRIX = np.arange(6.0, dtype=np.float32).reshape(2, 3)


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
