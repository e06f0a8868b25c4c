"""A step that needs more memory than a GPU has: it fails, and the task goes on."""

from collections.abc import Iterator
from typing import Any

import accelerated
import clusters
import numpy as np
import pytest

import capstan as tf
from capstan.executor import repeats

LIMIT = 16 << 20
BIG = LIMIT // 4
"""The number of 4-byte elements that fills the memory."""
ENOUGH = repeats.CALLS_BEFORE + 3
"""Steps until a step has been repeated."""
FIGURES = r"arrays use \d+ of (its|the) \d+ bytes|allocated so far: [\d,]+ bytes, limit set to: "
"""What a message says about the memory of the GPU: in Capstan's words, or in CuPy's."""

pytestmark = [pytest.mark.e2e, pytest.mark.alone]


@pytest.fixture
def memory() -> Iterator[accelerated.Memory]:
    with tf.Graph().as_default(), accelerated.gpu(LIMIT) as found:
        yield found


def model(device: str) -> tuple[Any, Any]:
    """Return a placeholder of a number, and the result of a step that adds this number to a total.

    The step takes memory for the number of elements.
    """
    with tf.device(device):
        number = tf.placeholder(tf.int32, [1])
        total = tf.Variable(0.0)
        ones = tf.tile(tf.ones([1]), number)
        twos = tf.reshape(tf.stack([ones, ones]), [-1])
        return number, total.assign_add(tf.reduce_sum(twos) / 2.0)


def run_over_and_over(session: Any, number: Any, step: Any, memory: accelerated.Memory) -> None:
    """Run steps that fit, each group followed by one that does not. Keep all errors."""
    session.run(tf.global_variables_initializer())
    expected, kept, used = 0.0, [], []
    for _ in range(4):
        for _ in range(ENOUGH):
            expected += 1_000.0
            assert session.run(step, {number: [1_000]}) == expected
        used.append(memory.used_bytes())
        with pytest.raises(tf.errors.ResourceExhaustedError, match=FIGURES) as raised:
            session.run(step, {number: [BIG // 2]})
        kept.append(raised.value)
    # Two steps have memory of their own if the second begins very early.
    assert memory.used_bytes() < 2 * used[0]


def test_a_session_goes_on_after_a_step_that_does_not_fit(memory: accelerated.Memory) -> None:
    number, step = model("/gpu:0")
    with tf.Session() as session:
        run_over_and_over(session, number, step, memory)


def test_a_task_goes_on_after_a_step_of_another_task_that_does_not_fit(
    memory: accelerated.Memory,
) -> None:
    with clusters.running(ps=1, worker=1) as servers:
        number, step = model("/job:ps/gpu:0")
        with tf.Session(servers["worker:0"].target) as session:
            run_over_and_over(session, number, step, memory)


@pytest.mark.parametrize("kind", ["feed", "constant", "variable", "result"])
def test_whatever_does_not_fit_is_named_with_the_memory_of_the_gpu(
    memory: accelerated.Memory, kind: str
) -> None:
    shape = [2 * BIG]
    with tf.device("/gpu:0"):
        x = tf.placeholder(tf.float32, [None])
        kinds = {
            "feed": x * 2.0,
            "constant": tf.zeros(shape) + x,
            "variable": tf.get_variable("v", shape).initializer,
            "result": tf.tile(x, shape),
        }
        fits = tf.reduce_sum(x)
    given = np.zeros(shape, np.float32) if kind == "feed" else np.zeros(1, np.float32)
    with tf.Session() as session:
        with pytest.raises(tf.errors.ResourceExhaustedError, match=FIGURES):
            session.run(kinds[kind], {x: given})
        assert session.run(fits, {x: np.ones(3, np.float32)}) == 3.0


def test_variables_that_fill_the_memory_are_free_after_a_reset(memory: accelerated.Memory) -> None:
    server = tf.train.Server.create_local_server()
    for _ in range(3):
        with tf.Graph().as_default(), tf.device("/gpu:0"):
            v = tf.Variable(tf.ones([BIG // 8]), name="v")
            total = tf.reduce_sum(v)
            with tf.Session(server.target) as session:
                session.run(v.initializer)
                assert session.run(total) == BIG // 8
        tf.Session.reset(server.target)
    server.stop()
