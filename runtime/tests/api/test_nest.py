"""`tf.nest` takes structures apart and puts them together, as TensorFlow does."""

import collections
from typing import Any

import pytest

import capstan as tf
from capstan.python.util import nest

Point = collections.namedtuple("Point", "x y")
SAMPLE = {"b": (1, [2, Point(3, 4)]), "a": [], "c": "text"}
SPARSE = tf.SparseTensor([[0]], [1.0], [3])


def test_leaves_are_in_the_order_of_the_keys_and_go_back_to_their_places() -> None:
    leaves = tf.nest.flatten(SAMPLE)
    assert leaves == [1, 2, 3, 4, "text"]
    doubled = tf.nest.pack_sequence_as(SAMPLE, [leaf * 2 for leaf in leaves])
    assert doubled == {"b": (2, [4, Point(6, 8)]), "a": [], "c": "texttext"}
    assert tf.nest.map_structure(lambda leaf: leaf * 2, SAMPLE) == doubled
    assert list(doubled) == list(SAMPLE)
    assert isinstance(doubled["b"][1][1], Point)


def test_a_value_that_is_no_structure_is_a_leaf() -> None:
    for leaf in ("text", 3, None, {1, 2}):
        assert not tf.nest.is_nested(leaf)
        assert tf.nest.flatten(leaf) == [leaf]
        assert tf.nest.pack_sequence_as(leaf, ["new"]) == "new"
    assert nest.is_sequence is tf.nest.is_nested
    assert tf.contrib.framework.nest is tf.nest


def test_a_sparse_tensor_is_a_leaf_unless_composites_are_expanded() -> None:
    assert tf.nest.flatten([SPARSE]) == [SPARSE]
    parts = tf.nest.flatten([SPARSE], expand_composites=True)
    assert parts == [SPARSE.indices, SPARSE.values, SPARSE.dense_shape]
    (again,) = tf.nest.pack_sequence_as([SPARSE], parts, expand_composites=True)
    assert isinstance(again, tf.SparseTensor)
    assert again.values is SPARSE.values


@pytest.mark.parametrize(
    "one, other, error, message",
    [
        ([1, 2], [1], ValueError, "don't have the same number of elements"),
        ([1, 2], (1, 2), TypeError, "don't have the same sequence type"),
        ({"a": 1}, {"b": 1}, ValueError, "don't have the same set of keys"),
        ([1, [2]], [1, 2], ValueError, "is a sequence, while substructure"),
        (Point(1, 2), (1, 2), TypeError, "don't have the same sequence type"),
    ],
)
def test_structures_that_differ_are_refused(
    one: Any, other: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=f"same nested structure(?s:.)*{message}"):
        tf.nest.assert_same_structure(one, other)
    with pytest.raises(error, match=message):
        tf.nest.map_structure(lambda *leaves: leaves, one, other)


def test_types_matter_only_if_they_are_checked() -> None:
    tf.nest.assert_same_structure([1, (2, 3)], (4, [5, 6]), check_types=False)
    assert tf.nest.map_structure(max, [1, 2], (3, 0), check_types=False) == [3, 2]
    alike = collections.namedtuple("Point", "x y")
    tf.nest.assert_same_structure(Point(1, 2), alike(3, 4))
    tf.nest.assert_same_structure({"a": 1}, collections.OrderedDict(a=2))


@pytest.mark.parametrize(
    "structure, leaves, error",
    [([1, 2], [1], ValueError), (1, [1, 2], ValueError), ([1], 1, TypeError)],
)
def test_leaves_that_do_not_fit_are_refused(structure: Any, leaves: Any, error: Any) -> None:
    with pytest.raises(error):
        tf.nest.pack_sequence_as(structure, leaves)


def test_a_function_and_a_structure_are_needed() -> None:
    with pytest.raises(TypeError, match="func must be callable"):
        tf.nest.map_structure(1, [1])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="at least one structure"):
        tf.nest.map_structure(max)


def test_a_view_of_a_dict_is_a_list_in_its_order() -> None:
    values = {"b": 1, "a": [2, 3]}.values()
    assert tf.nest.flatten(values) == [1, 2, 3]
    assert tf.nest.map_structure(lambda leaf: leaf + 1, values) == [2, [3, 4]]
    with tf.Graph().as_default():
        variables = {name: tf.get_variable(name, []) for name in "ba"}
        optimizer = tf.train.GradientDescentOptimizer(1.0)
        pairs = optimizer.compute_gradients(variables["a"] * variables["b"], variables.values())
        assert [variable for _, variable in pairs] == list(variables.values())
