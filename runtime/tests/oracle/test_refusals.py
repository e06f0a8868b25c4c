"""Operations refuse the same inputs as in TensorFlow, at the same time and in the same words."""

import re
from collections.abc import Callable
from typing import Any

import genuine
import numpy as np
import pytest
from oracle_tables import compare, outcome

import capstan
from capstan.python.ops import array_ops

pytestmark = genuine.MARKS
Build = Callable[[Any], Any]


def unknown(tf: Any, value: Any) -> Any:
    return tf.placeholder_with_default(np.array(value, np.int32), None)


def grad_of_mean(indices: list[int], ids: list[int]) -> Build:
    return lambda tf: tf.raw_ops.SparseSegmentMeanGrad(
        grad=[[1.0]], indices=indices, segment_ids=ids, output_dim0=10
    )


def reversed_parts(lengths: list[int], seq_axis: int = 1) -> Build:
    return lambda tf: tf.reverse_sequence(
        unknown(tf, [[1, 2]]), unknown(tf, lengths), seq_axis=seq_axis, batch_axis=0
    )


def pool(window: list[int], strides: list[int], function: str = "max_pool") -> Build:
    return lambda tf: getattr(tf.nn, function)(tf.zeros([1, 2, 2, 4]), window, strides, "SAME")


def pool_of_nothing(function: str, name: str = "strides") -> Build:
    sizes = {"ksize": [1, 1, 1, 1], "strides": [1, 1, 1, 1], name: [2, 1, 1, 1]}
    return lambda tf: getattr(tf.nn, function)(tf.placeholder(tf.float32), padding="SAME", **sizes)


def transposed(kernel: list[int]) -> Build:
    return lambda tf: tf.nn.conv2d_transpose(
        tf.zeros([1, 4, 4, 3]), tf.zeros(kernel), [1, 8, 8, 5], [1, 2, 2, 1]
    )


@pytest.mark.parametrize(
    "build, message",
    [
        (lambda tf: tf.reshape(tf.zeros([23, 29, 31]), [17, -1]),
         "must be evenly divisible by 17 but is 20677"),
        (lambda tf: tf.reshape(tf.zeros([23, 29]), [2, 3, -1]),
         "must be evenly divisible by 6 but is 667"),
        (lambda tf: tf.reshape(tf.zeros([4]), [0, -1]), "Cannot reshape a tensor with 4 elements"),
        (lambda tf: tf.reshape(tf.zeros([4]), [3]), "Cannot reshape a tensor with 4 elements"),
        (lambda tf: tf.sparse_to_dense([1, 3], [[5], [3]], 1, -1), "must be rank 1 but is rank 2"),
        (lambda tf: tf.sparse_to_dense([1, 3], 5, 1, -1), "must be rank 1 but is rank 0"),
        (lambda tf: tf.sparse_to_dense([1, 3], [-5], 1, -1),
         "Invalid value in tensor used for shape: -5"),
        (lambda tf: tf.fill([[2]], 1.0), "must be rank 1 but is rank 2"),
        (transposed([2, 2, 5, 2]), "Dimensions must be equal, but are 3 and 2"),
        (lambda tf: tf.fill([2], [1]), "must be rank 0 but is rank 1"),
        (lambda tf: tf.fill([-1], 1), "Fill dimensions must be >= 0"),
        (lambda tf: tf.reverse([[1, 2]], [2]), r"'axis'\[0\] = 2 is out of valid range \[0, 1"),
        (lambda tf: tf.reverse([[1, 2]], [0, -2]), "axis 0 specified more than once"),
        (lambda tf: tf.reverse([[1, 2]], 0), "must be rank 1 but is rank 0"),
        (lambda tf: tf.reverse_sequence(tf.zeros([2, 3]), [1, 2, 3], 1),
         "Dimensions must be equal, but are 2 and 3"),
        (lambda tf: tf.reverse_sequence(tf.zeros([2, 3]), [1, 2], 3),
         "seq_dim must be < input rank: 3 vs. 2"),
        (lambda tf: tf.concat([tf.zeros([2, 2]), tf.zeros([3])], tf.placeholder(tf.int32)),
         "Shape must be rank 2 but is rank 1"),
        (lambda tf: tf.concat([1, 2], tf.placeholder(tf.int32)),
         r"Can't concatenate scalars \(use tf\.stack instead\)"),
        (lambda tf: tf.concat([[1], [2]], -2), "must be at least rank 2 but is rank 1"),
        (lambda tf: tf.concat([[1], [2]], [0]), "must be rank 0 but is rank 1"),
        (lambda tf: tf.expand_dims(1, [0, 0]), "must be a tensor with a single value"),
        (lambda tf: tf.convert_to_tensor(tf.TensorShape([2**33]), tf.int32), "too large"),
        (lambda tf: tf.sparse_segment_sum([1.0], [0], [0], num_segments=-2), "negative value"),
        (lambda tf: tf.norm([[1.0]], "fro"), "must be a supported vector norm"),
        (lambda tf: tf.norm([[1.0]], 3, [0, 1]), "must be a supported matrix norm"),
        (lambda tf: tf.norm([[1.0]], 1, [0, 0]), "a tuple of 2 unique integers"),
        (lambda tf: tf.diag(0.0), "must be at least rank 1 but is rank 0"),
        (lambda tf: tf.matrix_set_diag([[0]], 0), "must be at least rank 1 but is rank 0"),
        (lambda tf: tf.nn.safe_embedding_lookup_sparse(
            [tf.zeros([2, 3], tf.float64)], tf.SparseTensor([[0, 0]], np.int64([1]), [1, 1]),
            tf.SparseTensor([[0, 0]], np.float32([1]), [1, 1]),
        ), "float64"),
        (lambda tf: tf.pad([[1, 2]], [[-1, 0], [0, 0]]), "Paddings must be non-negative"),
        (lambda tf: tf.roll([[1, 2]], [1, 2], [0]),
         "Dimension 0 in both shapes must be equal, but are 2 and 1"),
        (lambda tf: tf.scatter_nd([[0]], tf.zeros([1, 2]), [0, 2]),
         "Indices and updates specified for empty"),
        (lambda tf: tf.bincount([1, 2], minlength=[1, 2]), "must be rank 0 but is rank 1"),
        (lambda tf: tf.space_to_batch_nd(tf.zeros([1, 2, 2]), [0, 2], [[0, 0], [0, 0]]),
         "block_shape must be positive"),
        (lambda tf: tf.space_to_batch_nd(tf.zeros([1, 3, 2]), [2, 2], [[0, 0], [0, 0]]),
         "must be evenly divisible by 2 but is 3"),
        (lambda tf: tf.space_to_batch_nd(tf.zeros([1, 2, 2]), [2, 2], [[0, -1], [0, 0]]),
         "paddings cannot be negative"),
        (lambda tf: tf.space_to_batch_nd(tf.zeros([2, 2]), [2, 2], [[0, 0], [0, 0]]),
         "must be at least rank 3 but is rank 2"),
        (lambda tf: tf.space_to_batch_nd(tf.zeros([1, 2, 2]), [2, 2], [[0, 0, 0], [0, 0, 0]]),
         "Dimension 1 in both shapes must be equal"),
        (lambda tf: tf.batch_to_space_nd(tf.zeros([3, 2, 2]), [2, 2], [[0, 0], [0, 0]]),
         "must be evenly divisible by 4 but is 3|must be evenly divisible by 2 but is 3"),
        (lambda tf: tf.batch_to_space_nd(tf.zeros([4, 2, 2]), [2, 2], [[3, 3], [0, 0]]),
         "Negative dimension size caused by subtracting"),
        (lambda tf: tf.batch_to_space_nd(tf.zeros([4, 2, 2]), [2, 2], [[-1, 0], [0, 0]]),
         "crops cannot be negative"),
    ],
)  # fmt: skip
def test_the_graph_refuses(v1: Any, build: Build, message: str) -> None:
    for tf in (v1, capstan):
        with tf.Graph().as_default(), pytest.raises(ValueError, match=message):
            build(tf)


@pytest.mark.parametrize(
    "build",
    [
        lambda tf: tf.sparse_to_dense([1, 3], [5], [[5], [3]], -1),
        lambda tf: tf.sparse_to_dense([1, 3], [5], [1, 2], [0]),
        lambda tf: tf.sparse_to_dense([1, 3], [5], [1, 2, 3], 0),
        lambda tf: tf.sparse_to_dense([[1, 3]], [5], [1], 0),
        lambda tf: tf.sparse_to_dense([[[1, 3]]], [5], [1], 0),
        lambda tf: tf.sparse_to_dense([3, 1], [5], 1, 0),
        lambda tf: tf.sparse_to_dense([1, 1], [5], 1, 0),
        lambda tf: tf.sparse_to_dense([1, 7], [5], 1, 0),
        pool([1, 2, 2, 2], [1, 1, 1, 2]),
        pool([1, 1, 1, 2], [1, 1, 1, 1]),
        pool([1, 1, 1, 3], [1, 1, 1, 3]),
        pool([2, 1, 1, 1], [1, 1, 1, 1]),
        pool_of_nothing("max_pool"),
        pool_of_nothing("avg_pool"),
        pool_of_nothing("avg_pool", "ksize"),
        lambda tf: tf.argmin(tf.zeros([0, 2]), 0),
        lambda tf: tf.argmax(tf.zeros([0]), -1),
        lambda tf: tf.argmax(tf.zeros([2]), unknown(tf, 1)),
        lambda tf: tf.as_string(1, precision=0),
        lambda tf: tf.as_string(1, shortest=True),
        lambda tf: tf.as_string(1.0, fill="ab"),
        lambda tf: tf.as_string(1.0, shortest=True, scientific=True),
        lambda tf: tf.scatter_nd([[3]], [1], [2]),
        lambda tf: tf.guarantee_const(
            tf.get_variable("v", initializer=1.0, use_resource=True).handle
        ),
        lambda tf: tf.reverse([[1]], unknown(tf, [0, -2])),
        lambda tf: tf.gather_nd(tf.zeros([0, 3]), unknown(tf, [[0, 0]])),
        lambda tf: tf.tensor_scatter_add(
            unknown(tf, np.zeros([0, 3])), unknown(tf, [[0, 0]]), unknown(tf, [1])
        ),
        lambda tf: tf.matrix_diag(unknown(tf, 0)),
        lambda tf: tf.matrix_diag_part(unknown(tf, 0)),
        lambda tf: tf.matrix_set_diag(unknown(tf, 0), unknown(tf, [0])),
        lambda tf: tf.matrix_set_diag(unknown(tf, [[0]]), unknown(tf, 0)),
        lambda tf: (
            tf.string_split(
                ["a b"], tf.placeholder_with_default(np.array(["|"], object), None)
            ).values
        ),
        lambda tf: tf.cumprod([[1.0]], unknown(tf, -3)),
        lambda tf: tf.cumsum([[1.0]], unknown(tf, 2)),
        lambda tf: tf.cumsum([[1.0]], unknown(tf, [0])),
        lambda tf: tf.segment_sum(unknown(tf, [1, 2, 3]), [-1, 0, 1]),
        lambda tf: tf.segment_mean(unknown(tf, [1, 2, 3]), [0, 2, 1]),
        lambda tf: tf.segment_sum(unknown(tf, [1, 2, 3, 4]), [0, 1, 2, 0]),
        lambda tf: tf.segment_sum(unknown(tf, [1, 2]), [0, -1]),
        lambda tf: tf.sparse_segment_sum([[1.0]], [0, 1], [0, 1]),
        lambda tf: tf.sparse_segment_sum([[1.0]], [0, 0], [-1, 0]),
        lambda tf: tf.unsorted_segment_sum([[1.0, 2.0]], [[0, 2]], 2),
        lambda tf: tf.unsorted_segment_max([1.0, 2.0], [-1, 2], 2),
        grad_of_mean([0, 10], [0, 0]),
        grad_of_mean([0, -1], [0, 0]),
        grad_of_mean([0, 1], [0, 3]),
        grad_of_mean([0, 1], [-1, 0]),
        reversed_parts([1], 0),
        reversed_parts([3]),
        reversed_parts([3], 4),
        reversed_parts([-3]),
        lambda tf: tf.cast("a", tf.int32),
        lambda tf: tf.sparse_segment_sum([1.0], [0], [2], num_segments=2),
        lambda tf: tf.cast(unknown(tf, 1), tf.string),
        lambda tf: tf.cast(1, tf.string),
    ],
)
def test_the_step_refuses(v1: Any, build: Build) -> None:
    assert outcome(v1, build)[0] in ("InvalidArgumentError", "UnimplementedError")
    compare(v1, [build])


@pytest.mark.parametrize(
    "sizes, message",
    [
        ([[[1, 2]], [[3, 4]]], "input 0 should be a vector, but got shape [1,2]"),
        (
            [[1, 2], [1, 3]],
            "All dimensions except 0 must match. Input 1 has shape [1 3] and doesn't match "
            "input 0 with shape [1 2].",
        ),
    ],
)
def test_the_offsets_of_joined_tensors_are_refused(sizes: Any, message: str) -> None:
    # TensorFlow 2.21 counts the inputs from 1 in the first message.
    with capstan.Graph().as_default(), capstan.Session() as session:
        offsets = array_ops.concat_offset(0, [unknown(capstan, each) for each in sizes])
        with pytest.raises(capstan.errors.InvalidArgumentError, match=re.escape(message)):
            session.run(offsets)


def test_rare_types_and_kernels_without_channels_are_tensorflows(v1: Any) -> None:
    compare(
        v1,
        [
            lambda tf: tf.diag([1 + 2j, 3]),
            lambda tf: tf.diag_part([[1 + 2j, 3], [4j, 5]]),
            lambda tf: tf.pad([["a"]], [[0, 1], [1, 0]]),
            lambda tf: tf.pad([["a"]], [[0, 1], [1, 0]], constant_values="x"),
            lambda tf: tf.pad([["a", "b", "c"]], [[0, 0], [1, 1]], "REFLECT"),
            lambda tf: tf.pad([[1j]], [[0, 1], [1, 0]], constant_values=2j),
            lambda tf: tf.random_uniform([2, 0], 0, 0, tf.int32),
            lambda tf: tf.bitcast([1 + 2j], tf.float64),
            lambda tf: tf.bitcast(tf.bitcast([1, 2], tf.qint32), tf.int32),
            lambda tf: tf.nn.conv2d_backprop_filter(
                tf.zeros([0, 2, 3, 3]), [1, 1, 3, 0], tf.zeros([0, 2, 3, 0]), [1, 1, 1, 1], "VALID"
            ),
        ],
    )


def test_the_largest_numbers_of_channels_are_tensorflows(v1: Any) -> None:
    images = np.arange(16, dtype=np.float32).reshape(1, 2, 2, 4)
    compare(v1, [lambda tf: tf.nn.max_pool(images, [1, 1, 1, 2], [1, 1, 1, 2], "SAME")])


@pytest.mark.parametrize("shape", [[[5], [3]], 3])
def test_the_step_refuses_shapes_that_are_no_vectors(v1: Any, shape: Any) -> None:
    for tf in (v1, capstan):
        with tf.Graph().as_default(), tf.Session() as session:
            dense = tf.sparse_to_dense([1, 3], unknown(tf, shape), 1, -1)
            with pytest.raises(tf.errors.InvalidArgumentError, match="output_shape"):
                session.run(dense)
