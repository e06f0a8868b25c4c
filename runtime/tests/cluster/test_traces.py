"""The metadata of steps: times of every node on its device, graphs of the parts, and costs."""

import collections
import json
import re
from collections.abc import Iterator
from typing import Any

import clusters
import numpy as np
import pytest

import capstan as tf
from capstan.api import function
from capstan.python.client import timeline

PS, WORKER, OTHER = (f"/job:{task}" for task in ("ps/task:0", "worker/task:0", "worker/task:1"))
CPU = "/job:localhost/replica:0/task:0/device:CPU:0"
FULL_TRACE = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)


def usual() -> str:
    """Return the device on which a session of this process runs a node of floats.

    These tests also run with GPUs. The placer prefers the first of them to the CPU.
    """
    return CPU.replace("/device:CPU:0", tf.test.gpu_device_name() or "/device:CPU:0")


HERE = usual()
DEVICES = {
    task: HERE.replace("/job:localhost/replica:0/task:0", f"/job:{job}/replica:0/task:{index}")
    for task, job, index in ((PS, "ps", 0), (WORKER, "worker", 0), (OTHER, "worker", 1))
}


@pytest.fixture(autouse=True)
def _fresh_graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


@pytest.fixture
def session(servers: dict[str, Any]) -> Iterator[tf.Session]:
    """A session of the first worker."""
    with tf.Session(servers["worker:0"].target) as opened:
        yield opened
    tf.Session.reset(servers["worker:0"].target)


def traced(session: Any, fetches: Any, feed: Any = None, options: Any = FULL_TRACE) -> Any:
    metadata = tf.RunMetadata()
    session.run(fetches, feed, options, metadata)
    return metadata


def original(text: str) -> str:
    """Return a name or a label with the names of tensors in place of those of their copies."""
    return re.sub(r"/copy(_\d+)?\b", "", text)


def names(metadata: Any) -> dict[str, list[str]]:
    """Return the names of the nodes of each device, in the order of the trace.

    The copies of tensors between the memories of devices are left out.
    """
    return {
        device.device: [
            original(entry.node_name)
            for entry in device.node_stats
            if " = _Copy" not in entry.timeline_label
        ]
        for device in metadata.step_stats.dev_stats
    }


def entries(metadata: Any) -> dict[str, Any]:
    """Return the last entry of each node."""
    return {
        entry.node_name: entry
        for device in metadata.step_stats.dev_stats
        for entry in device.node_stats
    }


def end(entry: Any) -> int:
    return int(entry.all_start_nanos + entry.all_end_rel_nanos)


def test_a_trace_has_every_node_of_a_step_in_the_order_in_which_they_ran() -> None:
    x = tf.placeholder(tf.float32, [2, 2], name="x")
    weights = tf.Variable(np.eye(2, dtype=np.float32), name="weights")
    y = tf.nn.relu(tf.matmul(x, weights, name="product"), name="y")
    with tf.Session() as session:
        session.run(weights.initializer)
        metadata = traced(session, y, {x: [[1, -2], [3, 4]]})
    assert names(metadata) == {HERE: ["_SOURCE", "weights", "weights/read", "product", "y"]}
    noted = entries(metadata)
    assert original(noted["product"].timeline_label) == "product = MatMul(x, weights/read)"
    assert noted["_SOURCE"].timeline_label == "_SOURCE = NoOp()"
    (output,) = noted["product"].output
    description = output.tensor_description
    assert description.dtype == tf.float32.as_datatype_enum
    assert [dim.size for dim in description.shape.dim] == [2, 2]
    assert description.allocation_description.requested_bytes == 16
    assert description.allocation_description.allocator_name == HERE.split(":")[-2].lower()
    assert noted["product"].thread_id > 0
    assert end(noted["weights/read"]) <= noted["product"].all_start_nanos
    assert end(noted["product"]) <= noted["y"].all_start_nanos


@pytest.mark.e2e
@pytest.mark.parametrize("level", ["SOFTWARE_TRACE", "HARDWARE_TRACE", "FULL_TRACE"])
def test_every_trace_level_gives_times(session: tf.Session, level: str) -> None:
    with tf.device(PS):
        x = tf.placeholder(tf.float32, name="x")
        y = tf.negative(x, name="y")
    options = tf.RunOptions(trace_level=getattr(tf.RunOptions, level))
    assert names(traced(session, y, {x: 1}, options))[DEVICES[PS]] == ["_SOURCE", "y"]


def test_a_step_that_asks_for_nothing_returns_empty_metadata() -> None:
    x = tf.placeholder(tf.float32)
    with tf.Session() as session:
        metadata = traced(session, -x, {x: 1})
        assert metadata.HasField("step_stats")
        session.run(-x, {x: 1}, run_metadata=metadata)
    assert metadata == tf.RunMetadata()


@pytest.mark.e2e
def test_a_trace_names_the_tasks_as_distributed_tensorflow_prints_them() -> None:
    # The listings are those of "Distributed TensorFlow: A Gentle Introduction".
    started = clusters.start(local=2)
    first, second = (
        HERE.replace("localhost/replica:0/task:0", f"local/replica:0/task:{i}") for i in (0, 1)
    )
    # A task without nodes in the step has only the source, which is on its CPU.
    no_first, no_second = (
        (f"/job:local/replica:0/task:{index}/device:CPU:0", ["_SOURCE"]) for index in (0, 1)
    )
    var = tf.Variable(initial_value=0.0, name="var")
    sess1 = tf.Session(started["local:0"].target)
    sess2 = tf.Session(started["local:1"].target)
    sess1.run(tf.global_variables_initializer())
    sess2.run(tf.global_variables_initializer())
    assert (sess1.run(var), sess2.run(var)) == (0.0, 0.0)
    sess1.run(var.assign_add(1.0))
    assert (sess1.run(var), sess2.run(var)) == (1.0, 1.0)

    def location(session: tf.Session, op: Any) -> list[tuple[str, list[str]]]:
        return list(names(traced(session, op)).items())

    assert location(sess1, var) == [(first, ["_SOURCE", "var"])]
    added = ["_SOURCE", "AssignAdd_1/value", "var", "AssignAdd_1"]
    assert location(sess1, var.assign_add(1.0)) == [(first, added)]
    assert location(sess2, var) == [no_second, (first, ["_SOURCE", "var"])]
    with tf.device("/job:local/task:0"):
        var1 = tf.Variable(0.0, name="var1")
    with tf.device("/job:local/task:1"):
        var2 = tf.Variable(0.0, name="var2")
    sess1.run(tf.global_variables_initializer())
    assert location(sess1, var1) == [(first, ["_SOURCE", "var1"])]
    assert location(sess1, var2) == [no_first, (second, ["_SOURCE", "var2"])]
    assert location(sess2, var2) == [(second, ["_SOURCE", "var2"])]
    assert location(sess2, var1) == [no_second, (first, ["_SOURCE", "var1"])]
    sess1.close()
    sess2.close()
    for server in started.values():
        server.stop()


def train_step() -> tuple[Any, dict[Any, Any]]:
    """Return the fetches and the feeds of a step of between-graph training."""
    with tf.device(tf.train.replica_device_setter(ps_tasks=1, worker_device=WORKER)):
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        weights = tf.get_variable("weights", initializer=np.full((3, 2), 0.5, np.float32))
        loss = tf.reduce_mean(tf.square(tf.matmul(x, weights)), name="loss")
        step = tf.train.get_or_create_global_step()
        train = tf.train.AdamOptimizer(0.1).minimize(loss, global_step=step)
    return [train, loss], {x: np.ones((4, 3), np.float32)}


@pytest.mark.e2e
def test_a_between_graph_step_has_every_node_with_its_device_and_its_time(
    session: tf.Session,
) -> None:
    train, feed = train_step()
    init = tf.global_variables_initializer()
    session.run(init)
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE, output_partition_graphs=True)
    metadata = traced(session, train, feed, options)
    drawn = {
        (node.device, node.name)
        for graph in metadata.partition_graphs
        for node in graph.node
        if not node.op.startswith("_") and "/ctrl/" not in node.name
    }
    noted = {(device, name) for device, found in names(metadata).items() for name in found}
    drawn = {(device, original(name)) for device, name in drawn}
    assert {device for device, _ in drawn} >= {DEVICES[PS], DEVICES[WORKER]}
    assert drawn <= noted
    assert (DEVICES[PS], "Adam/update_weights/ApplyAdam") in noted
    assert (DEVICES[WORKER], "loss") in noted
    found = entries(metadata)
    assert end(found["weights/read"]) <= found["MatMul"].all_start_nanos
    assert end(found["MatMul"]) <= found["Adam/update_weights/ApplyAdam"].all_start_nanos


@pytest.mark.e2e
def test_a_transfer_lasts_from_its_departure_to_its_arrival(session: tf.Session) -> None:
    with tf.device(PS):
        held = tf.get_variable("held", initializer=np.ones(1 << 18, np.float32))
    with tf.device(WORKER):
        total = tf.reduce_sum(held, name="total")
    session.run(held.initializer)
    metadata = traced(session, total)
    found = entries(metadata)
    received = found["RecvTensor"]
    expected = f"[1.0MB] held/read from {DEVICES[PS]} to {DEVICES[WORKER]}"
    assert original(received.timeline_label) == expected
    assert "RecvTensor" in names(metadata)[DEVICES[WORKER]]
    assert end(found["held/read"]) <= received.all_start_nanos
    assert received.all_start_nanos < end(received) <= found["total"].all_start_nanos


@pytest.mark.e2e
@pytest.mark.parametrize("way", ["in a segment", "waiting", "over tasks"])
def test_a_loop_has_its_nodes_once_for_each_iteration(session: tf.Session, way: str) -> None:
    with tf.device(WORKER):
        numbers = tf.FIFOQueue(10, [tf.float32], shapes=[[]])
        fill = numbers.enqueue_many([np.arange(4, dtype=np.float32)])
        queues = f"{DEVICES[WORKER].rpartition('/')[0]}/device:CPU:0"

        def body(i: Any, total: Any) -> Any:
            if way == "in a segment":
                more = tf.square(total, name="more")
            elif way == "waiting":
                more = numbers.dequeue(name="more")
            else:
                with tf.device(PS):
                    more = tf.square(total, name="more")
            return i + 1, tf.add(total, more, name="sum")

        _, total = tf.while_loop(lambda i, _: tf.less(i, 4, name="less"), body, [0, 1.0])
    session.run(fill)
    metadata = traced(session, total)
    counts = {device: collections.Counter(found) for device, found in names(metadata).items()}
    where = {"over tasks": DEVICES[PS], "waiting": queues}.get(way, DEVICES[WORKER])
    assert counts[where]["while/more"] == 4
    assert counts[DEVICES[WORKER]]["while/sum"] == 4
    assert counts[DEVICES[WORKER]]["while/less"] == 5
    assert {found["_SOURCE"] for found in counts.values()} == {1}
    for device in metadata.step_stats.dev_stats:
        starts = [entry.all_start_nanos for entry in device.node_stats[1:]]
        assert starts == sorted(starts)


def test_a_branch_that_is_not_taken_is_not_in_the_trace() -> None:
    x = tf.placeholder(tf.float32, [])
    y = tf.cond(x > 0, lambda: tf.tanh(x, name="up"), lambda: tf.exp(x, name="down"))
    with tf.Session() as session:
        up, down = (names(traced(session, y, {x: sign}))[HERE] for sign in (1, -1))
    assert "cond/up" in up
    assert "cond/down" not in up
    assert "cond/down" in down
    assert "cond/up" not in down
    assert "cond/Merge" in up


def test_the_nodes_of_a_function_are_in_the_trace() -> None:
    @function.Defun(tf.float32)
    def scaled(value: Any) -> Any:
        return tf.multiply(tf.tanh(value, name="inner"), 2.0, name="outer")

    x = tf.placeholder(tf.float32, [])
    y = tf.py_func(np.sin, [scaled(x)], tf.float32, name="sine")
    with tf.Session() as session:
        found = names(traced(session, y, {x: 1}))
    suffixes = [name.rpartition("/")[2] for each in found.values() for name in each]
    assert {"inner", "outer", "sine"} <= set(suffixes)


@pytest.mark.e2e
def test_the_time_of_a_dequeue_has_its_wait(session: tf.Session) -> None:
    with tf.device(PS):
        first, second = (tf.FIFOQueue(1, [tf.float32], shapes=[[]]) for _ in range(2))
        taken = first.dequeue(name="taken")
        with tf.control_dependencies([taken]):
            passed = second.enqueue(1.0, name="passed")
        waited = second.dequeue(name="waited")
        session.run(first.enqueue(0.0))
        found = entries(traced(session, [waited, passed]))
    # One dequeue waits for the enqueue of the same step, which waits for the other dequeue.
    assert found["waited"].all_start_nanos <= found["passed"].all_start_nanos
    assert end(found["waited"]) >= found["passed"].all_start_nanos


def test_devices_of_one_task_have_traces_of_their_own() -> None:
    config = tf.ConfigProto(device_count={"CPU": 2})
    with tf.Session(config=config) as session:
        x = tf.placeholder(tf.float32, [2], name="x")
        with tf.device("/cpu:1"):
            y = tf.square(x, name="y")
        with tf.device("/cpu:0"):
            z = tf.negative(y, name="z")
        found = names(traced(session, z, {x: [1, 2]}))
    assert "z" in found[CPU]
    assert {"_SOURCE", "y"} <= set(found[CPU.replace("CPU:0", "CPU:1")])


@pytest.mark.e2e
def test_a_traced_step_gives_the_values_of_a_step_without_a_trace(session: tf.Session) -> None:
    train, feed = train_step()
    with tf.device(WORKER):
        weights = tf.trainable_variables()[0]
    init = tf.global_variables_initializer()
    found = []
    for options in (None, FULL_TRACE):
        session.run(init)
        session.run(weights.assign(np.ones((3, 2))))
        for _ in range(3):
            session.run(train, feed, options, tf.RunMetadata() if options else None)
        found.append(session.run(weights))
    np.testing.assert_array_equal(*found)


@pytest.mark.e2e
def test_the_graph_of_a_device_can_be_imported(session: tf.Session) -> None:
    train, feed = train_step()
    init = tf.global_variables_initializer()
    session.run(init)
    options = tf.RunOptions(output_partition_graphs=True)
    metadata = traced(session, train, feed, options)
    assert not metadata.HasField("step_stats")
    tasks = {graph.node[0].device.rpartition("/")[0] for graph in metadata.partition_graphs}
    assert tasks == {DEVICES[task].rpartition("/")[0] for task in (PS, WORKER)}
    sends, receives = {}, {}
    for graph in metadata.partition_graphs:
        present = {node.name for node in graph.node}
        assert len(present) == len(graph.node)
        assert len({node.device for node in graph.node}) == 1
        for node in graph.node:
            for text in node.input:
                assert text.lstrip("^").partition(":")[0] in present
            if node.op in ("_Send", "_Recv"):
                found = sends if node.op == "_Send" else receives
                found[node.attr["tensor_name"].s] = node
    assert len(sends) > 1
    assert len({name.split(b"_")[1] for name in sends}) == len(sends)
    assert sends.keys() == receives.keys()
    for name, send in sends.items():
        for attribute in ("send_device", "recv_device", "send_device_incarnation"):
            assert send.attr[attribute] == receives[name].attr[attribute]
        assert send.attr["T"].type == receives[name].attr["tensor_type"].type
        assert send.device == send.attr["send_device"].s.decode()
        assert receives[name].device == send.attr["recv_device"].s.decode()


@pytest.mark.e2e
def test_the_cost_graph_comes_every_n_steps(servers: dict[str, Any]) -> None:
    options = tf.GraphOptions(build_cost_model=2, build_cost_model_after=1)
    config = tf.ConfigProto(graph_options=options)
    target = servers["worker:0"].target
    with tf.Session(target, config=config) as session:
        x = tf.placeholder(tf.float32, [2, 3], name="x")
        with tf.device(PS):
            y = tf.square(x, name="y")
        with tf.device(WORKER):
            z = tf.reduce_sum(y, name="z")
        costs = [traced(session, z, {x: np.ones((2, 3))}, None).cost_graph for _ in range(5)]
    assert [bool(cost.node) for cost in costs] == [False, False, True, False, True]
    nodes = {node.name: node for node in costs[2].node}
    assert (nodes["y"].device, nodes["z"].device) == (DEVICES[PS], DEVICES[WORKER])
    senders = [node for node in costs[2].node if original(node.name) == "y"]
    assert nodes["z"].input_info[0].preceding_node in [node.id for node in senders]
    (output,) = nodes["y"].output_info
    assert (output.size, [dim.size for dim in output.shape.dim]) == (24, [2, 3])
    finals = [original(node.name) for node in costs[2].node if node.is_final]
    assert finals == ["z"]


@pytest.mark.e2e
def test_the_timeline_of_a_step_over_three_tasks_has_an_event_for_each_node(
    session: tf.Session,
) -> None:
    with tf.device(PS):
        held = tf.get_variable("held", initializer=np.float32([1, 2]))
    with tf.device(OTHER):
        twice = tf.multiply(held, 2, name="twice")
    with tf.device(WORKER):
        total = tf.reduce_sum(twice, name="total")
    session.run(held.initializer)
    metadata = traced(session, total)
    text = timeline.Timeline(metadata.step_stats).generate_chrome_trace_format()
    events = json.loads(text)["traceEvents"]
    processes = {event["args"]["name"]: event["pid"] for event in events if event["ph"] == "M"}
    drawn = {(event["pid"], event["args"]["name"]) for event in events if event["ph"] == "X"}
    for task, name in ((PS, "held"), (OTHER, "twice"), (WORKER, "total")):
        assert (processes[f"{DEVICES[task]} Compute"], name) in drawn
