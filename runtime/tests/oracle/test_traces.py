"""TensorFlow's client traces steps on Capstan's tasks, and TensorFlow's timeline draws them."""

import json
from typing import Any

import genuine
import numpy as np
import pytest

from capstan.client import timeline

pytestmark = genuine.MARKS

PS, WORKER = "/job:ps/task:0", "/job:worker/task:0"
CPUS = [f"/job:{job}/replica:0/task:0/device:CPU:0" for job in ("ps", "worker")]


def build(v1: Any, ps: str, worker: str) -> tuple[Any, Any, dict[Any, Any]]:
    """Return the initializer, the fetches and the feeds of a step with a branch and a loop."""
    with v1.device(ps):
        weights = v1.get_variable("weights", [3, 2], initializer=v1.ones_initializer())
    with v1.device(worker):
        x = v1.placeholder(v1.float32, [None, 3], name="x")
        product = v1.matmul(x, weights, name="product")
        taken = v1.cond(
            v1.reduce_sum(product, name="total") > 0,
            lambda: v1.tanh(product, name="up"),
            lambda: v1.exp(product, name="down"),
        )
        _, last = v1.while_loop(
            lambda i, _: i < 3, lambda i, y: (i + 1, v1.square(y, name="more")), [0, taken]
        )
    return weights.initializer, last, {x: np.ones((4, 3), np.float32)}


def traced(v1: Any, target: str, ps: str = "", worker: str = "") -> Any:
    with v1.Graph().as_default(), v1.Session(target) as session:
        init, fetch, feeds = build(v1, ps, worker)
        session.run(init)
        metadata = v1.RunMetadata()
        options = v1.RunOptions(trace_level=v1.RunOptions.FULL_TRACE, output_partition_graphs=True)
        session.run(fetch, feeds, options, metadata)
    return metadata


@pytest.fixture(scope="module")
def metadata(v1: Any) -> Any:
    started = genuine.Tasks(ps=1, worker=1)
    yield traced(v1, started.target(), PS, WORKER)
    started.close()


def counts(metadata: Any) -> dict[str, int]:
    """Return how often each node ran."""
    found: dict[str, int] = {}
    for device in metadata.step_stats.dev_stats:
        for entry in device.node_stats:
            found[entry.node_name] = found.get(entry.node_name, 0) + 1
    return found


def test_a_trace_over_the_wire_has_the_nodes_of_tensorflows_own_trace(
    v1: Any, metadata: Any
) -> None:
    assert {device.device for device in metadata.step_stats.dev_stats} == set(CPUS)
    ours, theirs = counts(metadata), counts(traced(v1, ""))
    for name in ("weights", "product", "total", "cond/up", "while/more", "while/Less"):
        assert ours[name] == theirs[name], name
    assert "cond/down" not in ours
    assert "cond/down" not in theirs


def test_tensorflows_timeline_draws_the_trace_as_capstans_does(metadata: Any) -> None:
    from tensorflow.python.client import timeline as theirs

    for dataflow in (False, True):
        for memory in (False, True):
            ours = timeline.Timeline(metadata.step_stats)
            text = ours.generate_chrome_trace_format(dataflow, memory)
            drawn = theirs.Timeline(metadata.step_stats)
            expected = drawn.generate_chrome_trace_format(dataflow, memory)
            assert json.loads(text) == json.loads(expected)


def test_both_timelines_draw_the_same_picture_of_a_tensorflow_trace(v1: Any) -> None:
    from tensorflow.python.client import timeline as theirs

    stats = traced(v1, "").step_stats
    text = timeline.Timeline(stats).generate_chrome_trace_format(show_memory=True)
    expected = theirs.Timeline(stats).generate_chrome_trace_format(show_memory=True)
    assert json.loads(text) == json.loads(expected)


def test_tensorflow_imports_the_graphs_of_the_devices(v1: Any, metadata: Any) -> None:
    assert len(metadata.partition_graphs) == 2
    for graph in metadata.partition_graphs:
        # Capstan runs a loop as one node, which TensorFlow has under its public name only.
        assert {node.device for node in graph.node} <= set(CPUS)
        assert {node.op for node in graph.node} & {"_Send", "_Recv"}


def test_the_cost_graph_reaches_tensorflows_client(v1: Any, tasks: genuine.Tasks) -> None:
    config = v1.ConfigProto(graph_options=v1.GraphOptions(build_cost_model=1))
    with v1.Session(tasks.target(), config=config) as session:
        x = v1.placeholder(v1.float32, [2], name="x")
        metadata = v1.RunMetadata()
        session.run(v1.square(x, name="y"), {x: [1, 2]}, run_metadata=metadata)
    (node,) = (node for node in metadata.cost_graph.node if node.name == "y")
    assert node.output_info[0].size == 8
