"""The versions and the attributes that `tf.import_graph_def` accepts."""

from typing import Any

import pytest
from tensorboard.compat.proto import op_def_pb2

import capstan as tf


def test_a_graph_for_newer_consumers_is_refused() -> None:
    with tf.Graph().as_default():
        graph_def = tf.GraphDef()
        graph_def.versions.min_consumer = 24
        tf.import_graph_def(graph_def)
        graph_def.versions.min_consumer = 25
        with pytest.raises(ValueError, match=r"^GraphDef min consumer version 25 above current "):
            tf.import_graph_def(graph_def)
        graph_def.versions.min_consumer = 0
        graph_def.versions.bad_consumers.append(24)
        with pytest.raises(ValueError, match=r"^GraphDef disallows consumer version 24\.  Please"):
            tf.import_graph_def(graph_def)


def test_a_graph_of_a_producer_below_the_first_is_refused() -> None:
    with tf.Graph().as_default():
        graph_def = tf.GraphDef()
        graph_def.versions.producer = -1
        with pytest.raises(ValueError, match=r"^GraphDef producer version -1 below min producer 0"):
            tf.import_graph_def(graph_def)


@pytest.mark.parametrize("value, is_kept", [(123, False), (987, True)])
def test_an_unknown_attribute_is_left_out_if_it_has_the_default_of_the_producer(
    value: int, is_kept: bool
) -> None:
    producer = op_def_pb2.OpList()
    producer.op.add(name="NoOp").attr.add(name="new", type="int").default_value.i = 123
    producer.op[0].attr.add(name="required", type="int")
    graph_def: Any = tf.GraphDef()
    node = graph_def.node.add(name="a", op="NoOp")
    node.attr["new"].i, node.attr["required"].i = value, 0
    with tf.Graph().as_default():
        (op,) = tf.import_graph_def(graph_def, return_elements=["a"], producer_op_list=producer)
        (plain,) = tf.import_graph_def(graph_def, return_elements=["a"])
        with pytest.raises(TypeError, match="must be an OpList proto"):
            tf.import_graph_def(graph_def, producer_op_list="no")
    assert ("new" in op.node_def.attr) is is_kept
    assert "required" in op.node_def.attr
    assert "new" in plain.node_def.attr
