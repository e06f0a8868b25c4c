"""The debugger dumps the tensors of a GPU."""

import pathlib

import accelerated
import numpy as np

import capstan as tf
from capstan.python import debug as tf_debug

GPU = "/job:localhost/replica:0/task:0/device:GPU:0"


def test_tensors_and_variables_of_a_gpu_are_dumped(tmp_path: pathlib.Path) -> None:
    with accelerated.gpu(), tf.Graph().as_default() as graph, tf.device("/gpu:0"):
        variable = tf.Variable([1.0, 2.0], name="v", use_resource=False)
        resource = tf.Variable([3.0, 4.0], name="r", use_resource=True)
        product = tf.multiply(variable * 3.0, resource, name="product")
        with tf.device("/cpu:0"):
            total = tf.reduce_sum(product, name="total")
        options = tf.RunOptions()
        tf_debug.watch_graph(options, graph, debug_urls=f"file://{tmp_path}")
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            assert session.run(total, options=options) == 33
    folder = tf_debug.DebugDumpDir(str(tmp_path))
    assert GPU in folder.devices()
    np.testing.assert_equal(folder.get_tensors("product", 0, "DebugIdentity", GPU), [[9, 24]])
    assert folder.get_tensors("total", 0, "DebugIdentity") == [33]
    assert folder.node_device("product") == GPU


def test_a_variable_of_a_gpu_may_have_no_value(tmp_path: pathlib.Path) -> None:
    with accelerated.gpu(), tf.Graph().as_default() as graph, tf.device("/gpu:0"):
        variable = tf.Variable([1.0, 2.0], name="v", use_resource=False)
        is_initialized = tf.is_variable_initialized(variable)
        options = tf.RunOptions()
        tf_debug.watch_graph(options, graph, debug_urls=f"file://{tmp_path}")
        with tf.Session() as session:
            assert not session.run(is_initialized, options=options)
