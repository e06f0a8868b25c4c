"""The functions that combine several ops for arrays give the values of TensorFlow."""

from collections.abc import Callable
from typing import Any

import genuine
import numpy as np
import pytest

import capstan

pytestmark = genuine.MARKS

MATRIX = np.array([[3.0, -1.0, 2.0], [0.5, 4.0, -2.0]], np.float32)
IDS = [1, 0, 1]
NANS = np.array([1, np.nan, 3, 5, np.nan, np.nan, np.nan, 2], np.float32)

ROWS = np.random.default_rng(0).random((40, 3), dtype=np.float32)
CALLS: dict[str, Callable[[Any], Any]] = {
    "argsort": lambda tf: [tf.argsort(MATRIX), tf.argsort(MATRIX, axis=0, direction="DESCENDING")],
    "bincount": lambda tf: [
        tf.bincount([1, 3, 1]),
        tf.bincount([1, 3, 1], weights=[0.5, 1.5, 2.0], minlength=6),
        tf.bincount([1, 3, 1], maxlength=2, dtype=tf.int64),
        tf.bincount([], minlength=2),
    ],
    "confusion_matrix": lambda tf: [
        tf.confusion_matrix([0, 2, 1], [0, 1, 1]),
        tf.confusion_matrix([[0], [2]], [0, 1]),
        tf.confusion_matrix([0, 2], [1, 1], num_classes=4, dtype=tf.float32, weights=[0.5, 2.0]),
    ],
    "dynamic_partition": lambda tf: tf.dynamic_partition(MATRIX, [1, 0], 3),
    "eye": lambda tf: [tf.eye(2), tf.eye(2, 3), tf.eye(1, 2, [2], tf.int32)],
    "gather_nd": lambda tf: tf.gather_nd(MATRIX, [[0, 1], [1, 2]]),
    "bands of matrices": lambda tf: [
        tf.matrix_diag([1, 2, 3], k=-1, padding_value=7),
        tf.matrix_diag([[1.0, 2.0], [3.0, 4.0]], k=[0, 1], num_rows=2, num_cols=3),
        tf.matrix_diag(tf.constant([True, True]), num_cols=3),
        tf.matrix_diag_part(MATRIX, k=[-1, 1], padding_value=5.0),
        tf.matrix_diag_part(MATRIX, k=[-1, 1], align="LEFT_RIGHT"),
        tf.matrix_diag_part(tf.constant(MATRIX > 0), k=1),
        tf.matrix_set_diag(MATRIX, [8.0, 9.0], k=1),
        tf.linalg.set_diag(MATRIX, [[8.0, 9.0], [6.0, 7.0]], k=(0, 1), align="LEFT_LEFT"),
    ],
    "matrix_transpose": lambda tf: [
        tf.matrix_transpose(MATRIX),
        tf.matrix_transpose(tf.placeholder_with_default(MATRIX[None], None)),
    ],
    "meshgrid": lambda tf: [
        *tf.meshgrid([1, 2], [3, 4, 5]),
        *tf.meshgrid([1, 2], [3, 4, 5], [6, 7], indexing="ij"),
        *tf.meshgrid([1.0, 2.0]),
    ],
    "reverse_sequence": lambda tf: tf.reverse_sequence(MATRIX, [2, 3], seq_axis=1),
    "segments with NaN": lambda tf: [
        *(
            function(values, [0, 0, 0, 1, 1, 2, 4, 4])
            for function in (tf.segment_max, tf.segment_min)
            for values in (NANS, NANS.astype(np.float64), np.stack([NANS, NANS[::-1]], 1))
        ),
        *(
            function(values, [1, -1, 1, 0, 0, 3, 4, 4], 6)
            for function in (tf.unsorted_segment_max, tf.unsorted_segment_min)
            for values in (NANS, np.outer(NANS, np.arange(1, 20, dtype=np.float32)))
        ),
    ],
    "means of integers": lambda tf: [
        tf.unsorted_segment_mean(np.array([1, 2, 3, 4], kind), [0, 0, 2, -1], 4)
        for kind in (np.int32, np.int64)
    ],
    "scattered strings": lambda tf: tf.to_int32(
        tf.equal(
            tf.scatter_nd([[4], [3], [3]], tf.constant(["a", "b", "c"]), [5]),
            ["", "", "", "bc", "a"],
        )
    ),
    "sequence_mask": lambda tf: [
        tf.sequence_mask([1, 3, 0]),
        tf.sequence_mask([[1], [2]], 4, tf.float32),
        tf.sequence_mask(2, 3),
        tf.sequence_mask(np.array([1, 2], np.int64)),
    ],
    "setdiff1d": lambda tf: list(tf.setdiff1d([3, 1, 4, 1], [1])),
    "sort of unknown rank": lambda tf: [
        tf.sort(tf.placeholder_with_default(MATRIX, None)),
        tf.argsort(tf.placeholder_with_default(MATRIX, None), direction="DESCENDING"),
    ],
    "sort": lambda tf: [tf.sort(MATRIX, direction="DESCENDING"), tf.sort(MATRIX, axis=0)],
    "sparse_segment": lambda tf: [
        function(MATRIX, [0, 1, 0], [0, 0, 1])
        for function in (
            tf.sparse_segment_sum, tf.sparse_segment_mean, tf.sparse_segment_sqrt_n,
        )
    ],
    "segments of all lengths": lambda tf: [
        function(ROWS[:count], np.repeat(np.arange(12) * 2 // 3, np.arange(12) % longest)[:count])
        for longest, count in ((4, 18), (9, 39))
        for function in (tf.segment_sum, tf.segment_mean, tf.segment_max, tf.segment_prod)
    ],
    "tensor_scatter_update": lambda tf: tf.tensor_scatter_update(MATRIX, [[0, 1]], [9.0]),
    "trace": lambda tf: [tf.trace(MATRIX), tf.trace(MATRIX[None])],
    "unique": lambda tf: [
        *tf.unique(np.array([np.nan, 1, -0.0, np.nan, 0.0, 1], np.float32)),
        *tf.unique_with_counts(np.array([np.nan, 1, np.nan, 1])),
        *tf.unique(np.array([], np.float32), out_idx=tf.int64),
        *tf.unique([5, 2**20, 5, 0, 2**20, 7, 0]),
        *tf.unique([5, 2**40, 5, 0, 2**40, 7, 0]),
        *tf.unique([5, -1, 5, 0, -1]),
    ],
    "unsorted_segments": lambda tf: [
        function(MATRIX.T, IDS, 4)
        for function in (tf.unsorted_segment_mean, tf.unsorted_segment_sqrt_n)
    ],
    "verify_tensor_all_finite": lambda tf: tf.verify_tensor_all_finite(MATRIX, "finite"),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(CALLS))
def test_the_values_and_shapes_are_those_of_tensorflow(v1: Any, name: str) -> None:
    results = []
    for tf in (capstan, v1):
        with tf.Graph().as_default(), tf.Session() as session:
            outputs = CALLS[name](tf)
            outputs = outputs if isinstance(outputs, list) else [outputs]
            results.append((session.run(outputs), [output.dtype.name for output in outputs]))
    (values, kinds), (expected, expected_kinds) = results
    assert kinds == expected_kinds
    for value, other in zip(values, expected, strict=True):
        assert value.shape == other.shape
        np.testing.assert_allclose(value, other, rtol=1e-6)


def test_an_unknown_argument_is_refused_before_the_step() -> None:
    with pytest.raises(ValueError, match="direction should be one of"):
        capstan.sort([1, 2], direction="UP")
    with pytest.raises(TypeError, match="'sparse' is an invalid keyword"):
        capstan.meshgrid([1], sparse=True)
    with pytest.raises(ValueError, match="indexing parameter must be"):
        capstan.meshgrid([1], indexing="yx")
    with pytest.raises(ValueError, match="must be less than rank"):
        capstan.gather_nd([1], [[0]], batch_dims=1)
    with pytest.raises(ValueError, match="does not allow negative batch_dims"):
        capstan.gather_nd([1], [[0]], batch_dims=-1)
    with pytest.raises(TypeError, match="batch_dims must be an int"):
        capstan.gather_nd([1], [[0]], batch_dims=1.5)
    with pytest.raises(ValueError, match="rank >= 2"):
        capstan.matrix_transpose([1])
