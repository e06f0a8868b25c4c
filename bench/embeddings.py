"""Steps that read or change some rows of an embedding table on a ps, from a worker."""

import itertools
from typing import Any

import numpy as np

import contest
import sides
import transfers

ROWS, WIDTH = 100_000, 64
BATCH = 1000
BATCHES = 50

VARIABLES = (sides.REFERENCE, sides.RESOURCE)


def _table(tf: Any) -> Any:
    with tf.device(transfers.PS):
        return tf.get_variable("table", [ROWS, WIDTH], initializer=tf.zeros_initializer())


def _started(place: contest.Place) -> Any:
    session = place.session()
    session.run(place.tf.global_variables_initializer())
    return session


def gather(place: contest.Place) -> contest.Step:
    """Return a step in which the worker fetches `BATCH` rows."""
    tf = place.tf
    ids = tf.placeholder(tf.int64, [None])
    with tf.device(transfers.PS):
        rows = tf.gather(_table(tf), ids)
    session = _started(place)
    batches = itertools.cycle(np.random.default_rng(0).integers(0, ROWS, (BATCHES, BATCH)))
    return lambda: session.run(rows, {ids: next(batches)})


def scatter(place: contest.Place) -> contest.Step:
    """Return a step in which the worker subtracts its numbers from `BATCH` rows."""
    tf = place.tf
    ids = tf.placeholder(tf.int64, [None])
    changes = tf.placeholder(tf.float32, [None, WIDTH])
    with tf.device(transfers.PS):
        changed = tf.scatter_sub(_table(tf), ids, changes)
    session = _started(place)
    random = np.random.default_rng(0)
    batches = itertools.cycle(random.integers(0, ROWS, (BATCHES, BATCH)))
    numbers = random.random((BATCH, WIDTH), np.float32)
    return lambda: session.run(changed.op, {ids: next(batches), changes: numbers})
