"""The debugger dumps the tensors of a step in TensorFlow's layout, and its prompt shows them."""

import io
import json
import os
import pathlib
import re
import sys
from collections.abc import Callable, Iterator
from typing import Any

import clusters
import numpy as np
import pytest
from tensorboard.compat.proto import event_pb2

import capstan as tf
from capstan.python import debug as tf_debug
from capstan.train.debugger import commands, wrapper

CPU = "_tfdbg_device_,job_localhost,replica_0,task_0,device_CPU_0"


@pytest.fixture
def on_a_cpu() -> Iterator[None]:
    # References in the memory of a GPU are not dumped.
    with tf.device("/device:CPU:0"):
        yield


def watched(folder: Any, **options: Any) -> Any:
    made = tf.RunOptions()
    tf_debug.watch_graph(made, tf.get_default_graph(), debug_urls=f"file://{folder}", **options)
    return made


def values(folder: Any) -> dict[str, Any]:
    """Return the value of each dumped tensor by its name. The names must be different."""
    data = tf_debug.DebugDumpDir(str(folder)).dumped_tensor_data
    found = {datum.tensor_name: datum.get_tensor() for datum in data}
    assert len(found) == len(data)
    return found


@pytest.mark.usefixtures("on_a_cpu")
def test_a_dump_has_the_path_and_the_message_of_tensorflow(tmp_path: pathlib.Path) -> None:
    x = tf.constant([[1.0, 2.0]], name="layer/x")
    y = tf.multiply(x, 3.0, name="layer/y")
    with tf.Session() as session:
        session.run(y, options=watched(tmp_path))
    (path,) = (tmp_path / CPU / "layer").glob("y_0_DebugIdentity_*")
    assert path.name.rpartition("_")[2].isdigit()
    event = event_pb2.Event.FromString(path.read_bytes())
    (value,) = event.summary.value
    assert (value.tag, value.node_name) == ("layer/y", "layer/y:0:DebugIdentity")
    assert value.metadata.plugin_data.plugin_name == "debugger"
    assert json.loads(value.metadata.plugin_data.content) == {
        "device": "/job:localhost/replica:0/task:0/device:CPU:0",
        "outputSlot": 0, "numChunks": 1, "chunkIndex": 0,
    }  # fmt: skip
    assert value.tensor.tensor_content == np.array([3, 6], "<f4").tobytes()
    np.testing.assert_equal(tf_debug.load_tensor_from_event_file(str(path)), [[3, 6]])


def test_the_values_of_folded_merged_and_branching_nodes_are_dumped(
    tmp_path: pathlib.Path,
) -> None:
    x = tf.placeholder(tf.float32, [2], name="x")
    tf.add(tf.constant(1.0, name="a"), 2.0, name="folded")
    left = tf.multiply(x, 3.0, name="left")
    right = tf.multiply(x, 3.0, name="right")
    branches = tf.cond(
        tf.reduce_sum(x) > 0,
        lambda: tf.identity(left, name="then"),
        lambda: tf.negative(right, name="other"),
    )
    looped = tf.while_loop(lambda value: value[0] < 20, lambda value: value * 2, [branches])
    text = tf.identity(tf.constant(["one", "two"]), name="text")
    fetches = [looped, right, text, tf.get_default_graph().get_tensor_by_name("folded:0")]
    with tf.Session() as session:
        session.run(fetches, {x: [1, 2]}, options=watched(tmp_path))
    found = values(tmp_path)
    assert found["folded:0"] == 3
    np.testing.assert_equal(found["left:0"], [3, 6])
    np.testing.assert_equal(found["right:0"], [3, 6])
    np.testing.assert_equal(found["cond/then:0"], [3, 6])
    np.testing.assert_equal(found[looped.name], [24, 48])
    np.testing.assert_equal(found["text:0"], [b"one", b"two"])
    assert "cond/other:0" not in found


@pytest.mark.usefixtures("on_a_cpu")
def test_a_variable_without_a_value_is_dumped_as_such(tmp_path: pathlib.Path) -> None:
    variable = tf.Variable([1.0, 2.0], name="v")
    resource = tf.Variable([5.0], name="r", use_resource=True)
    summary = ["DebugIdentity", "DebugNanCount"]
    with tf.Session() as session:
        for name, fetch in (
            ("init", tf.global_variables_initializer()),
            ("read", [variable + 1.0, resource + 1.0]),
        ):
            session.run(fetch, options=watched(tmp_path / name, debug_ops=summary))
    before = tf_debug.DebugDumpDir(str(tmp_path / "init"))
    (value,) = before.get_tensors("v", 0, "DebugIdentity")
    assert not value.initialized
    assert "Uninitialized tensor" in str(value)
    assert not before.find(tf_debug.has_inf_or_nan)
    after = tf_debug.DebugDumpDir(str(tmp_path / "read"))
    np.testing.assert_equal(after.get_tensors("v", 0, "DebugIdentity"), [[1, 2]])
    assert after.get_tensors("v/read", 0, "DebugNanCount") == [0]
    (metadata,) = [after.core_metadata]
    assert isinstance(metadata, tuple)
    assert len(metadata.output_names) == 2


@pytest.mark.usefixtures("on_a_cpu")
def test_the_inspections_of_variables_and_assignments_are_dumped(tmp_path: pathlib.Path) -> None:
    variable = tf.Variable([42.0, np.nan], name="v")
    words = tf.Variable(["a"], name="words")
    numbers = ["DebugNumericSummary(lower_bound=-50;upper_bound=40)", "DebugNanCount"]
    tolerant = {"debug_ops": numbers, "tolerate_debug_op_creation_failures": True}
    with tf.Session() as session:
        for name, fetch in (
            ("init", tf.global_variables_initializer()),
            ("read", [variable + 1.0, words]),
        ):
            session.run(fetch, options=watched(tmp_path / name, **tolerant))
    before = tf_debug.DebugDumpDir(str(tmp_path / "init"))
    nothing = [0] * 8 + [np.inf, -np.inf, np.nan, np.nan, 1, 1, 2]
    full = [1, 2, 1, 0, 0, 0, 0, 1, 42, 42, 42, 0, 1, 1, 2]
    np.testing.assert_equal(before.get_tensors("v", 0, "DebugNumericSummary"), [nothing])
    assert before.get_tensors("v", 0, "DebugNanCount") == [0]
    np.testing.assert_equal(before.get_tensors("v/Assign", 0, "DebugNumericSummary"), [full])
    assert before.get_tensors("v/Assign", 0, "DebugNanCount") == [1]
    after = tf_debug.DebugDumpDir(str(tmp_path / "read"))
    np.testing.assert_equal(after.get_tensors("v", 0, "DebugNumericSummary"), [full])
    assert not after.watch_key_to_data("words:0:DebugNanCount")


def test_only_the_tensors_that_match_all_patterns_are_dumped(tmp_path: pathlib.Path) -> None:
    x = tf.constant([1.0, -1.0], name="x")
    total = tf.reduce_sum(tf.cast(tf.log(x, name="log"), tf.float64, name="wide"), name="total")
    with tf.Session() as session:
        session.run(total, options=watched(tmp_path / "a", tensor_dtype_regex_whitelist="float64"))
        session.run(total, options=watched(tmp_path / "b", node_name_regex_whitelist="lo|to"))
        numbers = "DebugNumericSummary(lower_bound=-2;upper_bound=0.5)"
        options = tf.RunOptions()
        tf_debug.add_debug_tensor_watch(
            options, "x", 0, numbers, f"file://{tmp_path / 'c'}", global_step=7
        )
        session.run(total, options=options)
    assert values(tmp_path / "a").keys() == {"wide:0", "total:0"}
    assert values(tmp_path / "b").keys() == {"log:0", "total:0"}
    folder = tf_debug.DebugDumpDir(str(tmp_path / "c"))
    (found,) = folder.get_tensors("x", 0, "DebugNumericSummary")
    # One element is finite and inside of the bounds, and 1.0 counts as infinite.
    np.testing.assert_equal(found[:8], [1, 2, 0, 0, 1, 0, 0, 1])
    assert folder.core_metadata.global_step == 7  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("op", "url", "kind", "message"),
    [
        ("DebugNothing", "file://{folder}", tf.errors.FailedPreconditionError, "DebugNothing"),
        ("DebugIdentity", "grpc://h:1", tf.errors.UnavailableError, "Invalid debug target URL"),
        *(
            (op, "file://{folder}", tf.errors.FailedPreconditionError, message)
            for op, message in (
                (
                    "DebugNumericSummary(foo=1.0)",
                    r"1 attribute key\(s\) were not valid for debug node "
                    r"__dbg_x:0_0_DebugNumericSummary: foo",
                ),
                ("DebugNanCount(upper_bound=1; bar=1)", r"2 attribute key\(s\) were not valid"),
                ("DebugIdentity(tensor_name=x)", r"1 attribute key\(s\) were not valid"),
                ("DebugNumericSummary(lower_bound=low)", "Invalid value string for float-type"),
                ("DebugNumericSummary(mute_if_healthy=2)", "Invalid value string for bool-type"),
                ("DebugNumericSummary(gated_grpc)", "Malformed attributes in debug op name"),
                ("DebugNumericSummary(gated_grpc=1;gated_grpc=0)", "Duplicate attribute name"),
                ("DebugNumericSummary(", "Malformed debug op name"),
            )
        ),
    ],
)
def test_a_wrong_watch_fails_the_step(
    op: str, url: str, kind: Any, message: str, tmp_path: pathlib.Path
) -> None:
    x = tf.constant(1.0, name="x")
    options = tf.RunOptions()
    tf_debug.add_debug_tensor_watch(options, "x", 0, op, url.format(folder=tmp_path))
    with tf.Session() as session, pytest.raises(kind, match=message):
        session.run(x, options=options)


def test_a_watch_may_tolerate_a_wrong_attribute(tmp_path: pathlib.Path) -> None:
    x = tf.constant(1.0, name="x")
    options = watched(
        tmp_path,
        debug_ops=["DebugNumericSummary(foo=1)", "DebugIdentity"],
        tolerate_debug_op_creation_failures=True,
    )
    with tf.Session() as session:
        session.run(x, options=options)
    assert values(tmp_path) == {"x:0": 1}


@pytest.mark.usefixtures("on_a_cpu")
@pytest.mark.parametrize(
    ("bounds", "names"),
    [("", ["inverse:0"]), (" ; upper_bound = 3.0", ["large:0", "large/read:0", "inverse:0"])],
)
def test_a_muted_summary_is_dumped_only_of_tensors_with_nans_or_beyond_bounds(
    bounds: str, names: list[str], tmp_path: pathlib.Path
) -> None:
    small, large = tf.Variable([0.0, 1.0], name="small"), tf.Variable([2.0, 4.0], name="large")
    inverse = tf.divide(large, small, name="inverse")
    summary = f"DebugNumericSummary(mute_if_healthy=true{bounds})"
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(inverse, options=watched(tmp_path, debug_ops=[summary]))
    data = tf_debug.DebugDumpDir(str(tmp_path)).dumped_tensor_data
    assert [datum.tensor_name for datum in data] == names


def test_a_failed_run_leaves_its_graph(tmp_path: pathlib.Path) -> None:
    x = tf.placeholder(tf.int32, [1], name="x")
    refused = tf.gather(tf.constant([1.0]), x, name="refused")
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError):
        session.run(refused, {x: [3]}, options=watched(tmp_path))
    dump = tf_debug.DebugDumpDir(str(tmp_path))
    assert dump.node_exists("refused")


def test_the_number_of_nans_is_dumped_as_a_vector(tmp_path: pathlib.Path) -> None:
    x = tf.placeholder(tf.float32, [2], name="x")
    y = tf.identity(x, name="y")
    with tf.Session() as session:
        session.run(y, {x: [1, np.nan]}, options=watched(tmp_path, debug_ops="DebugNanCount"))
    dump = tf_debug.DebugDumpDir(str(tmp_path))
    assert [each.tolist() for each in dump.get_tensors("y", 0, "DebugNanCount")] == [[1]]


def test_a_run_without_watches_dumps_nothing_after_a_run_with_watches(
    tmp_path: pathlib.Path,
) -> None:
    x = tf.constant(1.0, name="x")
    with tf.Session() as session:
        for number in range(2):
            session.run(x, options=watched(tmp_path / str(number)))
            assert session.run(x) == 1
    for number in range(2):
        assert values(tmp_path / str(number)) == {"x:0": 1}


def run_and_step(folder: pathlib.Path) -> tuple[int, int]:
    metadata: Any = tf_debug.DebugDumpDir(str(folder)).core_metadata
    return metadata.session_run_index, metadata.executor_step_index


def test_a_dump_has_the_number_of_its_run_among_all_runs_of_the_process(
    tmp_path: pathlib.Path,
) -> None:
    x = tf.placeholder_with_default(1.0, [], name="x")
    y = tf.negative(x, name="y")
    with tf.Session() as session, tf.Session() as other:
        session.run(x, options=watched(tmp_path / "first"))
        other.run(x, options=watched(tmp_path / "second"))
        session.make_callable(x)()
        session.run(x, options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE))
        handle = session.partial_run_setup([y], [x])
        session.partial_run(handle, y, {x: 2.0})
        session.run(x, options=watched(tmp_path / "sixth"))
    first, _ = run_and_step(tmp_path / "first")
    assert run_and_step(tmp_path / "second") == (first + 1, 0)
    assert run_and_step(tmp_path / "sixth") == (first + 5, 1)


@pytest.mark.e2e
def test_a_session_of_a_cluster_counts_the_dumping_runs_of_a_step(tmp_path: pathlib.Path) -> None:
    with clusters.running(worker=1) as servers:
        x = tf.placeholder_with_default(1.0, [], name="x")
        y = tf.negative(x, name="y")
        with tf.Session(servers["worker:0"].target) as session:
            session.run(y)
            for number, fetch in enumerate([y, x, y]):
                session.run(fetch, options=watched(tmp_path / str(number)))
    assert [run_and_step(tmp_path / str(number)) for number in range(3)] == [(0, 0), (0, 0), (1, 1)]


@pytest.mark.e2e
def test_every_task_dumps_its_own_tensors(tmp_path: pathlib.Path) -> None:
    with clusters.running(ps=1, worker=1) as servers:
        with tf.device("/job:ps/task:0"):
            weights = tf.Variable([1.0, 2.0], name="weights")
        with tf.device("/job:worker/task:0"):
            loss = tf.reduce_sum(weights * 2.0, name="loss")
        with tf.Session(servers["worker:0"].target) as session:
            session.run(tf.global_variables_initializer())
            session.run(loss, options=watched(tmp_path))
    folder = tf_debug.DebugDumpDir(str(tmp_path))
    assert {device.split("/")[1] for device in folder.devices()} == {"job:ps", "job:worker"}
    assert folder.get_tensors("loss", 0, "DebugIdentity") == [6]
    assert folder.node_device("weights").startswith("/job:ps")
    assert folder.node_recipients("weights/read") == ["mul"]


class Program:
    """A program whose fifth run has an infinite loss, under a session with a prompt."""

    def __init__(self, wrap: Callable[[Any], Any]) -> None:
        self.x = tf.placeholder(tf.float32, [2], name="x")
        y = tf.multiply(self.x, 2.0, name="y")
        self.loss = tf.reduce_sum(tf.log(y, name="log"), name="loss")
        self.session = wrap(tf.Session())

    def run(self, number: int) -> Any:
        return self.session.run(self.loss, {self.x: [1, 5 - number]})


def prompted(commands: str, monkeypatch: pytest.MonkeyPatch, **options: Any) -> Program:
    monkeypatch.setattr(sys, "stdin", io.StringIO(commands))
    return Program(lambda session: tf_debug.LocalCLIDebugWrapperSession(session, **options))


def test_a_program_runs_until_a_tensor_passes_a_filter(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: pathlib.Path
) -> None:
    script = "run -f has_inf_or_nan\npt log:0[1]\nrun -f negative\nexit\n"
    program = prompted(script, monkeypatch, ui_type="readline", dump_root=str(tmp_path / "d"))
    program.session.add_tensor_filter(
        "negative", lambda datum, value: datum.node_name == "y" and (value < 0).any()
    )
    assert np.isfinite([program.run(number) for number in range(1, 5)]).all()
    assert program.run(5) == -np.inf
    with pytest.raises(SystemExit):
        program.run(6)
    shown = capsys.readouterr().out
    assert "Session.run() call #1" in shown
    assert 'passing filter "has_inf_or_nan":' in shown
    assert "-inf" in shown
    assert "Session.run() call #6" in shown
    assert not os.path.exists(tmp_path / "d")


def test_the_user_chooses_how_many_runs_go_on_without_dumps(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program = prompted("run -t 3\nrun -n\nrun\nexit\n", monkeypatch)
    for number in range(1, 5):
        program.run(number)
    with pytest.raises(SystemExit):
        program.run(5)
    titles = [line for line in capsys.readouterr().out.splitlines() if "--- run-" in line]
    assert [line.rpartition("--- ")[2] for line in titles] == [
        "run-start: Session.run() call #1:",
        "run-end: Session.run() call #3:",
        "run-start: Session.run() call #5:",
        "run-end: Session.run() call #5:",
    ]


def test_a_program_goes_on_after_the_end_of_the_commands(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program = prompted("", monkeypatch)
    assert [program.run(number) for number in (1, 2)] == pytest.approx(np.log([16, 12]))
    assert capsys.readouterr().out.count("tfdbg>") == 1


def test_the_dumps_of_a_failed_run_are_shown_before_its_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("run\nri\nrun\n"))
    x = tf.placeholder(tf.float32, name="x")
    refused = tf.check_numerics(tf.log(x, name="log"), "bad")
    session = tf_debug.LocalCLIDebugWrapperSession(tf.Session())
    with session, pytest.raises(tf.errors.InvalidArgumentError, match="bad"):
        session.run(refused, {x: -1.0})
    shown = capsys.readouterr().out
    assert "log:0" in shown
    assert "The run ended with an error:" in shown


def test_a_debug_session_stands_for_its_session(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    queue = tf.train.input_producer([[7]], shuffle=False)
    element = queue.dequeue()
    session = tf_debug.LocalCLIDebugWrapperSession(tf.Session(), thread_name_filter="Main")
    coordinator = tf.train.Coordinator()
    with session.as_default():
        threads = tf.train.start_queue_runners(session, coordinator)
        assert element.eval() == [7]
    assert session.make_callable(element)() == [7]
    coordinator.request_stop()
    session.run(queue.close(cancel_pending_enqueues=True))
    coordinator.join(threads)
    session.close()
    with pytest.raises(RuntimeError, match="closed"):
        session.run(element)


@pytest.mark.parametrize("kind", ["session", "hook"])
def test_a_run_that_would_dump_more_bytes_than_the_limit_fails(
    kind: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TFDBG_DISK_BYTES_LIMIT", "10")
    y = tf.add(1.0, 2.0, name="y")

    def watch(fetches: Any, feeds: Any) -> Any:
        return tf_debug.WatchOptions(node_name_regex_whitelist="y$")

    for root in (tmp_path / "one", tmp_path / "two"):  # a new debugger begins to count anew
        if kind == "session":
            session = tf_debug.DumpingDebugWrapperSession(tf.Session(), str(root), watch)
        else:
            hook = tf_debug.DumpingDebugHook(str(root), watch)
            session = tf.train.MonitoredSession(hooks=[hook])
        with session:
            assert [session.run(y), session.run(y)] == [3.0, 3.0]
            with pytest.raises(tf.errors.ResourceExhaustedError, match=r"y:0.*DISK_BYTES_LIMIT"):
                session.run(y)


def test_the_limit_of_the_bytes_of_dumps_must_be_a_number(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TFDBG_DISK_BYTES_LIMIT", "10 GB")
    text = tf.constant(["text"])
    with tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="not a number of bytes: '10 GB'"):
            session.run(text, options=watched(tmp_path))
        monkeypatch.setenv("TFDBG_DISK_BYTES_LIMIT", "5")
        assert session.run(text, options=watched(tmp_path, reset_disk_byte_usage=True)) == [b"text"]
        with pytest.raises(tf.errors.ResourceExhaustedError):
            session.run(text, options=watched(tmp_path))


@pytest.mark.parametrize("kind", ["session", "hook"])
def test_each_run_leaves_its_dumps_in_a_folder(kind: str, tmp_path: pathlib.Path) -> None:
    x = tf.placeholder(tf.float32, name="x")
    y = tf.multiply(x, 2.0, name="y")

    def watch(fetches: Any, feeds: Any) -> Any:
        assert x in feeds
        return tf_debug.WatchOptions(node_name_regex_whitelist="y$")

    root = tmp_path / "root"
    if kind == "session":
        session = tf_debug.DumpingDebugWrapperSession(tf.Session(), str(root), watch_fn=watch)
    else:
        hook = tf_debug.DumpingDebugHook(str(root), watch_fn=watch)
        session = tf.train.MonitoredSession(hooks=[hook])
    with session:
        for number in range(2):
            assert session.run(y, {x: number}) == 2 * number
    for number in range(2):
        (folder,) = root.glob(f"run_*_{number}")
        assert values(folder) == {"y:0": 2 * number}
        dump = tf_debug.DebugDumpDir(str(folder))
        assert (dump.run_fetches_info, dump.size) == (repr(y), 1)
        assert "x:0" in str(dump.run_feed_keys_info)
    with pytest.raises(ValueError, match="non-empty directory"):
        tf_debug.DumpingDebugHook(str(root))


def test_a_hook_asks_the_user_around_the_runs_of_a_monitored_session(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("run -f large\npt y\nexit\n"))
    x = tf.placeholder(tf.float32, name="x")
    y = tf.multiply(x, 2.0, name="y")
    hook = tf_debug.LocalCLIDebugHook()
    hook.add_tensor_filter("large", lambda datum, value: datum.node_name == "y" and value > 9)
    session = tf.train.MonitoredSession(hooks=[hook])
    for number in range(5):
        assert session.run(y, {x: number}) == 2 * number
    with pytest.raises(SystemExit):
        session.run(y, {x: 5})
    session.close()
    assert "10." in capsys.readouterr().out


@pytest.fixture
def view(tmp_path: pathlib.Path) -> commands.View:
    x = tf.placeholder(tf.float32, [2, 3], name="x")
    y = tf.multiply(x, 2.0, name="scope/y")
    feeds = {x: np.arange(6).reshape(2, 3)}
    with tf.Session() as session:
        session.run(y, feeds, options=watched(tmp_path))
    run = wrapper.Run(4, [y], feeds, y.graph)
    dump = tf_debug.DebugDumpDir(str(tmp_path))
    dump.set_python_graph(y.graph)
    return commands.View(run, {"any": lambda datum, value: True}, dump)


@pytest.mark.parametrize(
    ("line", "part"),
    [
        ("lt", "2 dumped tensor(s):"),
        ("lt -t Mul", "1 dumped tensor(s):"),
        ("lt -n scope/y$ -f any", '1 dumped tensor(s) passing filter "any":'),
        ("lt -f none", "ERROR: no filter is called"),
        ("pt scope/y:0", "[[ 0.  2.  4.]"),
        ("pt scope/y[1,:2]", "[6. 8.]"),
        ("pt scope/y[5]", "ERROR: index 5 is out of bounds"),
        ("pt scope/y -n 3", "ERROR: there are 1 dumps"),
        ("pt nothing", 'ERROR: "nothing" was not dumped'),
        ("pt", "ERROR: pt: the following arguments are required"),
        ("ni -a -d -t scope/y", "T: type: DT_FLOAT"),
        ("ni scope/y", "Op: Mul"),
        ("ni nothing", "ERROR: Node 'nothing' does not exist"),
        ("li scope/y", "scope/y/y"),
        ("lo scope/y/y:0", "scope/y"),
        ("pf x", "[[0 1 2]"),
        ("pf y", "ERROR: the run does not feed"),
        ("ri", "call #4:"),
        ("help", "list the dumped tensors"),
        ("lt -n (", "ERROR: this is not a regular expression"),
        ("unknown", 'ERROR: "unknown" is no command. Enter help for the commands'),
    ],
)
def test_a_command_shows_the_dumps(line: str, part: str, view: commands.View) -> None:
    answer = commands.answer(line, view)
    assert isinstance(answer, str)
    assert part in answer


def test_the_traceback_of_a_node_shows_the_lines_of_the_program(view: commands.View) -> None:
    answer = commands.answer("ni -t scope/y", view)
    assert isinstance(answer, str)
    _, _, traceback = answer.partition("Traceback of the creation of the node:\n")
    *_, place, line = traceback.splitlines()
    assert re.fullmatch(rf'    File "{re.escape(__file__)}", line \d+, in view', place)
    assert line == '      y = tf.multiply(x, 2.0, name="scope/y")'
