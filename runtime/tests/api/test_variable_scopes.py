"""Variables that are shared by name: variable scopes, `tf.get_variable` and custom getters."""

import threading
from typing import Any

import interpreter
import numpy as np
import pytest

import capstan as tf
from capstan.api import open_scopes, variable_scope
from capstan.framework import graph as graphs
from capstan.python.ops import variable_scope as private_variable_scope


@pytest.fixture
def machine() -> interpreter.Interpreter:
    return interpreter.Interpreter()


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
        ValueError, match=r"test_variable_scopes.py\", line \d+, in test_the_error_of_a_sec"
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
        (
            lambda: tf.variable_scope("s", reuse="no"),
            ValueError,
            "The reuse parameter must be True or False or None, not 'no'.",
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

    def recording(**kwargs: Any) -> Any:
        seen.append(kwargs)
        return kwargs.pop("getter")(**kwargs)

    with tf.variable_scope("a", custom_getter=recording):
        tf.get_variable("v", [2])
        tf.get_variable("w", [2], trainable=False, collections=["mine"])
        tf.get_variable("x", [2], synchronization=tf.VariableSynchronization.ON_READ)
    unset = ("caching_device", "collections", "constraint", "initializer", "partitioner")
    assert seen[0] == {
        **dict.fromkeys((*unset, "regularizer", "use_resource")),
        "aggregation": tf.VariableAggregation.NONE,
        "dtype": tf.float32,
        "name": "a/v",
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


def test_a_graph_keeps_no_names_of_scopes_inside_a_closed_scope(graph: graphs.Graph) -> None:
    for _ in range(3):
        with tf.variable_scope(None, "layer"):
            for _ in range(4):
                with tf.variable_scope(None, "inner"):
                    pass
    assert set(open_scopes.of(graph).opened) == {"layer", "layer_1", "layer_2"}
