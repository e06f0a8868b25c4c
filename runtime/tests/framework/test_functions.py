"""`Defun`: functions of the graph, their captured tensors, and their gradients, in sessions."""

from typing import Any

import numpy as np
import pytest
from fresh_sessions import run

import capstan as tf
from capstan.api import function
from capstan.python.framework import function as aliases


@pytest.fixture(autouse=True)
def _fresh_graph() -> None:
    tf.reset_default_graph()


def test_a_function_is_called_with_tensors_and_returns_its_results() -> None:
    @function.Defun(tf.float32, tf.float32, func_name="AddAndSubtract")
    def add_and_subtract(x: Any, y: Any) -> Any:
        return x + y, x - y

    total, difference = add_and_subtract(5.0, tf.constant(2.0), name="call")
    assert total.op.type == "AddAndSubtract"
    assert total.op.name == "call"
    assert run([total, difference]) == [7.0, 3.0]


def test_the_name_of_a_function_follows_from_its_body() -> None:
    def twice(x: Any) -> Any:
        return x * 2.0

    def half(x: Any) -> Any:
        return x * 0.5

    names = [function.Defun(tf.float32)(body).name for body in (twice, twice, half)]
    assert names[0] == names[1]
    assert names[0].startswith("twice_")
    assert names[2].startswith("half_")


def test_a_function_without_types_is_defined_for_each_combination() -> None:
    @function.Defun(func_name="Twice")
    def twice(x: Any) -> Any:
        return x + x

    results = [twice(1.5), twice(2), twice(np.int32(3))]
    assert [result.op.type for result in results] == ["Twice_float32", "Twice_int32", "Twice_int32"]
    assert run(results) == [3.0, 4, 6]


def test_a_function_captures_tensors_and_hoists_variables() -> None:
    outside = tf.placeholder(tf.float32, [])

    @function.Defun(tf.float32)
    def inner(x: Any) -> Any:
        return x + outside

    @function.Defun(tf.float32)
    def outer(x: Any) -> Any:
        return inner(x) * tf.get_variable("weight", initializer=3.0)

    with tf.variable_scope("layer"):
        result = outer(1.0)
    assert outer.captured_inputs[0] is outside
    signature = outer.definition.signature
    arguments = [argument.name for argument in signature.input_arg]
    assert (signature.name, len(arguments), arguments[0]) == (outer.name, 3, "x")
    assert [variable.name for variable in tf.global_variables()] == ["layer/weight:0"]
    assert run(result, {outside: 4.0}) == 15.0


def test_a_function_without_results_returns_its_operation() -> None:
    @function.Defun(tf.float32)
    def check(x: Any) -> None:
        tf.Assert(x > 0, [x], name="is_positive")

    call = check(-1.0)
    assert isinstance(call, tf.Operation)


def test_conditions_and_loops_run_inside_of_a_function() -> None:
    @function.Defun(tf.float32)
    def size(x: Any) -> Any:
        return tf.cond(x > 0, lambda: x, lambda: -x)

    assert run([size(3.0), size(-4.0)]) == [3.0, 4.0]


@pytest.mark.e2e
def test_the_gradient_of_a_call_differentiates_the_body() -> None:
    x, z = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])

    @function.Defun(tf.float32, tf.float32)
    def product(a: Any, b: Any) -> Any:
        return a * b, a + b

    @function.Defun(tf.float32)
    def cube(a: Any) -> Any:
        return product(product(a, a)[0], a)[0] * z

    y = cube(x)
    first = tf.gradients(y, [x, z])
    (second,) = tf.gradients(first[0], [x])
    assert run([y, *first, second], {x: 2.0, z: 5.0}) == [40.0, 60.0, 8.0, 60.0]


def test_a_gradient_function_takes_the_place_of_the_derivative() -> None:
    @function.Defun(tf.float32, tf.float32)
    def hundred(x: Any, grad: Any) -> Any:
        return grad * 100.0

    @function.Defun(tf.float32, grad_func=hundred)
    def by_function(x: Any) -> Any:
        return x * x

    @function.Defun(tf.float32, python_grad_func=lambda op, grad: grad * op.inputs[0] * 10.0)
    def by_python(x: Any) -> Any:
        return x * x

    x = tf.constant(3.0)
    found = [tf.gradients(call(x), x)[0] for call in (by_function, by_python)]
    assert run(found) == [100.0, 30.0]


def test_a_session_refuses_a_gradient_function_with_another_number_of_results() -> None:
    @function.Defun(tf.float32, tf.float32)
    def two(x: Any, grad: Any) -> Any:
        return x, grad

    @function.Defun(tf.float32, grad_func=two)
    def square(x: Any) -> Any:
        return x * x

    x = tf.constant(3.0)
    gradients = tf.gradients(square(x), x)
    with pytest.raises(
        tf.errors.InvalidArgumentError,
        match=r"SymGrad expects to return 1 tensor\(s\), but get 2 tensor\(s\) instead",
    ):
        run(gradients)


def test_a_function_may_differentiate_by_the_variables_that_it_asks_for() -> None:
    @function.Defun(tf.float32)
    def slope(x: Any) -> Any:
        y = x * x * tf.get_variable("weight", initializer=3.0)
        (weight,) = aliases.get_extra_args()
        assert aliases.get_extra_inputs() == [
            variable.value() for variable in aliases.get_extra_vars()
        ]
        return tf.gradients(y, weight)

    assert run(slope(2.0)) == 4.0
    assert [variable.name for variable in tf.global_variables()] == ["weight:0"]
    assert aliases.get_extra_vars() == aliases.get_extra_args() == aliases.get_extra_inputs() == []


def test_functions_are_in_the_graph_def_and_can_be_imported() -> None:
    @function.Defun(tf.float32, func_name="Square")
    def square(x: Any) -> Any:
        """Multiply a number by itself."""
        return x * x

    y = tf.identity(square(3.0), name="y")
    message = tf.get_default_graph().as_graph_def()
    (described,) = message.library.function
    assert described.signature.name == "Square"
    assert described.signature.description == "Multiply a number by itself."
    with tf.Graph().as_default() as again:
        tf.import_graph_def(message)
        assert again.as_graph_def().library == message.library
    with tf.Graph().as_default():
        (again,) = tf.import_graph_def(message, return_elements=["y:0"])
        (gradient,) = tf.gradients(
            again, [again.graph.get_operation_by_name("import/Square").inputs[0]]
        )
        assert run([again, gradient]) == [9.0, 6.0]
    assert run(y) == 9.0


@pytest.mark.parametrize(
    "define, error, message",
    [
        (lambda: function.Defun(tf.float32)(3), ValueError, "Function 3 must be a callable"),
        (
            lambda: function.Defun(tf.float32)(lambda x, y: x),
            ValueError,
            "The tf.function have 1 input types, while the python function allows minimum 2",
        ),
        (
            lambda: function.Defun(tf.float32)(lambda x=1: x),
            ValueError,
            "Functions with argument defaults or keywords arguments are not supported",
        ),
        (
            lambda: function.Defun(tf.float32)(lambda x: [None])(1.0),
            ValueError,
            "Function <lambda> can not return None",
        ),
        (
            lambda: function.Defun(tf.float32)(lambda x: x)(1.0, 2.0),
            ValueError,
            "Expected number of arguments: 1, received: 2",
        ),
    ],
)
def test_a_wrong_definition_or_call_is_refused(define: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        define()


@pytest.mark.e2e
def test_a_function_that_a_loop_calls_may_have_constants_and_a_gradient() -> None:
    @function.Defun(tf.int32, tf.float32, shape_func=lambda op: [[], []])
    def step(i: Any, y: Any) -> Any:
        return i + 1, y * tf.fill([], 2.0)

    x = tf.constant(1.5)
    _, y = tf.while_loop(lambda i, y: i < 5, step, [tf.constant(0), x])
    assert run([y, *tf.gradients(y, x)]) == [48.0, 32.0]


def test_a_function_acts_only_in_the_branch_that_calls_it() -> None:
    calls: list[float] = []

    def act() -> Any:
        calls.append(2.0)
        return np.float32(2.0)

    @function.Defun(tf.float32)
    def acting(x: Any) -> Any:
        return x + tf.py_func(act, [], tf.float32)

    chosen = tf.placeholder(tf.bool, [])
    result = tf.cond(chosen, lambda: acting(tf.constant(1.0)), lambda: tf.constant(0.0))
    assert run(result, {chosen: False}) == 0.0
    assert calls == []
    assert run(result, {chosen: True}) == 3.0
    assert calls == [2.0]


def test_several_results_are_a_tuple_and_unknown_options_are_refused() -> None:
    @function.Defun(tf.float32)
    def pair(x: Any) -> Any:
        return x, -x

    assert isinstance(pair(1.0), tuple)
    with pytest.raises(ValueError, match=r"Unknown keyword arguments: .*'device'"):
        pair(1.0, device="/cpu:0")
    with pytest.raises(ValueError, match=r"Unknown keyword arguments: .*'gradient'"):
        function.Defun(tf.float32, gradient=pair)(lambda x: x)(1.0)


def test_the_name_of_a_function_begins_with_the_name_of_the_python_function() -> None:
    class Model:
        def apply(self, x: Any) -> Any:
            return x

    @function.Defun(tf.float32, tf.float32)
    def twice(x: Any, grad: Any) -> Any:
        return grad * 2.0

    def same(x: Any) -> Any:
        return x

    unnamed = function.Defun(tf.float32)(lambda x: x + 1.0)
    assert unnamed.name.startswith("<lambda>_")
    assert unnamed(1.0).op.name.startswith("lambda_")  # An operation cannot have the name.
    assert function.Defun(tf.float32)(Model().apply).name.startswith("Model.apply_")
    graded = function.Defun(tf.float32, grad_func=twice)(same)
    assert graded.name.startswith(f"same_{twice.name}_")
    with tf.Session() as session:
        assert session.run(unnamed(1.0)) == 2.0


def test_a_function_uses_a_variable_again_that_it_has_asked_for() -> None:
    def linear(x: Any, reuse: bool | None) -> Any:
        with tf.variable_scope("linear", reuse=reuse):
            return tf.matmul(x, tf.get_variable("w", initializer=[[1.0, 1.0], [0.0, 2.0]]))

    @function.Defun(tf.float32)
    def twice(x: Any) -> Any:
        return linear(linear(x, None), reuse=True)

    assert run(twice([[1.0, 1.0]])).tolist() == [[1.0, 7.0]]
    assert [variable.name for variable in tf.global_variables()] == ["linear/w:0"]


@pytest.mark.parametrize("function_first", [True, False])
def test_a_template_has_the_same_variable_in_a_function_and_outside(function_first: bool) -> None:
    template = tf.make_template(
        "part", lambda x: x * tf.get_variable("v", initializer=3.0), create_scope_now_=True
    )
    callers = [function.Defun(tf.float32)(lambda x: template(x)), template]
    results = [caller(2.0) for caller in (callers if function_first else reversed(callers))]
    assert run(results) == [6.0, 6.0]
    assert [variable.name for variable in tf.global_variables()] == ["part/v:0"]
