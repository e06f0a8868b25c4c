"""Assignments to slices of variables give the values, the names and the errors of TensorFlow."""

from collections.abc import Callable
from typing import Any

import genuine
import numpy as np
import pytest

import capstan

pytestmark = genuine.MARKS

INITIAL = np.arange(24, dtype=np.float32).reshape(2, 3, 4)

CHANGES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "block": lambda tf, v, n: v[:1, 1:3, ::2].assign(tf.ones([1, 2, 2])),
    "negative strides": lambda tf, v, n: v[::-1, -1:0:-1].assign(INITIAL[:, :2]),
    "element": lambda tf, v, n: v[1, 2, 3].assign(-1.0),
    "element of a known vector": lambda tf, v, n: v[1, 2, 3].assign([-1.0]),
    "index of a tensor": lambda tf, v, n: v[n, n:].assign(tf.zeros([2, 4])),
    "ellipsis": lambda tf, v, n: v[..., 1].assign(tf.fill([2, 3], 8.0)),
    "ellipsis and new axis": lambda tf, v, n: v[0, ..., None].assign(tf.fill([3, 4, 1], 8.0)),
    "new axis": lambda tf, v, n: v[None, 0, None, 2].assign(tf.fill([1, 1, 4], 8.0)),
    "by the function": lambda tf, v, n: tf.assign(v[0, 1:], tf.ones([2, 4]), name="change"),
    "all": lambda tf, v, n: v[...].assign(-INITIAL),
    "no element": lambda tf, v, n: v[1:1].assign(tf.zeros([0, 3, 4])),
    "no element of another shape": lambda tf, v, n: v[1:1].assign(tf.zeros([7])),
    "scalar": lambda tf, v, n: v[0].assign(5.0),
    "row": lambda tf, v, n: v[:, 1:].assign([1.0, 2.0, 3.0, 4.0]),
    "more axes": lambda tf, v, n: v[0].assign(tf.ones([1, 1, 3, 4])),
    "its own part": lambda tf, v, n: v[:, 1:].assign(v[:, :-1] + 0.5),
    "masks": lambda tf, v, n: tf.strided_slice(
        v, [1, 0, 5], [7, 2, 0], [1, 1, -1], begin_mask=2, end_mask=4, shrink_axis_mask=1,
        var=v, name="part",
    ).assign(tf.ones([2, 4])),
    "without strides": lambda tf, v, n: tf.strided_slice(
        v, [0, 1], [1, 2], var=v, name="part"
    ).assign(3.0, name="change"),
}  # fmt: skip

FAULTS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "size": lambda tf, v, n: v[0].assign(tf.ones([3, 2])),
    "axes": lambda tf, v, n: v[0].assign(tf.ones([2, 3, 4])),
    "index of a tensor": lambda tf, v, n: v[n + 6].assign(1.0),
}
"""Assignments that fail in a step."""

UNBUILT: dict[str, Callable[[Any, Any, Any], Any]] = {
    "outside": lambda tf, v, n: v[2].assign(1.0),
    "too many": lambda tf, v, n: v[0, 0, 0, 0].assign(1.0),
    "type": lambda tf, v, n: v[0].assign(tf.ones([], tf.int64)),
    "no variable": lambda tf, v, n: tf.identity(v)[0].assign(1.0),
}
"""Assignments that no graph can have."""


def changed(
    tf: Any, change: Callable[..., Any], use_resource: bool, target: str = "", device: str = ""
) -> list[Any]:
    """Run an assignment. Return its result, the variable after it, and the new operations."""
    with tf.Graph().as_default() as graph, tf.Session(target) as session:
        with tf.device(device):
            variable = tf.get_variable("v", initializer=INITIAL, use_resource=use_resource)
        number = tf.placeholder_with_default(1, [], name="n")
        with tf.name_scope("outer"):
            result = change(tf, variable, number)
        session.run(tf.global_variables_initializer())
        names = [
            (op.name, [each.name for each in op.inputs])
            for op in graph.get_operations()
            if op.type.endswith("StridedSliceAssign")
        ]
        return [session.run(result).tolist(), session.run(variable).tolist(), names]


@pytest.mark.parametrize("use_resource", [False, True])
def test_a_slice_gets_the_values_that_tensorflow_gives_it(
    v1: Any, tasks: genuine.Tasks, use_resource: bool
) -> None:
    for name, change in CHANGES.items():
        expected = changed(v1, change, use_resource)
        v1.Session.reset(tasks.target())
        for found in (
            changed(v1, change, use_resource, tasks.target(), "/job:ps/task:0"),
            changed(capstan, change, use_resource),
        ):
            # The client of TensorFlow 2 names its constants in another way than version 1.
            assert found[:2] == expected[:2], name
            assert [each for each, _ in found[2]] == [each for each, _ in expected[2]], name


@pytest.mark.parametrize("use_resource", [False, True])
def test_an_assignment_fails_as_in_tensorflow_and_changes_nothing(
    v1: Any, tasks: genuine.Tasks, use_resource: bool
) -> None:
    for change in FAULTS.values():
        with pytest.raises(v1.errors.InvalidArgumentError):
            changed(v1, change, use_resource)
        with pytest.raises(v1.errors.InvalidArgumentError):
            changed(v1, change, use_resource, tasks.target(), "/job:ps/task:0")
        with pytest.raises(capstan.errors.InvalidArgumentError, match="slice"):
            changed(capstan, change, use_resource)
    for change in UNBUILT.values():
        with pytest.raises((TypeError, ValueError, AttributeError)) as expected:
            changed(v1, change, use_resource)
        with pytest.raises(expected.type):
            changed(capstan, change, use_resource)
