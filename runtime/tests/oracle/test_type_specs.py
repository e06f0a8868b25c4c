"""`tf.TensorSpec` and the structures of datasets, as in TensorFlow."""

from typing import Any

import genuine
import numpy as np
import pytest

import capstan as tf

pytestmark = genuine.MARKS

SHAPES = [None, [], [2, 3], [None, 3], [2], [None]]


def facts(tf: Any) -> list[Any]:
    specs = [tf.TensorSpec(shape, tf.int32) for shape in SHAPES]
    specs.append(tf.TensorSpec([2], tf.float32))
    specs += [tf.SparseTensorSpec(shape, tf.int32) for shape in SHAPES] + [tf.SparseTensorSpec()]
    tensors = [tf.placeholder(tf.int32, shape) for shape in SHAPES]
    sparse = [
        tf.SparseTensor([[0, 0]], tf.constant([1]), [2, 3]),
        tf.sparse.placeholder(tf.int32, [None, 3]),
    ]
    found: list[Any] = []
    for one in specs:
        found.append((one.dtype.name, sizes(one.shape), one.value_type.__name__))
        found += [one.is_compatible_with(other) for other in (*specs, *tensors, *sparse)]
        for other in specs:
            found += [one == other, one != other, len({one, other})]
            try:
                both = one.most_specific_compatible_type(other)
            except ValueError:
                found.append("ValueError")
            else:
                found.append((sizes(both.shape), both.dtype.name))
    return found


def sizes(shape: Any) -> Any:
    return None if shape.ndims is None else tuple(shape.as_list())


def test_types_are_equal_and_compatible_as_in_tensorflow(v1: Any) -> None:
    with v1.Graph().as_default():
        expected = facts(v1)
    with tf.Graph().as_default():
        assert facts(tf) == expected


def test_a_type_describes_a_tensor(v1: Any) -> None:
    def described(tf: Any) -> list[Any]:
        tensor = tf.placeholder(tf.float64, [2, 3], name="x")
        own = tf.TensorSpec.from_tensor(tensor)
        other = tf.TensorSpec.from_tensor(tensor, "other")
        copies = [tf.TensorSpec.from_spec(own), tf.TensorSpec.from_spec(own, "third")]
        named = own.most_specific_compatible_type(own)
        with pytest.raises(ValueError, match=r"should be a tf\.Tensor"):
            tf.TensorSpec.from_tensor(3)
        with pytest.raises(TypeError):
            tf.TensorSpec([2], "no type")
        every = (own, other, *copies, named)
        return [(spec.name, sizes(spec.shape), spec.dtype.name, repr(spec)) for spec in every]

    with v1.Graph().as_default():
        expected = described(v1)
    with tf.Graph().as_default():
        assert described(tf) == expected


def structures(tf: Any) -> list[Any]:
    sparse = tf.SparseTensor([[0, 0], [1, 2]], [5, 6], [2, 3])
    dataset = tf.data.Dataset.from_tensor_slices(
        {"a": np.zeros((2, 3), np.float32), "b": (np.array([b"x", b"y"]), sparse)}
    )
    experimental = tf.data.experimental
    iterator = tf.data.make_one_shot_iterator(dataset.take(1))
    copy = experimental.from_variant(experimental.to_variant(dataset), dataset.element_spec)
    optional = experimental.get_next_as_optional(iterator)
    found = []
    for each in (dataset, copy, dataset.batch(2), iterator):
        spec = experimental.get_structure(each)
        assert isinstance(spec["a"], tf.TensorSpec)
        assert isinstance(spec["a"], experimental.Structure)
        assert isinstance(spec["b"][1], tf.SparseTensorSpec)
        parts = spec["a"], *spec["b"]
        found.append([(part.dtype.name, sizes(part.shape)) for part in parts])
    with pytest.raises(TypeError, match="must be a"):
        experimental.get_structure(3)
    spec = experimental.TensorStructure(tf.int64, [3])
    sparse_spec = experimental.SparseTensorStructure(tf.int64, [3])
    assert spec == tf.TensorSpec([3], tf.int64)
    assert sparse_spec == tf.SparseTensorSpec([3], tf.int64)
    element = tf.data.make_one_shot_iterator(copy).get_next()
    with tf.Session() as session:
        values = session.run([element["a"], element["b"][0], element["b"][1].values])
        found += [value.tolist() if hasattr(value, "tolist") else value for value in values]
        found.append(session.run(optional.has_value()))
    return found


def test_a_dataset_shows_the_structure_of_its_elements(v1: Any) -> None:
    with v1.Graph().as_default():
        expected = structures(v1)
    with tf.Graph().as_default():
        assert structures(tf) == expected


def test_types_of_two_names_have_a_common_type_without_a_name() -> None:
    """As in TensorFlow 1.15. In TensorFlow 2.21 they have none."""
    one, other = (tf.TensorSpec([2, size], name=f"size_{size}") for size in (3, 4))
    assert one != tf.TensorSpec([2, 3])
    assert one.most_specific_compatible_type(other) == tf.TensorSpec([2, None])


def test_an_optional_shows_the_structure_of_its_value() -> None:
    """TensorFlow 2.21 has other names for this."""
    with tf.Graph().as_default():
        dataset = tf.data.Dataset.range(3)
        iterator = tf.data.make_one_shot_iterator(dataset)
        optional = tf.data.experimental.get_next_as_optional(iterator)
        assert optional.value_structure == tf.TensorSpec([], tf.int64) == dataset.element_spec
        none = tf.data.experimental.Optional.none_from_structure(optional.value_structure)
        assert none.get_value().dtype == tf.int64
        with tf.Session() as session:
            assert session.run([optional.has_value(), none.has_value()]) == [True, False]
