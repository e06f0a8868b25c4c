"""`tf.while_loop` adds the same operations to the graph as TensorFlow does, with the same names.

`oracle/test_control_flow.py` compares many more loops with TensorFlow.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import capstan as tf


def listed(graph: Any) -> list[str]:
    return [
        f"{op.type} {op.name} ("
        + ", ".join([t.name for t in op.inputs] + [f"^{c.name}" for c in op.control_inputs])
        + ")"
        for op in graph.get_operations()
    ]


def test_a_loop_variable_enters_is_merged_and_leaves(graph: Any) -> None:
    x = tf.placeholder(tf.float32, [], "x")
    tf.while_loop(lambda y: y < 3.0, lambda y: y + x, [x])
    assert listed(graph) == [
        "Placeholder x ()",
        "Enter while/Enter (x:0)",
        "Merge while/Merge (while/Enter:0, while/NextIteration:0)",
        "Const while/Less/y (^while/Merge)",
        "Less while/Less (while/Merge:0, while/Less/y:0)",
        "LoopCond while/LoopCond (while/Less:0)",
        "Switch while/Switch (while/Merge:0, while/LoopCond:0)",
        "Identity while/Identity (while/Switch:1)",
        "Enter while/add/Enter (x:0)",
        "AddV2 while/add (while/Identity:0, while/add/Enter:0)",
        "NextIteration while/NextIteration (while/add:0)",
        "Exit while/Exit (while/Switch:0)",
    ]
    enter, invariant = (graph.get_operation_by_name(f"while/{n}") for n in ("Enter", "add/Enter"))
    assert enter.get_attr("frame_name") == b"while/while_context"
    assert (enter.get_attr("is_constant"), invariant.get_attr("is_constant")) == (False, True)


def test_operations_inside_a_loop_can_be_neither_fetched_nor_fed(graph: Any) -> None:
    inside: list[Any] = []
    y = tf.while_loop(lambda y: y < 3.0, lambda y: inside.append(y + 1.0) or inside[0], [0.0])
    assert graph.is_fetchable(y)
    assert not graph.is_fetchable(inside[0])
    assert not graph.is_feedable(inside[0])


def test_the_shape_invariant_is_the_static_shape_inside(graph: Any) -> None:
    seen: list[Any] = []
    y = tf.while_loop(
        lambda y: True,
        lambda y: seen.append(y.shape.as_list()) or tf.concat([y, y], 0),
        [tf.constant([1.0])],
        shape_invariants=[tf.TensorShape([None])],
    )
    assert seen == [[None]]
    assert y.shape.as_list() == [None]


def test_the_number_of_handles_may_change_if_the_shape_invariant_says_so(graph: Any) -> None:
    variable = tf.get_variable("v", initializer=[1.0, 2.0], use_resource=True)
    handles = tf.while_loop(
        lambda handles: tf.size(handles) < 5,
        lambda handles: tf.concat([handles, handles], 0),
        [tf.stack([variable.handle] * 2)],
        shape_invariants=[tf.TensorShape([None])],
    )
    assert handles.shape.as_list() == [None]
    with tf.Session() as session:
        session.run(variable.initializer)
        count, value = session.run(
            [tf.size(handles), tf.raw_ops.ReadVariableOp(resource=handles[7], dtype=tf.float32)]
        )
    assert (count, value.tolist()) == (8, [1.0, 2.0])


def test_a_type_may_stand_for_a_shape_invariant(graph: Any) -> None:
    def longer(x: Any, y: Any) -> Any:
        return tf.concat([x, x], 0), tf.sparse.concat(0, [y, y])

    x, y = tf.while_loop(
        lambda x, y: tf.size(x) < 3,
        longer,
        [tf.constant([1.0]), tf.sparse.SparseTensor([[0, 1]], [2.0], [1, 2])],
        shape_invariants=[
            tf.TensorSpec([None], tf.float32),
            tf.data.experimental.SparseTensorStructure(tf.float32, [None, 2]),
        ],
    )
    assert x.shape.as_list() == [None]
    assert y.dense_shape.shape.as_list() == [2]
    with tf.Session() as session:
        assert session.run([x, y.indices])[1].tolist() == [[n, 1] for n in range(4)]


def leaked() -> Any:
    inside: list[Any] = []
    tf.while_loop(lambda x: x < 3.0, lambda x: inside.append(x) or x + 1.0, [0.0])
    return inside[0]


def second_order() -> Any:
    x = tf.constant(2.0)
    _, y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * x), [0, x])
    return tf.gradients(tf.gradients(y, x), x)


def through_the_initial_value() -> Any:
    start = tf.constant(2.0) * 1.0

    def body(i: Any, y: Any) -> Any:
        tf.gradients(y * 2.0, start)
        return i + 1, y

    return tf.while_loop(lambda i, y: i < 3, body, [0, start])


REFUSED = {
    "no loop variables": (
        lambda: tf.while_loop(lambda: True, lambda: 1, []),
        ValueError, "'loop_vars' must be provided",
    ),
    "a condition that is no function": (
        lambda: tf.while_loop(True, lambda x: x, [0]), TypeError, "'cond' must be callable",
    ),
    "a body that is no function": (
        lambda: tf.while_loop(lambda x: True, 1, [0]), TypeError, "'body' must be callable",
    ),
    "no iterations in parallel": (
        lambda: tf.while_loop(lambda x: True, lambda x: x, [0], parallel_iterations=0),
        TypeError, "'parallel_iterations' must be a positive integer",
    ),
    "several maximum iterations": (
        lambda: tf.while_loop(lambda x: True, lambda x: x, [0], maximum_iterations=[1, 2]),
        ValueError, "'maximum_iterations' must be a scalar",
    ),
    "a condition that is no boolean": (
        lambda: tf.while_loop(lambda x: x, lambda x: x, [0.0]),
        TypeError, "'LoopCond' Op has type float32 that does not match expected type of bool",
    ),
    "too few results": (
        lambda: tf.while_loop(lambda i, x: True, lambda i, x: i, [0, 1]),
        ValueError, "don't have the same nested structure",
    ),
    "a result of another type": (
        lambda: tf.while_loop(lambda i: i < 3, lambda i: tf.cast(i, tf.float32), [0]),
        ValueError, "Input 1 of node while/Merge was passed float32 .* expected int32",
    ),
    "a result of another shape": (
        lambda: tf.while_loop(lambda x: True, lambda x: tf.concat([x, x], 0), [tf.constant([1.0])]),
        ValueError, "enters the loop with shape .1,., but has shape .2,. after one iteration",
    ),
    "a shape invariant that excludes the first value": (
        lambda: tf.while_loop(
            lambda x: True, lambda x: x, [tf.constant([1.0])],
            shape_invariants=[tf.TensorShape([2])],
        ),
        ValueError, "is not compatible with the initial shape of the loop variable",
    ),
    "a shape invariant of one handle for several": (
        lambda: tf.while_loop(
            lambda x: True, lambda x: x,
            [tf.stack([tf.get_variable("v", [2], use_resource=True).handle] * 2)],
            shape_invariants=[tf.TensorShape([])],
        ),
        ValueError, "is not compatible with the initial shape of the loop variable",
    ),
    "a type that is not that of the first value": (
        lambda: tf.while_loop(
            lambda x: True, lambda x: x, [tf.constant([1.0])],
            shape_invariants=[tf.TensorSpec([None], tf.int32)],
        ),
        TypeError, "TypeSpec TensorSpec.* is not compatible with <tf.Tensor",
    ),
    "a tensor of a loop outside": (
        lambda: leaked() + 1.0,
        ValueError, "Cannot use 'while/Identity' as input to 'add' because .* is in a while loop",
    ),
    "a tensor of a loop in another loop": (
        lambda: tf.while_loop(lambda x: x < 3.0, lambda x, y=leaked: x + y(), [0.0]),
        ValueError, "Cannot use .* because they are in different while loops",
    ),
    "a second derivative": (
        second_order, TypeError, "Second-order gradient for while loops not supported",
    ),
    "a gradient inside of the value that entered": (
        through_the_initial_value,
        ValueError, "Cannot compute gradient inside while loop with respect to op 'mul'",
    ),
    "an array without size": (
        lambda: tf.TensorArray(tf.float32), ValueError, "Argument `size` must be provided",
    ),
    "elements of different shapes": (
        lambda: tf.TensorArray(tf.float32, 2).write(0, [1.0]).write(1, [1.0, 2.0]),
        ValueError, "Inconsistent shapes: saw .2,. but expected .1,.",
    ),
    "a gradient of an array under another name": (
        lambda: _array_gradient("slopes"),
        ValueError, "Expected op/tensor name to start with gradients",
    ),
    "branches with gaps": (
        lambda: tf.switch_case(tf.constant(1), {1: lambda: 1}),
        ValueError, "must form contiguous range of .0 to 1. but found .1.",
    ),
    "a branch index that is no tensor": (
        lambda: tf.switch_case(1, [lambda: 1]), TypeError, "'branch_index' must be a Tensor",
    ),
}  # fmt: skip


def _array_gradient(name: str) -> Any:
    x = tf.constant([1.0])
    return tf.gradients(tf.TensorArray(tf.float32, 1).unstack(x).read(0), x, name=name)


@pytest.mark.parametrize("case", REFUSED)
def test_a_loop_that_cannot_be_built_is_refused(case: str) -> None:
    build: Callable[[], Any]
    build, error, message = REFUSED[case]
    with pytest.raises(error, match=message):
        build()


def test_an_unused_gradient_of_a_gradient_is_not_refused() -> None:
    x = tf.constant(2.0)
    _, y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * x), [0, x])
    (grad,) = tf.gradients(y, x)
    assert tf.gradients(tf.stop_gradient(grad), x) == [None]


@pytest.mark.e2e
def test_a_list_of_ys_with_the_result_of_a_loop_has_its_whole_gradient() -> None:
    x, factor = tf.constant([1.0, 2.0, 3.0]), tf.constant(2.0)
    products = tf.map_fn(lambda each: each * factor, x)
    (slope,) = tf.gradients([(products, x)], factor)
    with tf.Session() as session:
        assert session.run(slope) == 6


@pytest.mark.e2e
def test_the_gradients_of_a_loop_may_be_gated() -> None:
    x = tf.constant([2.0, 3.0])

    def body(i: Any, y: Any) -> Any:
        return i + 1, tf.cond(tf.equal(i % 2, 0), lambda: y * x, lambda: y + x)

    _, y = tf.while_loop(lambda i, y: i < 3, body, [0, x * 2.0])
    plain, gated = tf.gradients(y, x), tf.gradients(y, x, gate_gradients=True)
    with tf.Session() as session:
        assert np.array_equal(*session.run([plain[0], gated[0]]))


@pytest.mark.e2e
def test_a_stack_of_a_gradient_is_colocated_with_one_value() -> None:
    x = tf.constant([2.0, 3.0])

    def inner(i: Any, y: Any) -> Any:
        return tf.while_loop(lambda j, z: j < i, lambda j, z: (j + 1, z * x), [0, y])[1]

    def body(i: Any, y: Any) -> Any:
        return i + 1, tf.cond(tf.equal(i % 2, 0), lambda: inner(i, y), lambda: y + x)

    _, y = tf.while_loop(lambda i, y: i < 3, body, [0, x])
    tf.gradients(y, x)
    stacks = [op for op in tf.get_default_graph().get_operations() if op.type == "StackV2"]
    assert stacks
    assert [len(op.colocation_groups()) for op in stacks] == [1] * len(stacks)


def test_the_errors_of_an_array_name_the_array_and_the_types_as_in_tensorflow() -> None:
    # A GPU has no arrays of strings, so the placement would refuse the second array there.
    with tf.Graph().as_default(), tf.device("/cpu:0"), tf.Session() as session:
        array = tf.TensorArray(tf.float32, 3, tensor_array_name="foo", infer_shape=False)
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"TensorArray foo_\d+: Tried to"):
            session.run(array.write(3, 1.0).flow)
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"dtype is float but .* string"):
            session.run(array.write(0, "text").flow)


@pytest.mark.parametrize("where", ["a loop", "a loop that waits", "a conditional"])
def test_a_predicate_of_unknown_shape_must_be_a_scalar(where: str) -> None:
    # A GPU has no queues.
    with tf.Graph().as_default(), tf.device("/cpu:0"), tf.Session() as session:
        predicate = tf.placeholder(tf.bool)
        queue = tf.FIFOQueue(1, [tf.int32], [[]])
        result = {
            "a loop": lambda: tf.while_loop(lambda i: predicate, lambda i: i + 1, [0]),
            "a loop that waits": lambda: tf.while_loop(
                lambda i: predicate, lambda i: i + queue.dequeue(), [0]
            ),
            "a conditional": lambda: tf.cond(predicate, lambda: 1, lambda: 0),
        }[where]()
        assert session.run(result, {predicate: False}) == 0
        for wrong, shape in (([False], "1"), ([[True]], "1,1"), (np.zeros((0, 2), bool), "0,2")):
            with pytest.raises(
                tf.errors.InvalidArgumentError,
                match=rf"must be a scalar, but it has shape \[{shape}\]",
            ):
                session.run(result, {predicate: wrong})


def test_constants_from_outside_give_static_shapes_in_loops_and_branches() -> None:
    x, sizes = tf.ones([2, 3]), tf.constant([3, 2])
    seen = []

    def reshaped(y: Any) -> Any:
        seen.append(tf.reshape(y, sizes).shape.as_list())
        seen.append(tf.reduce_sum(tf.fill(tf.stack([4, sizes[0]]), 1.0), 1).shape.as_list())
        return y

    tf.while_loop(lambda y: True, reshaped, [x])
    tf.cond(tf.placeholder(tf.bool, []), lambda: reshaped(x), lambda: x)
    assert seen == [[3, 2], [4], [3, 2], [4]]
