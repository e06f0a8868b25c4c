"""`tf.contrib.crf`: scores, norms and the best tags, against all sequences of tags."""

import itertools
from typing import Any

import numpy as np
import pytest
from fresh_sessions import run

import capstan as tf

pytestmark = pytest.mark.e2e

crf = tf.contrib.crf
TAGS = 3
LENGTHS = [3, 2, 1, 0]
RANDOM = np.random.RandomState(4)
UNARY = RANDOM.randn(len(LENGTHS), 3, TAGS).astype(np.float32)
BINARY = RANDOM.randn(TAGS, TAGS).astype(np.float32)


def score(unary: Any, tags: Any) -> float:
    pairs = itertools.pairwise(tags)
    return float(
        sum(unary[step, tag] for step, tag in enumerate(tags)) + sum(BINARY[pair] for pair in pairs)
    )


def all_scores(row: int) -> dict[tuple[int, ...], float]:
    sequences = itertools.product(range(TAGS), repeat=LENGTHS[row])
    return {tags: score(UNARY[row], tags) for tags in sequences}


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("steps", [3, 1])
def test_the_likelihood_compares_tags_with_all_sequences(dtype: Any, steps: int) -> None:
    tags = np.array([[0, 1, 2], [2, 2, 1], [1, 0, 0], [0, 0, 0]], dtype)[:, :steps]
    lengths = np.minimum(LENGTHS, steps)
    likelihood, transitions = crf.crf_log_likelihood(UNARY[:, :steps], tags, lengths, BINARY)
    expected = []
    for row, length in enumerate(lengths):
        sequences = itertools.product(range(TAGS), repeat=int(length))
        total = np.log(sum(np.exp(score(UNARY[row], each)) for each in sequences))
        expected.append(score(UNARY[row], tags[row, :length]) - total)
    np.testing.assert_allclose(run(likelihood), expected, rtol=1e-5, atol=1e-6)
    assert transitions is BINARY


def test_several_tags_may_be_right_at_a_step() -> None:
    allowed = RANDOM.rand(*UNARY.shape) < 0.6
    allowed[:, :, 0] = True
    totals = crf.crf_multitag_sequence_score(UNARY, allowed, LENGTHS, BINARY)
    expected = [
        np.log(
            sum(
                np.exp(value)
                for tags, value in all_scores(row).items()
                if all(allowed[row, step, tag] for step, tag in enumerate(tags))
            )
        )
        for row in range(len(LENGTHS))
    ]
    np.testing.assert_allclose(run(totals), expected, rtol=1e-5, atol=1e-6)


def test_the_best_tags_are_those_of_the_best_sequence() -> None:
    tags, scores = run(crf.crf_decode(UNARY, BINARY, LENGTHS))
    assert tags.dtype == np.int32
    for row, length in enumerate(LENGTHS[:3]):
        best = max(all_scores(row), key=all_scores(row).__getitem__)
        assert tuple(tags[row, :length]) == best
        np.testing.assert_allclose(scores[row], all_scores(row)[best], rtol=1e-5)
        alone, value = crf.viterbi_decode(UNARY[row, :length], BINARY)
        assert tuple(alone) == best
        np.testing.assert_allclose(value, scores[row], rtol=1e-5)


def test_training_teaches_the_transitions() -> None:
    tags = [[0, 1, 2]] * len(LENGTHS)
    unary = tf.get_variable("unary", UNARY.shape)
    likelihood, transitions = crf.crf_log_likelihood(unary, tags, [3] * len(LENGTHS))
    train = tf.train.AdamOptimizer(0.1).minimize(-tf.reduce_mean(likelihood))
    decoded, _ = crf.crf_decode(unary, transitions, [3] * len(LENGTHS))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(60):
            session.run(train)
        np.testing.assert_array_equal(session.run(decoded), tags)
        assert transitions.op.name == "transitions"
