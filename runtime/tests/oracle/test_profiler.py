"""The profiler shows what TensorFlow's shows of the same graph and the same trace."""

import gzip
import importlib
import json
import pathlib
import re
from typing import Any

import genuine
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import capstan as tf
from capstan.api.profiler import model_analyzer
from capstan.api.profiler.op_log import merge_default_with_oplog
from capstan.core import pprof_messages, profiler_messages

pytestmark = genuine.MARKS

BUILDER = tf.profiler.ProfileOptionBuilder
FACTS = (
    *("bytes", "micros", "params", "float_ops", "device", "op_types", "occurrence"),
    *("input_shapes", "accelerator_micros", "cpu_micros", "peak_bytes", "residual_bytes"),
    "output_bytes",
)
VIEWS = ("scope", "graph", "op", "code")
GPU = "/job:localhost/replica:0/task:0/device:GPU:0"


@pytest.fixture(scope="module")
def graph() -> Any:
    """A model with scopes, a loop and gradients."""
    with tf.Graph().as_default() as graph:
        images = tf.placeholder(tf.float32, [None, 6, 6, 3], name="images")
        with tf.variable_scope("first"):
            hidden = tf.layers.conv2d(images, 4, 3, activation=tf.nn.relu)
        with tf.variable_scope("second"):
            logits = tf.layers.dense(tf.layers.flatten(hidden), 5)
        steps = tf.while_loop(lambda i: i < 3, lambda i: i + 1, [0])
        loss = tf.reduce_mean(tf.square(logits)) * tf.to_float(steps)
        tf.gradients(loss, tf.trainable_variables())
        tf.scalar_mul(1.0, tf.get_variable("scalar", []))
    return graph


@pytest.fixture(scope="module")
def trace(graph: Any) -> Any:
    """A trace with a time for every other node, on a CPU, a GPU and a stream of it."""
    stats = tf.RunMetadata()
    for device in ("/job:localhost/replica:0/task:0/device:CPU:0", GPU, f"{GPU}/stream:all"):
        stats.step_stats.dev_stats.add(device=device)
    for number, op in enumerate(graph.get_operations()[::2]):
        place = number % 2
        _add_run(stats.step_stats.dev_stats[place], op, number + 1)
        if place:
            _add_run(stats.step_stats.dev_stats[2], op, 3 * number + 1)
        if number % 7 == 0:
            _add_run(stats.step_stats.dev_stats[place], op, number + 100)
    stats.step_stats.dev_stats[0].node_stats.add(node_name="no node:of the graph")
    stats.step_stats.dev_stats[0].node_stats.add(node_name="RecvTensor", all_start_micros=1)
    return stats


def _add_run(device: Any, op: Any, micros: int) -> None:
    run = device.node_stats.add(
        node_name=op.name, all_start_micros=1000 + micros, op_end_rel_micros=micros % 50
    )
    run.memory.add(
        allocator_name="GPU_0_bfc", total_bytes=micros * 8, peak_bytes=micros * 4, live_bytes=micros
    )
    run.memory_stats.temp_memory_size = micros
    run.memory_stats.persistent_memory_size = 2 * micros
    for slot in range(len(op.outputs)):
        output = run.output.add(slot=slot).tensor_description
        output.allocation_description.requested_bytes = micros


def _tensorflows(
    graph: Any, trace: Any, view: str, options: dict[str, Any], op_log: Any = None
) -> bytes:
    """Return the message that TensorFlow's profiler makes of Capstan's graph."""
    analyzer = importlib.import_module("tensorflow.python.profiler.model_analyzer")
    merged = merge_default_with_oplog(graph, op_log, trace, add_trace=view == "code")
    result: bytes = analyzer.print_mdl.PrintModelAnalysis(
        graph.as_graph_def(add_shapes=True).SerializeToString(),
        trace.SerializeToString() if trace else b"",
        merged.SerializeToString(),
        view.encode(),
        analyzer._build_options(options).SerializeToString(),
    )
    return result


def _sorted(message: Any) -> Any:
    """Sort the nodes with the same parent: the order of equal totals is not defined."""
    children = sorted((_sorted(child) for child in message.children), key=lambda node: node.name)
    del message.children[:]
    message.children.extend(children)
    return message


def _report(printed: str) -> list[str]:
    """Return the options and the nodes of a report, without its explanations."""
    options, _, rest = printed.partition("=Model Analysis Report=")
    nodes = rest.partition("Profile:\n")[2]
    return [*re.findall("^-.*", options, re.MULTILINE), *nodes.splitlines()]


PATTERNS = st.sampled_from(
    [[".*"], [], ["first/.*"], [".*conv2d.*", ".*dense.*"], [".*gpu:0.*"], ["_trainable.*", "Mul"]]
)
OPTIONS = st.fixed_dictionaries(
    {
        "max_depth": st.sampled_from([1, 2, 4, 100]),
        "min_bytes": st.sampled_from([0, 0, 500]),
        "min_micros": st.sampled_from([0, 0, 30]),
        "min_params": st.sampled_from([0, 0, 5]),
        "min_float_ops": st.sampled_from([0, 0, 10]),
        "min_occurrence": st.sampled_from([0, 0, 1]),
        "order_by": st.just("name"),
        "account_type_regexes": PATTERNS,
        "start_name_regexes": PATTERNS,
        "trim_name_regexes": st.sampled_from([[], ["first"], ["second/.*"]]),
        "show_name_regexes": PATTERNS,
        "hide_name_regexes": st.sampled_from([[], [".*bias.*"]]),
        "account_displayed_op_only": st.booleans(),
        "select": st.lists(st.sampled_from(FACTS), unique=True, min_size=1),
        "step": st.sampled_from([-1, 0]),
        "output": st.just("none"),
    }
)


@given(
    options=OPTIONS, view=st.sampled_from(["scope", "graph", "op", "code"]), traced=st.booleans()
)
@settings(max_examples=60, deadline=None)
def test_every_view_is_tensorflows(
    graph: Any, trace: Any, options: dict[str, Any], view: str, traced: bool
) -> None:
    if not traced:
        options = options | {"step": -1}
    metadata = trace if traced else None
    ours = tf.profiler.profile(graph, metadata, cmd=view, options=options)
    theirs = type(ours).FromString(_tensorflows(graph, metadata, view, options))
    assert _sorted(ours) == _sorted(theirs)


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize(
    "options",
    [
        BUILDER.trainable_variables_parameter(),
        BUILDER.float_operation() | {"order_by": "name"},
        BUILDER(BUILDER.time_and_memory()).select(FACTS).order_by("name").build(),
    ],
)
def test_the_text_is_tensorflows(
    graph: Any, trace: Any, view: str, options: dict[str, Any], capfd: Any
) -> None:
    tf.profiler.profile(graph, trace, cmd=view, options=options)
    ours = _report(capfd.readouterr().out)
    _tensorflows(graph, trace, view, options)
    assert ours == _report(capfd.readouterr().out)
    assert len(ours) > 23


def test_types_and_counts_of_the_user_count(graph: Any, v1: Any) -> None:
    name = "second/dense/MatMul"
    for module in (profiler_messages, importlib.import_module(v1.profiler.OpLogProto.__module__)):
        log = module.OpLogProto()
        log.log_entries.add(name=name, types=["mine"], float_ops=7)
        options = BUILDER(BUILDER.float_operation()).with_accounted_types(["mine"]).build()
        shown = tf.profiler.profile(graph, op_log=_ours(log), options=options)
        assert shown.total_float_ops == 7


def _ours(log: Any) -> Any:
    return tf.profiler.OpLogProto.FromString(log.SerializeToString())


def test_the_advice_is_tensorflows(graph: Any, trace: Any) -> None:
    analyzer = importlib.import_module("tensorflow.python.profiler.model_analyzer")
    ours = tf.profiler.advise(graph, trace)
    merged = merge_default_with_oplog(graph, None, trace)
    theirs = tf.profiler.AdviceProto.FromString(
        analyzer.print_mdl.PrintModelAnalysis(
            graph.as_graph_def(add_shapes=True).SerializeToString(),
            trace.SerializeToString(),
            merged.SerializeToString(),
            b"advise",
            analyzer._build_advisor_options(analyzer.ALL_ADVICE).SerializeToString(),
        )
    )
    assert dict(ours.checkers) == dict(theirs.checkers)
    assert set(model_analyzer.ALL_ADVICE) == set(analyzer.ALL_ADVICE)


def test_the_options_are_tensorflows(v1: Any) -> None:
    theirs = v1.profiler.ProfileOptionBuilder

    def chained(builder: Any) -> Any:
        return (
            builder(builder.time_and_memory(2, 3))
            .with_max_depth(3)
            .with_min_memory(1, 2, 3, 4)
            .with_min_execution_time(5, 6, 7)
            .with_min_parameters(8)
            .with_min_occurrence(9)
            .with_min_float_operations(10)
            .with_accounted_types(["a"])
            .with_node_names(["b"], ["c"], ["d"], ["e"])
            .account_displayed_op_only(False)
            .with_file_output("f")
            .order_by("bytes")
            .select(["params"])
            .with_step(11)
            .build()
        )

    assert chained(BUILDER) == chained(theirs)
    assert BUILDER().build() == theirs().build()
    for name in ("trainable_variables_parameter", "float_operation", "time_and_memory"):
        assert getattr(BUILDER, name)() == getattr(theirs, name)()
    for output in ("empty", "stdout"):
        ours = getattr(BUILDER(), f"with_{output}_output")().build()
        assert ours == getattr(theirs(), f"with_{output}_output")().build()
    for output in ("file", "timeline", "pprof"):
        ours = getattr(BUILDER(), f"with_{output}_output")("f").build()
        assert ours == getattr(theirs(), f"with_{output}_output")("f").build()


@pytest.mark.parametrize("view", ["scope", "code", "graph"])
def test_a_timeline_has_tensorflows_bars(
    graph: Any, trace: Any, view: str, tmp_path: pathlib.Path
) -> None:
    bars = []
    for name in ("ours", "theirs"):
        options = BUILDER(BUILDER.time_and_memory(0, 0)).order_by("name").with_step(0)
        built = options.with_timeline_output(str(tmp_path / name)).build()
        if name == "ours":
            tf.profiler.profile(graph, trace, cmd=view, options=built)
        else:
            _tensorflows(graph, trace, view, built)
        events = json.loads((tmp_path / f"{name}_0").read_text())["traceEvents"]
        found = [(e["name"], e["ts"], e["dur"], e["tid"]) for e in events if e["ph"] == "X"]
        names = [e["args"]["name"] for e in events if e["ph"] == "M" and "mem" not in str(e)]
        bars.append((sorted(found), sorted(names)))
    assert bars[0] == bars[1]
    assert bars[0][0]


def test_pprof_reads_the_lines_of_the_program(
    graph: Any, trace: Any, tmp_path: pathlib.Path
) -> None:
    read = []
    for name in ("ours", "theirs"):
        options = BUILDER(BUILDER.time_and_memory(0, 0)).select(["micros"]).order_by("name")
        built = options.with_pprof_output(str(tmp_path / name)).build()
        if name == "ours":
            tf.profiler.profile(graph, trace, cmd="code", options=built)
        else:
            _tensorflows(graph, trace, "code", built)
        profile = pprof_messages.Profile.FromString(gzip.decompress((tmp_path / name).read_bytes()))
        strings = profile.string_table
        functions = {each.id: strings[each.name] for each in profile.function}
        calls = ((each.id, each.line[0]) for each in profile.location)
        lines = {number: (functions[call.function_id], call.line) for number, call in calls}
        samples = (
            (strings[sample.label[0].str], *sample.value, *(lines[i] for i in sample.location_id))
            for sample in profile.sample
        )
        read.append(sorted(samples))
    assert read[0] == read[1]
    assert read[0]


def test_the_profile_is_a_file_of_tensorflows_program(graph: Any, trace: Any) -> None:
    analyzer = importlib.import_module("tensorflow.python.profiler.model_analyzer")
    ours = tf.profiler.Profiler(graph)
    ours.add_step(3, trace)
    first = merge_default_with_oplog(graph)
    graph_def = graph.as_graph_def(add_shapes=True).SerializeToString()
    analyzer.print_mdl.NewProfiler(graph_def, first.SerializeToString())
    later = merge_default_with_oplog(graph, run_meta=trace)
    analyzer.print_mdl.AddStep(3, graph_def, trace.SerializeToString(), later.SerializeToString())
    theirs = profiler_messages.ProfileProto.FromString(analyzer.print_mdl.SerializeToString())
    analyzer.print_mdl.DeleteProfiler()
    mine = profiler_messages.ProfileProto.FromString(ours.serialize_to_string())
    for profile in (mine, theirs):
        for node in profile.nodes.values():
            node.ClearField("id")
    by_name = [{n.name: n for n in p.nodes.values()} for p in (mine, theirs)]
    assert by_name[0].keys() == by_name[1].keys()
    for name in by_name[0]:
        one, other = by_name[0][name], by_name[1][name]
        assert one.execs == other.execs
        assert one.output_shapes == other.output_shapes
        assert (one.op_types, one.shape, one.float_ops) == (
            *(other.op_types, other.shape, other.float_ops),
        )
    assert mine.steps == theirs.steps == [3]
