"""Tests of recovery: training continues after one of its tasks is killed and started again."""

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator

import clusters
import pytest

import capstan as tf

pytestmark = [pytest.mark.e2e, pytest.mark.alone, pytest.mark.timeout(300)]

HERE = pathlib.Path(__file__).parent
LAST = 1_000_000
PATIENCE_S = 100.0
WORKERS = ("worker:0", "worker:1")


class Training:
    """A training with a parameter server and two workers, each in its own process."""

    def __init__(
        self, folder: pathlib.Path, last_step: int = LAST, kind: str = "asynchronous"
    ) -> None:
        self.cluster = clusters.spec(ps=1, worker=2)
        self.folder = folder
        self.last_step = last_step
        self.kind = kind
        self.processes: dict[str, subprocess.Popen[str]] = {}
        self.listeners: dict[str, threading.Thread] = {}
        self.steps: dict[str, list[list[int]]] = {task: [] for task in WORKERS}
        """For each worker, the steps of each of its sessions."""
        for task in ("ps:0", *WORKERS):
            self.start(task)

    def start(self, task: str) -> None:
        job, _, index = task.partition(":")
        folder, last = str(self.folder / "checkpoints"), str(self.last_step)
        trainee = [sys.executable, str(HERE / "trainee.py"), job, index]
        with (self.folder / f"{job}.{index}.log").open("a") as log:
            process = subprocess.Popen(
                [*trainee, json.dumps(self.cluster), folder, last, self.kind],
                stdout=subprocess.PIPE if job == "worker" else subprocess.DEVNULL,
                stderr=log,
                env={**os.environ, "PYTHONPATH": str(HERE.parents[1] / "src")},
                text=True,
            )
        self.processes[task] = process
        if job == "worker":
            listener = threading.Thread(target=self._listen, args=(task, process))
            self.listeners[task] = listener
            listener.start()

    def _listen(self, task: str, process: "subprocess.Popen[str]") -> None:
        assert process.stdout is not None
        with process.stdout as lines:
            for line in lines:
                if line == "session\n":
                    self.steps[task].append([])
                # The last line of a killed process may be incomplete.
                elif line.endswith("\n"):
                    self.steps[task][-1].append(int(line))

    def kill(self, task: str) -> None:
        self.processes[task].send_signal(signal.SIGKILL)
        self.processes[task].wait()
        if task in self.listeners:
            self.listeners[task].join()

    def until(self, condition: Callable[[], bool], problem: str) -> None:
        """Wait until `condition` is true. Fail with `problem` and the logs after a long time."""
        deadline = time.monotonic() + PATIENCE_S
        while not condition():
            assert time.monotonic() < deadline, f"{problem}\n{self.logs()}"
            threading.Event().wait(0.02)

    def logs(self) -> str:
        """Return the ends of the logs of all tasks."""
        logs = sorted(self.folder.glob("*.log"))
        return "\n".join(f"{log.name}:\n{log.read_text()[-2000:]}" for log in logs)

    @contextlib.contextmanager
    def new_sessions(self, *workers: str) -> Iterator[None]:
        """Run the block, then wait until each worker has made steps in a new session."""
        before = {task: len(self.steps[task]) for task in workers}
        yield
        self.until(
            lambda: all(self.steps_since(task, count) > 20 for task, count in before.items()),
            f"a worker makes no steps in a new session; sessions before: {before}",
        )

    def steps_since(self, task: str, sessions: int) -> int:
        """Count the steps of a worker's newest session. Ignore its first `sessions` sessions."""
        steps = self.steps[task]
        return len(steps[-1]) if len(steps) > sessions else 0

    def end(self) -> None:
        for process in self.processes.values():
            process.kill()
            process.wait()
        for listener in self.listeners.values():
            listener.join()


@pytest.fixture
def training(tmp_path: pathlib.Path, request: pytest.FixtureRequest) -> Iterator[Training]:
    started = Training(tmp_path, kind=getattr(request, "param", "asynchronous"))
    try:
        for task in WORKERS:
            started.until(
                lambda task=task: started.steps_since(task, 0) > 20, f"{task} makes no steps"
            )
        yield started
    finally:
        started.end()


def saved_step(folder: pathlib.Path) -> int:
    newest = tf.train.latest_checkpoint(str(folder / "checkpoints"))
    return -1 if newest is None else int(newest.rpartition("-")[2])


@pytest.mark.parametrize("training", ["asynchronous", "supervisor"], indirect=True)
def test_a_restarted_parameter_server_gets_the_newest_checkpoint(training: Training):
    training.until(lambda: saved_step(training.folder) > 0, "no checkpoint")
    for _ in range(2):
        training.kill("ps:0")
        saved = saved_step(training.folder)
        with training.new_sessions(*WORKERS):
            training.start("ps:0")
        for task in WORKERS:
            assert min(training.steps[task][-1]) >= saved
    assert all(training.processes[task].poll() is None for task in training.processes)


def test_a_restarted_worker_rejoins_while_the_others_train_on(training: Training):
    training.kill("worker:1")
    (chief_steps,) = training.steps["worker:0"]
    count = len(chief_steps)
    training.until(lambda: len(chief_steps) > count + 50, "the chief makes no steps")
    newest = max(chief_steps)
    with training.new_sessions("worker:1"):
        training.start("worker:1")
    assert min(training.steps["worker:1"][-1]) >= newest
    assert len(training.steps["worker:0"]) == 1


def test_a_restarted_chief_continues_from_the_newest_checkpoint(training: Training):
    training.until(lambda: saved_step(training.folder) > 0, "no checkpoint")
    training.kill("worker:0")
    saved = saved_step(training.folder)
    with training.new_sessions("worker:0"):
        training.start("worker:0")
    assert min(training.steps["worker:0"][-1]) >= saved


def test_training_continues_from_the_newest_checkpoint_after_all_tasks_restart(training: Training):
    training.until(lambda: saved_step(training.folder) > 0, "no checkpoint")
    for task in ("ps:0", "worker:0", "worker:1"):
        training.kill(task)
    saved = saved_step(training.folder)
    with training.new_sessions(*WORKERS):
        for task in ("worker:1", "worker:0", "ps:0"):
            training.start(task)
    for task in WORKERS:
        assert min(training.steps[task][-1]) >= saved


@pytest.mark.parametrize("training", ["synchronous"], indirect=True)
def test_synchronous_training_continues_after_the_loss_of_a_worker_and_of_the_ps(
    training: Training,
):
    training.kill("worker:1")
    with training.new_sessions("worker:1"):
        training.start("worker:1")
    training.until(lambda: saved_step(training.folder) > 0, "no checkpoint")
    training.kill("ps:0")
    saved = saved_step(training.folder)
    with training.new_sessions(*WORKERS):
        training.start("ps:0")
    for task in WORKERS:
        assert min(training.steps[task][-1]) >= saved


@pytest.mark.parametrize("training", ["limited"], indirect=True)
def test_synchronous_training_with_a_limit_continues_without_a_dead_or_stopped_worker(
    training: Training,
):
    (chief_steps,) = training.steps["worker:0"]

    def wait_for_updates() -> None:
        # The chief may still take tokens that it got before.
        last = max(chief_steps) + 20
        training.until(lambda: chief_steps[-1] > last, f"the chief does not reach step {last}")

    stopped = training.processes["worker:1"]
    stopped.send_signal(signal.SIGSTOP)
    wait_for_updates()
    (other_steps,) = training.steps["worker:1"]
    count = len(other_steps)
    stopped.send_signal(signal.SIGCONT)
    training.until(lambda: len(other_steps) > count + 20, "the worker does not continue")
    training.kill("worker:1")
    wait_for_updates()
    with training.new_sessions("worker:1"):
        training.start("worker:1")
    assert len(training.steps["worker:0"]) == 1


def test_training_ends_for_all_workers_at_the_last_step(tmp_path: pathlib.Path):
    training = Training(tmp_path, last_step=150)
    try:
        for task in WORKERS:
            training.until(
                lambda task=task: training.processes[task].poll() == 0, f"{task} does not end"
            )
        assert training.processes["ps:0"].poll() is None
        assert 150 <= saved_step(tmp_path) <= 152
    finally:
        training.end()
