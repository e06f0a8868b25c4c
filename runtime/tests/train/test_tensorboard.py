"""TensorBoard reads the files of `FileWriter`, through its HTTP API."""

import json
import pathlib
import subprocess
import sys
import textwrap
import urllib.parse
import urllib.request
from collections.abc import Iterator
from typing import Any

import background
import pytest

import capstan as tf

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

SERVER = """
    import sys, types

    # TensorBoard then does not import TensorFlow, if that is installed.
    sys.modules["tensorboard.compat.notf"] = types.ModuleType("notf")
    from tensorboard import default, program

    board = program.TensorBoard(default.get_plugins())
    address = ["--host", "127.0.0.1", "--port", "0"]
    board.configure([None, "--logdir", sys.argv[1], *address, "--load_fast", "false"])
    print(board.launch(), flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def address(tmp_path: pathlib.Path) -> Iterator[str]:
    """Write a run of three steps, and serve it. The server ends with its standard input."""
    write_run(tmp_path / "run")
    command = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(SERVER), str(tmp_path)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as server:
        assert server.stdout is not None
        yield server.stdout.readline().strip()
        server.communicate()


def write_run(folder: pathlib.Path) -> None:
    x = tf.placeholder(tf.float32, [None], name="x")
    tf.summary.scalar("total", tf.reduce_sum(x))
    tf.summary.histogram("values", x)
    summaries = tf.summary.merge_all()
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    with tf.Session() as session, tf.summary.FileWriter(folder, session.graph) as writer:
        for step in range(3):
            trace = tf.RunMetadata()
            summary = session.run(summaries, {x: [step, 1.0]}, options, trace)
            writer.add_summary(summary, step)
            writer.add_run_metadata(trace, f"step {step}", step)


def get(address: str, path: str, **query: Any) -> str:
    # The environment may name a proxy, which cannot reach this machine's loopback address.
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with direct.open(f"{address}data/{path}?{urllib.parse.urlencode(query)}") as answer:
        text: str = answer.read().decode()
        return text


def test_tensorboard_shows_scalars_histograms_the_graph_and_a_trace(address: str) -> None:
    background.until(lambda: "run" in json.loads(get(address, "runs")))

    def scalars() -> list[tuple[int, float]]:
        tags = json.loads(get(address, "plugin/scalars/tags"))
        if "total" not in tags.get("run", ()):
            return []
        points = json.loads(get(address, "plugin/scalars/scalars", run="run", tag="total"))
        return [(step, value) for _, step, value in points]

    background.until(lambda: scalars() == [(0, 1.0), (1, 2.0), (2, 3.0)])
    # The trace of the last step is the last event of the file.
    background.until(lambda: "step 2" in get(address, "plugin/graphs/info"))
    points = json.loads(get(address, "plugin/histograms/histograms", run="run", tag="values"))
    assert [sum(count for _, _, count in buckets) for _, _, buckets in points] == [2.0] * 3
    graph = get(
        address, "plugin/graphs/graph", run="run", limit_attr_size=1024, large_attrs_key="large"
    )
    assert 'name: "x"' in graph
    assert 'op: "HistogramSummary"' in graph
    trace = get(address, "plugin/graphs/run_metadata", run="run", tag="step 2")
    assert 'node_name: "Sum"' in trace
