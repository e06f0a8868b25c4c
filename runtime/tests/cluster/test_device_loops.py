"""Loops on a device with memory of its own: which variables stay there, and their values."""

import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import examples
import numpy as np
import pytest
import random_control_flow
import strict
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import capstan as tf

SOFT = tf.ConfigProto(allow_soft_placement=True)
PLACES = ("/gpu:0", "/gpu:1", "/cpu:0")


@pytest.fixture(autouse=True)
def _devices() -> Iterator[None]:
    with strict.installed(2):
        yield
    tf.disable_control_flow_v2()


@pytest.fixture
def copies(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Counts the arrays that the devices copy."""
    counted: Counter[str] = Counter()
    for name in ("copy_in", "copy_out", "copy_across"):
        monkeypatch.setattr(strict.Strict, name, counting(name, counted))
    return counted


def counting(name: str, counted: Counter[str]) -> Callable[..., Any]:
    method = getattr(strict.Strict, name)

    def call(self: strict.Strict, *arguments: Any) -> Any:
        counted[name] += 1
        return method(self, *arguments)

    return call


def inner(y: Any, w: Any) -> Any:
    return tf.while_loop(lambda j, y: j < 3, lambda j, y: (j + 1, tf.sin(y * w)), [0, y])[1]


LOOPS: dict[str, Callable[[Any, Any], Any]] = {
    "one": lambda y, w: tf.tanh(y * w),
    "nested": inner,
}


@pytest.mark.e2e
@pytest.mark.parametrize("is_functional", [False, True], ids=["v1", "v2"])
@pytest.mark.parametrize("name", LOOPS)
def test_an_iteration_and_its_gradient_copy_no_array(
    name: str, is_functional: bool, copies: Counter[str]
) -> None:
    if is_functional:
        tf.enable_control_flow_v2()
    with tf.Graph().as_default(), tf.Session() as session, tf.device("/gpu:0"):
        x, w = tf.placeholder(tf.float32, [3]), tf.placeholder(tf.float32, [3])
        count = tf.placeholder(tf.int32, [])
        _, y = tf.while_loop(
            lambda i, y: i < count, lambda i, y: (i + 1, LOOPS[name](y, w) + x), [0, x]
        )
        fetches = [y, *tf.gradients(y, [x, w])]
        found = []
        for number in (2, 4, 8):
            copies.clear()
            session.run(fetches, {x: [1, 2, 3], w: [0.5, 0.6, 0.7], count: number})
            found.append(Counter(copies))
    assert found[1] == found[2] == {"copy_in": 2, "copy_out": len(fetches)}


def computed(body: Callable[..., Any], first: Sequence[Any], place: str, count: int = 5) -> Any:
    """Return the values of a loop after `count` iterations."""
    with tf.Graph().as_default(), tf.Session(config=SOFT) as session:
        x = tf.placeholder(tf.float32, [2])
        with tf.device(spread if place == "spread" else place):
            state = [0, *(x * factor for factor in first)]
            after = tf.while_loop(lambda i, *_: i < count, body, state)
        return session.run(after, {x: [1.0, 3.0]})


def varied(i: Any, a: Any, b: Any, c: Any) -> Any:
    """Pass variables on to one another, and set one of them to a constant."""
    with tf.device("/gpu:0"):
        total = a + b
    with tf.device("/cpu:0"):
        here = tf.sin(c)
    return i + 1, b, total, tf.where(tf.equal(i, 3), tf.ones([2]), here)


BODIES: dict[str, Callable[..., Any]] = {
    "exchange": lambda i, a, b, c: (i + 1, b, a, c + a),
    "only exchange": lambda i, a, b, c: (i + 1, b, c, a),
    "constant": lambda i, a, b, c: (i + 1, a + b, tf.constant([7.0, 8.0]), b),
    "unread": lambda i, a, b, c: (i + 1, a * 2.0, b, c),
    "several devices": varied,
    "loop that makes no iteration": lambda i, a, b, c: (
        i + 1,
        tf.while_loop(lambda j, y: j < 0, lambda j, y: (j + 1, y + 1.0), [0, a * 2.0])[1],
        a,
        b,
    ),
}


@pytest.mark.e2e
@pytest.mark.parametrize("place", ["/gpu:0", "/gpu:1", "spread"])
@pytest.mark.parametrize("name", BODIES)
def test_the_variables_of_a_loop_have_the_values_of_a_cpu(name: str, place: str) -> None:
    expected = computed(BODIES[name], [1.0, 2.0, 3.0], "/cpu:0")
    for one, other in zip(computed(BODIES[name], [1.0, 2.0, 3.0], place), expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


@pytest.mark.e2e
@pytest.mark.parametrize("is_resource", [False, True])
@pytest.mark.parametrize("is_inner", [False, True])
def test_a_loop_passes_on_the_values_that_a_variable_had_in_earlier_iterations(
    is_inner: bool, is_resource: bool
) -> None:
    def body(i: Any, a: Any, b: Any) -> Any:
        with tf.control_dependencies([tf.assign_add(v, [1.0, 2.0])]):
            value = v.read_value()
        if is_inner:
            _, value = tf.while_loop(lambda j, y: j < 0, lambda j, y: (j + 1, y + 1.0), [0, value])
        return i + 1, value, a

    with tf.Graph().as_default(), tf.Session() as session, tf.device("/gpu:0"):
        v = tf.Variable([0.0, 0.0], use_resource=is_resource)
        after = tf.while_loop(lambda i, *_: i < 5, body, [0, tf.zeros([2]), tf.zeros([2])])
        session.run(v.initializer)
        _, last, before = session.run(after)
    assert (last.tolist(), before.tolist()) == ([5, 10], [4, 8])


def spread(op: Any) -> str:
    """Return the device of a node, by its name."""
    return PLACES[zlib.crc32(op.name.encode()) % len(PLACES)]


@pytest.mark.e2e
@pytest.mark.parametrize("is_functional", [False, True], ids=["v1", "v2"])
@pytest.mark.timeout(1800)
# The seeds are always the same, as in `tests/oracle/test_random_control_flow.py`.
@settings(max_examples=examples.share(3), derandomize=True, phases=[Phase.explicit, Phase.generate])
@given(seed=st.integers(0, 1 << 32))
def test_a_random_program_has_the_values_of_a_cpu(is_functional: bool, seed: int) -> None:
    program = random_control_flow.program(seed)
    results = []
    for place in ("/cpu:0", "/gpu:0", spread):
        (tf.enable_control_flow_v2 if is_functional else tf.disable_control_flow_v2)()
        with tf.Graph().as_default(), tf.Session(config=SOFT) as session:
            with tf.device(place):
                fetches = list(program(tf))
            results.append(session.run(fetches))
    for found in results[1:]:
        np.testing.assert_allclose(found, results[0], rtol=1e-4, atol=1e-6)
