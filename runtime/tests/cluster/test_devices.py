"""Several CPUs in a task: in the session, over the wire, in the log, and in the parts of a step."""

import logging
from collections.abc import Iterator
from typing import Any

import clusters
import numpy as np
import pytest

import capstan as tf
from capstan.framework import raw
from capstan.partition import parts
from capstan.services import worker

FOUR = tf.ConfigProto(device_count={"CPU": 4})


@pytest.fixture(autouse=True)
def _graph() -> None:
    tf.reset_default_graph()


@pytest.fixture
def local() -> Iterator[dict[str, Any]]:
    with clusters.running(local=2) as started:
        yield started


def names(session: Any) -> list[str]:
    return [device.name for device in session.list_devices()]


def test_a_session_in_the_process_has_the_cpus_that_device_count_asks_for() -> None:
    with tf.Session(config=FOUR) as session:
        task = "/job:localhost/replica:0/task:0"
        cpus = [name for name in names(session) if "CPU" in name]
        assert cpus == [f"{task}/device:CPU:{index}" for index in range(4)]


@pytest.mark.e2e
def test_a_server_tells_other_processes_of_its_cpus() -> None:
    cluster = clusters.spec(local=2)
    servers = [
        tf.train.Server(cluster, task_index=0, config=FOUR),
        tf.train.Server(cluster, task_index=1),
    ]
    with tf.device("/job:local/task:0/cpu:3"):
        v = tf.Variable([1.0, 2.0])
    with tf.device("/job:local/task:0/cpu:1"):
        doubled = v * 2.0
    try:
        # The second server's master asks the first server over the network.
        with tf.Session(servers[1].target) as session:
            first = "/job:local/replica:0/task:0/device:CPU"
            second = "/job:local/replica:0/task:1/device:CPU"
            cpus = [name for name in names(session) if "CPU" in name]
            assert cpus == [*(f"{first}:{index}" for index in range(4)), f"{second}:0"]
            session.run(v.initializer)
            assert session.run(doubled).tolist() == [2.0, 4.0]
    finally:
        for server in servers:
            server.stop()


def test_a_device_is_shown_as_tensorflow_shows_it() -> None:
    with tf.Session() as session:
        device, *_ = session.list_devices()
    assert repr(device) == (
        "_DeviceAttributes(/job:localhost/replica:0/task:0/device:CPU:0, CPU, 268435456, "
        f"{device.incarnation})"
    )


def test_a_device_that_does_not_exist_is_refused_unless_placement_is_soft() -> None:
    with tf.device("/cpu:7"):
        x = tf.constant(1.0, name="x")
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
        available = ", ".join(names(session))
        with pytest.raises(tf.errors.InvalidArgumentError) as refused:
            session.run(x)
    assert (
        "Cannot assign a device for operation 'x': Operation was explicitly assigned to "
        f"/device:CPU:7 but available devices are [ {available} ]. "
        "Make sure the device specification refers to a valid device."
    ) in refused.value.message
    with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:
        assert session.run(x) == 1.0


def test_a_gpu_that_no_task_has_is_refused_with_what_to_do() -> None:
    with tf.device("/gpu:0"):
        x = tf.constant(1.0, name="x")
    session = tf.Session(config=tf.ConfigProto(device_count={"GPU": 0}))
    with session, pytest.raises(tf.errors.InvalidArgumentError) as refused:
        session.run(x)
    assert (
        "valid device. The requested device appears to be a GPU, but no task has one. "
        "docs/how-to/gpus.md says what a GPU needs. With allow_soft_placement, the operation runs "
        "on a CPU."
    ) in refused.value.message


def test_a_task_in_a_session_without_a_target_is_refused_with_what_to_do() -> None:
    with tf.device("/job:ps/task:0"):
        x = tf.constant(1.0, name="x")
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError) as refused:
        session.run(x)
    assert (
        "valid device. The session is local, because it has no target. Open it as "
        "tf.Session(server.target) to reach the tasks of a cluster."
    ) in refused.value.message


@pytest.mark.parametrize("device", ["/job:ps/task:0", "/job:worker/task:7"])
def test_a_task_that_the_session_does_not_have_is_refused_with_what_to_do(device: str) -> None:
    with tf.device(device):
        x = tf.constant(1.0)
    config = tf.ConfigProto(device_filters=["/job:worker"])
    with (
        clusters.running(ps=1, worker=1) as servers,
        tf.Session(servers["worker:0"].target, config=config) as session,
        pytest.raises(tf.errors.InvalidArgumentError) as refused,
    ):
        session.run(x)
    assert (
        "valid device. Such a task is not in the cluster, or the device_filters of the session "
        "leave it out."
    ) in refused.value.message


def test_the_placement_is_printed_and_logged(
    capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    with tf.device("/cpu:1"):
        a = tf.constant(1.0, name="a")
    with tf.device("/cpu:2"):
        c = tf.add(a, a, name="c")
    config = tf.ConfigProto(device_count={"CPU": 4, "GPU": 0}, log_device_placement=True)
    caplog.set_level(logging.INFO, "capstan")
    with tf.Session(config=config) as session:
        session.run(c)
    lines = [
        "Device mapping: no known devices.",
        "a: (Const): /job:localhost/replica:0/task:0/device:CPU:1",
        "c: (Add): /job:localhost/replica:0/task:0/device:CPU:2",
    ]
    assert capfd.readouterr().out.splitlines() == lines
    assert [record.getMessage() for record in caplog.records] == lines


def test_an_ignored_device_is_noted_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with tf.device("/cpu:1"):
        handle = raw.raw.VarHandleOp(dtype=tf.float32, shape=[], shared_name="v", name="v")
    with tf.device("/cpu:2"):
        assign = raw.raw.AssignVariableOp(handle, np.float32(1.0), name="set")
    config = tf.ConfigProto(device_count={"CPU": 4}, log_device_placement=True)
    caplog.set_level(logging.INFO, "capstan")
    with tf.Session(config=config) as session:
        session.run(assign)
    assert (
        "Ignoring device specification /device:CPU:2 for node 'set' because the input edge from "
        "'v' is a reference connection and already has a device field set to /device:CPU:1"
    ) in [record.getMessage() for record in caplog.records]


class Parts:
    """Records the parts of graphs that the master registers on the tasks."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.found: list[parts.Part] = []
        register = worker.Worker.register_graph

        def recorded(task: Any, session: str, part: parts.Part, *rest: Any, **named: Any) -> int:
            self.found.append(part)
            return register(task, session, part, *rest, **named)

        monkeypatch.setattr(worker.Worker, "register_graph", recorded)

    def of(self, session: Any, fetch: Any) -> dict[str, set[str]]:
        """Return the names of the nodes that each task runs in a step, without copies.

        A node that copies a tensor between memories, and the copy of a constant, have the name of
        the tensor's node and a suffix.
        """
        self.found.clear()
        session.run(fetch)
        return {
            part.task: {node.name.partition("/copy")[0] for node in part.nodes}
            for part in self.found
        }


TASKS = [f"/job:local/replica:0/task:{index}" for index in range(2)]


@pytest.mark.e2e
def test_the_nodes_of_a_step_run_on_the_tasks_on_which_tensorflow_runs_them(
    local: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    var = tf.Variable(0.0, name="var")
    first = tf.Session(local["local:0"].target)
    second = tf.Session(local["local:1"].target)
    for session in (first, second):
        session.run(tf.global_variables_initializer())
    var.assign_add(1.0)
    added = var.assign_add(1.0)
    recorder = Parts(monkeypatch)
    assert recorder.of(first, var) == {TASKS[0]: {"var"}}
    assert recorder.of(first, added) == {TASKS[0]: {"AssignAdd_1/value", "var", "AssignAdd_1"}}
    assert recorder.of(second, var) == {TASKS[0]: {"var"}}


@pytest.mark.e2e
def test_a_pinned_variable_is_read_on_its_own_task(
    local: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = []
    for index in range(2):
        with tf.device(f"/job:local/task:{index}"):
            cells.append(tf.Variable(0.0, name=f"var{index + 1}"))
    sessions = [tf.Session(local[f"local:{index}"].target) for index in range(2)]
    sessions[0].run(tf.global_variables_initializer())
    recorder = Parts(monkeypatch)
    for session in sessions:
        for task, cell in zip(TASKS, cells, strict=True):
            assert recorder.of(session, cell) == {task: {cell.op.name}}
