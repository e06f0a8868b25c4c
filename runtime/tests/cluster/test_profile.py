"""A profile of ten training steps. A step runs generated code, and no Python code per node."""

import cProfile
import gc
import pstats
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import clusters
import numpy as np
import pytest

import capstan as tf

STEPS = 10


def train_step(layers: int) -> tuple[Any, dict[Any, Any]]:
    """Return the training op of a stack of dense layers with variables on a ps, and its feeds."""
    worker = "/job:worker/task:0"
    with tf.device(tf.train.replica_device_setter(ps_tasks=1, worker_device=worker)):
        x = tf.placeholder(tf.float32, [None, 8])
        y = tf.placeholder(tf.int64, [None])
        value = x
        for layer in range(layers):
            weights = tf.get_variable(f"w{layer}", [8, 8])
            biases = tf.get_variable(f"b{layer}", [8], initializer=tf.zeros_initializer())
            value = tf.nn.relu(tf.nn.bias_add(tf.matmul(value, weights), biases))
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=value)
        update = tf.train.AdamOptimizer(0.01).minimize(tf.reduce_mean(losses))
    return update, {x: np.ones((4, 8), np.float32), y: np.arange(4)}


@contextmanager
def without_collections() -> Iterator[None]:
    """Let the garbage collector rest. It may close a channel of an earlier test at any moment."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def profile(target: str, layers: int) -> dict[tuple[str, str], int]:
    """Count the Python functions that the caller's thread calls in ten steps, by file and name."""
    with tf.Graph().as_default():
        update, feed = train_step(layers)
        with tf.Session(target) as session:
            session.run(tf.global_variables_initializer())
            session.run(update, feed)
            recorder = cProfile.Profile(builtins=False)
            with without_collections():
                recorder.runcall(lambda: [session.run(update, feed) for _ in range(STEPS)])
    table: Any = pstats.Stats(recorder)
    return {(file, name): calls for (file, _, name), (calls, *_) in table.stats.items()}


@pytest.mark.e2e
def test_a_step_makes_no_grpc_call_and_interprets_no_node() -> None:
    target = clusters.start(ps=1, worker=1)["worker:0"].target
    small, large = profile(target, 2), profile(target, 12)
    for calls in (small, large):
        assert not [file for file, _ in calls if "grpc" in file]
    # The worker's part is one segment of generated code for any number of layers.
    segments = {key: count for key, count in large.items() if key[0].startswith("capstan part")}
    assert {name for _, name in segments} >= {"segment0"}
    assert set(segments.values()) == {STEPS}
    # Six times the nodes do not add a Python call between the kernels.
    outside = {
        (file, name): count
        for (file, name), count in large.items()
        if "/src/capstan/" in file and "/kernels/" not in file and "/hardware/" not in file
    }
    before = {key: count for key, count in small.items() if key in outside}
    per_row = {key for key in outside if "/transport/" in key[0]}
    grown = {
        key: (before.get(key), count) for key, count in outside.items() if before.get(key) != count
    }
    assert set(grown) <= per_row, grown
