"""Estimators of `tf.contrib.learn` read input that never ends once, and have metrics of a batch.

A metric gets its tensors by the names of its arguments.
"""

import functools
import itertools
from typing import Any

import numpy as np
import pytest

import capstan as tf
from capstan.contrib import learn

layers = tf.contrib.layers
pytestmark = pytest.mark.e2e

X = np.random.default_rng(3).normal(size=(12, 4)).astype(np.float32)
Y = np.arange(12) % 3


def trained() -> Any:
    classifier = learn.DNNClassifier([4], [layers.real_valued_column("", 4)], n_classes=3)
    return classifier.fit(x=X, y=Y, steps=5)


def samples() -> Any:
    return X[:4]


def labelled() -> Any:
    return {"": tf.constant(X[:4])}, tf.constant(Y[:4])


def data() -> Any:
    return tf.data.Dataset.from_tensors(X[:4])


def test_a_prediction_reads_input_that_never_ends_once(caplog: pytest.LogCaptureFixture) -> None:
    classifier = trained()
    expected = classifier.predict_proba(x=X[:4], as_iterable=False)
    for input_fn in samples, labelled, data:
        found = list(itertools.islice(classifier.predict_proba(input_fn=input_fn), 100))
        np.testing.assert_allclose(found, expected, rtol=1e-5)
    assert "yields forever" not in caplog.text


def test_a_prediction_that_is_no_iterable_has_one_batch_of_an_input_function() -> None:
    classifier = trained()
    expected = classifier.predict_proba(x=X[:4], as_iterable=False)
    for input_fn in samples, lambda: data().repeat():
        found = classifier.predict_proba(input_fn=input_fn, as_iterable=False)
        np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_a_sparse_feature_that_never_ends_is_read_once() -> None:
    words = layers.sparse_column_with_keys("word", ["a", "b"])
    classifier = learn.LinearClassifier([words])

    def input_fn() -> Any:
        places = tf.constant([[0, 0], [1, 0]], tf.int64)
        word = tf.SparseTensor(places, tf.constant(["a", "b"]), tf.constant([2, 1], tf.int64))
        return {"word": word}, tf.constant([[0], [1]])

    classifier.fit(input_fn=input_fn, steps=2)
    assert list(itertools.islice(classifier.predict(input_fn=input_fn), 9)) == [0, 1]


def test_a_metric_may_be_a_tensor_of_a_batch() -> None:
    spec = learn.MetricSpec(
        metric_fn=lambda predictions, labels: tf.reduce_sum(
            predictions * tf.to_float(labels)[:, None]
        ),
        prediction_key="probabilities",
    )
    found = trained().evaluate(input_fn=labelled, steps=2, metrics={"sum": spec})
    # The probabilities of an example sum to 1.
    assert found["sum"] == pytest.approx(Y[:4].sum(), rel=1e-5)


def seen(**given: Any) -> Any:
    return {name: value for name, value in given.items() if value is not None}


@pytest.mark.parametrize(
    "metric_fn, expected",
    [
        (lambda predictions, labels: seen(p=predictions, l=labels), "pl"),
        (lambda targets, logits: seen(p=logits, l=targets), "pl"),
        (lambda labels, found: seen(p=found, l=labels), "pl"),
        (lambda found, labels: seen(p=found, l=labels), "pl"),
        (lambda found: seen(p=found), "p"),
        (lambda *given: seen(p=given[0]), "p"),
        (lambda weight, prediction: seen(p=prediction, w=weight), "pw"),
        (lambda found, weights=None, label=None: seen(p=found, l=label, w=weights), "plw"),
        (functools.partial(lambda p, k, labels: seen(p=p, l=labels), k=2), "pl"),
    ],
)
def test_a_metric_gets_tensors_by_the_names_of_its_arguments(metric_fn: Any, expected: str) -> None:
    weights = {"weight_key": "w"} if "w" in expected else {}
    spec = learn.MetricSpec(metric_fn, prediction_key="x", **weights)
    found = spec.create_metric_ops({"w": "w"}, {"only": "l"}, {"x": "p", "y": "other"})
    assert found == {letter: letter for letter in expected}


@pytest.mark.parametrize(
    "metric_fn, keys, message",
    [
        (lambda p, labels: None, {"weight_key": "w"}, "needs an argument .*'weights'.* 'w'"),
        (lambda predictions: None, {"label_key": "l"}, "needs an argument .*'labels'.* 'l'"),
        (lambda label, targets: None, {}, "Ambiguous arguments"),
        (lambda predictions, logits: None, {}, "Ambiguous arguments"),
        (lambda p, weight, weights: None, {}, "Ambiguous arguments"),
        (lambda p, labels: None, {"label_key": "l"}, "label_key specified requires a dictionary"),
        (lambda p: None, {"prediction_key": "p"}, "prediction_key specified requires a dictionary"),
    ],
)
def test_keys_and_arguments_of_a_metric_that_do_not_fit_are_refused(
    metric_fn: Any, keys: dict[str, str], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        learn.MetricSpec(metric_fn, **keys).create_metric_ops({}, "l", "p")
