"""A training goes on when a task of it is killed and started again."""

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

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(120)]

HERE = pathlib.Path(__file__).parent
LAST = 1_000_000


class Training:
    """A parameter server and two workers, each a process."""

    def __init__(self, folder: pathlib.Path, last_step: int = LAST) -> None:
        self.cluster = clusters.spec(ps=1, worker=2)
        self.folder = folder
        self.last_step = last_step
        self.processes: dict[str, subprocess.Popen[str]] = {}
        self.listeners: list[threading.Thread] = []
        self.steps: dict[str, list[int]] = {"worker:0": [], "worker:1": []}
        for task in ("ps:0", "worker:0", "worker:1"):
            self.start(task)

    def start(self, task: str) -> None:
        job, _, index = task.partition(":")
        folder, last = str(self.folder / "checkpoints"), str(self.last_step)
        trainee = [sys.executable, str(HERE / "trainee.py"), job, index]
        with (self.folder / f"{job}.{index}.log").open("a") as log:
            process = subprocess.Popen(
                [*trainee, json.dumps(self.cluster), folder, last],
                stdout=subprocess.PIPE if job == "worker" else subprocess.DEVNULL,
                stderr=log,
                env={**os.environ, "PYTHONPATH": str(HERE.parents[1] / "src")},
                text=True,
            )
        self.processes[task] = process
        if job == "worker":
            listener = threading.Thread(target=self._listen, args=(task, process))
            self.listeners.append(listener)
            listener.start()

    def _listen(self, task: str, process: "subprocess.Popen[str]") -> None:
        assert process.stdout is not None
        with process.stdout as lines:
            for line in lines:
                # The last line of a killed process may be half of one.
                if line.endswith("\n"):
                    self.steps[task].append(int(line))

    def kill(self, task: str) -> None:
        self.processes[task].send_signal(signal.SIGKILL)
        self.processes[task].wait()

    def until(self, is_so: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + 60
        while not is_so():
            logs = [f"{log.name}:\n{log.read_text()[-2000:]}" for log in self.folder.glob("*.log")]
            assert time.monotonic() < deadline, f"{what}\n" + "\n".join(logs)
            threading.Event().wait(0.02)

    def until_steps_are_made(self) -> None:
        """Wait until every worker has made steps from now on."""
        before = {task: len(steps) for task, steps in self.steps.items()}
        self.until(
            lambda: all(len(self.steps[task]) > count + 20 for task, count in before.items()),
            f"no more steps: {before}",
        )

    def end(self) -> None:
        for process in self.processes.values():
            process.kill()
            process.wait()
        for listener in self.listeners:
            listener.join()


@pytest.fixture
def training(tmp_path: pathlib.Path) -> Iterator[Training]:
    started = Training(tmp_path)
    try:
        started.until_steps_are_made()
        yield started
    finally:
        started.end()


def saved_step(folder: pathlib.Path) -> int:
    newest = tf.train.latest_checkpoint(str(folder / "checkpoints"))
    return -1 if newest is None else int(newest.rpartition("-")[2])


def test_a_killed_parameter_server_comes_back_with_the_newest_checkpoint(training: Training):
    training.until(lambda: saved_step(training.folder) > 0, "no checkpoint")
    for _ in range(2):
        training.kill("ps:0")
        saved = saved_step(training.folder)
        before = {task: len(steps) for task, steps in training.steps.items()}
        training.start("ps:0")
        training.until_steps_are_made()
        for task, count in before.items():
            assert min(training.steps[task][count:]) >= saved
    assert all(training.processes[task].poll() is None for task in training.processes)


def test_a_killed_worker_joins_again_and_the_others_go_on(training: Training):
    training.kill("worker:1")
    made = len(training.steps["worker:0"])
    training.until(lambda: len(training.steps["worker:0"]) > made + 50, "the chief stands still")
    newest = max(training.steps["worker:0"])
    again = len(training.steps["worker:1"])
    training.start("worker:1")
    training.until_steps_are_made()
    assert training.steps["worker:1"][again] >= newest


def test_a_killed_chief_goes_on_from_the_newest_checkpoint(training: Training):
    training.until(lambda: saved_step(training.folder) > 0, "no checkpoint")
    training.kill("worker:0")
    saved = saved_step(training.folder)
    again = len(training.steps["worker:0"])
    training.start("worker:0")
    training.until_steps_are_made()
    assert training.steps["worker:0"][again] >= saved


def test_everything_killed_goes_on_from_the_newest_checkpoint(training: Training):
    training.until(lambda: saved_step(training.folder) > 0, "no checkpoint")
    for task in ("ps:0", "worker:0", "worker:1"):
        training.kill(task)
    saved = saved_step(training.folder)
    before = {task: len(steps) for task, steps in training.steps.items()}
    for task in ("worker:1", "worker:0", "ps:0"):
        training.start(task)
    training.until_steps_are_made()
    for task, count in before.items():
        assert min(training.steps[task][count:]) >= saved


def test_training_ends_for_all_workers_at_the_last_step(tmp_path: pathlib.Path):
    training = Training(tmp_path, last_step=150)
    try:
        for task in ("worker:0", "worker:1"):
            training.until(lambda task=task: training.processes[task].poll() == 0, task)
        assert training.processes["ps:0"].poll() is None
        assert 150 <= saved_step(tmp_path) <= 152
    finally:
        training.end()
