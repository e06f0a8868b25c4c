"""A cluster whose tasks have only the port of gRPC runs the same steps with the same errors."""

import json
import os
import pathlib
import subprocess
import sys
from typing import Any

import clusters
import numpy as np
import pytest

import capstan as tf

SOURCES = pathlib.Path(__file__).parents[2] / "src"


def ps(cluster: dict[str, list[str]]) -> "subprocess.Popen[bytes]":
    """Start the ps of `cluster` as a process. The caller must kill it and wait for it."""
    flags = ["--cluster", json.dumps(cluster), "--job", "ps", "--task", "0", "--protocol", "grpc"]
    return subprocess.Popen(
        [sys.executable, "-m", "capstan", "serve", *flags],
        env={**os.environ, "PYTHONPATH": str(SOURCES)},
        stderr=subprocess.DEVNULL,
    )


@pytest.mark.e2e
def test_protocol_grpc_trains_without_another_port() -> None:
    cluster = clusters.spec(ps=1, worker=1)
    servers = {
        f"{job}:0": tf.train.Server(cluster, job_name=job, task_index=0, protocol="grpc")
        for job in cluster
    }
    assert servers["ps:0"].server_def.protocol == "grpc"
    assert losses(servers["worker:0"].target) == losses("")


def losses(target: str) -> list[float]:
    """Return the losses of gradient descent steps, with the variables on the ps if there is one."""
    with tf.Graph().as_default():
        device = tf.train.replica_device_setter(ps_tasks=1) if target else ""
        with tf.device(device):
            w = tf.get_variable("w", [1000, 1], initializer=tf.zeros_initializer())
        x = tf.placeholder(tf.float32, [None, 1000])
        loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - 1.0))
        update = tf.train.GradientDescentOptimizer(1e-4).minimize(loss)
        rows = np.random.default_rng(1).normal(size=(8, 1000)).astype(np.float32)
        with tf.Session(target) as session:
            session.run(tf.global_variables_initializer())
            return [float(session.run([loss, update], {x: rows})[0]) for _ in range(5)]


@pytest.mark.alone
@pytest.mark.e2e
def test_a_step_on_a_killed_ps_raises_an_error() -> None:
    cluster = clusters.spec(ps=1, worker=1)
    server = tf.train.Server(cluster, "worker", 0, protocol="grpc")
    with tf.Graph().as_default(), tf.device("/job:ps/task:0"):
        v: Any = tf.Variable(tf.zeros([4_000_000]))
        add = tf.assign_add(v, tf.ones([4_000_000]))
        init = tf.global_variables_initializer()
        with ps(cluster) as process, tf.Session(server.target) as session:
            session.run(init)
            for count in (1, 2, 3):
                assert session.run(add)[-1] == count
            process.kill()
            process.wait()
            for _ in range(2):
                with pytest.raises((tf.errors.UnavailableError, tf.errors.AbortedError)):
                    session.run(add)
        with ps(cluster) as process:
            with tf.Session(server.target) as session:
                session.run(init)
                assert session.run(add)[-1] == 1
            process.kill()
    server.stop()
