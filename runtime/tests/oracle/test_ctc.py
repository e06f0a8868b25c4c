"""The loss and the decoder of connectionist temporal classification are those of TensorFlow."""

import itertools
from typing import Any

import genuine
import numpy as np
import pytest

import capstan

pytestmark = genuine.MARKS

TIME, BATCH, CLASSES = 8, 4, 5
LOGITS = np.random.RandomState(1).randn(TIME, BATCH, CLASSES) * 2
LABELS = [[0, 1, 1], [3], [2, 2, 0, 1], [1, 0]]
LENGTHS = [8, 5, 7, 3]


def sparse(v1: Any, labels: Any) -> Any:
    """Return a SparseTensor of the labels of each sequence."""
    places = [[row, at] for row, each in enumerate(labels) for at in range(len(each))]
    values = np.array([label for each in labels for label in each], np.int32)
    indices = np.array(places, np.int64).reshape(-1, 2)
    return v1.SparseTensor(indices, v1.constant(values), [len(labels), 6])


def losses(v1: Any, labels: Any = LABELS, lengths: Any = LENGTHS, kind: Any = "float32",
           **options: Any) -> list[Any]:  # fmt: skip
    """Return the loss and its gradient."""
    logits = v1.constant(LOGITS.astype(kind))
    loss = v1.nn.ctc_loss(sparse(v1, labels), logits, lengths, **options)
    weights = v1.constant(np.arange(1, BATCH + 1).astype(kind))
    return [loss, v1.gradients(loss * weights, logits)[0]]


def decoded(v1: Any, kind: Any = "float32", lengths: Any = LENGTHS, **options: Any) -> list[Any]:
    (found,), scores = v1.nn.ctc_greedy_decoder(LOGITS.astype(kind), lengths, **options)
    return [found.indices, found.values, found.dense_shape, scores]


def searched(v1: Any, kind: Any = "float32", logits: Any = LOGITS, lengths: Any = LENGTHS,
             **options: Any) -> list[Any]:  # fmt: skip
    """Return the parts of all results of the beam search, and their scores."""
    found, scores = v1.nn.ctc_beam_search_decoder(logits.astype(kind), lengths, **options)
    parts = [[each.indices, each.values, each.dense_shape] for each in found]
    return [part for each in parts for part in each] + [scores]


FLAT = np.random.RandomState(5).randn(20, 3, 12) / 2

CASES: list[Any] = [
    losses,
    lambda v1: losses(v1, kind="float64"),
    lambda v1: losses(v1, preprocess_collapse_repeated=True),
    lambda v1: losses(v1, ctc_merge_repeated=False),
    lambda v1: losses(v1, preprocess_collapse_repeated=True, ctc_merge_repeated=False),
    lambda v1: losses(v1, [[0, 1, 2, 3], [0], [1, 4, 4], [2]], [4, 1, 3, 2]),
    lambda v1: losses(v1, [[0, 0, 0], [1], [1], [2]], [4, 1, 3, 2]),
    lambda v1: losses(v1, [[0, 1, 2, 3], [0], [1], [2]], [3, 1, 3, 0],
                      ignore_longer_outputs_than_inputs=True),
    lambda v1: [v1.nn.ctc_loss(sparse(v1, LABELS), logits=LOGITS.transpose(1, 0, 2),
                               sequence_length=v1.constant(LENGTHS), time_major=False)],
    decoded,
    lambda v1: decoded(v1, "float64", merge_repeated=False),
    lambda v1: decoded(v1, lengths=[0, 0, 0, 0]),
    searched,
    lambda v1: searched(v1, "float64", top_paths=4, merge_repeated=False),
    lambda v1: searched(v1, beam_width=1),
    lambda v1: searched(v1, lengths=[0, 1, 0, 8], beam_width=3),
    *(
        lambda v1, width=width: searched(
            v1, "float64", FLAT, [20, 13, 17], beam_width=width, top_paths=2, merge_repeated=False
        )
        for width in (2, 3, 7, 30)
    ),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(CASES)))
def test_values_gradients_and_static_shapes_are_tensorflows(v1: Any, number: int) -> None:
    outcomes = []
    for tf in (v1, capstan):
        with tf.Graph().as_default(), tf.Session() as session:
            results = CASES[number](tf)
            shapes = [each.shape.as_list() for each in results]
            outcomes.append((shapes, session.run(results)))
    assert outcomes[0][0] == outcomes[1][0]
    for theirs, ours in zip(outcomes[0][1], outcomes[1][1], strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5, strict=True)


@pytest.mark.parametrize("width", [2, 3])
def test_narrow_searches_keep_the_beams_of_tensorflow(v1: Any, width: int) -> None:
    """A beam that its longer neighbours push out may come back, but has no successors then."""
    random = np.random.default_rng(4)
    logits = random.normal(size=(9, 400, 5)) * random.choice([0.3, 1, 5], (1, 400, 1))
    outcomes = []
    for tf in (v1, capstan):
        with tf.Graph().as_default(), tf.Session() as session:
            results = searched(
                tf, "float32", logits, [9] * 400, beam_width=width, top_paths=2,
                merge_repeated=False,
            )  # fmt: skip
            outcomes.append(session.run(results))
    for theirs, ours in zip(*outcomes, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-4, strict=True)


def test_a_sequence_whose_labels_are_blanks_has_only_blanks() -> None:
    """TensorFlow finds no path."""
    with capstan.Graph().as_default(), capstan.Session() as session:
        logs = np.log(np.exp(LOGITS) / np.exp(LOGITS).sum(2, keepdims=True))
        found = session.run(losses(capstan, [[4], [4, 4], [4], [4]], [8, 2, 1, 3], "float64")[0])
    expected = [-logs[:length, row, -1].sum() for row, length in enumerate([8, 2, 1, 3])]
    np.testing.assert_allclose(found, expected)


def test_the_gradient_is_that_of_the_loss() -> None:
    with capstan.Graph().as_default(), capstan.Session() as session:
        logits = capstan.placeholder(capstan.float64, LOGITS.shape)
        loss = capstan.reduce_sum(capstan.nn.ctc_loss(sparse(capstan, LABELS), logits, LENGTHS))
        slope = session.run(capstan.gradients(loss, logits)[0], {logits: LOGITS})
        for place in ((0, 0, 0), (3, 0, 1), (2, 1, 4), (6, 2, 2), (7, 0, 1), (7, 2, 0)):
            step = np.zeros_like(LOGITS)
            step[place] = 1e-6
            above, below = (session.run(loss, {logits: LOGITS + sign * step}) for sign in (1, -1))
            assert slope[place] == pytest.approx((above - below) / 2e-6, abs=1e-6)


def test_the_loss_has_no_second_derivative(v1: Any) -> None:
    for tf in (v1, capstan):
        with tf.Graph().as_default():
            logits = tf.constant(LOGITS)
            slope = tf.gradients(tf.nn.ctc_loss(sparse(tf, LABELS), logits, LENGTHS), logits)
            with pytest.raises(LookupError, match="ctc_loss"):
                tf.gradients(slope, logits)


REFUSALS: list[Any] = [
    lambda v1: losses(v1, [[0, 1, 2, 3], [0], [1], [2]], [3, 1, 3, 2]),
    lambda v1: losses(v1, lengths=[9, 1, 1, 1]),
    lambda v1: losses(v1, [[0, 4, 1], [0], [1], [2]]),
    lambda v1: losses(v1, [[0, -1, 1], [0], [1], [2]]),
    lambda v1: losses(v1, [[0], [1], [2], []]),
    lambda v1: losses(v1, [[0], [1], [1], [2], [3]]),
    lambda v1: losses(v1, lengths=[1, 1, 1]),
    lambda v1: losses(v1, lengths=v1.placeholder_with_default([1, 1, 1], None)),
    lambda v1: v1.nn.ctc_loss(v1.constant([[1]]), LOGITS, LENGTHS),
    lambda v1: v1.nn.ctc_loss(sparse(v1, LABELS), LOGITS, LENGTHS, logits=LOGITS),
    lambda v1: v1.nn.ctc_loss(sparse(v1, LABELS), LOGITS[0], LENGTHS),
    lambda v1: v1.nn.ctc_loss(
        v1.SparseTensor([[1, 0], [0, 0]], v1.constant([1, 2]), [4, 2]), LOGITS, LENGTHS
    ),
    lambda v1: decoded(v1, lengths=[9, 1, 1, 1]),
    lambda v1: decoded(v1, lengths=[1, 1]),
    lambda v1: decoded(v1, lengths=v1.placeholder_with_default([1, 1, 1], None)),
    lambda v1: v1.nn.ctc_greedy_decoder(LOGITS[0], LENGTHS),
    lambda v1: searched(v1, lengths=[9, 1, 1, 1]),
    lambda v1: searched(v1, lengths=[1, 1]),
    lambda v1: searched(v1, lengths=v1.placeholder_with_default([1, 1, 1], None)),
    lambda v1: searched(v1, beam_width=2, top_paths=3),
    lambda v1: searched(v1, beam_width=0),
    lambda v1: searched(v1, lengths=[0, 8, 1, 1], top_paths=2),
    lambda v1: v1.nn.ctc_greedy_decoder(LOGITS[:0].astype(np.float32), [0, 0, 0, 0])[1],
    lambda v1: searched(v1, logits=LOGITS[:0], lengths=[0, 0, 0, 0]),
]


@pytest.mark.parametrize("number", range(len(REFUSALS)))
def test_arguments_that_do_not_fit_are_refused_as_by_tensorflow(v1: Any, number: int) -> None:
    raised = []
    for tf in (v1, capstan):
        kinds = (TypeError, ValueError, tf.errors.OpError)
        with tf.Graph().as_default(), tf.Session() as session, pytest.raises(kinds) as caught:
            session.run(REFUSALS[number](tf))
        raised.append(caught.type.__name__)
    assert raised[0] == raised[1]


def test_the_beam_search_finds_the_labels_with_the_most_likely_paths() -> None:
    classes, time = 3, 5
    logits = np.random.RandomState(3).randn(time, 1, classes)
    logs = np.log(np.exp(logits) / np.exp(logits).sum(2, keepdims=True))[:, 0]
    chances: dict[tuple[int, ...], float] = {}
    for path in itertools.product(range(classes), repeat=time):
        labels = tuple(key for key, _ in itertools.groupby(path) if key != classes - 1)
        probability = np.exp(sum(logs[at, label] for at, label in enumerate(path)))
        chances[labels] = chances.get(labels, 0) + probability
    best = sorted(chances, key=lambda labels: -chances[labels])[:6]
    with capstan.Graph().as_default(), capstan.Session() as session:
        found, scores = session.run(
            capstan.nn.ctc_beam_search_decoder_v2(logits, [time], beam_width=50, top_paths=6)
        )
    assert [tuple(each.values.tolist()) for each in found] == best
    np.testing.assert_allclose(np.exp(scores[0]), [chances[labels] for labels in best])
