"""The versions that `tf.import_graph_def` accepts."""

import pytest

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
