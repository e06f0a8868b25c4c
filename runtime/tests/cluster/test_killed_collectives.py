"""Collective operations end on all tasks when one task is killed, and go on with its successor."""

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import clusters
import numpy as np
import pytest
from background import Background

import capstan as tf
from capstan.python.ops import collective_ops

pytestmark = [pytest.mark.e2e, pytest.mark.alone, pytest.mark.timeout(300)]

COUNT = 3

WORKER = """
import json, sys
import capstan as tf
from capstan.python.ops import collective_ops

spec, task = json.loads(sys.argv[1]), int(sys.argv[2])
config = tf.ConfigProto()
config.experimental.collective_group_leader = "/job:worker/replica:0/task:0"
server = tf.train.Server(spec, job_name="worker", task_index=task, config=config)
with tf.device(f"/job:worker/task:{task}/device:CPU:0"):
    here = tf.fill([20_000], float(task))
    total = collective_ops.all_reduce(here, len(spec["worker"]), 1, 1, "Add", "Id")
filters = tf.ConfigProto(device_filters=[f"/job:worker/task:{task}"])
with tf.Session(server.target, config=filters) as session:
    while True:
        try:
            session.run(total)
        except (tf.errors.UnavailableError, tf.errors.AbortedError):
            pass
"""


@pytest.fixture
def processes() -> Iterator[list["subprocess.Popen[bytes]"]]:
    started: list[subprocess.Popen[bytes]] = []
    yield started
    for process in started:
        process.kill()
        process.wait()


def start(
    spec: Any, task: int, processes: list["subprocess.Popen[bytes]"]
) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-c", WORKER, json.dumps(spec), str(task)]
    processes.append(subprocess.Popen(command, stderr=subprocess.DEVNULL))
    return processes[-1]


class Survivor:
    """A worker of this process, with its server and its session."""

    def __init__(self, spec: Any, task: int) -> None:
        config = tf.ConfigProto()
        config.experimental.collective_group_leader = "/job:worker/replica:0/task:0"
        self._server = tf.train.Server(spec, "worker", task, config=config)
        with tf.Graph().as_default(), tf.device(f"/job:worker/task:{task}/device:CPU:0"):
            here = tf.fill([20_000], float(task))
            self._total = collective_ops.all_reduce(here, COUNT, 1, 1, "Add", "Id")
            filters = tf.ConfigProto(device_filters=[f"/job:worker/task:{task}"])
            self._session = tf.Session(self._server.target, config=filters)

    def run(self) -> None:
        """Run a step, and check the sum."""
        np.testing.assert_array_equal(self._session.run(self._total), np.full(20_000, 3.0))

    def run_until_it_fails(self) -> str:
        """Run steps until one raises UnavailableError, and return its message."""
        while True:
            try:
                self.run()
            except tf.errors.UnavailableError as error:
                return error.message

    def run_until_it_succeeds(self) -> None:
        """Run steps until one has the sum. The successor may not have started yet."""
        while True:
            try:
                self.run()
            except (tf.errors.UnavailableError, tf.errors.AbortedError):
                continue
            return

    def close(self) -> None:
        self._session.close()
        self._server.stop()


@pytest.mark.parametrize("killed", [1, 0], ids=["member", "leader"])
def test_a_killed_worker_ends_the_step_of_all_others_and_its_successor_joins(
    processes: list["subprocess.Popen[bytes]"], killed: int
) -> None:
    spec = clusters.spec(worker=COUNT)
    others = [Survivor(spec, task) for task in range(COUNT) if task != killed]
    try:
        process = start(spec, killed, processes)
        for begun in [Background(each.run) for each in others]:
            begun.join()
        failing = [Background(each.run_until_it_fails) for each in others]
        process.kill()
        for begun in failing:
            assert f"/job:worker/replica:0/task:{killed}" in begun.join()
        start(spec, killed, processes)
        for begun in [Background(each.run_until_it_succeeds) for each in others]:
            begun.join()
    finally:
        for each in others:
            each.close()
