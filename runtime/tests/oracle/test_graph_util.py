"""`tf.graph_util` makes of a graph of TensorFlow what TensorFlow's own functions make of it."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import capstan

pytestmark = pytest.mark.e2e


def model(v1: Any, use_resource: bool) -> tuple[Any, Any]:
    """Build a model with a condition, a lookup and training. Return its input and its output."""
    ids = v1.placeholder(v1.int32, [None], "ids")
    with v1.variable_scope("model", use_resource=use_resource):
        table = v1.get_variable("table", initializer=np.arange(6, dtype=np.float32).reshape(3, 2))
        scale = v1.get_variable("scale", initializer=np.float32(2))
        unused = v1.get_variable("unused", initializer=np.float32(1))
    rows = v1.nn.embedding_lookup(table, ids)
    scaled = v1.cond(v1.size(ids) > 2, lambda: rows * scale, lambda: rows - scale)
    with v1.control_dependencies([v1.check_numerics(scaled, "bad")]):
        result = v1.identity(scaled, "result")
    v1.train.GradientDescentOptimizer(0.1).minimize(v1.reduce_sum(result) + unused)
    return ids, result


@pytest.fixture(params=[False, True], ids=["references", "resources"])
def trained(request: Any, v1: Any) -> Any:
    """A session of TensorFlow with initialised variables, and its GraphDef."""
    with v1.Graph().as_default() as graph, v1.Session() as session:
        model(v1, request.param)
        session.run(v1.global_variables_initializer())
        yield session, graph.as_graph_def()


def described(graph_def: Any) -> dict[str, tuple[Any, ...]]:
    """Return the nodes by name, without fields that hold no values."""
    return {
        node.name: (
            node.op,
            tuple(node.input),
            {name: node.attr[name].SerializeToString() for name in sorted(node.attr)},
        )
        for node in graph_def.node
    }


@pytest.mark.parametrize(
    ("choice", "kept"),
    [
        ({}, set()),
        ({"variable_names_whitelist": {"model/scale", "model/table"}}, set()),
        ({"variable_names_whitelist": {"model/scale"}}, {"model/table"}),
        ({"variable_names_blacklist": {"model/table"}}, {"model/table"}),
    ],
    ids=["all", "both", "one", "others"],
)
def test_constants_take_the_place_of_variables(
    v1: Any, trained: Any, choice: dict[str, Any], kept: set[str]
) -> None:
    session, graph_def = trained
    ours, theirs = (
        util.convert_variables_to_constants(session, graph_def, ["result"], **choice)
        for util in (capstan.graph_util, v1.graph_util)
    )
    variables = {node.name for node in ours.node if node.op in ("VariableV2", "VarHandleOp")}
    assert variables == kept
    if not kept:  # TensorFlow breaks the graph if it keeps some of its resource variables
        assert described(ours) == described(theirs)
    feeds = {"ids:0": [2, 0, 1]}
    with v1.Graph().as_default(), v1.Session() as fresh:
        v1.import_graph_def(ours, name="")
        if not kept:
            expected = session.run("result:0", feeds)
            np.testing.assert_array_equal(fresh.run("result:0", feeds), expected)


def test_a_frozen_graph_needs_no_variables_here() -> None:
    feeds = {"ids:0": [1, 1]}
    with capstan.Graph().as_default() as graph, capstan.Session() as session:
        model(capstan, use_resource=True)
        session.run(capstan.global_variables_initializer())
        expected = session.run("result:0", feeds)
        frozen = capstan.graph_util.convert_variables_to_constants(
            session, graph.as_graph_def(), ["result"]
        )
    pruned = capstan.graph_util.remove_training_nodes(frozen, ["result"])
    with capstan.Graph().as_default(), capstan.Session() as session:
        capstan.import_graph_def(pruned, name="")
        np.testing.assert_array_equal(session.run("result:0", feeds), expected)


@pytest.mark.parametrize("protected", [None, ["result"]], ids=["no", "one"])
def test_training_nodes_are_removed(v1: Any, trained: Any, protected: Any) -> None:
    _, graph_def = trained
    part = capstan.graph_util.extract_sub_graph(graph_def, ["result"])
    assert described(part) == described(v1.graph_util.extract_sub_graph(graph_def, ["result"]))
    ours = capstan.graph_util.remove_training_nodes(part, protected)
    theirs = v1.graph_util.remove_training_nodes(part, protected)
    assert described(ours) == described(theirs)


REFUSALS: list[Callable[[Any, Any], Any]] = [
    lambda util, graph_def: util.extract_sub_graph(graph_def, "result"),
    lambda util, graph_def: util.extract_sub_graph("graph", ["result"]),
    lambda util, graph_def: util.extract_sub_graph(graph_def, ["none"]),
]


@pytest.mark.parametrize("number", range(len(REFUSALS)))
def test_wrong_arguments_are_refused_with_tensorflows_errors(
    v1: Any, trained: Any, number: int
) -> None:
    _, graph_def = trained
    raised = []
    for util in (v1.graph_util, capstan.graph_util):
        with pytest.raises((TypeError, AssertionError)) as caught:
            REFUSALS[number](util, graph_def)
        raised.append(caught.type)
    assert raised[0] is raised[1]


def test_nodes_that_run_on_cpus_only_are_those_of_tensorflow(v1: Any, trained: Any) -> None:
    _, graph_def = trained
    for pinned in (False, True):
        for node in graph_def.node:
            theirs = v1.graph_util.must_run_on_cpu(node, pinned)
            assert capstan.graph_util.must_run_on_cpu(node, pinned) == theirs


def calling_model(tf: Any) -> Any:
    """Return a tensor whose function reads a variable in branches, a loop and a call."""
    held: list[Any] = []

    def gathered(x: Any) -> Any:
        return tf.gather(held[0], tf.cast(x, tf.int32))

    def function(x: Any) -> Any:
        if not held:
            held.append(tf.Variable([2.0, 3.0, 5.0], name="w"))
        y = tf.reduce_sum(tf.function(gathered)(x))
        y = tf.cond(y > 5.0, lambda: y * held[0][1], lambda: y)
        return tf.while_loop(lambda y: y < 100.0, lambda y: y + tf.reduce_sum(held[0]), [y])

    x = tf.placeholder(tf.float32, [None], name="x")
    return tf.identity(tf.function(function, autograph=False)(x), name="result")


def test_functions_get_the_values_of_variables(v1: Any) -> None:
    feeds = {"x:0": [0, 2]}
    with capstan.Graph().as_default() as graph, capstan.Session() as session:
        result = calling_model(capstan)
        session.run(capstan.global_variables_initializer())
        expected = session.run(result, feeds)
        frozen = capstan.graph_util.convert_variables_to_constants(
            session, graph.as_graph_def(), ["result"]
        )
    assert expected == 101.0  # 7 * 3, and 8 sums of 10
    taken = [each.type for made in frozen.library.function for each in made.signature.input_arg]
    assert capstan.resource.as_datatype_enum not in taken
    for module in (capstan, v1):
        graph_def = module.GraphDef.FromString(frozen.SerializeToString())
        with module.Graph().as_default(), module.Session() as session:
            module.import_graph_def(graph_def, name="")
            assert session.run("result:0", feeds) == expected


def test_a_function_that_changes_a_variable_is_not_frozen() -> None:
    with capstan.Graph().as_default() as graph, capstan.Session() as session:
        variable = capstan.Variable(1.0, use_resource=True)
        added = capstan.function(lambda: variable.assign_add(1.0))()
        session.run(variable.initializer)
        with pytest.raises(ValueError, match=r"AssignAddVariableOp .* needs a variable"):
            capstan.graph_util.convert_variables_to_constants(
                session, graph.as_graph_def(), [added.op.name]
            )
