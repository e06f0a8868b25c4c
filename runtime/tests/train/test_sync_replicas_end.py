"""Tests of the hook of synchronous training when the parameter servers have ended before."""

from typing import Any

import clusters
import pytest

import capstan as tf
from capstan.services import step_run


class EndOfThePs(tf.train.SessionRunHook):
    """Ends the parameter server, as programs do whose servers wait for the end of all workers."""

    def __init__(self, server: Any) -> None:
        self._server = server

    def end(self, session: Any) -> None:
        self._server.stop()


@pytest.mark.e2e
def test_a_chief_ends_well_if_another_hook_has_ended_the_parameter_server(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(step_run, "RECONNECT_SECONDS", 0.0)
    servers = clusters.start(ps=1, worker=1)
    with tf.Graph().as_default(), tf.device(tf.train.replica_device_setter(ps_tasks=1)):
        step = tf.train.create_global_step()
        optimizer = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(1.0), 1)
        train = optimizer.minimize(tf.Variable(2.0) * 3.0, step)
        hooks = [EndOfThePs(servers["ps:0"]), optimizer.make_session_run_hook(is_chief=True)]
        with tf.train.MonitoredTrainingSession(servers["worker:0"].target, hooks=hooks) as session:
            session.run(train)
    servers["worker:0"].stop()
