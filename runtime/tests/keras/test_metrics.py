"""Metrics of Keras: what a program of its own may define, and the errors."""

from typing import Any

import numpy as np
import pytest

import capstan as tf

pytestmark = pytest.mark.e2e
metrics = tf.keras.metrics


def start(metric: Any) -> Any:
    session = tf.Session()
    session.run([variable.initializer for variable in metric.variables])
    return session


def test_a_call_returns_the_value_after_the_update() -> None:
    values = tf.placeholder(tf.float32, [None])
    metric = metrics.Mean()
    value = metric(values)
    with start(metric) as session:
        assert session.run(value, {values: [1.0, 3.0]}) == 2.0
        assert session.run(value, {values: [8.0]}) == 4.0
        metric.reset_states()
        assert session.run(metric.result()) == 0.0
    assert [each.name for each in metric.variables] == ["total:0", "count:0"]
    assert not metric.trainable_variables


def test_weights_of_lower_rank_weigh_the_mean_or_the_sum_of_the_other_axes() -> None:
    values = np.arange(12, dtype=np.float32).reshape(2, 2, 3)
    weights = np.array([1.0, 3.0], np.float32)
    rows = [values[0], values[1]]
    for metric, expected in (
        (metrics.Mean(), (rows[0].mean() + 3 * rows[1].mean()) / 4),
        (metrics.Sum(), rows[0].sum() + 3 * rows[1].sum()),
    ):
        value = metric(values, sample_weight=weights)
        with start(metric) as session:
            np.testing.assert_allclose(session.run(value), expected, rtol=1e-6)


def test_labels_and_predictions_of_unknown_rank_fit_in_the_step() -> None:
    labels, scores = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
    squares, right = metrics.MeanSquaredError(), metrics.SparseCategoricalAccuracy()
    value, share = squares(labels, scores), right(labels, scores)
    with start(squares) as session:
        assert session.run(value, {labels: [[1.0], [2.0]], scores: [1.0, 4.0]}) == 2.0
        assert session.run(value, {labels: [1.0], scores: [[1.0]]}) == 1.0
    with start(right) as session:
        assert session.run(share, {labels: [1.0, 1.0], scores: [[0.1, 0.9], [0.9, 0.1]]}) == 0.5


def test_a_metric_of_a_program_makes_all_changes_of_its_update() -> None:
    class Span(metrics.Metric):
        def __init__(self, name: str = "span", **kwargs: Any) -> None:
            super().__init__(name=name, **kwargs)
            self.low = self.add_weight("low", initializer="zeros")
            self.high = self.add_weight("high", initializer="zeros")

        def update_state(self, values: Any) -> Any:
            self.low.assign(tf.minimum(self.low, tf.reduce_min(values)))
            self.high.assign(tf.maximum(self.high, tf.reduce_max(values)))

        def result(self) -> Any:
            return self.high - self.low

    metric = metrics.deserialize(metrics.serialize(Span()), custom_objects={"Span": Span})
    update = metric.update_state(tf.constant([-1.0, 5.0]))
    assert metric.updates == [update]
    value = metric.result()
    with start(metric) as session:
        session.run(update)
        assert session.run(value) == 6.0

    class Wider(Span):
        def update_state(self, values: Any) -> Any:
            return super().update_state(2.0 * values)

    wider = Wider()
    value = wider(tf.constant([-1.0, 5.0]))
    assert len(wider.updates) == 1
    with start(wider) as session:
        assert session.run(value) == 12.0

    class Late(metrics.Metric):
        total: Any = None

        def update_state(self, values: Any) -> Any:
            self.total = self.add_weight("total", initializer="zeros")
            return self.total.assign_add(tf.reduce_sum(values))

        def result(self) -> Any:
            return self.total

    late = Late()
    update = late.update_state(tf.constant([-1.0, 5.0]))
    with start(late) as session:
        session.run([update])
        session.run([update])
        assert session.run(late.result()) == 8.0

    class Nothing(metrics.Metric):
        pass

    with pytest.raises(TypeError, match="abstract"):
        Nothing()  # type: ignore[abstract]


SCORES = np.array([0.1, 0.35, 0.4, 0.8, 0.9, 0.95], np.float32)
TRUTHS = np.array([0.0, 1.0, 0.0, 1.0, 0.0, 1.0], np.float32)


@pytest.mark.parametrize("wanted", [0.3, 0.6, 0.9])
def test_a_ratio_is_taken_at_the_threshold_with_the_closest_other_ratio(wanted: float) -> None:
    limits = np.linspace(0, 1, 20, dtype=np.float32)
    is_found = limits[:, None] < SCORES
    sensitivity = is_found[:, TRUTHS == 1].mean(1)
    specificity = (~is_found)[:, TRUTHS == 0].mean(1)
    for make, ours, other in (
        (metrics.SensitivityAtSpecificity, sensitivity, specificity),
        (metrics.SpecificityAtSensitivity, specificity, sensitivity),
    ):
        metric = make(wanted, num_thresholds=20)
        value = metric(TRUTHS, SCORES)
        with start(metric) as session:
            expected = ours[np.abs(other - wanted).argmin()]
            np.testing.assert_allclose(session.run(value), expected, rtol=1e-6)
        again = metrics.deserialize(metrics.serialize(metric))
        assert again.get_config() == metric.get_config()
    assert metrics.SensitivityAtSpecificity(0.5, num_thresholds=1).thresholds == [0.5]


def test_predictions_outside_of_the_thresholds_end_the_step() -> None:
    scores = tf.placeholder(tf.float32, [2])
    metric = metrics.Precision()
    update = metric.update_state([0.0, 1.0], scores)
    with start(metric) as session:
        session.run(update, {scores: [0.0, 1.0]})
        with pytest.raises(tf.errors.InvalidArgumentError, match="predictions must be <= 1"):
            session.run(update, {scores: [0.0, 1.5]})


def test_get_takes_names_configurations_and_functions() -> None:
    for name in ("mse", "MAE", "accuracy", "binary_accuracy", "cosine_similarity", "kld"):
        assert callable(metrics.get(name))
    assert isinstance(metrics.get("AUC"), metrics.AUC)
    made = metrics.get({"class_name": "Recall", "config": {"thresholds": 0.3, "name": "found"}})
    assert (made.name, made.thresholds) == ("found", [0.3])
    assert metrics.get(made) is made
    assert metrics.serialize(metrics.mean_squared_error) == "mean_squared_error"
    with pytest.raises(ValueError, match="Unknown metric function: huh"):
        metrics.get("huh")
    with pytest.raises(ValueError, match="Could not interpret metric function identifier: 3"):
        metrics.get(3)


def test_a_metric_in_a_layer_is_a_part_of_it() -> None:
    class Counted(tf.keras.layers.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.sum = metrics.Sum()

        def call(self, inputs: Any) -> Any:
            self.sum.update_state(inputs)
            return inputs

    layer = Counted()
    layer(tf.constant([1.0, 2.0]))
    assert layer.updates == layer.sum.updates
    assert layer.non_trainable_weights == layer.sum.variables


def test_an_estimator_evaluates_metrics_of_keras() -> None:
    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        scores = tf.sigmoid(features["x"] * tf.get_variable("w", initializer=1.0))
        found, right = metrics.Recall(), metrics.BinaryAccuracy()
        found.update_state(labels, scores)
        right.update_state(labels, scores)
        loss = tf.reduce_mean(tf.square(labels - scores))
        step = tf.train.get_or_create_global_step()
        return tf.estimator.EstimatorSpec(
            mode,
            loss=loss,
            train_op=tf.assign_add(step, 1),
            eval_metric_ops={"found": found, "right": right, "loss2": tf.metrics.mean(loss)},
        )

    def input_fn() -> Any:
        data = {"x": [[2.0], [-1.0], [3.0], [4.0]]}, [[1.0], [1.0], [0.0], [1.0]]
        return tf.data.Dataset.from_tensor_slices(data).batch(2)

    estimator = tf.estimator.Estimator(model_fn)
    estimator.train(input_fn, steps=1)
    values = estimator.evaluate(input_fn)
    assert values["found"] == pytest.approx(2 / 3)
    assert values["right"] == pytest.approx(0.5)
    assert values["loss2"] == pytest.approx(values["loss"])


def test_an_estimator_asks_for_an_update_of_its_metrics() -> None:
    with pytest.raises(ValueError, match=r'Please call update_state\(...\) on the "mine" metric'):
        tf.estimator.EstimatorSpec(
            "eval", loss=tf.constant(1.0), eval_metric_ops={"a": metrics.Mean("mine")}
        )


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: metrics.Precision([0.5, 1.5]), r"must be in \[0, 1\]. Invalid values: \[1.5\]"),
        (lambda: metrics.TruePositives([None]), r"Invalid values: \[None\]"),
        (lambda: metrics.AUC(1), "`num_thresholds` must be > 1"),
        (lambda: metrics.AUC(curve="roc curve"), 'Invalid AUC curve value "roc curve"'),
        (
            lambda: metrics.AUC(summation_method="x"),
            'Invalid AUC summation method value "x"',
        ),
        (lambda: metrics.SensitivityAtSpecificity(1.5), "`specificity` must be in the range"),
        (lambda: metrics.SpecificityAtSensitivity(-1.0), "`sensitivity` must be in the range"),
        (lambda: metrics.SpecificityAtSensitivity(0.5, 0), "`num_thresholds` must be > 0"),
        (lambda: metrics.MeanTensor().result(), "does not have any result yet"),
        (lambda: _two_shapes(metrics.MeanTensor()), "must always have the same shape"),
    ],
)
def test_wrong_arguments_are_refused(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def _two_shapes(metric: Any) -> None:
    metric.update_state([1.0])
    metric.update_state([1.0, 2.0])
