"""The floating-point operations of a graph are those that TensorFlow counts."""

import importlib
from typing import Any

import genuine
import pytest

import capstan

pytestmark = genuine.MARKS


def ops_of(tf: Any) -> Any:
    package = "capstan" if tf is capstan else "tensorflow"
    return importlib.import_module(f"{package}.python.framework.ops")


def counts(tf: Any) -> dict[str, Any]:
    with tf.Graph().as_default() as graph:
        tf.matmul(tf.zeros([25, 16]), tf.zeros([16, 9]), name="product")
        tf.matmul(tf.zeros([16, 25]), tf.zeros([9, 16]), True, True, name="turned")
        images = tf.zeros([2, 8, 6, 3])
        tf.nn.conv2d(images, tf.zeros([3, 2, 3, 5]), [1, 2, 1, 1], "SAME", name="convolved")
        tf.nn.depthwise_conv2d_native(
            images, tf.zeros([3, 2, 3, 2]), [1, 1, 1, 1], "VALID", name="depthwise"
        )
        tf.nn.dilation2d(images, tf.zeros([2, 2, 3]), [1] * 4, [1] * 4, "SAME", name="dilated")
        tf.nn.bias_add(images, tf.zeros([3]), name="biased")
        tf.random.shuffle(images, name="shuffled")
        more_nodes(tf, images)
        ops = ops_of(tf)
        return {
            op.name: ops.get_stats_for_node_def(graph, op.node_def, "flops").value
            for op in graph.get_operations()
            if op.type not in ("Const", "Fill")
        }


def more_nodes(tf: Any, images: Any) -> None:
    """Make a node of each op that the profiler of TensorFlow counts."""
    ops = tf.raw_ops
    for name in ("Reciprocal", "Square", "Rsqrt", "Log", "Neg"):
        getattr(ops, name)(x=images, name=name)
    tf.nn.l2_loss(images, name="L2Loss")
    tf.nn.softmax(images, name="Softmax")
    row = tf.zeros([3])
    names = "Add AddV2 Sub Mul RealDiv Maximum Minimum Pow SquaredDifference"
    for name in names.split():
        getattr(ops, name)(x=images, y=row, name=name)
    for name in ("Greater", "GreaterEqual", "Less", "LessEqual", "Equal", "NotEqual"):
        getattr(ops, name)(x=images, y=row, name=name)
    ops.RsqrtGrad(y=images, dy=images, name="RsqrtGrad")
    for name in ("Mean", "Sum"):
        getattr(tf, f"reduce_{name.lower()}")(images, [1, 2], name=name)
    ops.ArgMax(input=images, dimension=1, name="ArgMax")
    ops.ArgMin(input=images, dimension=1, name="ArgMin")
    ops.BiasAddGrad(out_backprop=images, name="BiasAddGrad")
    window = {"ksize": [1, 2, 3, 1], "strides": [1, 2, 1, 1], "padding": "VALID"}
    tf.nn.avg_pool(images, **window, name="AvgPool")
    pooled = tf.nn.max_pool(images, **window, name="MaxPool")
    ops.AvgPoolGrad(orig_input_shape=[2, 8, 6, 3], grad=pooled, **window, name="AvgPoolGrad")
    ops.MaxPoolGrad(
        orig_input=images, orig_output=pooled, grad=pooled, **window, name="MaxPoolGrad"
    )
    convolution = {"strides": [1, 2, 1, 1], "padding": "SAME"}
    filters, result = tf.zeros([3, 2, 3, 5]), tf.zeros([2, 4, 6, 5])
    ops.Conv2DBackpropInput(
        input_sizes=[2, 8, 6, 3], filter=filters, out_backprop=result, **convolution, name="back"
    )
    ops.Conv2DBackpropFilter(
        input=images, filter_sizes=[3, 2, 3, 5], out_backprop=result, **convolution, name="filter"
    )
    tf.add_n([images] * 4, name="AddN")
    held = tf.Variable(images, name="held", use_resource=False)
    tf.assign_add(held, images, name="AssignAdd")
    tf.assign_sub(held, images, name="AssignSub")


def test_the_flops_of_ops_are_tensorflows(v1: Any) -> None:
    found, theirs = counts(capstan), counts(v1)
    assert {name: theirs[name] for name in found} == found
    assert sum(count is not None for count in found.values()) > 40
    assert found["product"] == 7200
    assert found["shuffled"] is None


def test_a_program_registers_statistics_of_its_own(v1: Any) -> None:
    for tf in (v1, capstan):
        ops = ops_of(tf)

        @ops.RegisterStatistics("Neg", "bytes")
        def _bytes(graph: Any, node: Any, ops: Any = ops) -> Any:
            return ops.OpStats("bytes", 4)

        with pytest.raises(KeyError, match="Neg,bytes"):
            ops.RegisterStatistics("Neg", "bytes")(_bytes)

        with tf.Graph().as_default() as graph:
            node = tf.negative(tf.placeholder(tf.float32)).op.node_def
            total = ops.get_stats_for_node_def(graph, node, "bytes")
            total += ops.OpStats("bytes")
            total += ops.OpStats("bytes", 3)
            assert (total.statistic_type, total.value) == ("bytes", 7)
            with pytest.raises(ValueError, match="Can't add an OpStat"):
                total += ops.OpStats("other", 3)
            product = tf.matmul(tf.placeholder(tf.float32, [None, 2]), tf.zeros([2, 1]))
            with pytest.raises(ValueError, match="is not fully defined"):
                ops.get_stats_for_node_def(graph, product.op.node_def, "flops")
        with pytest.raises(KeyError):
            ops.RegisterStatistics("Neg", "bytes")(lambda graph, node: None)
        with pytest.raises(TypeError, match="must not contain a comma"):
            ops.RegisterStatistics("Neg,Abs", "bytes")
        with pytest.raises(TypeError, match="must be a string"):
            ops.RegisterStatistics("Neg", 1)
