"""Maps from tensors to tensors hold what they hold in TensorFlow."""

import importlib
from collections.abc import Callable
from typing import Any

import genuine
import numpy as np
import pytest

import capstan

pytestmark = genuine.MARKS


class Maps:
    """The operations on maps of a module."""

    def __init__(self, tf: Any) -> None:
        self._raw, self._tf = tf.raw_ops, tf

    def of(self, *pairs: Any) -> Any:
        made = self._raw.EmptyTensorMap()
        for key, value in pairs:
            made = self._raw.TensorMapInsert(input_handle=made, key=key, value=value)
        return made

    def get(self, made: Any, key: Any, dtype: Any = "float32") -> Any:
        kind = self._tf.as_dtype(dtype)
        return self._raw.TensorMapLookup(input_handle=made, key=key, value_dtype=kind)

    def without(self, made: Any, key: Any) -> Any:
        kind = self._tf.float32
        return self._raw.TensorMapErase(input_handle=made, key=key, value_dtype=kind)

    def has(self, made: Any, key: Any) -> Any:
        return self._raw.TensorMapHasKey(input_handle=made, key=key)

    def size(self, made: Any) -> Any:
        return self._raw.TensorMapSize(input_handle=made)

    def keys(self, made: Any, dtype: Any) -> Any:
        keys = self._raw.TensorMapStackKeys(input_handle=made, key_dtype=self._tf.as_dtype(dtype))
        return self._tf.sort(keys)


def values(tf: Any) -> Any:
    maps = Maps(tf)
    one = maps.of((1, [1.0, 2.0]), (2, [3.0]), (1, [5.0]))
    words = maps.of(("a", 7), (["a", "b"], 8), ([1.5], 9))
    less = maps.without(one, 2)
    return [
        *(maps.size(each) for each in (maps.of(), one, words, less)),
        *(maps.get(one, 1), maps.get(one, 2), maps.get(words, ["a", "b"], "int32")),
        maps.get(words, [1.5], "int32"),
        *(maps.has(one, 2), maps.has(less, 2), maps.has(one, np.int64(2)), maps.has(words, "b")),
        *(maps.keys(one, "int32"), maps.keys(less, "int32")),
    ]


def sums(tf: Any) -> Any:
    maps = Maps(tf)
    total = tf.add_n([maps.of((1, [1.0]), (2, [3.0])), maps.of((2, [4.0]), (3, [5.0]))])
    zeros = tf.zeros_like(total)
    return [maps.size(total), *(maps.get(total, key) for key in (1, 2, 3)), maps.size(zeros)]


def through_a_loop(tf: Any) -> Any:
    maps = Maps(tf)

    def body(i: Any, made: Any) -> Any:
        inserted = tf.raw_ops.TensorMapInsert(
            input_handle=made, key=i, value=tf.cast(i * i, tf.float32)
        )
        return i + 1, inserted

    _, made = tf.while_loop(lambda i, _: i < 5, body, [0, maps.of()])
    return [maps.size(made), maps.get(made, 4), maps.keys(made, "int32")]


def of_one(tf: Any, use: Callable[[Maps, Any], Any]) -> Any:
    maps = Maps(tf)
    return [use(maps, maps.of((1, [1.0])))]


def slopes(tf: Any) -> Any:
    """Return gradients of values that were read, replaced, removed and left alone."""
    if tf is not capstan:
        importlib.import_module("tensorflow.python.ops.map_ops")  # it registers the gradients
    maps = Maps(tf)
    x, y, z = (tf.constant(each) for each in ([1.0, 2.0], [3.0], [5.0]))
    one = maps.of((1, x * x), (2, y), (3, z))
    other = tf.raw_ops.TensorMapInsert(input_handle=one, key=2, value=z * z)
    less = maps.without(other, 3)
    read = maps.get(one, 1) + maps.get(less, 1) * maps.get(less, 2) + maps.get(one, 3)
    return tf.gradients(read, [x, y, z])


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "values": values,
    "sums": sums,
    "a loop": through_a_loop,
    "gradients": slopes,
    "a missing key": lambda tf: of_one(tf, lambda maps, made: maps.get(made, 2)),
    "a missing item": lambda tf: of_one(tf, lambda maps, made: maps.size(maps.without(made, 2))),
    "no keys": lambda tf: of_one(tf, lambda maps, made: maps.keys(maps.of(), "int32")),
    "keys of another type": lambda tf: of_one(tf, lambda maps, made: maps.keys(made, "int64")),
    "keys of two shapes": lambda tf: of_one(
        tf, lambda maps, made: maps.keys(maps.of((1, [1.0]), ([1], [1.0])), "int32")
    ),
}


def outcome(tf: Any, name: str, target: str = "") -> Any:
    with tf.Graph().as_default(), tf.device("/job:worker/task:0" if target else None):
        fetches = PROGRAMS[name](tf)
        with tf.Session(target) as session:
            try:
                return [(each.dtype, each.tolist()) for each in session.run(fetches)]
            except tf.errors.OpError as error:
                return type(error).__name__


@pytest.mark.parametrize("name", PROGRAMS)
def test_maps_are_those_of_tensorflow(v1: Any, tasks: genuine.Tasks, name: str) -> None:
    expected = outcome(v1, name)
    assert outcome(capstan, name) == expected
    assert outcome(v1, name, tasks.target()) == expected


def test_a_map_travels_between_tasks(v1: Any, tasks: genuine.Tasks) -> None:
    with v1.Graph().as_default():
        maps = Maps(v1)
        with v1.device("/job:ps/task:0"):
            made = maps.of((1, [1.0, 2.0]), ("a", [3.0]))
        with v1.device("/job:worker/task:0"):
            fetches = [maps.get(made, 1), maps.get(made, "a"), maps.size(made)]
        with v1.Session(tasks.target()) as session:
            found = [value.tolist() for value in session.run(fetches)]
    assert found == [[1, 2], [3], 2]
