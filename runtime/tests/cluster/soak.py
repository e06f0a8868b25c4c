"""A process that repeats an action many times and reports its resources before and after.

soak.py steps|calls|sessions|extensions|growing|failures|failed-calls|flows WARM COUNT

It prints two lines of JSON with its resident bytes, live Python objects, open descriptors and
threads. It prints the first line after WARM rounds, when caches are full, and the second line after
all COUNT rounds.
"""

import functools
import gc
import json
import os
import pathlib
import sys
import threading
from collections.abc import Callable

import clusters
import numpy as np
import psutil
from cluster import soak_flow

import capstan as tf


def held() -> dict[str, int]:
    """Return the resources of this process after garbage collection, and after the timers of steps
    that were cancelled a moment ago.
    """
    soak_flow.until(lambda: not any(isinstance(t, threading.Timer) for t in threading.enumerate()))
    for _ in range(3):
        gc.collect()
    return {
        "bytes": psutil.Process().memory_info().rss,
        "objects": len(gc.get_objects()),
        "descriptors": len(list(pathlib.Path(f"/proc/{os.getpid()}/fd").iterdir())),
        "threads": threading.active_count(),
    }


def model() -> tuple[object, dict[object, object]]:
    """Return the fetches and the feeds of a training step whose variables are on the ps."""
    with tf.device(tf.train.replica_device_setter(ps_tasks=1)):
        x = tf.placeholder(tf.float32, [None, 4])
        w = tf.Variable(np.ones((4, 2), np.float32))
        step = tf.Variable(0)
    loss = tf.reduce_mean(tf.square(tf.matmul(x, w)))
    update = tf.train.GradientDescentOptimizer(1e-3).minimize(loss, step)
    return [loss, update], {x: np.ones((3, 4), np.float32)}


def steps(target: str) -> Callable[[], object]:
    fetches, batch = model()
    session = tf.Session(target)
    session.run(tf.global_variables_initializer())
    return lambda: session.run(fetches, batch)


def sessions(target: str) -> Callable[[], object]:
    """Return a round, which opens a session, runs the same program and closes the session."""
    fetches, batch = model()
    init = tf.global_variables_initializer()

    def once() -> None:
        with tf.Session(target) as session:
            session.run(init)
            session.run(fetches, batch)

    return once


def extensions(target: str) -> Callable[[], object]:
    """Return a round, which opens a session, extends its graph a hundred times by two nodes, runs
    these nodes, and closes the session.
    """

    def once() -> None:
        with tf.Graph().as_default():
            add = Growing(target)
            for _ in range(100):
                add()
            add.session.close()

    return once


class Growing:
    """Extends the graph of a session that stays open."""

    def __init__(self, target: str) -> None:
        self._value = tf.Variable(1.0)
        self.session = tf.Session(target)
        self.session.run(tf.global_variables_initializer())

    def __call__(self) -> object:
        return self.session.run(self._value + 1.0)


def failures(target: str) -> Callable[[], object]:
    """Return a round, which runs one failing step for each cause: a kernel, a state, a feed and a
    device.
    """
    x = tf.placeholder(tf.float32, [None])
    with tf.device("/job:ps/task:0"):
        wrong = tf.add(x, tf.constant([1.0, 2.0]))
        unset = tf.Variable(1.0).read_value()
    nowhere = tf.placeholder(tf.float32, [])
    with tf.device("/job:nobody/task:0"):
        away = tf.add(1.0, nowhere)
    session = tf.Session(target)

    def once() -> None:
        for fetch, feed in (
            (wrong, {x: np.ones(3, np.float32)}),
            (unset, {}),
            (nowhere, {}),
            (away, {nowhere: 1.0}),
        ):
            try:
                session.run(fetch, feed)
            except tf.errors.OpError:
                continue
            raise AssertionError(f"{fetch} did not fail")

    return once


def main(action: str, warm: int, count: int) -> None:
    servers = clusters.start(ps=1, worker=1)
    local = servers["worker:0"].target
    wire = local.replace("localhost", "127.0.0.1")
    kinds = {
        "steps": (steps, local),
        "calls": (steps, wire),
        "sessions": (sessions, wire),
        "extensions": (extensions, wire),
        "growing": (Growing, wire),
        "failures": (failures, local),
        "failed-calls": (failures, wire),
        "flows": (functools.partial(soak_flow.Flow, servers=servers), wire),
    }
    make, target = kinds[action]
    once = make(target)
    for number in range(1, count + 1):
        once()
        if number in (warm, count):
            print(json.dumps(held()), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
