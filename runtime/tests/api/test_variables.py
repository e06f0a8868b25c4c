"""Tests of variables: operations, names, sharing by name. The error messages are TensorFlow's."""

import threading
from typing import Any

import interpreter
import numpy as np
import pytest

import capstan as tf
from capstan.api import variable_scope
from capstan.framework import graph as graphs
from capstan.python.ops import variable_scope as private_variable_scope


@pytest.fixture
def machine() -> interpreter.Interpreter:
    return interpreter.Interpreter()


def test_a_variable_holds_the_value_assigned_last(machine: interpreter.Interpreter) -> None:
    v = tf.Variable([1.0, 2.0], name="v")
    with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized value v"):
        machine.run(v.value())
    machine.run(v.initializer)
    assert machine.run(v.value()).tolist() == [1, 2]
    assert machine.run(v.assign_add([1.0, 1.0])).tolist() == [2, 3]
    assert machine.run(v.assign_sub([2.0, 0.0])).tolist() == [0, 3]
    assert machine.run(v.assign([5.0, 6.0])).tolist() == [5, 6]
    rows = tf.IndexedSlices(tf.constant([1.0, 2.0]), tf.constant([1, 1]))
    assert machine.run(v.scatter_sub(rows)).tolist() == [5, 3]
    assert machine.run(v.read_value()).tolist() == [5, 3]
    assert machine.run(tf.exp(v) * 0.0 + v).tolist() == [5, 3]


@pytest.mark.parametrize("use_resource", [False, True])
def test_methods_change_rows_and_slices_of_a_variable(use_resource: bool) -> None:
    v = tf.get_variable("v", initializer=[[1.0, 2.0], [3.0, 4.0]], use_resource=use_resource)
    rows = tf.IndexedSlices([[2.0, 4.0]], [1])
    batch = tf.IndexedSlices([[7.0], [8.0]], [[1], [0]])
    for change, expected in (
        (lambda: v.scatter_add(rows), [[1, 2], [5, 8]]),
        (lambda: v.scatter_sub(rows), [[1, 2], [1, 0]]),
        (lambda: v.scatter_mul(rows), [[1, 2], [6, 16]]),
        (lambda: v.scatter_div(rows), [[1, 2], [1.5, 1]]),
        (lambda: v.scatter_max(rows), [[1, 2], [3, 4]]),
        (lambda: v.scatter_min(rows), [[1, 2], [2, 4]]),
        (lambda: v.scatter_update(rows), [[1, 2], [2, 4]]),
        (lambda: v.scatter_nd_add([[0, 1]], [5.0]), [[1, 7], [3, 4]]),
        (lambda: v.scatter_nd_sub([[0, 1]], [5.0]), [[1, -3], [3, 4]]),
        (lambda: v.scatter_nd_update([[0, 1]], [5.0]), [[1, 5], [3, 4]]),
        (lambda: v.batch_scatter_update(batch), [[1, 7], [8, 4]]),
    ):
        changed = change()
        with tf.Session() as session:
            session.run(v.initializer)
            assert session.run(changed).tolist() == session.run(v).tolist() == expected
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run(v.sparse_read([1])).tolist() == [[3, 4]]
        assert session.run(v.gather_nd([[1, 0]])).tolist() == [3]
    with pytest.raises(TypeError, match="sparse_delta is not IndexedSlices"):
        v.scatter_mul([1.0])


def test_a_variable_has_tensorflows_properties(graph: graphs.Graph) -> None:
    v = tf.Variable(np.zeros((2, 3)), name="v")
    assert (v.name, v.op.type, v.dtype.name) == ("v:0", "VariableV2", "float64_ref")
    assert v.shape == v.get_shape() == [2, 3]
    assert v.graph is graph
    assert v.initial_value.op.name == "v/initial_value"
    assert v.initializer.name == "v/Assign"
    assert repr(v) == "<tf.Variable 'v:0' shape=(2, 3) dtype=float64_ref>"
    assert v.value() is v.value()
    assert v.read_value() is not v.read_value()


def test_an_initial_value_function_builds_operations_colocated_with_the_variable() -> None:
    with tf.device("/job:ps"):
        v = tf.Variable(lambda: tf.zeros([2]) + 1.0, name="v")
    assert v.initial_value.op.name == "v/Initializer/add"
    assert v.initial_value.op.get_attr("_class") == [b"loc:@v"]
    assert v.initial_value.device == ""
    assert v.device == "/job:ps"


def test_a_variable_ignores_control_dependencies_around_it() -> None:
    with tf.control_dependencies([tf.constant(1)]):
        v = tf.Variable(1.0)
    for op in (v.op, v.initializer, v.value().op, v.initial_value.op):
        assert op.control_inputs == []


def test_a_variable_has_the_requested_dtype() -> None:
    assert tf.Variable(1, dtype=tf.float64).dtype.base_dtype is tf.float64
    with pytest.raises(TypeError, match=r"Expected int32, got 1.5 of type 'float' instead"):
        tf.Variable(1.5, dtype=tf.int32)


def test_a_cached_read_is_placed_on_the_caching_device() -> None:
    with tf.device("/job:ps"):
        v = tf.Variable(1.0, caching_device="/job:worker")
    assert v.value().device == "/job:worker"
    assert v.device == "/job:ps"


def test_an_unknown_shape_must_be_allowed(machine: interpreter.Interpreter) -> None:
    assert tf.Variable([1.0, 2.0], validate_shape=False).shape.ndims is None
    unknown = tf.placeholder(tf.float32, name="u")
    with pytest.raises(
        ValueError, match=r"initial_value must have a shape specified: Tensor\(\"u:0\""
    ):
        tf.Variable(unknown)
    v = tf.Variable(unknown, validate_shape=False)
    assert v.shape.ndims is None
    assert not v.initializer.get_attr("validate_shape")
    v.set_shape([2])
    assert v.value().shape == [2]


@pytest.mark.parametrize(
    "build, message",
    [
        (lambda: tf.Variable(), "initial_value must be specified."),
        (
            lambda: tf.Variable(1.0, collections="abc"),
            "collections argument to Variable constructor must be a list, tuple, or set. Got 'abc' "
            "of type str",
        ),
        (
            lambda: tf.Variable(1.0, variable_def=object()),
            "variable_def and initial_value are mutually exclusive.",
        ),
    ],
)
def test_invalid_arguments_of_a_variable_are_refused(build: Any, message: str) -> None:
    with pytest.raises(ValueError) as caught:
        build()
    assert str(caught.value) == message


def test_variables_are_added_to_their_collections() -> None:
    a = tf.Variable(1.0, name="a")
    b = tf.Variable(1.0, name="b", trainable=False)
    c = tf.Variable(1.0, collections=[tf.GraphKeys.LOCAL_VARIABLES])
    d = tf.Variable(1.0, collections=[tf.GraphKeys.LOCAL_VARIABLES], trainable=False)
    assert tf.global_variables() == [a, b]
    assert tf.trainable_variables() == [a, c]
    assert tf.local_variables() == [c, d]
    assert tf.global_variables("b") == [b]
    assert tf.model_variables() == tf.moving_average_variables() == []


def test_a_variable_can_be_rebuilt_from_its_variable_def(graph: graphs.Graph) -> None:
    v = tf.Variable(1.0, name="a/v")
    with graph.as_default():
        copy = tf.Variable.from_proto(v.to_proto())
    assert copy._ref() is v._ref()
    assert copy.value() is v.value()
    assert copy.initializer is v.initializer
    assert copy.initial_value is v.initial_value
    assert v.to_proto(export_scope="b") is None
    assert v.to_proto(export_scope="a").variable_name == "v:0"


def test_variables_are_keys_and_not_iterable() -> None:
    v, w = tf.Variable(1.0), tf.Variable(1.0)
    assert {v: 1, w: 2}[w] == 2
    assert v != w
    with pytest.raises(TypeError, match=r"'Variable' object is not iterable."):
        list(v)


def test_loading_needs_a_session() -> None:
    with pytest.raises(ValueError, match="Either session argument should be provided or default"):
        tf.Variable(1.0).load(2.0)


def test_the_global_initializer_is_called_init_and_initializes_global_variables(
    machine: interpreter.Interpreter,
) -> None:
    v, w = tf.Variable(1.0), tf.Variable(2.0, collections=["local_variables"])
    init = tf.global_variables_initializer()
    assert (init.name, init.type, init.control_inputs) == ("init", "NoOp", [v.initializer])
    report = tf.report_uninitialized_variables()
    assert machine.run(report).tolist() == [b"Variable", b"Variable_1"]
    machine.run(init)
    assert machine.run(report).tolist() == [b"Variable_1"]
    machine.run(tf.local_variables_initializer())
    assert machine.run(report).tolist() == []
    assert machine.run(tf.report_uninitialized_variables([])).tolist() == []
    assert machine.run(tf.is_variable_initialized(w))
    assert tf.variables_initializer([v, w], name="some").name == "some"


def test_the_report_of_uninitialized_variables_runs_on_a_cpu() -> None:
    with tf.device("/gpu:0"):
        assert tf.report_uninitialized_variables().device == "/device:CPU:0"
        tf.Variable(1.0)
        assert tf.report_uninitialized_variables().device == "/device:CPU:0"


# --- sharing by name


def test_variable_scopes_name_variables_and_name_scopes_do_not() -> None:
    with tf.name_scope("ns"):
        assert tf.get_variable("gv", [1]).name == "gv:0"
        assert tf.Variable(1.0, name="tv").name == "ns/tv:0"
    with tf.variable_scope("a"), tf.name_scope("ns"), tf.variable_scope("b"):
        assert tf.get_variable("v", [1]).name == "a/b/v:0"
        assert tf.constant(1, name="c").name == "a/ns/b/c:0"


def test_a_scope_that_is_entered_again_keeps_its_prefix_for_variables_only() -> None:
    with tf.variable_scope("a") as scope:
        w = tf.get_variable("w", [1])
        assert tf.constant(1, name="c").name == "a/c:0"
    with tf.variable_scope("a", reuse=True):
        assert tf.get_variable("w") is w
        assert tf.constant(1, name="c").name == "a_1/c:0"
    with tf.variable_scope("b"), tf.variable_scope(scope, reuse=True) as again:
        assert tf.get_variable("w") is w
        assert tf.constant(1, name="c").name == "b/a/c:0"
        assert (again.name, again.original_name_scope) == ("a", "a/")
    with tf.variable_scope(again):
        assert tf.get_variable("w") is w


def test_default_names_are_numbered() -> None:
    names = []
    for _ in range(2):
        with tf.variable_scope(None, default_name="d"):
            names.append(tf.get_variable("v", [1]).name)
            with tf.variable_scope(None, default_name="e"):
                names.append(tf.get_variable("v", [1]).name)
    with tf.variable_scope("d", reuse=tf.AUTO_REUSE), tf.variable_scope(None, "e"):
        names.append(tf.get_variable("x", [1]).name)
    assert names == ["d/v:0", "d/e/v:0", "d_1/v:0", "d_1/e/v:0", "d/e/x:0"]


def test_reentering_a_scope_object_does_not_use_up_its_default_names() -> None:
    with tf.variable_scope("a") as scope:
        with tf.variable_scope(None, "d") as first:
            pass
        with tf.variable_scope(scope), tf.variable_scope(None, "d"):
            pass
        with tf.variable_scope(None, "d") as second:
            pass
    assert (first.name, second.name) == ("a/d", "a/d_1")


def test_reuse_is_inherited_and_an_inner_scope_cannot_turn_it_off() -> None:
    with tf.variable_scope("a"):
        v = tf.get_variable("v", [1])
        with tf.variable_scope("b"):
            w = tf.get_variable("w", [1])
    with tf.variable_scope("a", reuse=True):
        assert tf.get_variable("v") is v
        with tf.variable_scope("b", reuse=False):
            assert tf.get_variable("w") is w
    with tf.variable_scope("a") as scope:
        assert not scope.reuse
        tf.get_variable_scope().reuse_variables()
        assert tf.get_variable("v") is v
    assert not tf.get_variable_scope().reuse


def test_a_custom_getter_must_be_callable() -> None:
    wrong: Any = 3
    with pytest.raises(ValueError, match="custom_getter is not callable: 3"):
        tf.get_variable("a", [], custom_getter=wrong)
    with (
        tf.variable_scope("scope", custom_getter=wrong),
        pytest.raises(ValueError, match="custom_getter is not callable: 3"),
    ):
        tf.get_variable("a", [])


def test_auto_reuse_creates_a_variable_once_and_then_returns_it() -> None:
    def layer() -> Any:
        with tf.variable_scope("l", reuse=tf.AUTO_REUSE), tf.variable_scope("m"):
            return tf.get_variable("v", [2])

    assert layer() is layer()
    assert len(tf.global_variables()) == 1


SHARED = "Trying to share variable a/w, but specified"


NO_SHAPE = (
    "The initializer passed is not valid. It should be a callable with no arguments and the shape "
    "should not be provided or an instance of `tf.keras.initializers.*' and `shape` should be "
    "fully defined."
)


@pytest.mark.parametrize("use_resource", [False, True])
def test_the_shared_name_of_a_variable_has_no_number(use_resource: bool) -> None:
    with tf.variable_scope("a"):
        variable = tf.get_variable("w", [1], use_resource=use_resource)
    assert (variable.name, variable._shared_name) == ("a/w:0", "a/w")


def test_get_variable_calls_functions_whose_arguments_all_have_defaults() -> None:
    number = tf.get_variable("number", initializer=lambda x=2, *rest: [x])
    text = tf.get_variable("text", [], tf.string)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(number).tolist() == [2]
        assert session.run(text) == b""


@pytest.mark.parametrize(
    "reuse, arguments, message",
    [
        (
            None,
            {"name": "w", "shape": [1]},
            "Variable a/w already exists, disallowed. Did you mean to set reuse=True or "
            "reuse=tf.AUTO_REUSE in VarScope? Originally defined at:\n\n",
        ),
        (
            True,
            {"name": "zz", "shape": [1]},
            "Variable a/zz does not exist, or was not created with tf.get_variable(). Did you mean "
            "to set reuse=tf.AUTO_REUSE in VarScope?",
        ),
        (True, {"name": "w", "shape": [2]}, f"{SHARED} shape (2,) and found shape (1,)."),
        (
            tf.AUTO_REUSE,
            {"name": "w", "dtype": tf.int32},
            f"{SHARED} dtype int32 and found dtype float32_ref.",
        ),
        (
            None,
            {"name": "x"},
            NO_SHAPE,
        ),
        (
            None,
            {"name": "x", "shape": [None, 2]},
            NO_SHAPE,
        ),
        (
            None,
            {"name": "x", "shape": [1], "initializer": 3.0},
            "If initializer is a constant, do not specify shape.",
        ),
        (
            None,
            {"name": "x", "initializer": tf.float32.as_numpy_dtype(1), "dtype": tf.int32},
            "Initializer type '<dtype: 'float32'>' and explicit dtype '<dtype: 'int32'>' "
            "don't match.",
        ),
        (
            None,
            {"name": "x", "initializer": lambda shape: [2]},
            NO_SHAPE,
        ),
        (
            None,
            {"name": "x", "shape": [1], "dtype": tf.complex64},
            "An initializer for variable a/x of <dtype: 'complex64'> is required",
        ),
    ],
)
def test_get_variable_raises_errors_with_tensorflows_messages(
    reuse: Any, arguments: dict[str, Any], message: str
) -> None:
    with tf.variable_scope("a"):
        tf.get_variable("w", [1])
    with tf.variable_scope("a", reuse=reuse), pytest.raises(ValueError) as caught:
        tf.get_variable(**arguments)
    assert str(caught.value).startswith(message)


def test_without_reuse_a_name_can_be_created_only_once() -> None:
    with tf.variable_scope(variable_scope.VariableScope(False, name="a")):
        tf.get_variable("w", [1])
        with pytest.raises(ValueError, match="Variable a/w already exists, disallowed"):
            tf.get_variable("w", [1])


def test_a_scope_without_a_choice_of_reuse_creates_and_returns_variables() -> None:
    with tf.variable_scope(variable_scope.VariableScope(None, name="a")):
        w = tf.get_variable("w", [1])
        assert tf.get_variable("w", [1]) is w


def test_the_store_of_a_graph_creates_and_returns_variables_by_their_full_names() -> None:
    store = private_variable_scope._get_default_variable_store()
    with tf.variable_scope("a"):
        w = tf.get_variable("w", [1])
        assert store.get_variable("a/w", [1]) is w
    with pytest.raises(ValueError, match="Variable a/w already exists, disallowed"):
        store.get_variable("a/w", [1], reuse=False)
    assert store._vars == {"a/w": w}


def test_the_error_of_a_second_definition_shows_the_first_definition() -> None:
    tf.get_variable("w", [1])
    with pytest.raises(
        ValueError, match=r"test_variables.py\", line \d+, in test_the_error_of_a_sec"
    ):
        tf.get_variable("w", [1])


@pytest.mark.parametrize(
    "build, kind, message",
    [
        (
            lambda: tf.variable_scope(None),
            TypeError,
            "If default_name is None then name_or_scope is required",
        ),
        (
            lambda: tf.variable_scope(3),
            TypeError,
            "VariableScope: name_or_scope must be a string or VariableScope.",
        ),
        (
            lambda: tf.variable_scope(None, "d", reuse=True),
            ValueError,
            "reuse=True cannot be used without a name_or_scope",
        ),
    ],
)
def test_a_variable_scope_needs_a_name(build: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind) as caught:
        build()
    assert str(caught.value) == message


def test_inner_scopes_inherit_the_defaults_of_outer_scopes(
    machine: interpreter.Interpreter,
) -> None:
    losses: list[Any] = []

    def regularizer(variable: Any) -> Any:
        losses.append(variable)
        return tf.reduce_sum(tf.square(variable))

    with tf.variable_scope(
        "a", initializer=tf.constant_initializer(0.5), regularizer=regularizer, dtype=tf.float64
    ):
        with tf.variable_scope("b", dtype=tf.float32):
            v = tf.get_variable("v", [2])
        w = tf.get_variable(
            "w", [1], regularizer=tf.no_regularizer, initializer=tf.ones_initializer
        )
        tf.get_variable("none", [1], regularizer={})
    assert (v.dtype.base_dtype, w.dtype.base_dtype) == (tf.float32, tf.float64)
    assert losses == [v]
    (loss,) = tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)
    assert loss.op.name.startswith("a/b/v/Regularizer/")
    machine.run(tf.global_variables_initializer())
    assert machine.run(loss) == 0.5
    assert machine.run(w.value()).tolist() == [1]


def test_an_initial_value_gives_a_variable_its_shape_and_dtype() -> None:
    v = tf.get_variable("v", initializer=np.zeros((2, 1), np.int64))
    assert (v.shape, v.dtype.base_dtype) == ([2, 1], tf.int64)
    w = tf.get_variable("w", initializer=3, dtype=tf.int64)
    assert (w.shape, w.dtype.base_dtype) == ([], tf.int64)


def test_an_inner_custom_getter_wraps_the_outer_one() -> None:
    calls: list[str] = []

    def outer(getter: Any, name: str, **kwargs: Any) -> Any:
        calls.append(f"outer {name}")
        return getter(name, **kwargs)

    def inner(getter: Any, name: str, **kwargs: Any) -> Any:
        calls.append(f"inner {name}")
        return getter(name, **{**kwargs, "trainable": False})

    with tf.variable_scope("a", custom_getter=outer), tf.variable_scope("b", custom_getter=inner):
        v = tf.get_variable("v", [1])
    assert calls == ["inner a/b/v", "outer a/b/v"]
    assert tf.trainable_variables() == []
    assert tf.global_variables() == [v]


def test_a_custom_getter_gets_every_argument_with_its_default() -> None:
    seen: list[dict[str, Any]] = []

    def getter(make: Any, name: str, **kwargs: Any) -> Any:
        seen.append(kwargs)
        return make(name, **kwargs)

    with tf.variable_scope("a", custom_getter=getter):
        tf.get_variable("v", [2])
        tf.get_variable("w", [2], trainable=False, collections=["mine"])
        tf.get_variable("x", [2], synchronization=tf.VariableSynchronization.ON_READ)
    unset = ("caching_device", "collections", "constraint", "initializer", "partitioner")
    assert seen[0] == {
        **dict.fromkeys((*unset, "regularizer", "use_resource")),
        "aggregation": tf.VariableAggregation.NONE,
        "dtype": tf.float32,
        "reuse": False,
        "shape": [2],
        "synchronization": tf.VariableSynchronization.AUTO,
        "trainable": True,
        "validate_shape": True,
    }
    assert (seen[1]["trainable"], seen[1]["collections"]) == (False, ["mine"])
    assert seen[2]["trainable"] is False


def test_a_local_variable_is_not_trained() -> None:
    v = tf.get_local_variable("v", [1])
    assert tf.local_variables() == [v]
    assert tf.trainable_variables() == tf.global_variables() == []


def test_a_scope_lists_its_variables() -> None:
    with tf.variable_scope("a") as scope:
        v = tf.get_variable("v", [1])
        local = tf.get_local_variable("local", [1])
    tf.get_variable("ab", [1])
    assert scope.trainable_variables() == scope.global_variables() == [v]
    assert scope.local_variables() == [local]
    assert len(tf.get_variable_scope().global_variables()) == 2


def test_a_scope_enters_the_graph_of_its_values(graph: graphs.Graph) -> None:
    x = tf.constant(1.0)
    with graphs.Graph().as_default(), tf.variable_scope("a", values=[x]):
        assert tf.get_variable("v", [1]).graph is graph


def test_an_error_in_a_block_leaves_the_scope() -> None:
    with pytest.raises(RuntimeError, match=r"^oops$"), tf.variable_scope("a", reuse=True):
        raise RuntimeError("oops")
    assert (tf.get_variable_scope().name, tf.get_variable_scope().reuse) == ("", False)


def test_a_finalized_graph_still_finds_its_variables(graph: graphs.Graph) -> None:
    v = tf.get_variable("v", [1])
    graph.finalize()
    with tf.variable_scope("", reuse=True):
        assert tf.get_variable("v") is v


def test_threads_share_variables_but_not_scopes(graph: graphs.Graph) -> None:
    threads = 4
    results: list[Any] = []
    inside = threading.Barrier(threads)

    def build(index: int) -> None:
        with graph.as_default():
            with tf.variable_scope(f"t{index}"):
                inside.wait()
                own_name = tf.get_variable("v", [1]).name
                inside.wait()
            with tf.variable_scope("shared", reuse=tf.AUTO_REUSE):
                results.append((own_name, tf.get_variable("v", [1])))

    workers = [threading.Thread(target=build, args=(index,)) for index in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    own_names = sorted(own_name for own_name, _ in results)
    assert own_names == [f"t{index}/v:0" for index in range(threads)]
    assert len({variable for _, variable in results}) == 1


# --- initializers


@pytest.mark.parametrize(
    "initializer, dtype, expected",
    [
        (tf.zeros_initializer(), None, 0),
        (tf.zeros_initializer(), tf.int32, 0),
        (tf.zeros_initializer(), tf.bool, False),
        (tf.zeros_initializer(tf.string), None, b""),
        (tf.ones_initializer(), tf.int64, 1),
        (tf.ones_initializer(), tf.bool, True),
        (tf.constant_initializer(2.5), None, 2.5),
        (tf.constant_initializer([1, 2]), tf.int32, [[1, 2, 2], [2, 2, 2]]),
    ],
)
@pytest.mark.parametrize("side", [3, 2000])
def test_constant_initializers_create_their_constant(
    machine: interpreter.Interpreter, initializer: Any, dtype: Any, expected: Any, side: int
) -> None:
    value = machine.run(initializer([2, side], dtype=dtype))
    assert value.shape == (2, side)
    assert value[:, :3].tolist() == np.broadcast_to(np.array(expected), (2, 3)).tolist()
    if dtype is not None:
        assert tf.as_dtype(value.dtype) is dtype


@pytest.mark.parametrize(
    "initializer, mean, deviation, bound",
    [
        (tf.random_normal_initializer(3.0, 2.0, seed=1), 3, 2, None),
        (tf.truncated_normal_initializer(stddev=2.0, seed=1), 0, 2 * 0.8796, 4),
        (tf.random_uniform_initializer(-1, 3, seed=1), 1, 4 / 12**0.5, 3),
        (tf.glorot_uniform_initializer(seed=1), 0, (2 / 300) ** 0.5, (6 / 300) ** 0.5),
        (tf.glorot_normal_initializer(seed=1), 0, (2 / 300) ** 0.5, 2 / 0.8796 * (2 / 300) ** 0.5),
        (tf.variance_scaling_initializer(seed=1), 0, 0.1, 0.2 / 0.8796),
        (tf.variance_scaling_initializer(distribution="Normal", seed=1), 0, 0.1, 0.2 / 0.8796),
        (tf.variance_scaling_initializer(distribution="untruncated_normal", seed=1), 0, 0.1, None),
        (tf.initializers.he_normal(seed=1), 0, 0.02**0.5, 2 / 0.8796 * 0.02**0.5),
        (tf.initializers.he_uniform(seed=1), 0, 0.02**0.5, 0.06**0.5),
        (tf.initializers.lecun_normal(seed=1), 0, 0.1, 0.2 / 0.8796),
        (tf.initializers.lecun_uniform(seed=1), 0, 0.1, 0.03**0.5),
        (
            tf.variance_scaling_initializer(2.0, "fan_out", "uniform", seed=1),
            0,
            (2 / 200) ** 0.5,
            (6 / 200) ** 0.5,
        ),
        (tf.uniform_unit_scaling_initializer(2.0, seed=1), 0, 2 * 0.1, 2 * (3 / 100) ** 0.5),
    ],
)
def test_random_initializers_have_their_distribution(
    machine: interpreter.Interpreter, initializer: Any, mean: float, deviation: float, bound: Any
) -> None:
    value = machine.run(initializer([100, 200]))
    assert value.dtype == np.float32
    np.testing.assert_allclose(value.std(), deviation, rtol=0.03)
    np.testing.assert_allclose(value.mean(), mean, atol=4 * deviation / 20000**0.5)
    if bound is not None:
        assert np.abs(value).max() <= bound * (1 + 1e-6)


@pytest.mark.parametrize(
    "shape, fan_in, fan_out",
    [([7], 7, 7), ([], 1, 1), ([0, 1], 1, 1), ([3, 5], 3, 5), ([2, 2, 3, 5], 12, 20)],
)
def test_the_fan_of_a_kernel_includes_its_receptive_field(
    machine: interpreter.Interpreter, shape: list[int], fan_in: int, fan_out: int
) -> None:
    for mode, fan in (
        ("fan_in", fan_in),
        ("fan_out", fan_out),
        ("fan_avg", (fan_in + fan_out) / 2),
    ):
        value = tf.variance_scaling_initializer(3.0, mode, "uniform", seed=1)(shape)
        limit = (9 / fan) ** 0.5
        assert np.abs(machine.run(value)).max(initial=0) <= limit * (1 + 1e-6)
        # The limit is a constant of the graph.
        bounds = [
            float(op.get_attr("value"))
            for op in _constants(value)
            if op.get_attr("value").ndim == 0
        ]
        assert any(abs(bound + limit) < 1e-6 for bound in bounds)


def test_an_identity_initializer_creates_a_matrix_or_its_part(
    machine: interpreter.Interpreter,
) -> None:
    assert machine.run(tf.initializers.identity(2.0)([2, 3])).tolist() == [[2, 0, 0], [0, 2, 0]]
    split = tf.get_variable(
        "split", [4, 3], initializer=tf.initializers.identity(),
        partitioner=tf.fixed_size_partitioner(2),
    )  # fmt: skip
    parts = [machine.run(part.initial_value).tolist() for part in split]
    assert parts == [[[1, 0, 0], [0, 1, 0]], [[0, 0, 1], [0, 0, 0]]]
    with pytest.raises(ValueError, match="2D matrices"):
        tf.initializers.identity()([2, 2, 2])


def _constants(tensor: Any) -> list[Any]:
    return [
        op
        for op in tensor.graph.get_operations()
        if op.type == "Const" and op.get_attr("value").dtype == np.float32
    ]


@pytest.mark.parametrize(
    "build, message",
    [
        (
            lambda: tf.variance_scaling_initializer(0.0),
            "`scale` must be positive float, but is 0.0",
        ),
        (lambda: tf.variance_scaling_initializer(mode="x"), "Invalid `mode` argument: x"),
        (
            lambda: tf.variance_scaling_initializer(distribution="x"),
            "Invalid `distribution` argument: x",
        ),
        (
            lambda: tf.random_normal_initializer(dtype=tf.int32),
            "Expected floating point type, got <dtype: 'int32'>.",
        ),
    ],
)
def test_invalid_arguments_of_initializers_are_refused(build: Any, message: str) -> None:
    with pytest.raises(ValueError) as caught:
        build()
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "initializer",
    [
        tf.zeros_initializer(),
        tf.constant_initializer(3),
        tf.random_uniform_initializer(1, 2, seed=3),
        tf.truncated_normal_initializer(seed=1),
        tf.glorot_uniform_initializer(seed=5),
        tf.variance_scaling_initializer(2.0),
        tf.initializers.identity(3.0),
    ],
    ids=lambda initializer: type(initializer).__name__,
)
def test_an_initializer_can_be_recreated_from_its_config(initializer: Any) -> None:
    config = initializer.get_config()
    again = type(initializer).from_config(config)
    assert again.get_config() == config
    assert vars(again) == vars(initializer)


def test_the_default_initializer_is_zeros_for_integers_and_glorots_for_floats(
    machine: interpreter.Interpreter,
) -> None:
    assert tf.get_variable("i", [2], tf.int32).initial_value.op.type == "Const"
    floats = tf.get_variable("f", [50, 50])
    machine.run(tf.global_variables_initializer())
    assert 0.15 < np.abs(machine.run(floats.value())).max() <= (6 / 100) ** 0.5


def test_a_reference_variable_may_have_a_shape_of_its_own() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        unknown = tf.TensorShape(None)
        v = tf.Variable([1.0, 2.0], shape=unknown, validate_shape=False, use_resource=False)
        assert v.shape.ndims is None
        session.run(v.initializer)
        session.run(tf.assign(v, [[1.0, 2.0, 3.0]], validate_shape=False))
        assert session.run(v).tolist() == [[1, 2, 3]]


def test_references_of_tensors_and_variables_are_keys() -> None:
    with tf.Graph().as_default():
        x, y = tf.Variable(1), tf.constant(1)
        for each in (x, y):
            reference = each.experimental_ref()
            assert reference.deref() is each
            assert {reference: "found"}[each.experimental_ref()] == "found"
            assert repr(reference) == f"<Reference wrapping {each!r}>"
        assert x.experimental_ref() != y.experimental_ref()
        with pytest.raises(TypeError, match="is no reference"):
            assert x.experimental_ref() == x
