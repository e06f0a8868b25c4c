"""Partial runs whose portions share loops, branches, TensorArrays and queues, as in TensorFlow."""

from collections.abc import Callable, Sequence
from typing import Any

import genuine
import numpy as np
import pytest

import capstan
from capstan.framework.raw import raw

pytestmark = genuine.MARKS

PS = "/job:ps/task:0"

Portions = Sequence[tuple[dict[Any, Any], list[Any]]]
"""The feeds and the fetches of each portion."""


def gradient_of_a_loop(v1: Any, x: Any, y: Any) -> Portions:
    _, last = v1.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v * v * 0.5 + x), [0, x])
    return [({x: 2.0}, [last]), ({y: 3.0}, v1.gradients(last * y, x))]


def gradient_of_a_tensor_array(v1: Any, x: Any, y: Any) -> Portions:
    squares = v1.map_fn(lambda v: v * v, v1.stack([x, x + 1.0]))
    total = v1.foldl(lambda a, b: a * b + x, squares)
    return [({x: 2.0}, [total]), ({y: 3.0}, v1.gradients(total, x, grad_ys=y))]


def tensor_array(v1: Any, x: Any, y: Any) -> Portions:
    array = v1.TensorArray(v1.float32, 2, clear_after_read=False).write(0, x)
    return [({x: 2.0}, [array.read(0)]), ({y: 3.0}, [array.write(1, y).stack()])]


def branches(v1: Any, x: Any, y: Any) -> Portions:
    choice = v1.placeholder(v1.bool, [])
    early = v1.cond(choice, lambda: x + 1.0, lambda: x - 1.0)
    late = v1.cond(choice, lambda: x * y, lambda: x - y)
    return [({x: 2.0, choice: False}, [early]), ({y: 5.0}, [late])]


def gradient_of_a_branch(v1: Any, x: Any, y: Any) -> Portions:
    choice = v1.placeholder(v1.bool, [])
    value = v1.cond(choice, lambda: v1.square(x), lambda: x * 3.0)
    return [({x: 2.0, choice: True}, [value]), ({y: 5.0}, v1.gradients(value * y, x))]


def loop_over_a_queue(v1: Any, x: Any, y: Any) -> Portions:
    queue = v1.FIFOQueue(10, v1.float32, [()])
    with v1.control_dependencies([queue.enqueue_many([v1.stack([x, x + 1.0, x + 2.0])])]):
        filled = v1.identity(x)
    with v1.control_dependencies([filled]):
        start = v1.identity(y)
    _, total = v1.while_loop(
        lambda i, v: i < 3, lambda i, v: (i + 1, v + queue.dequeue()), [0, start]
    )
    return [({x: 2.0}, [filled]), ({y: 100.0}, [total])]


def optimizer(v1: Any, x: Any, y: Any) -> Portions:
    weight = v1.get_variable("weight", initializer=2.0)
    loss = v1.square(weight * x - 1.0)
    step = v1.train.GradientDescentOptimizer(y).minimize(loss)
    with v1.control_dependencies([step]):
        done = v1.identity(y)
    return [({x: 2.0}, [loss]), ({y: 0.1}, [done])]


PROGRAMS = [
    gradient_of_a_loop,
    gradient_of_a_tensor_array,
    tensor_array,
    branches,
    gradient_of_a_branch,
    loop_over_a_queue,
    optimizer,
]


def values(v1: Any, program: Callable[..., Portions], target: str, device: str) -> list[Any]:
    """Return the values of every portion of two partial runs."""
    found = []
    with v1.Graph().as_default(), v1.device(device):
        x, y = (v1.placeholder(v1.float32, []) for _ in range(2))
        portions = program(v1, x, y)
        feeds = [feed for fed, _ in portions for feed in fed]
        fetches = [fetch for _, fetched in portions for fetch in fetched]
        with v1.Session(target) as session:
            for _ in range(2):
                session.run(v1.global_variables_initializer())
                handle = session.partial_run_setup(fetches, feeds)
                for fed, fetched in portions:
                    found += session.partial_run(handle, fetched, fed)
    return [np.asarray(value).tolist() for value in found]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_portions_return_tensorflows_values(v1: Any, tasks: genuine.Tasks, program: Any) -> None:
    expected = values(v1, program, "", "")
    assert values(capstan, program, "", "") == expected
    assert values(capstan, program, tasks.target(), PS) == expected


def test_the_feed_of_a_setup_may_be_one_tensor(v1: Any) -> None:
    for library in (v1, capstan):
        with library.Graph().as_default(), library.Session() as session:
            x = library.placeholder(library.float32, [])
            handle = session.partial_run_setup([x + 1.0], x)
            assert session.partial_run(handle, x.consumers()[0].outputs[0], {x: 2.0}) == 3.0


def number(library: Any, raw: Any, x: Any) -> Any:
    return x


def variant(library: Any, raw: Any, x: Any) -> Any:
    return raw.TensorListReserve(
        element_shape=library.constant([], library.int32),
        num_elements=library.constant(3),
        element_dtype=library.float32,
    )


def resource(library: Any, raw: Any, x: Any) -> Any:
    return library.FIFOQueue(3, [library.float32], [()]).queue_ref


@pytest.mark.parametrize("value", [number, variant, resource])
def test_a_fetch_of_a_dead_tensor_fails_at_once_with_tensorflows_message(
    v1: Any, tf: Any, value: Callable[..., Any]
) -> None:
    def message(library: Any, raw: Any, errors: Any) -> str:
        with library.Graph().as_default(), library.Session() as session:
            x, y = (library.placeholder(library.float32, []) for _ in range(2))
            choice = library.placeholder(library.bool, [])
            switched = raw.Switch(data=value(library, raw, x), pred=choice)
            dead = library.identity(switched[1], name="dead")
            handle = session.partial_run_setup([dead, x + y], [x, y, choice])
            with pytest.raises(errors.InvalidArgumentError) as caught:
                session.partial_run(handle, dead, {x: 1.0, choice: False})
            return str(caught.value.message).splitlines()[-1]

    assert message(capstan, raw, capstan.errors) == message(v1, tf.raw_ops, tf.errors)
