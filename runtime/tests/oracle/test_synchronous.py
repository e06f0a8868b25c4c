"""TensorFlow's synchronous training gets the same numbers from Capstan's tasks and TensorFlow's."""

import contextlib
import threading
from typing import Any

import background
import clusters
import genuine
import numpy as np

pytestmark = genuine.MARKS

STEPS = 3


class Replica:
    """A replica with a graph and a session of its own. `device` computes its gradients."""

    def __init__(self, v1: Any, target: str, device: str, *, is_chief: bool) -> None:
        with v1.Graph().as_default():
            with v1.device("/job:ps/task:0"):
                step = v1.train.get_or_create_global_step()
                weights = v1.get_variable("weights", initializer=np.float32([1, 2, 3]))
                rows = v1.get_variable("rows", initializer=np.ones((4, 2), np.float32))
            with v1.device(device):
                self.x = v1.placeholder(v1.float32, [3])
                self.row = v1.placeholder(v1.int32, [2])
                looked_up = v1.nn.embedding_lookup(rows, self.row)
                loss = v1.reduce_sum(v1.square(weights * self.x)) + v1.reduce_sum(looked_up**2)
                optimizer = v1.train.SyncReplicasOptimizer(
                    v1.train.MomentumOptimizer(0.05, 0.9), replicas_to_aggregate=2
                )
                self.train = optimizer.minimize(loss, global_step=step)
            self.state = [step, weights, rows]
            hook = optimizer.make_session_run_hook(is_chief, num_tokens=0)
            self.session = v1.train.MonitoredTrainingSession(
                target, is_chief, hooks=[hook], stop_grace_period_secs=1
            )

    def run_step(self, x: list[float], row: list[int]) -> None:
        self.session.run(self.train, {self.x: x, self.row: row})


def trained(v1: Any, ps: str, worker: str) -> list[Any]:
    """Train with two replicas, and return the variables after each update."""
    replicas = [
        Replica(v1, worker, "/job:worker/task:0", is_chief=True),
        Replica(v1, ps, "/job:ps/task:0", is_chief=False),
    ]
    states = []
    with contextlib.ExitStack() as sessions:
        for replica in replicas:
            sessions.enter_context(replica.session)
        for number in range(STEPS):
            batches = [([1, number, 2], [0, 1]), ([number, 1, 1], [1, 1 + number])]
            calls = [
                background.Background(lambda r=replica, b=batch: r.run_step(*b))
                for replica, batch in zip(replicas, batches, strict=True)
            ]
            for call in calls:
                call.join()
            states += replicas[1].session.run(replicas[1].state)
    # TensorFlow's chief has a thread that fails when its session closes. Without the wait, pytest
    # might report the error in the next test.
    for thread in threading.enumerate():
        if thread.name.startswith("QueueRunnerThread"):
            thread.join(background.PATIENCE_S)
            assert not thread.is_alive()
    return states


def test_two_replicas_get_the_numbers_of_tensorflow(v1: Any, tasks: genuine.Tasks) -> None:
    found = trained(v1, tasks.target("ps"), tasks.target("worker"))
    spec = clusters.spec(ps=1, worker=1)
    servers = [v1.train.Server(spec, job_name=job, task_index=0) for job in ("ps", "worker")]
    expected = trained(v1, *(server.target for server in servers))
    assert [int(step) for step in found[::3]] == list(range(1, STEPS + 1))
    for value, wanted in zip(found, expected, strict=True):
        np.testing.assert_allclose(value, wanted, rtol=1e-5)
