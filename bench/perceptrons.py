"""The training rows and their models: dense layers, random batches, gradient descent."""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

import contest
import sides

RATE = 0.01
BATCHES = 50


def build(tf: Any, sizes: Sequence[int]) -> tuple[Any, Any, Any]:
    """Return a softmax classifier: the placeholders of images and labels, and the loss."""
    images = tf.placeholder(tf.float32, [None, sizes[0]])
    labels = tf.placeholder(tf.int64, [None])
    hidden = images
    for index, (fan_in, units) in enumerate(itertools.pairwise(sizes)):
        weights = tf.get_variable(f"weights{index}", [fan_in, units])
        biases = tf.get_variable(f"biases{index}", [units], initializer=tf.zeros_initializer())
        hidden = tf.nn.bias_add(tf.matmul(hidden, weights), biases)
        if index < len(sizes) - 2:
            hidden = tf.nn.relu(hidden)
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=hidden)
    return images, labels, tf.reduce_mean(losses)


def batches(sizes: Sequence[int], count: int, seed: int) -> list[tuple[Any, Any]]:
    """Return random batches of `count` images and their labels."""
    random = np.random.default_rng(seed)
    return [
        (
            random.random((count, sizes[0]), np.float32),
            random.integers(0, sizes[-1], count, np.int64),
        )
        for _ in range(BATCHES)
    ]


def train_between_graphs(
    place: contest.Place, sizes: Sequence[int], synchronous: bool = False
) -> contest.Step:
    """Return a worker's train step on batches of 100, as in a TensorFlow 1 script.

    With `synchronous`, an update takes the mean of the gradients of both workers.
    """
    tf = place.tf
    cluster = tf.train.ClusterSpec(place.cluster)
    this_task = f"/job:worker/task:{place.index}"
    with tf.device(tf.train.replica_device_setter(worker_device=this_task, cluster=cluster)):
        images, labels, loss = build(tf, sizes)
        step = tf.train.get_or_create_global_step()
        optimizer = tf.train.GradientDescentOptimizer(RATE)
        hooks = []
        if synchronous:
            optimizer = tf.train.SyncReplicasOptimizer(
                optimizer, replicas_to_aggregate=2, total_num_replicas=2
            )
            hooks.append(optimizer.make_session_run_hook(place.index == 0))
        train = optimizer.minimize(loss, global_step=step)
    session = tf.train.MonitoredTrainingSession(
        master=place.target,
        is_chief=place.index == 0,
        hooks=hooks,
        config=tf.ConfigProto(device_filters=["/job:ps", this_task]),
    )
    feeds = itertools.cycle(batches(sizes, 100, place.index))

    def run() -> object:
        pixels, classes = next(feeds)
        return session.run([train, step], {images: pixels, labels: classes})

    return run


def row(title: str, goal: float, sizes: Sequence[int], synchronous: bool = False) -> contest.Row:
    """Return the row of `train_between_graphs` with one ps and two workers."""
    return contest.Row(
        title,
        "steps/s",
        goal,
        lambda place: train_between_graphs(place, sizes, synchronous),
        (sides.REFERENCE, sides.RESOURCE),
        ps=1,
        workers=2,
        window_s=2,
        lockstep=synchronous,
    )
