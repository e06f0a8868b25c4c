"""A read of a variable on another task gives the value after the changes ordered before it."""

from collections.abc import Callable
from typing import Any

import clusters
import pytest

import capstan as tf
from capstan.framework.raw import raw

PS = "/job:ps/task:1"
WORKER = "/job:worker/task:0"


@pytest.fixture(scope="module")
def target() -> str:
    return clusters.start(ps=2, worker=1)["worker:0"].target


READS: dict[str, Callable[[Any, Any], Any]] = {
    "identity": lambda ref, after: raw.Identity(ref),
    "sum": lambda ref, after: raw.Add(ref, after) - after,
    "sum without control": lambda ref, after: raw.Add(after, ref) - after,
    "cond": lambda ref, after: tf.cond(
        after > 0, lambda: raw.Identity(ref), lambda: tf.constant(-1.0)
    ),
}


@pytest.mark.e2e
@pytest.mark.parametrize("how", READS)
@pytest.mark.parametrize("reader", [WORKER, "/job:ps/task:0", PS, None])
@pytest.mark.parametrize("is_branch", [False, True])
def test_a_read_that_is_ordered_after_a_change_gives_the_new_value(
    target: str, how: str, reader: str | None, is_branch: bool
) -> None:
    with tf.Graph().as_default():
        with tf.device(PS):
            n = raw.VariableV2(dtype=tf.float32, shape=[])
            start = raw.Assign(n, 0.0)
        p, x = tf.placeholder(tf.bool, []), tf.placeholder(tf.float32, [])

        def change() -> Any:
            with tf.control_dependencies([raw.AssignAdd(n, 1.0)]), tf.device(WORKER):
                return x + 10.0

        with tf.device(WORKER):
            after = tf.cond(p, lambda: x * 2.0, change) if is_branch else change()
        waits = [] if how == "sum without control" else [after]
        with tf.control_dependencies(waits), tf.device(reader):
            read = READS[how](n, after)
        with tf.Session(target) as session:
            session.run(start)
            assert [session.run(read, {p: False, x: 1.0}) for _ in range(3)] == [1, 2, 3]
