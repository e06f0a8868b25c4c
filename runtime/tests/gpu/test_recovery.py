"""A parameter server is killed and started again while a worker trains on a GPU."""

import gc
import json
import os
import pathlib
import subprocess
import sys
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import accelerated
import background
import clusters
import numpy as np
import pytest

import capstan as tf
from capstan.executor import repeats

SERVER = """
import json, sys
import capstan as tf
server = tf.train.Server(json.loads(sys.argv[1]), job_name="ps", task_index=0)
print("up", flush=True)
server.join()
"""
KILL, LOOK, LAST = 12, 24, 30
"""The steps after which the parameter server is killed, the memory is compared, and all is over."""
SAVE_EVERY = 5

pytestmark = [pytest.mark.e2e, pytest.mark.alone]


class Ps:
    """A parameter server without a GPU, in its own process."""

    def __init__(self, cluster: dict[str, list[str]]) -> None:
        self._cluster = cluster
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", SERVER, json.dumps(self._cluster)],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "CUDA_VISIBLE_DEVICES": ""},
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "up\n"

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.communicate()


@pytest.fixture
def memory() -> Iterator[accelerated.Memory]:
    with tf.Graph().as_default(), accelerated.gpu() as found:
        yield found


@pytest.fixture
def cluster() -> dict[str, list[str]]:
    return clusters.spec(ps=1, worker=1)


@pytest.fixture
def ps(cluster: dict[str, list[str]]) -> Iterator[Ps]:
    task = Ps(cluster)
    task.start()
    yield task
    task.kill()


def regression(ps: str, worker: str) -> tuple[Any, Any, Any]:
    """Return the training step, the global step, and the variables.

    The batch of a step depends on the global step alone. Some variables are on each task.
    """
    random = np.random.default_rng(0)
    with tf.device(ps):
        step = tf.train.get_or_create_global_step()
        first = tf.Variable(random.normal(size=(6, 8)).astype("f"), name="first")
    with tf.device(worker):
        inputs = tf.constant(random.normal(size=(LAST, 4, 6)).astype("f"))
        wanted = tf.constant(random.normal(size=(LAST, 4, 2)).astype("f"))
        number = tf.cast(step, tf.int64) % LAST
        second = tf.Variable(random.normal(size=(8, 2)).astype("f"), name="second")
        found = tf.matmul(tf.tanh(tf.matmul(tf.gather(inputs, number), first)), second)
        loss = tf.reduce_mean(tf.square(found - tf.gather(wanted, number)))
    train = tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss, global_step=step)
    return train, step, [first, second]


class Sessions(tf.train.SessionRunHook):
    """Counts the sessions of a training."""

    count = 0

    def after_create_session(self, session: Any, coord: Any) -> None:
        self.count += 1


def trained(
    folder: pathlib.Path, target: str, places: tuple[str, str], interrupt: Callable[[int], None]
) -> tuple[dict[str, Any], int]:
    """Train to the last step, and call `interrupt` with each step that has ended.

    Return all variables of the last checkpoint, and the number of sessions.
    """
    with tf.Graph().as_default():
        train, step, _ = regression(*places)
        sessions = Sessions()
        with tf.train.MonitoredTrainingSession(
            target,
            checkpoint_dir=str(folder),
            save_checkpoint_secs=None,
            save_checkpoint_steps=SAVE_EVERY,
            save_summaries_steps=None,
            hooks=[tf.train.StopAtStepHook(last_step=LAST), sessions],
            config=tf.ConfigProto(allow_soft_placement=True),
        ) as session:
            while not session.should_stop():
                interrupt(int(session.run([train, step])[1]))
    reader = tf.train.load_checkpoint(str(folder))
    values = {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()}
    return values, sessions.count


def runs() -> list[repeats.Repeats]:
    """Return the runs of nodes in this process that a GPU repeats."""
    gc.collect()
    return [item for item in gc.get_objects() if type(item) is repeats.Repeats]


def test_a_worker_on_a_gpu_ends_with_the_values_of_a_cpu_although_its_ps_was_restarted(
    memory: accelerated.Memory, ps: Ps, cluster: dict[str, list[str]], tmp_path: pathlib.Path
) -> None:
    expected, _ = trained(tmp_path / "cpu", "", ("/cpu:0", "/cpu:0"), lambda step: None)
    worker = tf.train.Server(cluster, job_name="worker", task_index=0)
    used: list[int] = []
    old: list[weakref.ref[repeats.Repeats]] = []

    def interrupt(step: int) -> None:
        if step == KILL and not used:
            used.append(memory.used_bytes())
            assert any(run._recordings for run in runs())
            old.extend(map(weakref.ref, runs()))
            ps.kill()
            ps.start()
        elif step == LOOK:
            used.append(memory.used_bytes())
            assert any(run._recordings for run in runs())
            # Nothing holds the recordings of the session before this one.
            assert not any(run() for run in old)

    places = ("/job:ps/cpu:0", "/job:worker/gpu:0")
    try:
        found, sessions = trained(tmp_path / "gpu", worker.target, places, interrupt)
    finally:
        worker.stop()
    assert sessions == 2
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-4, atol=1e-6, err_msg=name)
    # Two steps have memory of their own if the second begins very early.
    assert used[1] < 2 * used[0]
    background.until(lambda: not runs())
