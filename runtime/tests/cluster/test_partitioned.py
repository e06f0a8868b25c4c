"""The placement of a graph does not change the values that it computes."""

import threading
from dataclasses import dataclass
from typing import Any

import clusters
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import capstan as tf

TASKS = ("/job:ps/task:0", "/job:ps/task:1", "/job:worker/task:0", "/job:worker/task:1")
BINARY = ("add", "subtract", "multiply", "maximum")


@pytest.fixture(scope="module")
def target() -> str:
    return clusters.start(ps=2, worker=2)["worker:0"].target


@dataclass(frozen=True)
class Step:
    """A node: its op, its inputs and control inputs (earlier nodes), and its task."""

    op: str
    inputs: tuple[int, ...]
    task: str
    after: tuple[int, ...]


@st.composite
def recipes(draw: st.DrawFn) -> list[Step]:
    recipe = []
    for index in range(draw(st.integers(2, 16))):
        earlier = st.integers(0, index - 1) if index else st.nothing()
        leaf = index < 2 or draw(st.integers(0, 4)) == 0
        op = (
            draw(st.sampled_from(("constant", "feed", "variable")))
            if leaf
            else draw(st.sampled_from((*BINARY, "assign_add", "negative", "identity")))
        )
        inputs = () if leaf else (draw(earlier), draw(earlier))
        after = tuple(draw(st.lists(earlier, max_size=2, unique=True))) if index else ()
        recipe.append(Step(op, inputs, draw(st.sampled_from(TASKS)), after))
    return recipe


def build(recipe: list[Step], placed: bool) -> tuple[list[Any], dict[Any, Any]]:
    """Build a recipe in the default graph. Return its values and its feeds.

    No variable is read after a change of it, so the order of the nodes does not matter.
    """
    values: list[Any] = []
    feeds: dict[Any, Any] = {}
    for index, step in enumerate(recipe):
        with (
            tf.device(step.task if placed else None),
            tf.control_dependencies([values[source] for source in step.after]),
        ):
            values.append(make(index, step, values, feeds))
    return values, feeds


def make(index: int, step: Step, values: list[Any], feeds: dict[Any, Any]) -> Any:
    number = np.arange(6.0).reshape(2, 3) + index
    match step.op:
        case "constant":
            return tf.constant(number)
        case "feed":
            placeholder = tf.placeholder(tf.float64, [2, 3] if index % 2 else [None, 3])
            feeds[placeholder] = number
            return placeholder
        case "variable":
            return tf.identity(tf.Variable(number, name=f"v{index}"))
        case "assign_add":
            counter = tf.Variable(np.zeros((2, 3)), name=f"v{index}")
            return tf.identity(tf.assign_add(counter, values[step.inputs[0]]))
        case "negative" | "identity":
            return getattr(tf, step.op)(values[step.inputs[0]])
        case op:
            return getattr(tf, op)(values[step.inputs[0]], values[step.inputs[1]])


def evaluate(recipe: list[Step], target: str) -> list[Any]:
    with tf.Graph().as_default():
        values, feeds = build(recipe, placed=bool(target))
        with tf.Session(target) as session:
            session.run(tf.global_variables_initializer())
            first = session.run(values, feeds)
            return [first, session.run(values[-1], feeds)]


def expect(recipe: list[Step]) -> list[Any]:
    """Return the values of a recipe in NumPy. An accumulator starts at 0 and adds once."""
    values: list[Any] = []
    for index, step in enumerate(recipe):
        inputs = [values[source] for source in step.inputs]
        match step.op:
            case "constant" | "feed" | "variable":
                values.append(np.arange(6.0).reshape(2, 3) + index)
            case "identity" | "assign_add":
                values.append(inputs[0])
            case "negative":
                values.append(-inputs[0])
            case op:
                values.append(getattr(np, op)(*inputs))
    return values


@pytest.mark.e2e
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(recipe=recipes())
def test_a_graph_on_four_tasks_computes_the_same_values_as_on_one(
    target: str, recipe: list[Step]
) -> None:
    local, distributed = evaluate(recipe, ""), evaluate(recipe, target)
    np.testing.assert_equal(distributed, local)
    np.testing.assert_equal(local[0], expect(recipe))


@pytest.mark.e2e
def test_concurrent_runs_on_one_session_never_see_each_others_buffers(target: str) -> None:
    with tf.Graph().as_default(), tf.device("/job:worker/task:0"):
        x = tf.placeholder(tf.float32, [256])
        with tf.device("/job:ps/task:0"):
            on_ps = tf.multiply(x, 2.0)
        result = tf.subtract(tf.add(on_ps, x), 1.0)
        session = tf.Session(target)
        wrong: list[Any] = []

        def work(number: int) -> None:
            fed = np.full(256, number, np.float32)
            for _ in range(150):
                once, doubled = session.run([result, on_ps], {x: fed})
                if not (once == 3 * number - 1).all() or not (doubled == 2 * number).all():
                    wrong.append((number, once, doubled))

        threads = [threading.Thread(target=work, args=(number,)) for number in range(1, 7)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        session.close()
    assert wrong == []


def test_a_later_step_does_not_change_fetched_values(target: str) -> None:
    for where in ("", target):
        with tf.Graph().as_default():
            x = tf.placeholder(tf.float32, [3])
            double = x * 2.0
            with tf.Session(where) as session:
                first = session.run(double, {x: [1, 2, 3]})
                session.run(double, {x: [7, 8, 9]})
        np.testing.assert_equal(first, np.array([2, 4, 6], np.float32))


@pytest.mark.e2e
def test_a_random_op_continues_its_stream_whatever_else_is_fetched(target: str) -> None:
    for where in ("", target):
        with tf.Graph().as_default(), tf.device("/job:ps/task:0" if where else None):
            drawn = tf.random_normal([2], seed=1)
            with tf.Session(where) as session:
                found = [session.run(drawn), session.run([drawn, drawn * 2.0])[0]]
                found += [session.run(drawn * 1.0), session.run(drawn)]
            with tf.Session(where) as another:
                np.testing.assert_equal(another.run(drawn), found[0])
        assert len({values.tobytes() for values in found}) == 4
