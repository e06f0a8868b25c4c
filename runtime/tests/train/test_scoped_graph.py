"""A name scope of a graph as a MetaGraphDef, and the import of this MetaGraphDef elsewhere."""

from typing import Any

import pytest

import capstan as tf
from capstan.python.framework import meta_graph


def build() -> None:
    x = tf.placeholder(tf.float32, [], "x")
    with tf.variable_scope("hidden"):
        weight = tf.get_variable("weight", initializer=2.0)
        _, y = tf.while_loop(
            lambda i, y: i < 3, lambda i, y: (i + 1, y * weight), [0, x], name="loop"
        )
        with tf.get_default_graph().colocate_with(weight.op):
            tf.identity(y, name="y")
    tf.train.Saver()


def exported(**options: Any) -> tuple[Any, dict[str, Any]]:
    with tf.Graph().as_default() as graph:
        build()
        return meta_graph.export_scoped_meta_graph(graph=graph, **options)


def test_an_exported_scope_has_no_scope_in_its_names() -> None:
    meta, variables = exported(export_scope="hidden")
    nodes = {node.name: node for node in meta.graph_def.node}
    assert list(variables) == ["weight:0"]
    assert {"weight", "y", "loop/Merge"} <= set(nodes)
    assert not [name for name in nodes if name.startswith(("x", "save", "hidden"))]
    assert nodes["loop/Enter_1"].input == ["$unbound_inputs_x"]
    assert nodes["loop/Enter_1"].attr["frame_name"].s == b"loop/while_context"
    assert list(nodes["y"].attr["_class"].list.s) == [b"loc:@weight"]
    assert meta.collection_def["unbound_inputs"].bytes_list.value == [b"$unbound_inputs_x"]


@pytest.mark.parametrize("scope", [None, "again"])
def test_an_exported_scope_runs_on_the_tensors_of_an_input_map(scope: str | None) -> None:
    meta, _ = exported(export_scope="hidden")
    prefix = f"{scope}/" if scope else ""
    with tf.Graph().as_default(), tf.Session() as session:
        variables = meta_graph.import_scoped_meta_graph(
            meta,
            import_scope=scope,
            input_map={"$unbound_inputs_x": tf.constant(5.0)},
            restore_collections_predicate=lambda key: key != "trainable_variables",
        )
        assert {name: found.op.name for name, found in variables.items()} == {
            "weight:0": f"{prefix}weight"
        }
        assert not tf.trainable_variables()
        session.run(tf.global_variables_initializer())
        y = tf.get_default_graph().get_tensor_by_name(f"{prefix}y:0")
        assert session.run(y) == 40.0
        assert session.run(tf.gradients(y, variables["weight:0"]))[0] == 60.0


def test_an_unbound_input_without_a_tensor_is_an_error() -> None:
    meta, _ = exported(export_scope="hidden")
    message = r"unbound inputs: \$unbound_inputs_x. Must provide"
    with tf.Graph().as_default(), pytest.raises(ValueError, match=message):
        meta_graph.import_scoped_meta_graph(meta)


def test_other_savers_are_left_out_on_request() -> None:
    with tf.Graph().as_default():
        build()
        kept = tf.train.Saver()
        for saver in (kept, tf.train.Saver()):
            tf.add_to_collection(tf.GraphKeys.SAVERS, saver)
        meta = tf.train.export_meta_graph(
            saver_def=kept.as_saver_def(), clear_extraneous_savers=True
        )
    names = {node.name.partition("/")[0] for node in meta.graph_def.node}
    assert "save_1" in names
    assert "save" not in names
    assert "save_2" not in names
    assert list(meta.collection_def[tf.GraphKeys.SAVERS].bytes_list.value) == [
        kept.saver_def.SerializeToString()
    ]


@pytest.mark.parametrize("is_same_graph", [True, False])
def test_a_scope_is_copied_with_its_variables(is_same_graph: bool) -> None:
    with tf.Graph().as_default() as source:
        with tf.variable_scope("first"):
            tf.identity(2 * tf.get_variable("v", initializer=3.0), name="doubled")
        exported = tf.train.Saver().export_meta_graph(export_scope="first")
        assert {"v", "doubled"} <= {node.name for node in exported.graph_def.node}
        assert exported.saver_def.restore_op_name == "save/restore_all"
        with pytest.raises(ValueError, match="need to be different"):
            meta_graph.copy_scoped_meta_graph("first", "first")
    target = source if is_same_graph else tf.Graph()
    found = meta_graph.copy_scoped_meta_graph("first", "second", source, target)
    assert {name: variable.name for name, variable in found.items()} == {"v:0": "second/v:0"}
    with tf.Session(graph=target) as session:
        session.run(found["v:0"].initializer)
        assert session.run("second/doubled:0") == 6


def test_the_current_name_scope_becomes_part_of_the_names() -> None:
    with tf.Graph().as_default() as graph:
        tf.Variable(1.0, name="x")
        message, _ = meta_graph.export_scoped_meta_graph(graph=graph)
    with tf.Graph().as_default(), tf.Session() as session:
        with tf.name_scope("outer"):
            found = meta_graph.import_scoped_meta_graph(message)
        assert {key: variable.name for key, variable in found.items()} == {"x:0": "outer/x:0"}
        session.run(tf.global_variables_initializer())
        assert session.run(found["x:0"]) == 1.0


def test_unbound_inputs_are_not_checked_without_their_collection() -> None:
    with tf.Graph().as_default() as graph:
        outside = tf.constant(2.0, name="outside")
        with tf.name_scope("inner"):
            tf.negative(outside, name="y")
        message, _ = meta_graph.export_scoped_meta_graph(graph=graph, export_scope="inner")
    with tf.Graph().as_default() as graph, tf.Session() as session:
        meta_graph.import_scoped_meta_graph(
            message,
            import_scope="new",
            input_map={"$unbound_inputs_outside": tf.constant(3.0)},
            unbound_inputs_col_name=None,
        )
        assert session.run("new/y:0") == -3.0
