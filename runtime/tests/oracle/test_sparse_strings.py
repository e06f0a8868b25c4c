"""Serialized sparse tensors and the distances of sparse sequences are those of TensorFlow."""

import importlib
from typing import Any

import genuine
import pytest
from oracle_tables import compare, outcome

import capstan

pytestmark = genuine.MARKS
INDICES = [[0, 0], [0, 2], [1, 1], [3, 0], [3, 1]]


def sparse(v1: Any, values: Any = (1, 2, 3, 4, 5), indices: Any = INDICES, size: int = 4) -> Any:
    return v1.SparseTensor(indices, v1.constant(list(values)), [size, 3])


def parts(found: Any) -> list[Any]:
    return [found.indices, found.values, found.dense_shape]


def test_serialized_sparse_tensors_are_tensorflows(v1: Any) -> None:
    compare(
        v1,
        [
            lambda v1: parts(v1.deserialize_many_sparse(
                v1.serialize_many_sparse(sparse(v1)), v1.int32)),
            lambda v1: parts(v1.io.deserialize_many_sparse(
                v1.stack([v1.serialize_sparse(sparse(v1, "abcde")),
                          v1.serialize_sparse(sparse(v1, "vwxyz", size=6))]), v1.string, rank=3)),
        ],
    )  # fmt: skip


def test_each_package_reads_what_the_other_has_serialized(v1: Any) -> None:
    for writer, reader in ((v1, capstan), (capstan, v1)):
        with writer.Graph().as_default(), writer.Session() as session:
            value = writer.SparseTensorValue(INDICES, [0.5, 1.5, 2.5, 3.5, 4.5], [4, 3])
            single = session.run(writer.serialize_sparse(sparse(writer, "abcde")))[None]
            many = session.run(writer.io.serialize_many_sparse(value))
        assert many.shape == (4, 3)
        with reader.Graph().as_default(), reader.Session() as session:
            found = [
                reader.deserialize_many_sparse(single, reader.string, rank=3),
                reader.io.deserialize_many_sparse(many, reader.float32),
            ]
            words, numbers = session.run(found)
        assert words.values.tolist() == [b"a", b"b", b"c", b"d", b"e"]
        assert words.indices.tolist() == [[0, *index] for index in INDICES]
        assert numbers.indices.tolist() == INDICES
        assert numbers.values.tolist() == value.values
        assert numbers.dense_shape.tolist() == [4, 3]


def test_a_vector_of_a_sparse_tensor_is_read_as_by_tensorflow(v1: Any) -> None:
    package = importlib.import_module("tensorflow.python.ops.sparse_ops")
    ours = importlib.import_module("capstan.python.ops.sparse_ops")
    for variant in (False, True):

        def restored(v1: Any, variant: bool = variant) -> list[Any]:
            ops = ours if v1 is capstan else package
            kind = v1.variant if variant else v1.string
            text = v1.serialize_sparse(sparse(v1), out_type=kind)
            found = ops.deserialize_sparse(text, v1.int32, rank=2)
            assert found.indices.shape.as_list() == [None, 2]
            return parts(found)

        compare(v1, [restored])


@pytest.mark.parametrize("function", ["serialize_sparse", "serialize_many_sparse"])
def test_only_sparse_tensors_are_serialized(v1: Any, function: str) -> None:
    for tf in (v1, capstan):
        with tf.Graph().as_default(), pytest.raises(TypeError):
            getattr(tf, function)(tf.constant([1]))


@pytest.mark.parametrize(
    "indices, values, shape",
    [([1], [1], [1]), ([[1]], [[1]], [1]), ([[1]], [1], [[2]]), ([[1]], [1], [2])],
)
def test_wrong_parts_of_a_sparse_tensor_are_refused_in_tensorflows_words(
    v1: Any, indices: Any, values: Any, shape: Any
) -> None:
    def wrong(v1: Any) -> Any:
        tensors = [
            v1.placeholder_with_default(v1.constant(part, dtype), None)
            for part, dtype in ((indices, v1.int64), (values, v1.int32), (shape, v1.int64))
        ]
        return v1.serialize_many_sparse(v1.SparseTensor(*tensors))

    assert outcome(v1, wrong)[0] == "InvalidArgumentError"
    compare(v1, [wrong])


def test_serialized_sparse_tensors_that_do_not_fit_are_refused_in_tensorflows_words(
    v1: Any,
) -> None:
    def stacked(v1: Any, *sparse_tensors: Any) -> Any:
        texts = [v1.serialize_sparse(v1.SparseTensor(*each)) for each in sparse_tensors]
        return v1.deserialize_many_sparse(v1.stack(texts), v1.int32).values

    compare(
        v1,
        [
            lambda v1: v1.deserialize_many_sparse(v1.constant([["a", "b", "c"]]), v1.int32).values,
            lambda v1: stacked(v1, ([[1]], [1.5], [2])),
            lambda v1: stacked(v1, ([[1]], [1], [2]), ([[1, 0]], [1], [2, 2])),
        ],
    )
    for tf in (v1, capstan):
        with tf.Graph().as_default():
            with pytest.raises(ValueError, match="Shape must be rank 2 but is rank 1"):
                tf.deserialize_many_sparse(tf.constant(["a", "b", "c"]), tf.int32)
            with pytest.raises(ValueError, match="Dimension must be 3 but is 2"):
                tf.deserialize_many_sparse(tf.constant([["a", "b"]]), tf.int32)


OTHER = [[0, 0], [1, 0], [1, 1], [2, 2], [3, 1]]
ROW = [[0, 0, 0], [0, 0, 1], [0, 1, 0], [1, 1, 0]]


def row(v1: Any, values: Any, shape: Any = (2, 2, 2)) -> Any:
    return v1.SparseTensor(ROW, v1.constant(values), list(shape))


@pytest.mark.parametrize("normalize", [False, True])
def test_distances_are_tensorflows(v1: Any, normalize: bool) -> None:
    def distance(v1: Any, one: Any, other: Any) -> Any:
        return v1.edit_distance(one, other, normalize)

    compare(
        v1,
        [
            lambda v1: distance(v1, sparse(v1), sparse(v1)),
            lambda v1: distance(v1, sparse(v1), sparse(v1, indices=OTHER)),
            lambda v1: distance(v1, sparse(v1, indices=OTHER), sparse(v1, (4, 2, 3, 1, 5))),
            lambda v1: distance(v1, sparse(v1, "abcde"), sparse(v1, "abdee", size=6)),
            lambda v1: distance(v1, sparse(v1, "abcde", OTHER, 5), sparse(v1, "abdee")),
            lambda v1: distance(v1, row(v1, [1.0, 2.0, 3.0, 4.0]), row(v1, [2.0, 1.0, 3.0, 5.0])),
            lambda v1: distance(v1, row(v1, [1, 2, 3, 4]), row(v1, [1, 2, 3, 4], (2, 3, 9))),
            lambda v1: distance(
                v1,
                v1.SparseTensor(v1.zeros([0, 2], v1.int64), v1.zeros([0]), [2, 3]),
                v1.SparseTensor(v1.zeros([0, 2], v1.int64), v1.zeros([0]), [3, 2]),
            ),
        ],
    )


def test_the_distance_of_long_sequences_is_tensorflows(v1: Any) -> None:
    def distance(v1: Any) -> Any:
        sequences = []
        for step, length in ((7, 40), (11, 33)):
            values = [number * step % 5 for number in range(length)]
            places = [[0, number] for number in range(length)]
            sequences.append(v1.SparseTensor(places, v1.constant(values), [1, 50]))
        return v1.edit_distance(*sequences, normalize=False)

    compare(v1, [distance])


def test_static_shapes_of_distances_are_tensorflows(v1: Any) -> None:
    shapes = []
    for tf in (v1, capstan):
        with tf.Graph().as_default():
            unknown = tf.sparse_placeholder(tf.int32)
            pairs = [(sparse(tf), sparse(tf, size=6)), (sparse(tf), unknown)]
            found = [tf.edit_distance(one, other).shape for one, other in pairs]
            shapes.append([each.as_list() if each.ndims is not None else None for each in found])
    assert shapes[0] == shapes[1] == [[6], None]


def test_sequences_that_do_not_fit_are_refused_as_by_tensorflow(v1: Any) -> None:
    def fed(v1: Any, indices: Any, values: Any, shape: Any) -> Any:
        return v1.SparseTensor(
            v1.placeholder_with_default(v1.constant(indices, v1.int64), None),
            v1.placeholder_with_default(values, None),
            v1.placeholder_with_default(v1.constant(shape, v1.int64), None),
        )

    for case in (
        lambda v1: parts(
            v1.deserialize_many_sparse(v1.serialize_many_sparse(sparse(v1)), v1.float32)
        ),
        lambda v1: parts(v1.deserialize_many_sparse([["a", "b", "c"]], v1.float32))[0],
        lambda v1: v1.edit_distance(fed(v1, [[0, 0]], [1], [2, 2]), fed(v1, [[0]], [1], [2])),
        lambda v1: v1.edit_distance(fed(v1, [[5, 0]], [1], [2, 2]), fed(v1, [[0, 0]], [1], [2, 2])),
        lambda v1: v1.edit_distance(fed(v1, [[0, 0]], [1, 2], [2, 2]), sparse(v1)),
        lambda v1: v1.edit_distance(fed(v1, [0, 0], [1], [2, 2]), sparse(v1)),
        lambda v1: v1.edit_distance(v1.constant([1]), sparse(v1)),
        lambda v1: v1.edit_distance(sparse(v1), [[1]]),
        lambda v1: v1.edit_distance(sparse(v1), row(v1, [1, 2, 3, 4])),
        lambda v1: v1.edit_distance(sparse(v1), sparse(v1, "abcde")),
    ):
        expected, found = outcome(v1, case), outcome(capstan, case)
        assert isinstance(expected, tuple), expected
        assert found[0] == expected[0], (found, expected)
