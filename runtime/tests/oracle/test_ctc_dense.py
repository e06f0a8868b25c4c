"""The loss of dense labels, and the functions that prepare labels, are those of TensorFlow."""

from typing import Any

import genuine
import numpy as np
import pytest

import capstan

pytestmark = genuine.MARKS

RANDOM = np.random.RandomState(3)
LOGITS = np.float32(RANDOM.randn(9, 5, 6) * 2)
LABELS = np.array([[1, 2, 2, 0], [3, 3, 3, 3], [5, 0, 0, 0], [0, 0, 0, 0], [4, 1, 4, 1]])
ZERO_BASED = np.array([[0, 2, 2, 0], [3, 3, 3, 3], [4, 0, 0, 0], [1, 0, 0, 0], [4, 1, 4, 1]])
COUNTS = np.array([3, 4, 1, 0, 4])
LENGTHS = np.array([9, 9, 4, 7, 2])
"""The last sequence is shorter than its labels."""


def losses(v1: Any, labels: Any, logits: Any, counts: Any, lengths: Any, **options: Any) -> Any:
    """Return the losses and their gradient."""
    loss = v1.nn.ctc_loss_v2(labels, logits, counts, lengths, **options)
    weights = v1.constant(np.arange(1, 6), loss.dtype)
    return [loss, v1.gradients(loss * weights, logits)[0]]


def constants(v1: Any, *values: Any) -> list[Any]:
    return [v1.constant(value) for value in values]


def from_classes(v1: Any, labels: Any = LABELS, **options: Any) -> Any:
    return losses(v1, *constants(v1, labels, LOGITS, COUNTS, LENGTHS), **options)


def from_unknown_shapes(v1: Any) -> Any:
    values = (np.int32(LABELS), LOGITS, np.int32(COUNTS), np.int32(LENGTHS))
    ranks = (2, 3, 1, 1)
    inputs = [
        v1.placeholder_with_default(value, [None] * rank)
        for value, rank in zip(values, ranks, strict=True)
    ]
    return losses(v1, *inputs, blank_index=-2)


def by_batch(v1: Any) -> Any:
    """Return the losses of logits whose first axis is the batch, with labels in the data type."""
    logits = v1.constant(LOGITS.transpose(1, 0, 2))
    unique = v1.nn.ctc_unique_labels(v1.constant(LABELS))
    found = losses(
        v1, v1.constant(LABELS), logits, COUNTS, LENGTHS, logits_time_major=False, unique=unique
    )
    return [*found, *unique]


def from_sparse(v1: Any) -> Any:
    found = []
    for blank, labels in (
        (5, ZERO_BASED),
        (-1, ZERO_BASED),
        (2, np.where(ZERO_BASED == 2, 5, ZERO_BASED)),
    ):
        places = np.argwhere(np.arange(4) < np.array([[3], [4], [1], [1], [2]]))
        values = v1.constant(np.int32(labels[tuple(places.T)]))
        sparse = v1.SparseTensor(places, values, [5, 4])
        found += losses(v1, sparse, v1.constant(LOGITS), None, [9, 9, 4, 7, 2], blank_index=blank)
    return found


def prepared(v1: Any) -> Any:
    unknown = v1.placeholder_with_default(np.int32(LABELS), [None, None])
    found = [*v1.nn.collapse_repeated(LABELS, COUNTS)]
    found += v1.nn.collapse_repeated(unknown, np.int32([4, 1, 2, 0, 4]))
    return [*found, *v1.nn.ctc_unique_labels(unknown), *v1.nn.ctc_unique_labels([[3, 4, 4, 3]])]


CASES: list[Any] = [
    from_classes,
    lambda v1: from_classes(v1, blank_index=0),
    lambda v1: from_classes(v1, ZERO_BASED, blank_index=-1),
    lambda v1: from_classes(v1, np.where(ZERO_BASED == 3, 5, ZERO_BASED), blank_index=3),
    from_unknown_shapes,
    by_batch,
    from_sparse,
    prepared,
]


@pytest.mark.parametrize("number", range(len(CASES)))
def test_values_and_gradients_are_tensorflows(v1: Any, number: int) -> None:
    outcomes = []
    for tf in (v1, capstan):
        with tf.Graph().as_default(), tf.Session() as session:
            outcomes.append(session.run(CASES[number](tf)))
    for theirs, ours in zip(*outcomes, strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=3e-4, strict=True)


@pytest.mark.parametrize("kind", ["float64", "float16"])
def test_other_floats_have_the_loss_of_sparse_labels(kind: str) -> None:
    """TensorFlow 1 computes only float32."""
    lengths = np.array([9, 9, 4, 7, 8])
    places = np.argwhere(np.arange(4) < COUNTS[:, None])
    with capstan.Graph().as_default(), capstan.Session() as session:
        logits = capstan.constant(LOGITS.astype(kind))
        exact = capstan.cast(logits, capstan.float64)
        # The row without labels is left out: sparse labels may not be empty.
        rows = [0, 1, 2, 4]
        sparse = capstan.SparseTensor(
            [[rows.index(row), at] for row, at in places],
            capstan.constant(np.int32(LABELS[tuple(places.T)])), [4, 4],
        )  # fmt: skip
        expected = capstan.nn.ctc_loss_v2(
            sparse, capstan.gather(exact, rows, axis=1), None, lengths[rows], blank_index=0
        )
        loss = capstan.nn.ctc_loss_v2(LABELS, logits, COUNTS, lengths)
        assert loss.dtype.name == kind
        assert loss.shape.as_list() == [5]
        kept = capstan.gather(loss, rows)
        found = session.run([kept, capstan.gradients(kept, logits)[0]])
        wanted = session.run([expected, capstan.gradients(expected, exact)[0]])
    tolerance = 1e-9 if kind == "float64" else 1e-2
    for ours, theirs in zip(found, wanted, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)


def test_sparse_labels_need_the_class_of_the_blank(v1: Any) -> None:
    for tf in (v1, capstan):
        with tf.Graph().as_default():
            sparse = tf.SparseTensor([[0, 0]], tf.constant([1]), [5, 1])
            with pytest.raises(ValueError, match="blank_index"):
                tf.nn.ctc_loss_v2(sparse, LOGITS, None, LENGTHS)
