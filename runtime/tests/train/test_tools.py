"""The commands for graphs, checkpoints and SavedModels: `python -m capstan.python.tools...`."""

import argparse
import runpy
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import capstan as tf
from capstan.core import example_messages
from capstan.python.tools import (
    freeze_graph,
    inspect_checkpoint,
    optimize_for_inference,
    saved_model_cli,
    strip_unused,
)


@pytest.fixture
def checkpoint(graph: tf.Graph, tmp_path: Path) -> str:
    """A checkpoint of `out = x * v`, beside its graph as text. Return its prefix."""
    x = tf.placeholder(tf.float32, [None], name="x")
    v = tf.get_variable("v", initializer=3.0)
    tf.multiply(x, v, name="out")
    tf.identity(tf.identity(x, name="between"), name="other")
    tf.train.write_graph(graph, str(tmp_path), "graph.pbtxt")
    with tf.Session() as sess:
        sess.run(v.initializer)
        tf.train.Saver().save(sess, str(tmp_path / "model"))
    return str(tmp_path / "model")


@pytest.fixture
def model(graph: tf.Graph, tmp_path: Path) -> str:
    """A SavedModel that adds one to numbers and counts strings. Return its folder."""
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    texts = tf.placeholder(tf.string, name="texts")
    signatures = {
        "more": ({"x": x}, {"y": tf.add(x, 1.0, name="y")}),
        "count": ({"texts": texts}, {"size": tf.size(texts, name="size")}),
    }
    build = tf.saved_model.signature_def_utils.predict_signature_def
    builder = tf.saved_model.builder.SavedModelBuilder(str(tmp_path / "saved"))
    with tf.Session() as sess:
        builder.add_meta_graph_and_variables(
            sess, ["serve"], {key: build(*tensors) for key, tensors in signatures.items()}
        )
        builder.save()
    return str(tmp_path / "saved")


def nodes_of(path: Path) -> dict[str, str]:
    """Return the types of the nodes of a GraphDef in a file."""
    message = tf.GraphDef.FromString(path.read_bytes())
    return {node.name: node.op for node in message.node}


def test_the_command_freeze_graph_writes_constants(checkpoint: str, tmp_path: Path) -> None:
    target = tmp_path / "frozen.pb"
    flags = [
        *(f"--input_graph={tmp_path / 'graph.pbtxt'}", f"--input_checkpoint={checkpoint}"),
        *("--output_node_names=out", f"--output_graph={target}", "--clear_devices"),
    ]
    with tf.Graph().as_default():
        freeze_graph.main(flags)
    nodes = nodes_of(target)
    assert nodes["v"] == "Const"
    assert "other" not in nodes


def test_the_commands_for_inference_cut_a_graph(checkpoint: str, tmp_path: Path) -> None:
    stripped, optimized = tmp_path / "stripped.pb", tmp_path / "optimized.pb"
    status = strip_unused.main([
        *("--input_graph", str(tmp_path / "graph.pbtxt"), "--input_node_names=between"),
        *("--output_node_names=other", f"--output_graph={stripped}"),
    ])  # fmt: skip
    assert status == 0
    assert nodes_of(stripped) == {"between": "Placeholder", "other": "Identity"}
    status = optimize_for_inference.main([
        *(f"--input={stripped}", f"--output={optimized}"),
        *("--input_names=between", "--output_names=other", "--placeholder_type_enum=1"),
    ])  # fmt: skip
    assert status == 0
    assert set(nodes_of(optimized)) == {"between", "other"}


def test_a_missing_graph_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert optimize_for_inference.main(["--input=missing.pb"]) == -1
    assert "'missing.pb' does not exist" in capsys.readouterr().out
    assert strip_unused.main(["--input_graph=missing.pb", "--output_node_names=out"]) == -1


@pytest.mark.parametrize(
    ("name", "flags", "code"),
    [
        ("inspect_checkpoint", [], 1),
        ("optimize_for_inference", ["--input=missing.pb"], -1),
        ("strip_unused", ["--input_graph=missing.pb"], -1),
    ],
)
def test_a_command_that_finds_nothing_fails(
    name: str, flags: list[str], code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = f"capstan.python.tools.{name}"
    monkeypatch.setattr(sys, "argv", [module, *flags])
    monkeypatch.delitem(sys.modules, module)
    with pytest.raises(SystemExit) as ended:
        runpy.run_module(module, run_name="__main__")
    assert ended.value.code == code


def test_the_command_inspect_checkpoint_prints_tensors(
    checkpoint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert inspect_checkpoint.main([f"--file_name={checkpoint}", "--all_tensors"]) == 0
    assert "tensor: v (float32) []\n3.0" in capsys.readouterr().out
    assert inspect_checkpoint.main([]) == 1


def test_a_module_of_tools_is_a_command(
    checkpoint: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "capstan.python.tools.inspect_checkpoint"
    monkeypatch.setattr(sys, "argv", [name, "--file_name", checkpoint, "--all_tensor_names"])
    monkeypatch.delitem(sys.modules, name)
    with pytest.raises(SystemExit) as ended:
        runpy.run_module(name, run_name="__main__")
    assert ended.value.code == 0
    assert "tensor: v" in capsys.readouterr().out


def test_settings_of_numpy_are_checked() -> None:
    with np.printoptions():
        inspect_checkpoint.parse_numpy_printoption("precision=2")
        inspect_checkpoint.parse_numpy_printoption("suppress=true")
        assert np.get_printoptions()["precision"] == 2
        inspect_checkpoint.parse_numpy_printoption("nanstr=")
        assert np.get_printoptions()["suppress"] is True
        assert np.get_printoptions()["nanstr"] == ""
    for wrong in (
        "precision",
        "=2",
        "colour=2",
        "formatter=2",
        "precision=x",
        "precision=",
        "suppress=2",
    ):
        with pytest.raises(argparse.ArgumentTypeError):
            inspect_checkpoint.parse_numpy_printoption(wrong)


@pytest.mark.parametrize(
    ("flags", "lines"),
    [
        ([], ["The given SavedModel contains the following tag-sets:", "serve"]),
        (["--tag_set=serve"], ['SignatureDef key: "count"', 'SignatureDef key: "more"']),
        (
            ["--tag_set=serve", "--signature_def=more"],
            [
                *("  inputs['x'] tensor_info:", "      dtype: DT_FLOAT", "      shape: (-1, 2)"),
                *("      name: x:0", "  outputs['y'] tensor_info:", "      name: y:0"),
                "Method name is: tensorflow/serving/predict",
            ],
        ),
        (
            ["--all"],
            [
                "MetaGraphDef with tag-set: 'serve' contains the following SignatureDefs:",
                *("signature_def['count']:", "        shape: unknown_rank", "        name: y:0"),
            ],
        ),
    ],
)
def test_a_saved_model_is_shown(
    flags: list[str], lines: list[str], model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    saved_model_cli.main(["show", "--dir", model, *flags])
    shown = iter(capsys.readouterr().out.splitlines())
    assert [line for line in lines if line not in shown] == []  # In this order.


def test_a_saved_model_runs(model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.savez(tmp_path / "in.npz", a=np.ones([1, 2]), b=np.zeros([1, 2]))
    command = ["run", "--dir", model, "--tag_set=serve", f"--outdir={tmp_path / 'out'}"]
    more = [*command, "--signature_def=more"]
    saved_model_cli.main([*more, f"--inputs=x={tmp_path / 'in.npz'}[a]"])
    assert "Result for output key y:\n[[2. 2.]]" in capsys.readouterr().out
    assert np.load(tmp_path / "out" / "y.npy").tolist() == [[2, 2]]
    with pytest.raises(RuntimeError, match="already exists"):
        saved_model_cli.main([*more, "--input_exprs=x=np.zeros((1, 2))"])
    saved_model_cli.main([*more, "--input_exprs=x=np.zeros((1, 2))", "--overwrite"])
    assert np.load(tmp_path / "out" / "y.npy").tolist() == [[1, 1]]
    examples = "texts=[{'age': [3]}, {'age': [4]}]"
    saved_model_cli.main([*command, "--signature_def=count", f"--input_examples={examples}"])
    assert np.load(tmp_path / "out" / "size.npy") == 2
    with pytest.raises(ValueError, match=r'"z" is not a valid input key. Please choose from "x"'):
        saved_model_cli.main([*more, "--input_exprs=z=1"])
    with pytest.raises(AttributeError, match="At least one of --inputs"):
        saved_model_cli.main(more)
    with pytest.raises(KeyError, match=r"the key 'other'; there are \['count', 'more'\]"):
        saved_model_cli.main([*command, "--signature_def=other", "--input_exprs=x=1"])


def test_the_signatures_of_a_model_have_keys(model: str) -> None:
    signatures = saved_model_cli.get_signature_def_map(model, "serve")
    assert signatures["more"].inputs["x"].name == "x:0"
    assert sorted(signatures) == ["count", "more"]


def test_operations_with_side_effects_are_found(
    model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    saved_model_cli.main(["scan", "--dir", model])
    assert "does not contain blacklisted ops" in capsys.readouterr().out
    with tf.Graph().as_default() as graph:
        tf.write_file("a", "b")
        saved_model_cli.scan_meta_graph_def(tf.train.export_meta_graph(graph=graph))
    assert "{'WriteFile'}" in capsys.readouterr().out


def test_files_of_inputs_hold_one_array_or_name_it(tmp_path: Path) -> None:
    np.save(tmp_path / "one.npy", [1])
    np.savez(tmp_path / "two.npz", a=[2], b=[3])
    np.savez(tmp_path / "single.npz", a=[4])

    def loaded(text: str) -> Any:
        return saved_model_cli.load_inputs_from_input_arg_string(f"x={tmp_path}/{text}", "", "")

    assert loaded("one.npy") == {"x": [1]}
    assert loaded("one.npy[unused]") == {"x": [1]}
    assert loaded("two.npz[b]") == {"x": [3]}
    assert loaded("single.npz") == {"x": [4]}
    for wrong in ("two.npz", "two.npz[c]", "two.npz[]"):
        with pytest.raises(RuntimeError):
            loaded(wrong)


def test_examples_are_lists_of_literals() -> None:
    (serialized,) = saved_model_cli.preprocess_input_examples_arg_string(
        "x=[{'f': [0.5], 's': ['a', b'b'], 'i': [1, 2]}]"
    )["x"]
    features = example_messages.Example.FromString(serialized).features.feature
    assert list(features["f"].float_list.value) == [0.5]
    assert list(features["s"].bytes_list.value) == [b"a", b"b"]
    assert list(features["i"].int64_list.value) == [1, 2]
    for wrong in ("x={'f': [1]}", "x=[{'f': 1}]", "x=[{'f': [None]}]", "x=[open('a')]"):
        with pytest.raises(ValueError):
            saved_model_cli.preprocess_input_examples_arg_string(wrong)
    with pytest.raises(RuntimeError, match="format is incorrect"):
        saved_model_cli.preprocess_input_examples_arg_string("x")


def test_the_last_flag_of_inputs_wins() -> None:
    values = saved_model_cli.load_inputs_from_input_arg_string("", "x=1;y=2", "x=[{'f': [1]}]")
    assert values["y"] == 2
    assert isinstance(values["x"], list)
