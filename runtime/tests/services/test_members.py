"""The tasks of a cluster whose number of workers changes while its tasks run."""

import contextlib
import json
import logging
import pathlib
import threading
from collections.abc import Iterator
from typing import Any

import background
import clusters
import pytest

import capstan as tf
from capstan import errors
from capstan.core import config
from capstan.hardware import cpu, device
from capstan.resources import containers
from capstan.services import master, members, roll_call, targets, worker
from capstan.transport import cancellation as cancellations
from capstan.transport import interfaces

Jobs = dict[str, list[str]]
WORKER_1 = "/job:worker/replica:0/task:1"


def rewrite(file: pathlib.Path, text: str) -> None:
    """Replace the file in the same way as a kubelet, so that no reader sees half of it."""
    other = file.with_suffix(".new")
    other.write_text(text)
    other.replace(file)


def describe(file: pathlib.Path, version: int, jobs: Jobs) -> None:
    rewrite(file, json.dumps({"version": version, "epoch": 1, "cluster": jobs}))


def of(file: pathlib.Path, task: str, jobs: Jobs) -> members.Members:
    return members.Members(tf.train.ClusterSpec(jobs), task, str(file))


PS = "/job:ps/replica:0/task:0"
WORKER_0 = "/job:worker/replica:0/task:0"


def test_the_members_follow_the_file_and_keep_the_addresses_of_former_tasks(
    tmp_path: pathlib.Path,
) -> None:
    file = tmp_path / "cluster.json"
    found = of(file, PS, {"ps": ["p:1"], "worker": ["a:1"]})
    assert found.present() == (PS, WORKER_0)
    describe(file, 1, {"ps": ["p:1"], "worker": ["a:1", "b:1"]})
    assert found[WORKER_1] == "b:1"
    assert found.present() == (PS, WORKER_0, WORKER_1)
    describe(file, 2, {"ps": ["p:1"]})
    assert found.present() == (PS,)
    assert (found[WORKER_0], found[WORKER_1], len(found)) == ("a:1", "b:1", 3)
    assert "/job:worker/replica:0/task:2" not in found


def test_a_task_stays_a_member_of_its_own_cluster(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "cluster.json"
    found = of(file, WORKER_1, {"ps": ["p:1"], "worker": ["a:1", "b:1"]})
    describe(file, 1, {"ps": ["p:1"], "worker": ["a:1"]})
    assert found.present() == (PS, WORKER_0, WORKER_1)


@pytest.mark.parametrize("text", ["", "{", "[]", "7", "{}", '{"cluster": {"ps": "p:1"}}'])
def test_a_file_without_a_cluster_is_ignored_with_a_warning(
    text: str, tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "cluster.json"
    found = of(file, PS, {"ps": ["p:1"]})
    rewrite(file, text)
    assert found.present() == found.present() == (PS,)
    assert [str(file) in record.getMessage() for record in caplog.records] == [True]
    describe(file, 2, {"ps": ["p:1"], "worker": ["a:1"]})
    assert found.present() == (PS, WORKER_0)
    file.unlink()
    assert found.present() == (PS, WORKER_0)


def test_only_a_task_with_the_cluster_of_its_launcher_follows_the_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    file = tmp_path / "cluster.json"
    describe(file, 1, {"ps": ["p:1"], "worker": ["a:1", "b:1"]})
    given = {"ps": ["p:1"], "worker": ["a:1"]}
    monkeypatch.setenv(members.VARIABLE, str(file))
    for text, follows in (
        (json.dumps({"cluster": given}), True),
        (json.dumps({"cluster": {"ps": ["p:1"]}}), False),
        ("{", False),
    ):
        monkeypatch.setenv("TF_CONFIG", text)
        found = members.of_process(tf.train.ClusterSpec(given), PS)
        assert (WORKER_1 in found) is follows


def make_worker(kind: type[worker.Worker], task: str) -> worker.Worker:
    devices = device.Devices(cpu.create(task, None))
    return kind(task, 1, containers.ResourceManager(devices=devices))


def test_a_session_stops_waiting_for_a_task_that_leaves_the_cluster() -> None:
    present = [WORKER_0, PS]

    class Leaving(worker.Worker):
        def get_status(self) -> interfaces.WorkerStatus:
            present.remove(PS)
            raise errors.UnavailableError(None, None, "its pod is gone")

    home, gone = make_worker(worker.Worker, WORKER_0), make_worker(Leaving, PS)
    made = master.Master(home, lambda: tuple(present), lambda task: gone, targets.NoLinks())
    assert made.create_session([], config.SessionConfig())


@pytest.mark.parametrize("name", ["CreateSession", "ListDevices"])
def test_a_call_that_waits_for_a_task_ends_with_its_caller(
    name: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(roll_call, "_COMPLAIN_SECONDS", 0.0)
    asked = threading.Event()

    class Absent(worker.Worker):
        def get_status(self) -> interfaces.WorkerStatus:
            asked.set()
            raise errors.UnavailableError(None, None, "it has not started")

    home, absent = make_worker(worker.Worker, WORKER_0), make_worker(Absent, PS)
    made = master.Master(home, lambda: (WORKER_0, PS), lambda task: absent, targets.NoLinks())
    cancellation = cancellations.Cancellation()

    def call() -> Any:
        if name == "ListDevices":
            return made.list_devices("", cancellation)
        return made.create_session([], config.SessionConfig(), cancellation)

    with caplog.at_level(logging.WARNING, "capstan"):
        waiting = background.Background(call)
        asked.wait(background.PATIENCE_S)
        cancellation.cancel()
        with pytest.raises(errors.CancelledError, match=f"^{name} .* before {PS} had answered"):
            waiting.join()
    assert f"{name} still waiting for response from worker: {PS}. it has" in caplog.text
    made.close()


class Job:
    """The servers of a job whose number of workers changes, all in this process."""

    def __init__(
        self, file: pathlib.Path, stack: contextlib.ExitStack, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.file = file
        self.ports = clusters.addresses(3)
        self._stack = stack
        self._monkeypatch = monkeypatch
        monkeypatch.setenv(members.VARIABLE, str(file))

    def jobs(self, workers: int) -> Jobs:
        return {"ps": self.ports[:1], "worker": self.ports[1 : 1 + workers]}

    def start(self, name: str, index: int, workers: int) -> tf.train.Server:
        """Start a task in the same way as a pod that is created while the job has `workers`."""
        config = {"cluster": self.jobs(workers), "task": {"type": name, "index": index}}
        self._monkeypatch.setenv("TF_CONFIG", json.dumps(config))
        server = tf.train.Server(self.jobs(workers), job_name=name, task_index=index)
        self._stack.callback(server.stop)
        return server


@pytest.fixture
def job(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Job]:
    with contextlib.ExitStack() as stack:
        yield Job(tmp_path / "cluster.json", stack, monkeypatch)


def tasks(session: tf.Session) -> set[str]:
    names = (device.name.rpartition("/device:")[0] for device in session.list_devices())
    return {name.replace("/replica:0", "") for name in names}


@pytest.mark.e2e
def test_a_new_worker_trains_beside_sessions_that_go_on(job: Job) -> None:
    job.start("ps", 0, 1)
    first = job.start("worker", 0, 1)
    with tf.Graph().as_default():
        with tf.device("/job:ps/task:0"):
            count = tf.get_variable("count", initializer=0)
            more = tf.assign_add(count, 1)
        with tf.Session(first.target) as running:
            running.run(tf.global_variables_initializer())
            assert running.run(more) == 1
            second = job.start("worker", 1, 2)
            with tf.Session(second.target) as joined:
                assert joined.run(more) == 2
            describe(job.file, 1, job.jobs(2))
            assert running.run(more) == 3
            assert tasks(running) == {"/job:ps/task:0", "/job:worker/task:0"}
        with tf.device("/job:worker/task:1"):
            there = tf.identity(count) * 10
        with tf.device("/job:ps/task:0"):
            back = there + 1
        with tf.Session(first.target) as later:
            assert "/job:worker/task:1" in tasks(later)
            assert later.run(back) == 31


@pytest.mark.e2e
def test_a_new_session_does_not_wait_for_a_worker_that_was_removed(job: Job) -> None:
    job.start("ps", 0, 2)
    first = job.start("worker", 0, 2)
    opened = threading.Event()

    def open_session() -> None:
        with tf.Graph().as_default(), tf.Session(first.target) as session:
            session.run(tf.constant(1))
            opened.set()

    waiting = threading.Thread(target=open_session, daemon=True)
    waiting.start()
    describe(job.file, 1, job.jobs(1))
    assert opened.wait(60)
    waiting.join(60)
