"""The training of an estimator: devices of its variables, and checkpoints at its end."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

import capstan as tf
from capstan.estimator import training_run

TESTS = pathlib.Path(__file__).parents[1]
PROGRAM = """
import os, signal, sys
import linear_estimator as linear
import capstan as tf

class Terminator(tf.train.SessionRunHook):
    def __init__(self):
        self.steps = 0

    def after_run(self, run_context, run_values):
        self.steps += 1
        if self.steps == 3:
            os.kill(os.getpid(), signal.SIGTERM)

linear.estimator(sys.argv[1]).train(linear.input_fn, hooks=[Terminator()], max_steps=10**9)
"""


@pytest.mark.parametrize("has_strategy", [False, True])
def test_variables_are_on_the_ps_tasks_in_turn_and_other_nodes_on_the_worker(
    monkeypatch, has_strategy
):
    cluster = {"chief": ["a:1"], "worker": ["b:1"], "ps": ["c:1", "d:1"]}
    task = {"cluster": cluster, "task": {"type": "worker", "index": 0}}
    monkeypatch.setenv("TF_CONFIG", json.dumps(task))
    strategy = tf.distribute.experimental.ParameterServerStrategy() if has_strategy else None
    config = tf.estimator.RunConfig(train_distribute=strategy)
    device = training_run.device_function(config)
    with tf.Graph().as_default(), tf.device(device):
        first, second = (tf.get_variable(name, []) for name in ("first", "second"))
        total = first + second
    assert [each.device for each in (first, second, total)] == [
        "/job:ps/task:0",
        "/job:ps/task:1",
        "/job:worker/task:0",
    ]


def test_the_function_of_the_program_chooses_devices_and_a_task_alone_needs_none():
    assert training_run.device_function(tf.estimator.RunConfig()) is None

    def own(op):
        return "/cpu:0"

    assert training_run.device_function(tf.estimator.RunConfig(device_fn=own)) is own


@pytest.mark.e2e
def test_a_chief_saves_a_checkpoint_when_sigterm_ends_it(tmp_path):
    path = os.pathsep.join((str(TESTS.parent / "src"), str(TESTS)))
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": path},
        check=False,
        timeout=100,
    )
    assert done.returncode == 143
    assert tf.train.load_variable(str(tmp_path), "global_step") >= 3
