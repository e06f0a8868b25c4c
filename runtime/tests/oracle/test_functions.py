"""Functions that a TensorFlow client sends: `Defun`, `tf.function`, and conditions and loops as
functions. Capstan's tasks give TensorFlow's values."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import genuine
import numpy as np
import pytest

import capstan
from capstan.api import function as capstan_function

pytestmark = genuine.MARKS

Program = Callable[[Any, Any], tuple[list[Any], dict[Any, Any]]]


@pytest.fixture(params=[False, True], ids=["v1", "v2"])
def control_flow(v1: Any, request: pytest.FixtureRequest) -> Iterator[None]:
    """Build conditions and loops as the ops of TensorFlow 1 or as functions of TensorFlow 2."""
    if request.param:
        v1.enable_control_flow_v2()
    yield
    v1.disable_control_flow_v2()


def defun(tf: Any) -> Any:
    from tensorflow.python.framework import function

    return function.Defun


def two_results(tf: Any, v1: Any) -> tuple[list[Any], dict[Any, Any]]:
    @defun(tf)(tf.float32, tf.float32)
    def halves(x: Any, y: Any) -> Any:
        first, second = tf.split(tf.stack([x, y]), 2)
        return first + second, x * y

    x = v1.placeholder(tf.float32, [2])
    results = halves(x, x + 1)
    return [*results, *v1.gradients(results, [x])], {x: [1, 2]}


def calls_within_calls(tf: Any, v1: Any) -> tuple[list[Any], dict[Any, Any]]:
    weight = v1.get_variable("w", initializer=2.0, use_resource=True)

    @defun(tf)(tf.float32)
    def square(x: Any) -> Any:
        return x * x

    @defun(tf)(tf.float32)
    def outer(x: Any) -> Any:
        return square(square(x)) + square(x) * weight

    x = v1.placeholder(tf.float32, [])
    y = outer(x)
    (first,) = v1.gradients(y, [x])
    return [y, first], {x: 3}


def own_gradient(tf: Any, v1: Any) -> tuple[list[Any], dict[Any, Any]]:
    @defun(tf)(tf.float32, tf.float32)
    def hundred(x: Any, grad: Any) -> Any:
        return grad * 100.0

    @defun(tf)(tf.float32, grad_func=hundred)
    def square(x: Any) -> Any:
        return x * x

    x = v1.placeholder(tf.float32, [])
    y = square(x)
    return [y, *v1.gradients(y, [x])], {x: 3}


def decorated(tf: Any, v1: Any) -> tuple[list[Any], dict[Any, Any]]:
    count = v1.get_variable("n", initializer=1.0, use_resource=True)

    @tf.function
    def add(x: Any) -> Any:
        count.assign_add(x)
        return count * 2.0

    @tf.function
    def pure(x: Any) -> Any:
        return tf.tanh(x) * 2.0

    x = v1.placeholder(tf.float32, [])
    y = pure(add(x))
    return [y, *v1.gradients(pure(x), [x])], {x: 0.25}


def conditions(tf: Any, v1: Any) -> tuple[list[Any], dict[Any, Any]]:
    x = v1.placeholder(tf.float32, [])
    chosen = v1.cond(x > 1, lambda: v1.cond(x > 2, lambda: x * x, lambda: x + x), lambda: -x)
    branch = v1.cast(x, tf.int32)
    case = tf.switch_case(branch, [lambda: x, lambda: x * 10.0, lambda: x * 100.0])
    return [chosen, case, *v1.gradients([chosen, case], [x])], {x: 2.5}


def loops(tf: Any, v1: Any) -> tuple[list[Any], dict[Any, Any]]:
    x = v1.placeholder(tf.float32, [])

    def body(number: Any, value: Any) -> Any:
        inner = v1.while_loop(lambda at, _: at < number, lambda at, y: (at + 1, y * x), [0, value])
        return number + 1, v1.cond(value > 9, lambda: inner[1] - x, lambda: inner[1] + x)

    _, result = v1.while_loop(lambda number, _: number < 4, body, [0, x])
    return [result, *v1.gradients(result, [x])], {x: 1.5}


def truth_of_other_types(tf: Any, v1: Any) -> tuple[list[Any], dict[Any, Any]]:
    """Use numbers, strings and arrays as conditions (core/kernels/functional_ops.cc)."""
    from tensorflow.python.ops import functional_ops

    @defun(tf)(tf.float32)
    def double(x: Any) -> Any:
        return x * 2.0

    @defun(tf)(tf.float32)
    def negative(x: Any) -> Any:
        return -x

    @defun(tf)(tf.float32, tf.int32)
    def remaining(x: Any, count: Any) -> Any:
        return count

    @defun(tf)(tf.float32, tf.int32)
    def step(x: Any, count: Any) -> Any:
        return x * 3.0, count - 1

    x = v1.placeholder(tf.float32, [])
    values = (0, 3, -0.5, b"", b"no", np.zeros((0, 2), np.float32), np.zeros(2, np.float32))
    feeds = {v1.placeholder(tf.as_dtype(np.asarray(value).dtype), None): value for value in values}
    chosen = [functional_ops.If(value, [x], double, negative)[0] for value in feeds]
    looped = functional_ops.While([x, v1.constant(4)], remaining, step)
    return [*chosen, *looped], {**feeds, x: 1.5}


def called_on_other_tasks(tf: Any, v1: Any) -> tuple[list[Any], dict[Any, Any]]:
    """Call functions whose bodies ask for devices of several tasks."""
    weight = v1.get_variable("w", initializer=2.0, use_resource=True)

    @tf.function
    def inner(x: Any) -> Any:
        with v1.device("/job:ps"):
            y = x * weight
        return y + 1.0

    @tf.function
    def outer(x: Any) -> Any:
        with v1.device("/job:worker/task:0"):
            y = inner(x)
        weight.assign_add(y)
        with v1.device("/device:CPU:0"):
            return tf.cond(y > 2.0, lambda: inner(y) * y, lambda: y), weight.read_value()

    x = v1.placeholder(tf.float32, [])
    y, read = outer(x)
    # Without an order, the second call would read the weight before or after the first call.
    with v1.control_dependencies([read]):
        slopes = v1.gradients(inner(x), [x])
    return [y, read, *slopes], {x: 1.5}


PROGRAMS = (
    two_results,
    calls_within_calls,
    own_gradient,
    decorated,
    conditions,
    loops,
    truth_of_other_types,
    called_on_other_tasks,
)


def values(tf: Any, v1: Any, program: Program, target: str, device: str) -> tuple[Any, Any]:
    """Return the values of two steps of the tasks, and those of TensorFlow without devices."""
    with v1.Graph().as_default() as graph, v1.device(device):
        fetches, feeds = program(tf, v1)
        initializer = v1.global_variables_initializer()
        with v1.Session(target) as session:
            session.run(initializer)
            found = [session.run(fetches, feeds) for _ in range(2)]
    names = [tensor.name for tensor in fetches]
    fed = {tensor.name: value for tensor, value in feeds.items()}
    bare = graph.as_graph_def()
    for nodes in (bare.node, *(function.node_def for function in bare.library.function)):
        for node in nodes:
            node.device = ""
    with v1.Graph().as_default():
        v1.import_graph_def(bare, name="")
        with v1.Session() as session:
            session.run(initializer.name)
            return found, [session.run(names, fed) for _ in range(2)]


@pytest.mark.usefixtures("control_flow")
@pytest.mark.parametrize("device", ["/job:worker/task:0", "/job:ps/task:0"], ids=["here", "there"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_functions_have_the_values_of_tensorflow(
    tf: Any, v1: Any, tasks: genuine.Tasks, program: Program, device: str
) -> None:
    found, expected = values(tf, v1, program, tasks.target(), device)
    for step, wanted in zip(found, expected, strict=True):
        for value, expected_value in zip(step, wanted, strict=True):
            np.testing.assert_allclose(value, expected_value, rtol=1e-6)


def test_a_session_gets_functions_when_it_is_extended(
    tf: Any, v1: Any, tasks: genuine.Tasks
) -> None:
    x = v1.constant(3.0)
    with v1.Session(tasks.target()) as session:
        assert session.run(x) == 3

        @defun(tf)(tf.float32)
        def square(value: Any) -> Any:
            return value * value

        y = square(x)
        assert session.run(y) == 9
        assert session.run(square(y)) == 81


def test_tensorflow_runs_the_functions_of_capstan(v1: Any) -> None:
    with capstan.Graph().as_default() as graph:

        @capstan_function.Defun(capstan.float32, capstan.float32)
        def both(x: Any, y: Any) -> Any:
            return x * y, x - y

        x = capstan.placeholder(capstan.float32, [], "x")
        product, difference = both(x, 2.0)
        capstan.identity(product + difference, name="y")
        (gradient,) = capstan.gradients(product, [x])
        capstan.identity(gradient, name="dy")
    message = v1.GraphDef.FromString(graph.as_graph_def().SerializeToString())
    with v1.Graph().as_default(), v1.Session() as session:
        fetches = v1.import_graph_def(message, return_elements=["y:0", "dy:0"], name="")
        assert session.run(fetches, {"x:0": 5.0}) == [13, 2]


def _fail(x: Any) -> Any:
    error = NotImplementedError("not yet")
    raise error


PYTHON: dict[str, tuple[Callable[..., Any], Callable[[Any], Any]]] = {
    "a value": (lambda x: x * 2, lambda tf: tf.float32),
    "two values": (lambda x: (x, np.int64(3)), lambda tf: [tf.float32, tf.int64]),
    "text": (lambda x: "text", lambda tf: tf.string),
    "another type": (lambda x: 1.0, lambda tf: tf.float32),
    "too few values": (lambda x: x, lambda tf: [tf.float32, tf.float32]),
    "no array": (lambda x: {}, lambda tf: tf.float32),
    "an exception": (_fail, lambda tf: tf.float32),
}


def outcome(tf: Any, name: str, stateful: bool) -> Any:
    func, types = PYTHON[name]
    with tf.Graph().as_default(), tf.Session() as session:
        result = tf.py_func(func, [tf.constant([1.0, 2.0])], types(tf), stateful=stateful)
        try:
            values = session.run(result)
        except (capstan.errors.OpError, tf.errors.OpError) as error:
            message = re.sub(r"pyfunc_\d+", "pyfunc", error.message)
            lines = message.partition("Node: 'PyFunc")[2].splitlines()[1:] or message.splitlines()
            return type(error).__name__, lines[0]
        return np.asarray(values, object).tolist() if name != "two values" else str(values)


@pytest.mark.parametrize("stateful", [True, False], ids=["stateful", "stateless"])
@pytest.mark.parametrize("name", PYTHON)
def test_a_python_function_has_the_outcome_of_tensorflow(
    v1: Any, name: str, stateful: bool
) -> None:
    assert outcome(capstan, name, stateful) == outcome(v1, name, stateful)
