"""The OpDefs of Capstan's rows are those of TensorFlow's ops."""

from typing import Any

import genuine
import pytest

import capstan
from capstan.framework import op_message, opdef

pytestmark = genuine.MARKS

LATER = {
    "ConcatOffset", "SparseSegmentMean", "SparseSegmentSqrtN", "SparseSegmentSum",
    "TensorListGetItem", "TopKV2",
}  # fmt: skip
"""Ops whose arguments got types of their own after TensorFlow 1."""


def arguments(messages: Any) -> list[tuple[Any, ...]]:
    return [
        (each.name, each.type, each.type_attr, each.number_attr, each.type_list_attr, each.is_ref)
        for each in messages
    ]


def test_the_arguments_and_attributes_of_the_rows_are_those_of_tensorflow() -> None:
    from tensorflow.python.framework import op_def_registry

    compared = 0
    for row in opdef.all_rows():
        genuine_op = op_def_registry.get(row.name)
        if genuine_op is None or row.name in LATER or row.name[0] == "_":
            continue
        compared += 1
        message = op_message.encode(row)
        assert arguments(message.input_arg) == arguments(genuine_op.input_arg), row.name
        assert arguments(message.output_arg) == arguments(genuine_op.output_arg), row.name
        expected = {each.name: each for each in genuine_op.attr}
        for each in message.attr:
            # Two rows of experimental ops have an attribute of the ops that replaced them.
            if each.name not in expected:
                continue
            theirs = expected[each.name]
            assert each.type == theirs.type, (row.name, each.name)
            # A file leaves out attributes with their defaults. TensorFlow must know these defaults.
            if each.HasField("default_value") and each.type != "tensor":
                assert theirs.HasField("default_value"), (row.name, each.name)
                given, known = each.default_value, theirs.default_value
                assert given.SerializeToString() == known.SerializeToString(), (row.name, each.name)
    assert compared > 500


def test_the_stripped_op_list_has_the_ops_of_tensorflow_also_those_of_functions(v1: Any) -> None:
    from tensorflow.python.framework import meta_graph

    with capstan.Graph().as_default():
        x = capstan.get_variable("x", initializer=[1.0, 2.0])
        doubled = capstan.python.framework.function.Defun(capstan.float32)(lambda y: y * 2.0)
        capstan.cond(doubled(x)[0] > 0, lambda: x + 1.0, lambda: x - 1.0)
        meta = capstan.train.export_meta_graph()
    found = meta.meta_info_def.stripped_op_list
    graph = v1.GraphDef.FromString(meta.graph_def.SerializeToString())
    expected = meta_graph.stripped_op_list_for_graph(graph)
    assert [each.name for each in found.op] == [each.name for each in expected.op]
    assert "Mul" in {each.name for each in found.op}
    v1.train.import_meta_graph(v1.MetaGraphDef.FromString(meta.SerializeToString()))


def test_tensorflow_reads_a_file_without_the_attributes_that_have_defaults(v1: Any) -> None:
    with capstan.Graph().as_default():
        numbers = capstan.random_uniform([3], 1, 5, capstan.int32, seed=1)
        rows = capstan.gather(capstan.random_normal([5, 2], seed=1), numbers)
        name = capstan.truncated_normal(capstan.shape(rows), seed=1).op.name
        meta = capstan.train.export_meta_graph(strip_default_attrs=True)
    with v1.Graph().as_default() as graph, v1.Session() as session:
        v1.train.import_meta_graph(v1.MetaGraphDef.FromString(meta.SerializeToString()))
        assert session.run(graph.get_tensor_by_name(f"{name}:0")).shape == (3, 2)


def test_a_newer_attribute_with_its_default_does_not_hinder_tensorflow(v1: Any) -> None:
    with capstan.Graph().as_default():
        capstan.identity([1.0], name="a")
        meta = capstan.train.export_meta_graph()
    (op,) = (each for each in meta.meta_info_def.stripped_op_list.op if each.name == "Identity")
    op.attr.add(name="later", type="int").default_value.i = 7
    for node in meta.graph_def.node:
        if node.name == "a":
            node.attr["later"].i = 7
    for tf in (v1, capstan):
        with tf.Graph().as_default() as graph:
            tf.train.import_meta_graph(v1.MetaGraphDef.FromString(meta.SerializeToString()))
            assert "later" not in graph.get_operation_by_name("a").node_def.attr


@pytest.mark.parametrize("is_known", [True, False])
def test_functions_that_call_each_other_do_not_hinder_the_list(is_known: bool, v1: Any) -> None:
    from tensorflow.python.framework import meta_graph

    graph = v1.GraphDef()
    for name, called in (("a", "b"), ("b", "a")):
        function = graph.library.function.add()
        function.signature.name = name
        function.node_def.add(name="call", op=called)
        function.node_def.add(name="own", op="NoOp" if is_known else "Nothing")
    graph.node.add(name="n", op="a")
    found = capstan.python.framework.meta_graph.stripped_op_list_for_graph(graph)
    expected = meta_graph.stripped_op_list_for_graph(graph)
    assert [each.name for each in found.op] == [each.name for each in expected.op]
