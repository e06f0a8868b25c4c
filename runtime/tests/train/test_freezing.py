"""The tools that make a graph smaller for inference: freezing, stripping, folding."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import capstan as tf
from capstan.python.tools import (
    freeze_graph,
    optimize_for_inference_lib,
    saved_model_utils,
    strip_unused_lib,
)


def output_of(graph_def: Any, name: str, feeds: Any = None) -> Any:
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.import_graph_def(graph_def, name="")
        return sess.run(f"{name}:0", feeds)


def trained(folder: Path) -> str:
    """Write a graph, a saver, a meta graph and a checkpoint of `out = v * 2`. Return its prefix."""
    variable = tf.Variable(3.0, name="v")
    tf.multiply(variable, 2.0, name="out")
    saver = tf.train.Saver()
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        prefix: str = saver.save(sess, str(folder / "model"))
    tf.train.write_graph(tf.get_default_graph(), str(folder), "graph.pb", as_text=False)
    tf.train.write_graph(tf.get_default_graph(), str(folder), "graph.pbtxt")
    (folder / "saver.pb").write_bytes(saver.as_saver_def().SerializeToString())
    return prefix


@pytest.mark.parametrize(
    "graph, saver, meta, is_binary",
    [
        ("graph.pb", None, None, True),
        ("graph.pbtxt", None, None, False),
        ("graph.pb", "saver.pb", None, True),
        (None, None, "model.meta", True),
    ],
)
def test_the_variables_of_a_checkpoint_become_constants(
    graph: str | None, saver: str | None, meta: str | None, is_binary: bool, tmp_path: Path
) -> None:
    prefix = trained(tmp_path)

    def path(name: str | None) -> str | None:
        return name and str(tmp_path / name)

    target = str(tmp_path / "frozen.pb")
    with tf.Graph().as_default():
        frozen = freeze_graph.freeze_graph(
            path(graph), path(saver), is_binary, prefix, "out", "", "", target, True, "", "", "",
            path(meta),
        )  # fmt: skip
    assert {node.op for node in frozen.node} <= {"Const", "Identity", "Mul"}
    assert output_of(tf.GraphDef.FromString(Path(target).read_bytes()), "out") == 6.0


def test_a_saved_model_is_frozen_and_tells_its_tags(tmp_path: Path) -> None:
    folder = str(tmp_path / "saved")
    variable = tf.Variable(3.0)
    out = tf.multiply(variable, 2.0, name="out")
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        tf.saved_model.simple_save(sess, folder, {"v": variable.value()}, {"out": out})
    assert saved_model_utils.get_saved_model_tag_sets(folder) == [["serve"]]
    assert saved_model_utils.get_meta_graph_def(folder, "serve").graph_def.node
    with pytest.raises(RuntimeError, match="tag-set train could not be found"):
        saved_model_utils.get_meta_graph_def(folder, "train")
    with tf.Graph().as_default():
        frozen = freeze_graph.freeze_graph(
            None, None, True, None, "out", "", "", "", True, "", input_saved_model_dir=folder
        )
    assert output_of(frozen, "out") == 6.0


def test_a_graph_that_cannot_be_frozen_is_refused(tmp_path: Path) -> None:
    prefix = trained(tmp_path)
    arguments = ("", "", "", False, "")

    def freeze(graph: Any, checkpoint: str, outputs: str) -> None:
        with tf.Graph().as_default():
            freeze_graph.freeze_graph_with_def_protos(graph, None, checkpoint, outputs, *arguments)

    graph_def = tf.get_default_graph().as_graph_def()
    with tf.Graph().as_default():
        tf.constant(1.0, name="v")
        frozen = tf.get_default_graph().as_graph_def()
    with pytest.raises(ValueError, match="doesn't exist"):
        freeze(graph_def, str(tmp_path / "other"), "out")
    with pytest.raises(ValueError, match="supply the name of a node"):
        freeze(graph_def, prefix, "")
    with pytest.raises(ValueError, match="cannot freeze a graph twice"):
        freeze(frozen, prefix, "out")
    with pytest.raises(OSError, match="does not exist"):
        freeze_graph.freeze_graph(str(tmp_path / "no"), "", True, prefix, "out", *arguments)


def test_unused_nodes_are_stripped_and_inputs_become_placeholders(tmp_path: Path) -> None:
    source = tf.negative(tf.constant([5.0]), name="in")
    tf.multiply(source, 2.0, name="out")
    tf.sqrt(source, name="unused")
    graph_def, float32 = tf.get_default_graph().as_graph_def(), tf.float32.as_datatype_enum
    for kinds in (float32, [float32]):
        stripped = strip_unused_lib.strip_unused(graph_def, ["in"], ["out"], kinds)
        assert sorted(node.op for node in stripped.node) == ["Const", "Mul", "Placeholder"]
        assert output_of(stripped, "out", {"in:0": [4.0]}).tolist() == [8.0]
    with pytest.raises(ValueError, match="refer to a Tensor"):
        strip_unused_lib.strip_unused(graph_def, ["in:0"], ["out"], float32)
    with pytest.raises(KeyError, match="'other'"):
        strip_unused_lib.strip_unused(graph_def, ["other"], ["out"], float32)
    source_path, target = tmp_path / "in.pb", tmp_path / "out.pbtxt"
    source_path.write_bytes(graph_def.SerializeToString())
    strip_unused_lib.strip_unused_from_files(
        str(source_path), True, str(target), False, "in", "out", float32
    )
    assert "Placeholder" in target.read_text()
    missing = str(tmp_path / "no")
    assert strip_unused_lib.strip_unused_from_files(missing, True, "", True, "", "", 1) == -1


@pytest.mark.parametrize("is_depthwise", [False, True])
@pytest.mark.parametrize("op", ["FusedBatchNorm", "BatchNormWithGlobalNormalization"])
def test_a_normalization_is_folded_into_its_convolution(is_depthwise: bool, op: str) -> None:
    random = np.random.RandomState(1)
    images = tf.constant(random.rand(1, 4, 4, 2).astype("float32"), name="in")
    convolve = tf.nn.depthwise_conv2d_native if is_depthwise else tf.nn.conv2d
    weights = tf.constant(random.rand(2, 2, 2, 3).astype("float32"))
    made = convolve(images, weights, strides=[1, 1, 1, 1], padding="VALID", name="conv")
    mean, variance, beta, gamma = (
        tf.constant(random.rand(made.shape[-1].value).astype("float32")) for _ in range(4)
    )
    normal, _, _ = tf.nn.fused_batch_norm(made, gamma, beta, mean, variance, is_training=False)
    graph_def, name = tf.get_default_graph().as_graph_def(), normal.op.name
    expected = output_of(graph_def, name)
    if op != "FusedBatchNorm":  # The inputs of the older op have another order.
        node = next(each for each in graph_def.node if each.name == name)
        convolution, scale, offset, moment, spread = node.input
        node.op, node.input[:] = op, [convolution, moment, spread, offset, scale]
        node.attr["variance_epsilon"].f = node.attr["epsilon"].f
        node.attr["scale_after_normalization"].b = True
    folded = optimize_for_inference_lib.fold_batch_norms(graph_def)
    assert sorted({node.op for node in folded.node}) == ["BiasAdd", "Const", made.op.type]
    np.testing.assert_allclose(output_of(folded, name), expected, rtol=1e-5)


def test_a_normalization_that_cannot_be_folded_stays() -> None:
    ones = tf.ones([2])
    made = tf.nn.conv2d(tf.ones([1, 4, 4, 2]), tf.ones([1, 1, 2, 2]), [1, 1, 1, 1], "VALID")
    tf.nn.relu(made)
    tf.nn.fused_batch_norm(made, ones, ones, ones, ones, is_training=False)
    tf.nn.fused_batch_norm(tf.ones([1, 4, 4, 2]), ones, ones, ones, ones, is_training=False)
    graph_def = tf.get_default_graph().as_graph_def()
    assert optimize_for_inference_lib.fold_batch_norms(graph_def) == graph_def


def test_a_graph_is_optimized_for_inference() -> None:
    source = tf.identity(tf.check_numerics(tf.constant([5.0], name="in"), ""))
    tf.multiply(source, 2.0, name="out")
    graph_def, float32 = tf.get_default_graph().as_graph_def(), tf.float32.as_datatype_enum
    optimize = optimize_for_inference_lib.optimize_for_inference
    found = optimize(graph_def, ["in"], ["out"], float32)
    assert sorted(node.op for node in found.node) == ["Const", "Mul", "Placeholder"]
    graph_def.node.add(name="in", op="NoOp")
    with pytest.raises(ValueError, match="Duplicate node names"):
        optimize(graph_def, ["in"], ["out"], float32)
    del graph_def.node[-1]
    graph_def.node.add(name="n", op="NoOp", input=["^missing"])
    with pytest.raises(ValueError, match="Input for n not found"):
        optimize(graph_def, ["in"], ["out"], float32)
