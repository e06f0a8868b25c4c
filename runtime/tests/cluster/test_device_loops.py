"""Loops on a device with memory of its own: what stays there, and that values are right."""

import functools
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import clusters
import examples
import numpy as np
import pytest
import random_control_flow
import strict
import strict_array
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import capstan as tf
from capstan.framework.raw import raw

SOFT = tf.ConfigProto(allow_soft_placement=True)
PLACES = ("/gpu:0", "/gpu:1", "/cpu:0")
TASKS = ("/job:ps/gpu:0", "/job:worker/task:0/gpu:1", "/job:worker/task:1/cpu:0")


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


def one(x: Any, w: Any, count: Any) -> Any:
    return tf.while_loop(lambda i, y: i < count, lambda i, y: (i + 1, tf.tanh(y * w)), [0, x])[1]


def nested(x: Any, w: Any, count: Any) -> Any:
    return tf.while_loop(lambda i, y: i < count, lambda i, y: (i + 1, inner(y, w) + x), [0, x])[1]


def of_a_list(x: Any, w: Any, count: Any) -> Any:
    """Read and set the elements of a list in a loop."""
    of = {"element_dtype": tf.float32}
    handle = raw.TensorListFromTensor(tf.stack([x, w, x * w]), [3])

    def body(i: Any, handle: Any, y: Any) -> Any:
        y = tf.tanh(y * raw.TensorListGetItem(handle, i % 3, [3], **of)) + w
        return i + 1, raw.TensorListSetItem(handle, (i + 1) % 3, y), y

    _, handle, y = tf.while_loop(lambda i, *_: i < count, body, [0, handle, x])
    return y + tf.reduce_sum(raw.TensorListStack(handle, [3], **of))


@pytest.mark.e2e
@pytest.mark.parametrize("is_functional", [False, True], ids=["v1", "v2"])
@pytest.mark.parametrize("loop", [one, nested, of_a_list])
def test_an_iteration_and_its_gradient_copy_no_array(
    loop: Callable[..., Any], is_functional: bool, copies: Counter[str]
) -> None:
    """Only the feeds and the fetches are copied."""
    if is_functional:
        tf.enable_control_flow_v2()
    found: dict[str, list[Any]] = {}
    for place in ("/cpu:0", "/gpu:0"):
        with tf.Graph().as_default(), tf.Session(config=SOFT) as session, tf.device(place):
            x, w = tf.placeholder(tf.float32, [3]), tf.placeholder(tf.float32, [3])
            count = tf.placeholder(tf.int32, [])
            y = loop(x, w, count)
            fetches = [y, *tf.gradients(y, [x, w])]
            found[place] = []
            for number in (2, 4, 8):
                copies.clear()
                feeds = {x: [1, 2, 3], w: [0.5, 0.6, 0.7], count: number}
                found[place] += session.run(fetches, feeds)
                expected = {"copy_in": 2, "copy_out": 3} if place == "/gpu:0" else {}
                assert number == 2 or copies == expected  # The first step copies constants.
    np.testing.assert_allclose(found["/gpu:0"], found["/cpu:0"], rtol=1e-5)


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


def shared(i: Any, a: Any, b: Any, c: Any) -> Any:
    """Set two variables to one constant. The GPU reads one of them, and the CPU the other."""
    constant = tf.constant([7.0, 8.0])
    with tf.device("/gpu:0"):
        there = tf.sin(a)
    with tf.device("/cpu:0"):
        here = tf.cos(b)
    return i + 1, constant, constant, c + there + here


BODIES: dict[str, Callable[..., Any]] = {
    "exchange": lambda i, a, b, c: (i + 1, b, a, c + a),
    "only exchange": lambda i, a, b, c: (i + 1, b, c, a),
    "constant": lambda i, a, b, c: (i + 1, a + b, tf.constant([7.0, 8.0]), b),
    "one constant for two variables": shared,
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
@pytest.mark.parametrize("is_functional", [False, True], ids=["v1", "v2"])
@pytest.mark.parametrize("place", ["/gpu:0", "/gpu:1", "spread"])
@pytest.mark.parametrize("name", BODIES)
def test_the_variables_of_a_loop_have_the_values_of_a_cpu(
    name: str, place: str, is_functional: bool
) -> None:
    if is_functional:
        tf.enable_control_flow_v2()
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


@pytest.mark.e2e
@pytest.mark.parametrize("is_functional", [False, True], ids=["v1", "v2"])
def test_the_host_gets_a_copy_of_a_truth_value_that_is_the_condition_of_a_loop(
    is_functional: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a copy, a thread would be blocked until the device has the value."""
    monkeypatch.delattr(strict_array.StrictArray, "_number")
    if is_functional:
        tf.enable_control_flow_v2()
    with tf.Graph().as_default(), tf.Session() as session, tf.device("/gpu:0"):
        x = tf.placeholder(tf.float32, [2])
        _, y = tf.while_loop(
            lambda goes_on, _: goes_on,
            lambda _, y: (tf.reduce_sum(y) < 20.0, y * 2.0),
            [tf.reduce_sum(x) > 0.0, x],
        )
        assert session.run(y, {x: [1.0, 2.0]}).tolist() == [16.0, 32.0]
        assert session.run(y, {x: [-1.0, -2.0]}).tolist() == [-1.0, -2.0]


def spread(op: Any, places: Sequence[str] = PLACES) -> str:
    """Return the device of a node, by its name."""
    return places[zlib.crc32(op.name.encode()) % len(places)]


def values_of(seed: int, place: Any, *, is_functional: bool, target: str = "") -> list[Any]:
    """Return the values of a random program on the devices `place`."""
    (tf.enable_control_flow_v2 if is_functional else tf.disable_control_flow_v2)()
    with tf.Graph().as_default(), tf.Session(target, config=SOFT) as session:
        with tf.device(place):
            fetches = list(random_control_flow.program(seed)(tf))
        found: list[Any] = session.run(fetches)
        return found


# The seeds are always the same, as in `tests/oracle/test_random_control_flow.py`.
FIXED = settings(
    max_examples=examples.share(3), derandomize=True, phases=[Phase.explicit, Phase.generate]
)


@pytest.mark.e2e
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("is_functional", [False, True], ids=["v1", "v2"])
@FIXED
@given(seed=st.integers(0, 1 << 32))
def test_a_random_program_has_the_values_of_a_cpu(is_functional: bool, seed: int) -> None:
    expected = values_of(seed, "/cpu:0", is_functional=is_functional)
    for place in ("/gpu:0", spread):
        found = values_of(seed, place, is_functional=is_functional)
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)


@pytest.fixture
def target() -> Iterator[str]:
    with clusters.running(ps=1, worker=2) as servers:
        yield servers["worker:0"].target


@pytest.mark.e2e
@pytest.mark.timeout(600)
@pytest.mark.parametrize("is_functional", [False, True], ids=["v1", "v2"])
@pytest.mark.parametrize("seed", [2, 7])
def test_a_random_program_over_tasks_has_the_values_of_a_cpu(
    seed: int, is_functional: bool, target: str
) -> None:
    expected = values_of(seed, "/cpu:0", is_functional=is_functional)
    for place in (TASKS[0], functools.partial(spread, places=TASKS)):
        found = values_of(seed, place, is_functional=is_functional, target=target)
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)
