"""`cond`, `while_loop` and `switch_case` as operations that call functions: control flow v2."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from fresh_sessions import run

import capstan as tf


@pytest.fixture(autouse=True)
def _fresh_graph() -> Iterator[None]:
    tf.reset_default_graph()
    yield
    tf.disable_control_flow_v2()


@pytest.fixture
def functional() -> None:
    tf.enable_control_flow_v2()


def types() -> list[str]:
    return [op.type for op in tf.get_default_graph().get_operations()]


def looped(x: Any) -> Any:
    _, y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * x), [0, x])
    return tf.cond(y > 1.0, lambda: y * y, lambda: y)


def test_switch_case_is_a_case_whose_functions_have_loops_and_conditionals_of_v2() -> None:
    x = tf.placeholder_with_default(tf.constant(1.5), [])
    number = tf.placeholder(tf.int32, [])
    y = tf.switch_case(number, [lambda: looped(x), lambda: x + 1.0])
    (grad,) = tf.gradients(y, x)
    assert y.op.inputs[0].op.name == "switch_case/indexed_case"
    assert y.op.inputs[0].op.type == "Case"
    assert not {"Switch", "Enter"} & set(types())
    np.testing.assert_allclose(run([y, grad], {number: 0}), [1.5**8, 8 * 1.5**7], rtol=1e-5)
    np.testing.assert_allclose(run([y, grad], {number: 7}), [2.5, 1.0])


def test_a_loop_without_back_prop_has_no_gradient(functional: None) -> None:
    x = tf.constant([2.0, 3.0])
    array = tf.TensorArray(tf.float32, 3)
    _, y, array = tf.while_loop(
        lambda i, *_: i < 3,
        lambda i, y, array: (i + 1, y * x, array.write(i, y)),
        [0, x, array],
        back_prop=False,
    )
    assert tf.gradients([y, array.stack()], x) == [None]
    np.testing.assert_allclose(run(y), [16.0, 81.0])


def test_the_choice_holds_for_graphs_that_are_built_afterwards() -> None:
    assert not tf.control_flow_v2_enabled()
    tf.enable_control_flow_v2()
    assert tf.control_flow_v2_enabled()
    looped(tf.constant(1.1))
    assert {"StatelessIf", "StatelessWhile"} <= set(types())
    tf.disable_control_flow_v2()
    looped(tf.constant(1.1))
    assert {"Switch", "Enter"} <= set(types())


@pytest.mark.usefixtures("functional")
def test_results_have_the_names_of_tensorflow() -> None:
    y = tf.cond(tf.constant(True), lambda: tf.constant(1.0), lambda: tf.constant(2.0))
    assert (y.name, y.op.inputs[0].name) == ("cond/Identity:0", "cond:0")
    i = tf.while_loop(lambda i: i < 2, lambda i: i + 1, [tf.constant(0)])
    assert (i.name, i.op.inputs[0].name) == ("while/Identity:0", "while:2")


@pytest.mark.usefixtures("functional")
def test_a_variable_of_a_branch_belongs_to_the_graph_around_it() -> None:
    def branch() -> Any:
        with tf.variable_scope("inner"):
            v = tf.get_variable("v", initializer=2.0, use_resource=True)
        with tf.control_dependencies([v.assign_add(1.0)]):
            return v.read_value()

    with tf.variable_scope("outer"):
        y = tf.cond(tf.constant(True), branch, lambda: tf.constant(0.0))
    (v,) = tf.trainable_variables()
    assert (v.op.name, v.graph) == ("outer/inner/v", tf.get_default_graph())
    assert run(y) == 3.0


@pytest.mark.usefixtures("functional")
@pytest.mark.parametrize("use_resource", [False, True])
def test_a_variable_that_a_branch_or_a_body_makes_belongs_to_the_graph_around_it(
    use_resource: bool,
) -> None:
    def variable(name: str, value: Any) -> Any:
        return tf.Variable(value, name=name, use_resource=use_resource)

    def body(i: Any, y: Any) -> Any:
        with tf.name_scope("inner"):
            return i + 1, y * variable("weight", lambda: 2.0)

    with tf.name_scope("outer"):
        _, y = tf.while_loop(lambda i, y: i < 3, body, [0, tf.constant(1.0)])
        z = tf.cond(y > 0.0, lambda: y + variable("bias", 1.0), lambda: y)
    names = [made.name for made in tf.global_variables()]
    assert [name.rpartition("/")[2] for name in names] == ["weight:0", "bias:0"]
    assert names[0].endswith("inner/weight:0")
    assert run([z, *tf.gradients(z, tf.global_variables())]) == [9.0, 12.0, 1.0]
    with pytest.raises(ValueError, match="is from inside a control-flow construct"):
        tf.cond(y > 0.0, lambda: variable("copy", tf.constant(1.0)).value(), lambda: y)


@pytest.mark.usefixtures("functional")
def test_a_call_waits_for_the_operations_that_its_functions_wait_for() -> None:
    v = tf.get_variable("v", initializer=1.0, use_resource=True)
    change = v.assign(5.0)

    def late() -> Any:
        with tf.control_dependencies([change]):
            return v.read_value()

    i, y = tf.while_loop(lambda i, y: i < 1, lambda i, y: (i + 1, late()), [0, 0.0])
    y = tf.cond(tf.equal(i, 1), lambda: y, late)
    assert run(y) == 5.0
    assert [
        op.name for op in tf.get_default_graph().get_operations() if change.op in op.control_inputs
    ]


@pytest.mark.usefixtures("functional")
def test_an_operation_as_the_result_of_a_branch_runs_if_the_branch_is_taken() -> None:
    v = tf.get_variable("v", initializer=1.0, use_resource=True)
    pred = tf.placeholder(tf.bool, [])
    done = tf.cond(pred, lambda: v.assign(3.0).op, tf.no_op)
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run(done, {pred: False}) == np.False_
        assert session.run(v) == 1.0
        assert session.run(done, {pred: True}) == np.True_
        assert session.run(v) == 3.0


@pytest.mark.usefixtures("functional")
def test_a_gradient_inside_a_branch_reaches_a_tensor_from_outside() -> None:
    x = tf.constant(3.0)
    v = tf.get_variable("v", initializer=2.0, use_resource=True)
    y = tf.cond(x > 0.0, lambda: tf.gradients(v * x * x, [x, v]), lambda: [x, x])
    assert run(y) == [12.0, 9.0]


@pytest.mark.usefixtures("functional")
def test_functions_get_the_devices_and_the_seed_of_the_graph_around_them() -> None:
    tf.set_random_seed(3)
    seen: list[Any] = []

    def branch() -> Any:
        x = tf.random_uniform([])
        seen.extend([x.op.device, x.graph.seed, tf.control_flow_v2_enabled()])
        return x

    with tf.device("/cpu:0"):
        tf.cond(tf.constant(True), branch, branch)
    assert seen == ["/device:CPU:0", 3, True] * 2


@pytest.mark.usefixtures("functional")
def test_wrong_functions_are_refused_with_a_reason() -> None:
    x = tf.constant(1.0)
    with pytest.raises(TypeError, match=r"true_fn and false_fn arguments to tf.cond must have the"):
        tf.cond(x > 0.0, lambda: x, lambda: (x, x))
    with pytest.raises(TypeError, match="have different types"):
        tf.cond(x > 0.0, lambda: x, lambda: 1)
    with pytest.raises(TypeError, match=r"arguments to tf.switch_case must have the same number"):
        tf.switch_case(tf.constant(0), [lambda: x, lambda: (x, x)])
    with pytest.raises(ValueError, match="must return at least one result"):
        tf.cond(x > 0.0, lambda: None, lambda: None)
    with pytest.raises(TypeError, match=r"enters the loop with type tf.float32 but has type"):
        tf.while_loop(lambda y: y < 3.0, lambda y: tf.cast(y, tf.int32), [x])
    with pytest.raises(ValueError, match=r"has shape .2.* after one iteration"):
        tf.while_loop(lambda y: True, lambda y: tf.concat([y, y], 0), [tf.constant([1.0])])


@pytest.mark.usefixtures("functional")
def test_an_array_is_a_list_that_loops_fill() -> None:
    array = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
    assert array.handle is None
    assert array.flow.dtype is tf.variant
    _, array = tf.while_loop(
        lambda i, a: i < 3, lambda i, a: (i + 1, a.write(i, tf.cast(i, tf.float32))), [0, array]
    )
    assert isinstance(array, tf.TensorArray)
    values, size = run([array.stack(), array.size()])
    np.testing.assert_array_equal(values, [0.0, 1.0, 2.0])
    assert size == 3
    with pytest.raises(ValueError, match="trying to write dtype int32"):
        array.write(0, tf.constant(1))
    with pytest.raises(NotImplementedError, match="no array of gradients"):
        array.grad("gradients")
