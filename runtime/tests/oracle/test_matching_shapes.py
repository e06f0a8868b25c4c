"""Operands that differ in shape or type have the results and the errors of TensorFlow."""

from collections.abc import Callable
from typing import Any

import genuine
import numpy as np
import pytest

import capstan

pytestmark = genuine.MARKS

RANDOM = np.random.RandomState(3)
LOGITS = RANDOM.uniform(-1, 1, (3, 4)).astype(np.float32)
SHARES = RANDOM.uniform(size=(3, 4)).astype(np.float32)


def both(v1: Any, program: Callable[[Any], Any]) -> tuple[Any, Any]:
    """Return what a program computes in TensorFlow and in Capstan."""
    found = []
    for module in (v1, capstan):
        with module.Graph().as_default(), module.Session() as session:
            found.append(session.run(program(module)))
    return found[0], found[1]


@pytest.mark.parametrize(
    ("labels", "logits"),
    [(SHARES[:1], LOGITS), (SHARES[:, :1], LOGITS), (SHARES, LOGITS[:1]), (SHARES, LOGITS[:, :1])],
)
def test_labels_and_logits_are_broadcast(v1: Any, labels: Any, logits: Any) -> None:
    expected, found = both(
        v1,
        lambda tf: tf.raw_ops.SoftmaxCrossEntropyWithLogits(features=logits, labels=labels),
    )
    for value, wanted in zip(found, expected, strict=True):
        np.testing.assert_allclose(value, wanted, rtol=1e-5, atol=1e-6)
    with capstan.Graph().as_default(), capstan.Session() as session:
        operands = [capstan.constant(each) for each in (labels, logits)]
        given = [capstan.broadcast_to(each, [3, 4]) for each in operands]
        slopes = [
            capstan.gradients(
                capstan.raw_ops.SoftmaxCrossEntropyWithLogits(features=x, labels=y)[0], operands
            )
            for y, x in (operands, given)
        ]
        for value, wanted in zip(*session.run(slopes), strict=True):
            np.testing.assert_allclose(value, wanted, rtol=1e-5, atol=1e-6)


def test_the_labels_of_one_row_hold_for_all_rows(v1: Any) -> None:
    expected, found = both(
        v1,
        lambda tf: tf.nn.softmax_cross_entropy_with_logits_v2(labels=SHARES[:1], logits=LOGITS),
    )
    np.testing.assert_allclose(found, expected, rtol=1e-5)


REDUCTIONS = ["reduce_sum", "reduce_mean", "reduce_max", "reduce_prod"]


@pytest.mark.parametrize("name", REDUCTIONS)
def test_axes_that_are_a_matrix_are_refused(v1: Any, name: str) -> None:
    for module in (v1, capstan):
        with module.Graph().as_default():
            reduce = getattr(module, name)
            with pytest.raises(ValueError, match="Shape must be at most rank 1 but is rank 2"):
                reduce(module.constant(LOGITS), [[0, 1]])


@pytest.mark.parametrize("pred", [False, True])
def test_branches_may_have_indices_of_two_types(v1: Any, pred: bool) -> None:
    def program(tf: Any) -> Any:
        def rows(kind: Any, start: float) -> Any:
            return tf.IndexedSlices(tf.constant([start, 2.0]), tf.constant([1, 4], kind))

        chosen = tf.cond(
            tf.constant(pred),
            lambda: [tf.constant(1), rows(tf.int32, 5.0)],
            lambda: [tf.constant(2), rows(tf.int64, 6.0)],
        )
        nested = tf.cond(
            tf.constant(True),
            lambda: tf.cond(
                tf.constant(pred), lambda: rows(tf.int32, 7.0), lambda: rows(tf.int64, 8.0)
            ),
            lambda: rows(tf.int32, 9.0),
        )
        slices = (chosen[1], nested)
        return [chosen[0], *(part for each in slices for part in (each.values, each.indices))]

    expected, found = both(v1, program)
    for value, wanted in zip(found, expected, strict=True):
        np.testing.assert_array_equal(value, wanted, strict=True)


def test_branches_with_other_differences_are_refused(v1: Any) -> None:
    for module in (v1, capstan):
        with module.Graph().as_default():
            rows = module.IndexedSlices(module.constant([1.0]), module.constant([1]))
            other = module.IndexedSlices(module.constant([1.0], module.float64), rows.indices)
            for value, message in ((module.constant(1.0), "nested structure"), (other, "")):
                with pytest.raises((TypeError, ValueError), match=message):
                    module.cond(module.constant(True), lambda r=rows: r, lambda v=value: v)
