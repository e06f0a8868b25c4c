"""The result of a run has the structure of its fetches, with the same types."""

import collections
from typing import Any, NamedTuple

import pytest
import strict

import capstan as tf
from capstan.client import fetches


class Pair(NamedTuple):
    first: Any
    second: Any


def test_each_structure_comes_back_with_its_own_types() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        one, two = tf.constant(1), tf.constant(2)
        cases: list[tuple[Any, Any]] = [
            ((one, two), (1, 2)),
            (Pair(one, two), Pair(1, 2)),
            ([one, two], [1, 2]),
            (((one, two), one), ((1, 2), 1)),
            ((Pair(one, two), one), (Pair(1, 2), 1)),
            (([one, two], one), ([1, 2], 1)),
            ([[Pair(one, two)]], [[Pair(1, 2)]]),
        ]
        for fetches, expected in cases * 2:
            assert described(session.run(fetches)) == described(expected)


def described(nest: Any) -> Any:
    """Return a nest with its types, so that a named tuple does not equal a plain one."""
    if isinstance(nest, list | tuple):
        return type(nest), [described(element) for element in nest]
    return int(nest)


@pytest.mark.parametrize(
    "make",
    [dict, collections.OrderedDict, lambda items: collections.defaultdict(list, items)],
)
def test_a_dictionary_comes_back_as_the_same_class(make: Any) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        fetched = make({"one": tf.constant(1), "two": [tf.constant(2)]})
        found = session.run(fetched)
        assert type(found) is type(fetched)
        assert found == {"one": 1, "two": [2]}


def test_equal_structures_are_resolved_once() -> None:
    def nest(x: Any) -> Any:
        slices = tf.IndexedSlices(x, x)
        return {"a": [x, {"b": (x, "x:0")}], "c": slices}

    with tf.Graph().as_default():
        x, y = tf.placeholder(tf.float32, name="x"), tf.placeholder(tf.float32, name="y")
        assert fetches.structure(nest(x)) == fetches.structure(nest(x))
        assert hash(fetches.structure(nest(x))) == hash(fetches.structure(nest(x)))
        others = [nest(y), [x], (x,), {"a": x}, {"b": x}, collections.OrderedDict(a=x), x, []]
        assert len({fetches.structure(other) for other in [*others, nest(x)]}) == len(others) + 1


def test_a_variable_of_32_bit_integers_is_fetched_through_a_node_of_a_device() -> None:
    with strict.installed(), tf.Graph().as_default(), tf.Session() as session:
        v = tf.get_variable("v", initializer=[3, 4], use_resource=True)
        with tf.device("/gpu:0"):
            copied = tf.identity(v.value())
        session.run(v.initializer)
        # Such integers are in host memory on every device, and so is the copy of the variable.
        assert session.run(copied).tolist() == [3, 4]
