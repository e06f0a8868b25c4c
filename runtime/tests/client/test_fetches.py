"""What comes back from a run has the structure, and the types, of what was asked for."""

import collections
from typing import Any, NamedTuple

import pytest

import capstan as tf
from capstan.client import fetches


class Pair(NamedTuple):
    first: Any
    second: Any


def test_each_structure_comes_back_with_its_own_types() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        one, two = tf.constant(1), tf.constant(2)
        asked: list[tuple[Any, Any]] = [
            ((one, two), (1, 2)),
            (Pair(one, two), Pair(1, 2)),
            ([one, two], [1, 2]),
            (((one, two), one), ((1, 2), 1)),
            ((Pair(one, two), one), (Pair(1, 2), 1)),
            (([one, two], one), ([1, 2], 1)),
            ([[Pair(one, two)]], [[Pair(1, 2)]]),
        ]
        for fetches, expected in asked * 2:
            assert described(session.run(fetches)) == described(expected)


def described(nest: Any) -> Any:
    """A nest with its types, in which a named tuple does not equal a plain one."""
    if isinstance(nest, list | tuple):
        return type(nest), [described(item) for item in nest]
    return int(nest)


@pytest.mark.parametrize(
    "make",
    [dict, collections.OrderedDict, lambda items: collections.defaultdict(list, items)],
)
def test_a_dictionary_comes_back_as_the_same_class(make: Any) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        asked = make({"one": tf.constant(1), "two": [tf.constant(2)]})
        found = session.run(asked)
        assert type(found) is type(asked)
        assert found == {"one": 1, "two": [2]}


def test_equal_structures_are_resolved_once() -> None:
    def asked(x: Any) -> Any:
        slices = tf.IndexedSlices(x, x)
        return {"a": [x, {"b": (x, "x:0")}], "c": slices}

    with tf.Graph().as_default():
        x, y = tf.placeholder(tf.float32, name="x"), tf.placeholder(tf.float32, name="y")
        assert fetches.structure(asked(x)) == fetches.structure(asked(x))
        assert hash(fetches.structure(asked(x))) == hash(fetches.structure(asked(x)))
        others = [asked(y), [x], (x,), {"a": x}, {"b": x}, collections.OrderedDict(a=x), x, []]
        assert len({fetches.structure(one) for one in [*others, asked(x)]}) == len(others) + 1
