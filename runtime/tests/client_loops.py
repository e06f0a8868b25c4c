"""Programs with loops and functions, built with TensorFlow: their fetches and feeds."""

from collections.abc import Callable
from typing import Any

import numpy as np

Built = tuple[Any, dict[Any, Any]]
Program = Callable[[Any], Built]
PROGRAMS: list[Program] = []


def program(build: Program) -> Program:
    PROGRAMS.append(build)
    return build


def _scalar(v1: Any, value: float = 1.5) -> Built:
    x = v1.placeholder(v1.float32, [])
    return x, {x: value}


@program
def counts(v1: Any) -> Built:
    return v1.while_loop(lambda i: i < 10, lambda i: i + 1, [v1.constant(0)]), {}


@program
def no_iteration(v1: Any) -> Built:
    x, feeds = _scalar(v1)
    i, y = v1.while_loop(lambda i, y: i < 0, lambda i, y: (i + 1, y * x), [v1.constant(0), x])
    return [i, y, v1.gradients(y, x)], feeds


@program
def multiplies(v1: Any) -> Built:
    x, feeds = _scalar(v1)
    i, y = v1.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * x), [v1.constant(0), x])
    return [i, y, v1.gradients(y, x)], feeds


@program
def nested(v1: Any) -> Built:
    x, feeds = _scalar(v1, 0.5)

    def body(i: Any, y: Any) -> Any:
        inner = v1.while_loop(
            lambda j, _: j < i, lambda j, z: (j + 1, z * x + z * z), [v1.constant(0), y]
        )
        return i + 1, inner[1]

    i, y = v1.while_loop(lambda i, y: i < 3, body, [v1.constant(0), x])
    return [i, y, v1.gradients(y, x)], feeds


@program
def exchanges_its_variables(v1: Any) -> Built:
    x = v1.placeholder(v1.float32, [2])
    _, a, b = v1.while_loop(
        lambda i, a, b: i < 7, lambda i, a, b: (i + 1, b, a + b), [v1.constant(0), x, x * 2]
    )
    return [a, b, v1.gradients(a, x)], {x: [1, 2]}


@program
def branches_in_a_loop(v1: Any) -> Built:
    x, feeds = _scalar(v1, 0.7)

    def chosen(i: Any, y: Any) -> Any:
        return v1.cond(i > 2, lambda: y + x, lambda: v1.exp(y))

    def body(i: Any, y: Any) -> Any:
        return i + 1, v1.cond(y > 2, lambda: y * x, lambda: chosen(i, y))

    i, y = v1.while_loop(lambda i, y: i < 5, body, [v1.constant(0), x])
    return [i, y, v1.gradients(y, x)], feeds


@program
def loop_in_a_branch_taken(v1: Any) -> Built:
    return _loop_in_a_branch(v1, 1.5)


@program
def loop_in_a_branch_not_taken(v1: Any) -> Built:
    return _loop_in_a_branch(v1, 0.5)


def _loop_in_a_branch(v1: Any, value: float) -> Built:
    x, feeds = _scalar(v1, value)
    y = v1.cond(x > 1, lambda: v1.while_loop(lambda y: y < 10, lambda y: y * x, [x]), lambda: x * 2)
    return [y, v1.gradients(y, x)], feeds


@program
def grows(v1: Any) -> Built:
    x = v1.placeholder(v1.float32, [1, 2])
    _, y = v1.while_loop(
        lambda i, y: i < 4,
        lambda i, y: (i + 1, v1.concat([y, y * 2], 0)),
        [v1.constant(0), x],
        shape_invariants=[v1.TensorShape([]), v1.TensorShape([None, 2])],
    )
    return y, {x: [[1, 2]]}


@program
def at_most_five_iterations(v1: Any) -> Built:
    x, feeds = _scalar(v1)
    y = v1.while_loop(lambda y: y < 1e9, lambda y: y * x, [x], maximum_iterations=5)
    return [y, v1.gradients(y, x)], feeds


@program
def maps_and_scans(v1: Any) -> Built:
    x = v1.placeholder(v1.float32, [5])
    y = v1.map_fn(lambda v: v * v, x)
    z = v1.scan(lambda a, v: a + v, y)
    return [y, z, v1.gradients(z, x)], {x: [1, 2, 3, 4, 5]}


@program
def folds(v1: Any) -> Built:
    x = v1.placeholder(v1.float32, [5, 2])
    left = v1.foldl(lambda a, v: a * v + 1, x)
    right = v1.foldr(lambda a, v: a * v + 1, x)
    return [left, right, v1.gradients([left, right], x)], {x: np.arange(10).reshape(5, 2) / 5}


@program
def recurrent(v1: Any) -> Built:
    x, w = v1.placeholder(v1.float32, [6, 3, 4]), v1.placeholder(v1.float32, [8, 4])
    inputs = v1.TensorArray(v1.float32, 6).unstack(x)

    def body(t: Any, h: Any, outputs: Any) -> Any:
        h = v1.tanh(v1.matmul(v1.concat([inputs.read(t), h], 1), w))
        return t + 1, h, outputs.write(t, h)

    start = [v1.constant(0), v1.zeros([3, 4]), v1.TensorArray(v1.float32, 6)]
    _, h, outputs = v1.while_loop(lambda t, h, o: t < 6, body, start)
    random = np.random.default_rng(0)
    feeds = {x: random.random((6, 3, 4)), w: random.random((8, 4)) - 0.5}
    return [h, outputs.stack()], feeds


@program
def concatenates_an_array(v1: Any) -> Built:
    x = v1.placeholder(v1.float32, [4, 2])
    array = v1.TensorArray(v1.float32, 2, infer_shape=False).split(x, [3, 1])
    y = array.concat()
    return [y, array.size(), v1.gradients(y * y, x)], {x: np.arange(8).reshape(4, 2)}


@program
def grows_an_array(v1: Any) -> Built:
    x, feeds = _scalar(v1)
    start = v1.TensorArray(v1.float32, 0, dynamic_size=True)
    _, array = v1.while_loop(
        lambda i, a: i < 5,
        lambda i, a: (i + 1, a.write(i, v1.cast(i, v1.float32) * x)),
        [v1.constant(0), start],
    )
    y = array.stack()
    return [y, v1.gradients(y, x)], feeds


@program
def changes_a_variable(v1: Any) -> Built:
    return _changes_a_variable(v1, is_resource=True)


@program
def changes_a_reference(v1: Any) -> Built:
    return _changes_a_variable(v1, is_resource=False)


def _changes_a_variable(v1: Any, *, is_resource: bool) -> Built:
    """Change a variable in each iteration, and sum the values that are read after the changes."""
    held = v1.get_variable("held", initializer=np.float32([1, 2]), use_resource=is_resource)

    def body(i: Any, read: Any) -> Any:
        with v1.control_dependencies([read]):
            changed = held.assign_add([1.0, 10.0])
            with v1.control_dependencies([changed]):
                return i + 1, read + held.read_value()

    i, read = v1.while_loop(lambda i, _: i < 4, body, [v1.constant(0), v1.zeros([2])])
    with v1.control_dependencies([read]):
        return [i, read, held.read_value()], {}


@program
def calls_functions(v1: Any) -> Built:
    from tensorflow.python.framework import function

    @function.Defun(v1.float32, v1.float32)
    def both(a: Any, b: Any) -> Any:
        return a * b + v1.exp(a), a - b

    x, feeds = _scalar(v1, 0.5)
    y = v1.placeholder(v1.float32, [3])
    return [both(x, x * 2), both(y, y + 1)], {**feeds, y: [1, 2, 3]}


@program
def functional_control_flow(v1: Any) -> Built:
    """Control flow of TensorFlow 2: `If`, `While` and `Case` with functions."""
    x, feeds = _scalar(v1)
    v1.enable_control_flow_v2()
    try:
        chosen = v1.cond(x > 1, lambda: x * 2, lambda: x * 3)
        looped = v1.while_loop(
            lambda i, y: i < 3,
            lambda i, y: (i + 1, v1.cond(y > 2, lambda: y * x, lambda: y + 1)),
            [v1.constant(0), x],
        )
        number = v1.placeholder(v1.int32, [])
        case = v1.switch_case(number, [lambda: x, lambda: x * 10, lambda: x * 20])
    finally:
        v1.disable_control_flow_v2()
    return [chosen, looped, case], {**feeds, number: 1}
