"""MapDefun calls a function for each slice as in TensorFlow, and AutoShardDataset keeps a part."""

from collections.abc import Callable
from typing import Any

import genuine
import numpy as np
import pytest

import capstan
from capstan.api import function as capstan_function
from capstan.core import function as functions

pytestmark = genuine.MARKS


def mapped(tf: Any, body: Any, arguments: Any, shapes: Any, captured: Any = ()) -> Any:
    """Add a MapDefun. The function returns float32 and takes what `arguments` have."""
    given = [tf.convert_to_tensor(each) for each in arguments]
    more = [tf.convert_to_tensor(each) for each in captured]
    kinds = [each.dtype for each in (*given, *more)]
    defun = capstan_function.Defun
    if tf is not capstan:
        from tensorflow.python.framework import function

        defun = function.Defun
    made = defun(*kinds)(body)
    made.add_to_graph(tf.get_default_graph())
    return tf.raw_ops.MapDefun(
        arguments=given,
        captured_inputs=more,
        output_types=[tf.float32] * len(shapes),
        output_shapes=[tf.TensorShape(shape) for shape in shapes],
        f=functions.Reference(made.name) if tf is capstan else made,
    )


def fed(tf: Any, value: Any) -> Any:
    return tf.placeholder_with_default(np.asarray(value, np.float32), None)


ROWS = np.arange(6, dtype=np.float32).reshape(3, 2)
PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "one argument": lambda tf: mapped(tf, lambda x: x * 2.0, [ROWS], [[2]]),
    "numbers": lambda tf: mapped(tf, lambda x: x * 2.0, [ROWS[0]], [[]]),
    "two results": lambda tf: mapped(
        tf, lambda x, y: (x + y, tf.reduce_sum(x)), [ROWS, ROWS[:, 0]], [[2], []]
    ),
    "captured": lambda tf: mapped(tf, lambda x, w: x * w, [ROWS], [[2]], [[10.0, 100.0]]),
    "strings": lambda tf: mapped(
        tf, lambda x: tf.string_to_number(x), [np.array([b"1", b"2.5"], object)], [[]]
    ),
    "unknown sizes": lambda tf: mapped(tf, lambda x: x, [fed(tf, ROWS)], [[None]]),
    "no rows": lambda tf: mapped(tf, lambda x: x, [fed(tf, ROWS[:0])], [[2]]),
    "another shape": lambda tf: mapped(tf, lambda x: x, [fed(tf, ROWS)], [[3]]),
    "other rows": lambda tf: mapped(tf, lambda x, y: x, [fed(tf, ROWS), fed(tf, ROWS[:2])], [[2]]),
    "a scalar": lambda tf: mapped(tf, lambda x: x, [fed(tf, 1.0)], [[]]),
    "an error": lambda tf: mapped(
        tf, lambda x: tf.check_numerics(1.0 / x, "an error"), [ROWS], [[2]]
    ),
}


def outcome(tf: Any, program: Any, target: str = "") -> Any:
    with tf.Graph().as_default(), tf.device("/job:worker/task:0" if target else None):
        results = program(tf)
        shapes = [None if each.shape.ndims is None else each.shape.as_list() for each in results]
        with tf.Session(target) as session:
            try:
                return shapes, [value.tolist() for value in session.run(results)]
            except tf.errors.OpError as error:
                return shapes, type(error).__name__


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_function_is_called_for_each_slice(v1: Any, tasks: genuine.Tasks, name: str) -> None:
    expected = outcome(v1, PROGRAMS[name])
    assert outcome(capstan, PROGRAMS[name]) == expected
    assert outcome(v1, PROGRAMS[name], tasks.target()) == expected


def test_arguments_that_are_known_to_differ_are_refused(v1: Any) -> None:
    for tf in (capstan, v1):
        with tf.Graph().as_default():
            with pytest.raises(ValueError, match="must have the same dimension 0"):
                mapped(tf, lambda x, y: x, [ROWS, ROWS[:2]], [[2]])
            with pytest.raises(ValueError, match="Input 0 has rank of 0"):
                mapped(tf, lambda x: x, [1.0], [[]])


def shard(tf: Any, name: str, workers: int, index: int, policy: int) -> Any:
    dataset = tf.data.Dataset.range(7).map(lambda x: x * 2)
    return getattr(tf.raw_ops, name)(
        input_dataset=dataset._variant_tensor,
        num_workers=np.int64(workers),
        index=np.int64(index),
        auto_shard_policy=policy,
        output_types=[tf.int64],
        output_shapes=[tf.TensorShape([])],
    )


@pytest.mark.parametrize("policy", [-1, 0, 2])
@pytest.mark.parametrize(("workers", "index"), [(1, 0), (3, 0), (3, 2), (0, 0), (2, 2)])
@pytest.mark.parametrize("name", ["AutoShardDataset", "ExperimentalAutoShardDataset"])
def test_a_worker_keeps_its_part_of_a_dataset(
    v1: Any, name: str, workers: int, index: int, policy: int
) -> None:
    found = []
    for tf in (capstan, v1):
        with tf.Graph().as_default(), tf.Session() as session:
            part = shard(tf, name, workers, index, policy)
            options = {"output_types": [tf.int64], "output_shapes": [tf.TensorShape([])]}
            iterator = tf.raw_ops.IteratorV2(shared_name="part", container="", **options)
            begin = tf.raw_ops.MakeIterator(dataset=part, iterator=iterator)
            following = tf.raw_ops.IteratorGetNext(iterator=iterator, **options)
            values: list[Any] = []
            try:
                session.run(begin)
                while len(values) < 9:
                    values += [value.tolist() for value in session.run(following)]
            except tf.errors.OpError as error:
                values.append(type(error).__name__)
            found.append(values)
    assert found[0] == found[1]
