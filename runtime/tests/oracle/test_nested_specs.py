"""The types of datasets, optionals and IndexedSlices, as in TensorFlow."""

from collections.abc import Callable
from typing import Any

import genuine
import numpy as np
import pytest

import capstan as tf

pytestmark = genuine.MARKS

SHAPES = [None, [4, 2], [None, 2]]


def made(tf: Any) -> list[Any]:
    """Return types of each kind."""
    parts = [tf.TensorSpec(shape, tf.int32) for shape in SHAPES]
    pair = (parts[1], {"a": tf.TensorSpec([], tf.string)})
    wider = (parts[2], {"a": tf.TensorSpec([], tf.string)})
    other = (tf.TensorSpec([], tf.float32), {"a": tf.TensorSpec([], tf.string)})
    inner = (parts[1], {"a": tf.TensorSpec([], tf.int32)})
    return [
        *(tf.data.DatasetSpec(each) for each in (*parts, pair, wider, other, inner)),
        tf.data.DatasetSpec(parts[0], [3]),
        *(tf.OptionalSpec(each) for each in (*parts, pair, wider)),
        *(tf.IndexedSlicesSpec(shape, tf.int32) for shape in SHAPES),
        tf.IndexedSlicesSpec([4, 2], tf.float32, tf.int32),
        tf.IndexedSlicesSpec([4, 2], tf.float32, tf.int64, tf.int64, [3]),
        tf.IndexedSlicesSpec(),
    ]


def kept(tf: Any) -> list[Any]:
    """Return values of each kind."""
    rows = tf.constant([[1, 2]])
    return [
        tf.data.Dataset.from_tensors(np.zeros([4, 2], np.int32)),
        tf.data.experimental.Optional.from_value(np.zeros([4, 2], np.int32)),
        tf.IndexedSlices(rows, tf.constant([0], tf.int64)),
        tf.IndexedSlices(tf.cast(rows, tf.float32), tf.constant([0], tf.int64)),
    ]


def facts(tf: Any) -> list[Any]:
    found: list[Any] = []
    specs, values = made(tf), kept(tf)
    for number, one in enumerate(specs):
        found.append([number, *(one.is_compatible_with(other) for other in (*specs, *values))])
        found.append([one == other for other in specs])
        found.append([len({one, other}) for other in specs])
        for other in specs:
            try:
                both = one.most_specific_compatible_type(other)
            except (TypeError, ValueError):
                found.append("error")
            else:
                found.append([both == each for each in specs])
    return found


def test_types_of_structures_are_equal_and_compatible_as_in_tensorflow(v1: Any) -> None:
    with v1.Graph().as_default():
        expected = facts(v1)
    with tf.Graph().as_default():
        found = facts(tf)
    for ours, theirs in zip(found, expected, strict=True):
        assert ours == theirs


def fetched(tf: Any, program: Callable[[Any], Any]) -> Any:
    """Return the elements of the dataset that a program makes, or the name of its error."""
    with tf.Graph().as_default(), tf.Session() as session:
        try:
            dataset = program(tf)
        except (TypeError, ValueError, NotImplementedError) as error:
            return type(error).__name__
        following = tf.data.make_one_shot_iterator(dataset).get_next()
        found = []
        while True:
            try:
                found.append(session.run(following).tolist())
            except tf.errors.OutOfRangeError:
                return found


def through_optional(tf: Any) -> Any:
    dataset = tf.data.Dataset.from_tensors(
        tf.data.experimental.Optional.from_value((np.arange(3), np.float32(2)))
    )
    return dataset.map(lambda optional: optional.get_value()[0]).repeat(2)


def through_legacy(tf: Any) -> Any:
    windows = tf.data.Dataset.range(5).window(2)
    return windows.flat_map(lambda window: window)


def batched_datasets(tf: Any) -> Any:
    windows = tf.data.Dataset.range(7).window(2)
    return windows.batch(3).apply(tf.data.experimental.unbatch()).flat_map(lambda window: window)


def sliced_datasets(tf: Any) -> Any:
    return tf.data.Dataset.from_tensor_slices(tf.data.Dataset.range(3))


@pytest.mark.parametrize(
    "program",
    [through_optional, through_legacy, batched_datasets, sliced_datasets],
)
def test_datasets_hold_datasets_and_optionals_as_in_tensorflow(v1: Any, program: Any) -> None:
    assert fetched(tf, program) == fetched(v1, program)


def test_the_types_of_a_nested_dataset_are_its_specification() -> None:
    windows = tf.data.Dataset.range(5).window(2)
    spec = tf.data.DatasetSpec(tf.TensorSpec([], tf.int64))
    assert spec == tf.data.experimental.DatasetStructure.from_value(tf.data.Dataset.range(3))
    assert windows.element_spec == spec
    assert [windows.output_types, windows.output_shapes, windows.output_classes] == [spec] * 3
    iterator = tf.data.Iterator.from_structure(
        windows.output_types, windows.output_shapes, output_classes=windows.output_classes
    )
    initializer = iterator.make_initializer(windows)
    total = iterator.get_next().reduce(np.int64(0), lambda total, each: total + each)
    with tf.Session() as session:
        session.run(initializer)
        assert [session.run(total) for _ in range(3)] == [1, 5, 4]
    assert repr(spec).startswith("DatasetSpec(TensorSpec(shape=()")


def test_older_names_make_the_same_types() -> None:
    experimental = tf.data.experimental
    structure = experimental.TensorArrayStructure(tf.int32, [2], True, False)
    assert structure == tf.TensorArraySpec([2], tf.int32, True, False)
    assert experimental.OptionalStructure is tf.OptionalSpec
    optional = experimental.Optional.from_value(3)
    assert tf.OptionalSpec.from_value(optional) == tf.OptionalSpec(optional.value_structure)
    assert tf.OptionalSpec(tf.TensorSpec([])).value_type is experimental.Optional
    assert tf.data.DatasetSpec(tf.TensorSpec([])).value_type is tf.data.Dataset
    slices = tf.IndexedSlices(tf.constant([1.0]), tf.constant([0]), tf.constant([5]))
    spec = tf.IndexedSlicesSpec.from_value(slices)
    assert spec == tf.IndexedSlicesSpec([5], tf.float32, tf.int32, tf.int32, [1])
    assert spec.value_type is tf.IndexedSlices
    with pytest.raises(ValueError, match="rank"):
        tf.IndexedSlicesSpec(indices_shape=[2, 2])
    with pytest.raises(NotImplementedError, match="An optional has no slices"):
        tf.data.Dataset.from_tensor_slices(optional)
    with pytest.raises(NotImplementedError, match="An optional cannot be batched"):
        tf.data.Dataset.from_tensors(optional).batch(2)
