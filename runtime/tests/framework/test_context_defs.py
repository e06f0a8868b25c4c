"""Conditionals and loops are exported with a graph, so that the imported graph has gradients."""

from typing import Any

import pytest

import capstan as tf
from capstan.core import control_flow_messages
from capstan.framework import context_defs
from capstan.framework.collections import GraphKeys


def looping() -> Any:
    x = tf.constant(2.0, name="x")

    def body(i: Any, y: Any) -> Any:
        y = tf.cond(i > 1, lambda: y * x, lambda: y + x)
        _, y = tf.while_loop(lambda j, _: j < 2, lambda j, z: (j + 1, z * x), [0, y])
        return i + 1, y

    _, y = tf.while_loop(lambda i, _: i < 3, body, (0, x), maximum_iterations=2)
    return tf.identity(tf.cond(x > 1.0, lambda: y * 2.0, lambda: y), "y")


def messages(graph: Any) -> tuple[list[bytes], list[bytes]]:
    return tuple(
        [context.to_proto().SerializeToString() for context in graph.get_collection(key)]
        for key in (GraphKeys.WHILE_CONTEXT, GraphKeys.COND_CONTEXT)
    )  # type: ignore[return-value]


def imported(source: Any, scope: str) -> Any:
    """Import a graph with its contexts into a new default graph, under `scope` if it is not ''."""
    graph = tf.get_default_graph()
    tf.import_graph_def(source.as_graph_def(), name=scope)
    loops, conds = messages(source)
    for data in loops:
        message = control_flow_messages.WhileContextDef.FromString(data)
        graph.add_to_collection(
            GraphKeys.WHILE_CONTEXT, context_defs.decode_while(message, graph, scope)
        )
    for data in conds:
        message = control_flow_messages.CondContextDef.FromString(data)
        graph.add_to_collection(
            GraphKeys.COND_CONTEXT, context_defs.decode_cond(message, graph, scope)
        )
    return graph


@pytest.mark.e2e
def test_contexts_are_the_same_after_an_export_and_an_import() -> None:
    with tf.Graph().as_default() as source:
        looping()
    with tf.Graph().as_default():
        assert messages(imported(source, "")) == messages(source)


@pytest.mark.e2e
@pytest.mark.parametrize("scope", ["", "inner"])
def test_an_imported_loop_has_the_gradient_of_the_original(scope: str) -> None:
    with tf.Graph().as_default() as source:
        y = looping()
        expected = tf.gradients(y, source.get_tensor_by_name("x:0"))
        with tf.Session() as session:
            wanted = session.run([y, *expected])
    with tf.Graph().as_default() as source:
        looping()
    with tf.Graph().as_default():
        graph = imported(source, scope)
        prefix = f"{scope}/" if scope else ""
        y, x = (graph.get_tensor_by_name(f"{prefix}{name}:0") for name in ("y", "x"))
        with tf.Session() as session:
            assert session.run([y, *tf.gradients(y, x)]) == wanted


def test_a_context_outside_the_exported_scope_is_left_out() -> None:
    with tf.Graph().as_default() as graph:
        looping()
        (loop,) = graph.get_collection(GraphKeys.WHILE_CONTEXT)
        assert loop.to_proto("elsewhere") is None
        assert loop.to_proto("while").context_name == "while_context"


@pytest.mark.e2e
def test_gradients_of_a_loop_that_was_imported_without_its_context_are_refused() -> None:
    with tf.Graph().as_default() as source:
        looping()
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(source.as_graph_def(), name="")
        y, x = (graph.get_tensor_by_name(name) for name in ("y:0", "x:0"))
        with pytest.raises(ValueError, match="without properly serializing graph via MetaGraph"):
            tf.gradients(y, x)
