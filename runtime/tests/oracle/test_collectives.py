"""Collective operations of the devices of one process compute what TensorFlow's compute."""

from collections.abc import Callable
from typing import Any

import genuine
import numpy as np
import pytest

from capstan.python.ops import collective_ops as ours

pytestmark = genuine.MARKS

COUNT = 2
Case = Callable[[Any, Any], Any]


def on_devices(tf: Any, build: Callable[[int], Any]) -> Any:
    """Return what the operations of two CPU devices compute, or the class of their error."""
    outputs = []
    for number in range(COUNT):
        with tf.device(f"/device:CPU:{number}"):
            outputs.append(build(number))
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": COUNT})) as session:
        return [(each.dtype.name, each.tolist()) for each in session.run(outputs)]


def reduced(dtype: str, merge_op: str, final_op: str) -> Case:
    def case(tf: Any, ops: Any) -> Any:
        values = np.array([[-7, 3, 5], [2, -8, 5]]).astype(dtype)
        return on_devices(
            tf,
            lambda number: ops.all_reduce(
                tf.constant(values[number]), COUNT, 1, 1, merge_op, final_op
            ),
        )

    return case


def gathered(tf: Any, ops: Any) -> Any:
    def build(number: int) -> Any:
        rows = tf.constant([[number, 1], [number, 2]])
        found = ops.all_gather(rows, COUNT, 1, 1)
        assert found.shape.as_list() == [4, 2]
        return found

    return on_devices(tf, build)


def sent(tf: Any, ops: Any) -> Any:
    def build(number: int) -> Any:
        if number:
            return ops.broadcast_send(tf.constant([1.5, 2.5]), [2], tf.float32, COUNT, 1, 1)
        return ops.broadcast_recv([2], tf.float32, COUNT, 1, 1)

    return on_devices(tf, build)


def refusals(tf: Any, ops: Any) -> Any:
    with tf.device("/device:CPU:0"):
        here = tf.constant([1.0])
    calls = [
        lambda: ops.broadcast_send(here, [2], tf.float32, 2, 1, 1),
        lambda: ops.broadcast_send(here, [1], tf.int32, 2, 1, 1),
        lambda: ops.all_reduce(here, 2, 1, 1, "And", "Id"),
        lambda: ops.all_reduce(here, 2, 1, 1, "Add", "Mod"),
    ]
    found = []
    for call in calls:
        with pytest.raises(Exception) as caught:
            call()
        found.append(type(caught.value).__name__)
    return found


CASES = {
    **{
        f"{merge} {final} {dtype}": reduced(dtype, merge, final)
        for dtype in ("float16", "float32", "float64", "int32", "int64")
        for merge in ("Add", "Mul")
        for final in ("Id", "Div")
    },
    "rows": gathered,
    "broadcast": sent,
    "refusals": refusals,
}


@pytest.mark.parametrize("name", CASES)
def test_collective_operations_are_those_of_tensorflow(name: str) -> None:
    import capstan

    theirs = genuine.tensorflow()
    from tensorflow.python.ops import collective_ops

    with theirs.Graph().as_default():
        expected = CASES[name](theirs.compat.v1, collective_ops)
    with capstan.Graph().as_default():
        assert CASES[name](capstan, ours) == expected
