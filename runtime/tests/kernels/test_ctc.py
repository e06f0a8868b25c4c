"""The losses of a batch of sequences are those of all paths of each sequence."""

import itertools
import math

import numpy as np
import pytest

import capstan as tf
from capstan.core.arrays import Array

CLASSES = 3
BLANK = CLASSES - 1


def collapsed(path: tuple[int, ...], merges: bool) -> list[int]:
    kept = [label for at, label in enumerate(path) if not (merges and at and label == path[at - 1])]
    return [label for label in kept if label != BLANK]


def loss_of_all_paths(logits: Array, labels: list[int], merges: bool) -> float:
    shares = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    total = sum(
        math.prod(shares[time, label] for time, label in enumerate(path))
        for path in itertools.product(range(CLASSES), repeat=len(logits))
        if collapsed(path, merges) == labels
    )
    return -math.log(total) if total else math.inf


@pytest.mark.parametrize("merges", [False, True])
def test_the_loss_of_each_sequence_is_that_of_its_paths(merges: bool) -> None:
    labels = [[0], [0, 1], [1, 1], [0, 1, 0, 1], [1, 0, 0]]
    lengths = np.array([5, 2, 3, 4, 5], np.int32)
    inputs = np.random.default_rng(4).normal(size=(5, len(labels), CLASSES))
    # What follows the end of a sequence does not matter.
    inputs[2:, 1] = np.nan
    places = [(row, place) for row, own in enumerate(labels) for place in range(len(own))]
    with tf.Graph().as_default(), tf.Session() as session:
        given = tf.placeholder(tf.float32, inputs.shape)
        sparse = tf.SparseTensor(
            tf.constant(places, tf.int64),
            tf.constant([*itertools.chain.from_iterable(labels)], tf.int32),
            tf.constant([len(labels), 4], tf.int64),
        )
        losses = tf.nn.ctc_loss(sparse, given, lengths, ctc_merge_repeated=merges)
        slopes = tf.gradients(losses, given)[0]
        found, gradients = session.run([losses, slopes], {given: inputs})
    wanted = [
        loss_of_all_paths(inputs[:length, row], labels[row], merges)
        for row, length in enumerate(lengths.tolist())
    ]
    np.testing.assert_allclose(found, wanted, 1e-5)
    assert not gradients[np.arange(5)[:, np.newaxis] >= lengths].any()
    np.testing.assert_allclose(gradients.sum(2), 0, atol=1e-5)
