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
    assert tf.contrib.framework.nest.flatten is tf.nest.flatten


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


TREE = {"a": [1, 2], "b": {"c": (3, Point(4, 5))}}
SHALLOW = {"a": 0, "b": {"c": (0, 0)}}


def test_each_leaf_has_a_path() -> None:
    assert nest.flatten_with_tuple_paths(TREE)[3] == (("b", "c", 1, "x"), 4)
    assert nest.flatten_with_joined_string_paths(TREE, ".")[3] == ("b.c.1.x", 4)
    assert list(nest.yield_flat_paths([7, [8]])) == [(0,), (1, 0)]
    assert list(nest.yield_flat_paths(7)) == [()]


@pytest.mark.parametrize(
    "shallow, tree, parts",
    [
        (SHALLOW, TREE, [[1, 2], 3, Point(4, 5)]),
        ([0, 0], [1, [2]], [1, [2]]),
        (Point(0, 0), Point([1], 2), [[1], 2]),
        (0, TREE, [TREE]),
    ],
)
def test_a_shallow_structure_takes_another_apart(shallow: Any, tree: Any, parts: Any) -> None:
    assert nest.flatten_up_to(shallow, tree) == parts


@pytest.mark.parametrize(
    "shallow, tree, error, message",
    [
        ({"z": 0, "b": 0}, TREE, ValueError, r"not in the input_tree: \['z'\]"),
        (
            [0, [0]],
            [1, 2],
            TypeError,
            "must also be a sequence. Input has type: <class 'int'",
        ),
        ([0, 0], (1, [2]), TypeError, "Input structure has type <class 'tuple'>, while"),
        ([0], [1, 2], ValueError, "Input structure has length 2, while shallow structure has len"),
    ],
)
def test_a_structure_that_does_not_fit_a_shallow_structure_is_refused(
    shallow: Any, tree: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        nest.flatten_up_to(shallow, tree)


def test_a_shallow_structure_may_be_of_another_type_or_shorter_if_the_caller_says_so() -> None:
    assert nest.flatten_up_to([0, 0], (1, [2]), check_types=False) == [1, [2]]
    assert nest.flatten_up_to([0], [1, 2], check_subtrees_length=False) == [1]
    with pytest.raises(ValueError, match="fewer elements than the shallow_tree"):
        nest.flatten_up_to([0, 0], [1], check_subtrees_length=False)


def test_a_mapping_up_to_a_shallow_structure_keeps_the_shallow_structure() -> None:
    assert nest.map_structure_up_to([0, 0], len, [[1, 2, 3], [4]]) == [3, 1]
    shallow = nest.get_traverse_shallow_structure(lambda part: not isinstance(part, tuple), TREE)
    assert shallow == {"a": [True, True], "b": {"c": False}}
    assert nest.flatten_up_to(shallow, TREE) == [1, 2, (3, Point(4, 5))]
    with pytest.raises(ValueError, match="Cannot map over no sequences"):
        nest.map_structure_up_to([0], len)


def test_the_leaves_of_keys_and_values_become_a_flat_dict() -> None:
    assert nest.flatten_dict_items({(4, (6, 8)): ("a", ("c", "d"))}) == {4: "a", 6: "c", 8: "d"}
    with pytest.raises(ValueError, match="key 4 is not unique"):
        nest.flatten_dict_items({(4, 5): (1, 2), 4: 3})


def test_an_error_shows_the_structures_without_their_leaves() -> None:
    with pytest.raises(ValueError, match=r"first structure:\n\[\., \.\]\nEntire second"):
        tf.nest.assert_same_structure([1, 2], [1])
    with pytest.raises(ValueError, match="Only valid keyword arguments"):
        tf.nest.map_structure(str, [1], check=True)
    with pytest.raises(TypeError, match="sortable keys"):
        tf.nest.flatten({3: 1, "a": 2})


def test_a_function_may_read_the_path_of_each_leaf() -> None:
    named = nest.map_structure_with_paths("{}={}{}".format, {"a": [1, 2]}, {"a": [3, 4]})
    assert named == {"a": ["a/0=13", "a/1=24"]}
