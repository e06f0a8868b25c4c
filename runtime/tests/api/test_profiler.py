"""`tf.profiler` counts, reports and refuses, without TensorFlow to compare it with."""

import pathlib
from typing import Any

import pytest

import capstan as tf

BUILDER = tf.profiler.ProfileOptionBuilder


def quiet(options: Any) -> Any:
    return BUILDER(options).with_empty_output().build()


def test_the_default_counts_the_elements_of_trainable_variables(capsys: Any) -> None:
    with tf.Graph().as_default():
        tf.get_variable("weights", [3, 4])
        tf.get_variable("step", [], trainable=False)
        assert tf.profiler.profile().total_parameters == 12
    printed = capsys.readouterr().out
    assert "weights (3x4, 12/12 params)" in printed
    assert "step" not in printed.partition("Profile:")[2]


def test_the_old_options_are_dictionaries_that_programs_change(tmp_path: pathlib.Path) -> None:
    analyzer = tf.contrib.tfprof.model_analyzer
    options = analyzer.TRAINABLE_VARS_PARAMS_STAT_OPTIONS
    options["dump_to_file"] = str(tmp_path / "parameters")
    options["trim_name_regexes"] = [".*BatchNorm.*"]
    assert "dump_to_file" not in analyzer.TRAINABLE_VARS_PARAMS_STAT_OPTIONS
    with tf.Graph().as_default() as graph:
        tf.get_variable("weights", [3, 4])
        tf.get_variable("BatchNorm/beta", [4])
        found = analyzer.print_model_analysis(graph, tfprof_options=options)
        flops = analyzer.print_model_analysis(graph, tfprof_options=analyzer.FLOAT_OPS_OPTIONS)
    assert found.total_parameters == 12
    assert "weights (3x4, 12/12 params)" in (tmp_path / "parameters").read_text()
    assert flops.total_float_ops > 0


def test_a_traced_step_shows_times_memory_and_completes_shapes() -> None:
    with tf.Graph().as_default() as graph, tf.Session() as session:
        rows = tf.placeholder(tf.float32, [None, 3], name="rows")
        product = tf.matmul(tf.negative(rows), tf.ones([3, 2]), name="product")
        metadata = tf.RunMetadata()
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        session.run(product, {rows: [[1.0] * 3] * 5}, options, metadata)
        shown = tf.profiler.profile(
            graph, metadata, options=quiet(BUILDER.time_and_memory(min_bytes=0))
        )
        (node,) = (child for child in shown.children if child.name == "product")
        assert node.exec_micros == node.cpu_exec_micros > 0
        assert node.requested_bytes == node.output_bytes == 5 * 2 * 4
        flops = tf.profiler.profile(graph, metadata, options=quiet(BUILDER.float_operation()))
        assert flops.total_float_ops == 5 * 3 * 2 * 2


def test_a_deep_graph_is_shown(tmp_path: pathlib.Path) -> None:
    depth = 3000
    with tf.Graph().as_default() as graph:
        value = tf.ones([2])
        for _ in range(depth):
            value = tf.negative(value)
    options = BUILDER(BUILDER.float_operation()).with_file_output(str(tmp_path / "report"))
    shown = tf.profiler.profile(graph, cmd="graph", options=options.build())
    assert shown.total_float_ops == 2 * depth
    assert len((tmp_path / "report").read_text().splitlines()) > depth


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"output": "paper"}, "Unknown output type: paper"),
        ({"output": "file"}, "Missing required output_options for file"),
        ({"output": "file:name=x"}, "Unrecognized options name"),
        ({"output": "file:outfile"}, "not 'file:outfile'"),
    ],
)
def test_an_unknown_output_is_refused(options: Any, message: str) -> None:
    with tf.Graph().as_default(), pytest.raises(tf.errors.InvalidArgumentError, match=message):
        tf.profiler.profile(options=BUILDER().build() | options)


@pytest.mark.parametrize(
    ("view", "options", "reason"),
    [
        ("scope", {"step": 3}, "-step=3 not found"),
        ("op", {"output": "timeline:outfile=x"}, "doesn't support timeline"),
        ("scope", {"output": "pprof:outfile=x"}, "Only 'code' view"),
        ("code", {"output": "pprof:outfile=x", "select": ["bytes", "micros"]}, "only select 1"),
        ("code", {"output": "pprof:outfile=x", "select": ["device"]}, "doesn't support -select"),
    ],
)
def test_a_view_that_cannot_be_shown_is_empty(
    view: str, options: Any, reason: str, capsys: Any
) -> None:
    with tf.Graph().as_default():
        tf.zeros([2], name="zeros")
        shown = tf.profiler.profile(cmd=view, options=BUILDER().build() | options)
    assert not shown.name
    assert reason in capsys.readouterr().err


def test_an_unknown_view_is_refused() -> None:
    with tf.Graph().as_default(), pytest.raises(tf.errors.InvalidArgumentError, match="cmd: all"):
        tf.profiler.profile(cmd="all")


def test_the_op_log_is_a_file(tmp_path: pathlib.Path) -> None:
    with tf.Graph().as_default() as graph:
        tf.negative(tf.ones([3]), name="negative")
        tf.negative(tf.placeholder(tf.float32), name="unknown")
        tf.profiler.write_op_log(graph, str(tmp_path))
    log = tf.profiler.OpLogProto.FromString((tmp_path / "tfprof_log").read_bytes())
    (entry,) = (entry for entry in log.log_entries if entry.name == "negative")
    assert entry.float_ops == 3
    assert log.id_to_string[entry.code_def.traces[-1].file_id] == __file__
