"""`tf.function` and its kin: traces, concrete functions and errors."""

import gc
import weakref
from typing import Any

import numpy as np
import pytest
from fresh_sessions import run

import capstan as tf
from capstan.api.traced.concrete import ConcreteFunction


def untraced(function: Any, **options: Any) -> Any:
    return tf.function(function, autograph=False, **options)


def test_a_function_that_makes_variables_in_each_call_is_refused() -> None:
    with pytest.raises(ValueError, match="tried to create variables on non-first call"):
        untraced(lambda: tf.Variable(1.0) + 1.0)()


def test_defun_makes_variables_in_each_trace() -> None:
    made = tf.contrib.eager.defun(lambda x: tf.Variable(1.0) + x)
    assert run([made(1.0), made(2.0)]) == [2.0, 3.0]
    assert len(tf.global_variables()) == 2


def test_an_initial_value_cannot_depend_on_an_argument() -> None:
    with pytest.raises(ValueError, match="depends on an argument of the function"):
        untraced(lambda x: tf.Variable(x * 2.0))(tf.constant(1.0))


def test_an_initial_value_may_depend_on_a_captured_tensor_and_on_another_variable() -> None:
    start = tf.constant(2.0)
    kept: list[Any] = []

    @tf.function
    def scaled(x: Any) -> Any:
        if not kept:
            first = tf.Variable(start * 3.0)
            kept.extend([first, tf.Variable(lambda: first.initialized_value() + 1.0)])
        return kept[0] * kept[1] * x

    assert run(scaled(1.0)) == 42.0


def test_a_step_runs_what_changes_state_also_if_no_result_needs_it() -> None:
    variable = tf.Variable(1.0, use_resource=True)

    @tf.function
    def counted(x: Any) -> Any:
        variable.assign_add(1.0)
        return x

    found = counted(tf.constant(5.0))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(found) == 5.0
        assert session.run(variable) == 2.0


def test_a_function_without_a_result_returns_its_operation() -> None:
    variable = tf.Variable(1.0, use_resource=True)

    @tf.function
    def counted() -> None:
        variable.assign_add(1.0)

    op = counted()
    assert isinstance(op, tf.Operation)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(op)
        assert session.run(variable) == 2.0


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ([{1, 2}], TypeError, "must be hashable"),
        ([1, 2], TypeError, "too many positional arguments"),
        ([], TypeError, "missing a required argument: 'x'"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(
    arguments: list[Any], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        untraced(lambda x: tf.constant(x))(*arguments)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([[[1]]], "Python inputs incompatible with input_signature"),
        ([{"a": 1}], "must be convertible to tensors"),
        ([[1], [2]], "only pass arguments covered by it"),
    ],
)
def test_arguments_that_do_not_fit_the_signature_are_refused(
    given: list[Any], message: str
) -> None:
    more = untraced(lambda x: x, input_signature=[tf.TensorSpec([None], tf.int32)])
    with pytest.raises((TypeError, ValueError), match=message):
        more(*given)


def test_a_signature_has_the_structure_of_the_arguments() -> None:
    scalar = tf.TensorSpec([], tf.float32)
    total = untraced(lambda pair: pair[0] + pair[1]["x"], input_signature=[(scalar, {"x": scalar})])
    assert run(total((1.0, {"x": 2.0}))) == 3.0
    with pytest.raises(ValueError, match="Structure of Python function inputs does not match"):
        total((1.0, 2.0))


@pytest.mark.parametrize("signature", [3, [3]])
def test_a_wrong_signature_is_refused(signature: Any) -> None:
    with pytest.raises(TypeError, match="input_signature must be"):
        untraced(lambda x: x, input_signature=signature)


def test_a_result_that_is_no_tensor_is_refused() -> None:
    with pytest.raises(TypeError, match="found return value of type object, which is not a Tensor"):
        untraced(object)()


def test_a_concrete_function_describes_itself() -> None:
    variable = tf.Variable(1.0, use_resource=True)
    constant = tf.constant(2.0)
    made = untraced(
        lambda x, y: {"sum": x * variable + constant, "none": None}
    ).get_concrete_function(tf.TensorSpec([None], tf.float32), 3)
    assert isinstance(made, ConcreteFunction)
    assert made.structured_input_signature == ((tf.TensorSpec([None], tf.float32), 3), {})
    assert made.output_dtypes == {"sum": tf.float32, "none": None}
    assert made.output_shapes["sum"].as_list() == [None]
    assert made.variables == made.trainable_variables == [variable]
    assert set(made.captured_inputs) == {variable.handle, constant}
    assert made.function_def.signature.name == made.name.decode()
    assert list(run(made(x=[1.0, 2.0])["sum"])) == [3.0, 4.0]
    with pytest.raises(TypeError, match="'x' is missing"):
        made()
    with pytest.raises(TypeError, match="Unexpected keyword arguments"):
        made([1.0], z=1)


def test_specs_stand_for_values_of_several_tensors() -> None:
    dense = untraced(tf.sparse.to_dense).get_concrete_function(
        tf.SparseTensorSpec([2, 2], tf.float32)
    )
    assert len(dense.inputs) == 3
    rows = untraced(lambda rows: rows.to_tensor()).get_concrete_function(
        tf.RaggedTensorSpec([None, None], tf.int32)
    )
    assert list(run(rows(tf.constant([1, 2]), np.array([0, 2])))[0]) == [1, 2]


def test_the_traces_of_a_graph_end_with_it() -> None:
    double = tf.function(lambda x: x * 2.0)
    with tf.Graph().as_default() as graph:
        double(tf.constant(1.0))
    gone = weakref.ref(graph)
    del graph
    gc.collect()
    assert gone() is None


def test_an_object_does_not_live_as_long_as_its_method() -> None:
    class Scale:
        @tf.function
        def of(self, x: Any) -> Any:
            return x * 2.0

    scale = Scale()
    scale.of.get_concrete_function(tf.TensorSpec([], tf.float32))
    gone = weakref.ref(scale)
    del scale
    gc.collect()
    assert gone() is None


def test_a_function_runs_where_its_call_is_placed() -> None:
    variable = tf.Variable(1.0, use_resource=True)
    with tf.device("/cpu:0"):
        found = tf.function(lambda x: x + variable)(tf.constant(1.0))
    assert found.device.endswith("CPU:0")
    assert run(found) == 2.0


def test_a_traced_function_can_be_called_in_branches_and_loops_of_tensorflow_1() -> None:
    double = tf.function(lambda x: x * 2.0)
    x = tf.constant(3.0)
    branch = tf.cond(x > 0.0, lambda: double(x), lambda: double(-x))
    loop = tf.while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, double(y)), [0, x])[1]
    assert run([branch, loop, *tf.gradients(branch, x)]) == [6.0, 24.0, 2.0]


def test_a_wrapped_function_runs_the_operations_that_it_returns() -> None:
    variable = tf.Variable(1.0, use_resource=True)
    wrapped = tf.wrap_function(
        lambda x: (variable.assign_add(x, read_value=False), x), [tf.TensorSpec([], tf.float32)]
    )
    none, found = wrapped(tf.constant(2.0))
    assert none is None
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(found) == 2.0
        assert session.run(variable) == 3.0


def test_a_wrapped_function_keeps_its_variables_and_collections() -> None:
    def made() -> Any:
        tf.add_to_collection("kept", 1)
        return tf.get_variable("w", initializer=2.0) * 3.0

    wrapped = tf.wrap_function(made, [])
    assert run(wrapped()) == 6.0
    assert [variable.name for variable in wrapped.variables] == ["w:0"]
    assert tf.get_collection("kept") == []


def test_a_fetch_of_a_part_needs_its_feeds() -> None:
    wrapped = tf.wrap_function(lambda x: x * 2.0, [tf.TensorSpec([], tf.float32)])
    with pytest.raises(ValueError, match="depends on an argument"):
        wrapped.prune([], wrapped.outputs)


def test_loops_of_numbers_stack_their_results() -> None:
    from capstan.python.ops import parallel_for

    square = lambda i: i * i  # noqa: E731 - the shortest form
    assert list(run(parallel_for.pfor(square, 4))) == [0, 1, 4, 9]
    assert list(run(parallel_for.for_loop(square, tf.int32, 3))) == [0, 1, 4]
    with pytest.raises(ValueError, match="rank"):
        tf.vectorized_map(square, tf.constant(1))


def test_an_operation_that_a_function_returns_runs_in_each_call() -> None:
    variable = tf.Variable(3.0, use_resource=True)
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    op = tf.function(lambda: optimizer.minimize(variable**2.0, var_list=[variable]))()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(op)
        assert session.run(variable) == pytest.approx(2.4)
