"""Capstan's `tf.gradients` through conditionals, loops and calls that TensorFlow made of functions.

TensorFlow builds a graph with control flow v2. Capstan imports the graph without gradients, builds
the gradients itself, and gets the values of TensorFlow's gradients.
"""

import zlib
from collections.abc import Iterator
from typing import Any

import functional_programs
import genuine
import numpy as np
import pytest

import capstan

pytestmark = genuine.MARKS


@pytest.fixture(autouse=True)
def _functional(v1: Any) -> Iterator[None]:
    v1.enable_control_flow_v2()
    yield
    v1.disable_control_flow_v2()


class _Recorder:
    """TensorFlow's API, except that `gradients` only notes its arguments.

    It returns a placeholder for each gradient.
    """

    def __init__(self, v1: Any) -> None:
        self._v1 = v1
        self.calls: list[tuple[list[str], list[str], list[str]]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._v1, name)

    def gradients(self, ys: Any, xs: Any) -> list[Any]:
        ys, xs = ([*each] if isinstance(each, list | tuple) else [each] for each in (ys, xs))
        results = [self._v1.placeholder(x.dtype.base_dtype, x.shape) for x in xs]
        self.calls.append(([y.name for y in ys], [_name(x) for x in xs], [r.name for r in results]))
        return results


def _name(x: Any) -> str:
    return getattr(x, "handle", x).name


def _spread(op: Any) -> str:
    """Return the device of a node: the ps or the worker, by the name of the node."""
    return ("/job:ps/task:0", "/job:worker/task:0")[zlib.crc32(op.name.encode()) % 2]


def expected_of(v1: Any, program: functional_programs.Program) -> list[Any]:
    """Return the values of all gradients of a program, as TensorFlow computes them."""
    with v1.Graph().as_default():
        found: list[Any] = []

        class Noting(_Recorder):
            def gradients(self, ys: Any, xs: Any) -> list[Any]:
                results: list[Any] = self._v1.gradients(ys, xs)
                found.extend(results)
                return results

        program(Noting(v1))
        dense = [None if each is None else v1.convert_to_tensor(each) for each in found]
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())
            values = iter(session.run([each for each in dense if each is not None]))
        return [None if each is None else next(values) for each in dense]


def found_by_capstan(v1: Any, program: functional_programs.Program, target: str = "") -> list[Any]:
    """Return the values of all gradients of a program, as Capstan computes them."""
    recorder = _Recorder(v1)
    with v1.Graph().as_default() as graph:
        with v1.device(_spread if target else None):
            program(recorder)
        initialise = v1.global_variables_initializer().name
        message = graph.as_graph_def().SerializeToString()
    with capstan.Graph().as_default() as ours:
        capstan.import_graph_def(capstan.GraphDef.FromString(message), name="")
        made: dict[str, Any] = {}
        for ys, xs, results in recorder.calls:
            tensors = [made[y] if y in made else ours.get_tensor_by_name(y) for y in ys]
            sources = [ours.get_tensor_by_name(x) for x in xs]
            made.update(zip(results, capstan.gradients(tensors, sources), strict=True))
        dense = [
            None if each is None else capstan.convert_to_tensor(each) for each in made.values()
        ]
        with capstan.Session(target) as session:
            session.run(initialise)
            values = iter(session.run([each for each in dense if each is not None]))
        return [None if each is None else next(values) for each in dense]


def check(v1: Any, program: functional_programs.Program, target: str = "") -> None:
    wanted = expected_of(v1, program)
    for value, expected in zip(found_by_capstan(v1, program, target), wanted, strict=True):
        assert (value is None) == (expected is None)
        if expected is not None:
            assert value.dtype == expected.dtype
            np.testing.assert_allclose(value, expected, rtol=1e-4, atol=1e-6)


def unused_results(tf: Any) -> Any:
    x, w, n = tf.constant(2.0), tf.constant(3.0), tf.constant(4)
    pred = tf.placeholder_with_default(tf.constant(True), [])
    y, z, _ = tf.cond(pred, lambda: (x * x, w * x, n + 1), lambda: (x, w, n))
    tf.gradients(y, [x, w, n, pred])
    tf.gradients(z, [x, w, n])
    _, u, v = tf.while_loop(lambda i, u, v: i < n, lambda i, u, v: (i + 1, u * x, v * w), [0, x, w])
    tf.gradients(u, [x, w, n])
    return tf.gradients([u, v], [x, w])


def call(tf: Any) -> Any:
    x, w = tf.constant([1.0, 2.0]), tf.constant(3.0)

    @genuine.tensorflow().function
    def body(x: Any, w: Any) -> Any:
        y = tf.exp(x) * w
        return tf.cond(w > 1.0, lambda: y * y, lambda: y), tf.reduce_sum(y)

    y, z = body(x, w)
    (first,) = tf.gradients([y, z], x)
    tf.gradients(z, [x, w])
    return tf.gradients(first, x)


PROGRAMS = {
    name: functional_programs.PROGRAMS[name]
    for name in (
        "no iterations", "gradient of unused variable", "nested with unknown shape",
        "cond in loop with unknown shape", "loop in cond", "growing", "sparse gradient",
        "without gradient", "stop gradients", "two gradients", "chosen case", "scattered",
        "second order of loop", "second order of branches", "three levels", "reference variable",
        "resource variable", "lstm",
    )
} | {"unused results": unused_results, "call": call}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_gradients_of_a_program_are_those_of_tensorflow(v1: Any, name: str) -> None:
    check(v1, PROGRAMS[name])


def test_the_nodes_of_bodies_and_gradients_may_be_on_several_tasks(
    v1: Any, tasks: genuine.Tasks
) -> None:
    check(v1, PROGRAMS["three levels"], tasks.target())
