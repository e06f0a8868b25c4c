"""A hook evaluates a model while it trains, with the values of the session that trains."""

import pathlib
from typing import Any

import numpy as np
import pytest

import capstan as tf

pytestmark = pytest.mark.e2e

Hook = tf.estimator.experimental.InMemoryEvaluatorHook


def model_fn(features: Any, labels: Any, mode: str) -> Any:
    """Each step adds 1 to a variable, and the loss is its distance from the label."""
    value = tf.get_variable("value", initializer=0.0)
    loss = tf.reduce_mean(tf.abs(labels - value - 0.0 * features))
    step = tf.train.get_global_step()
    train = tf.group(tf.assign_add(value, 1.0), tf.assign_add(step, 1))
    metrics = {"value": tf.metrics.mean(value * tf.ones_like(features))}
    return tf.estimator.EstimatorSpec(mode, {"v": features}, loss, train, metrics)


def input_fn() -> Any:
    return tf.data.Dataset.from_tensors((tf.ones([2]), tf.constant([10.0, 10.0]))).repeat(3)


def training_input_fn() -> Any:
    return tf.ones([2]), tf.constant([0.0, 0.0])


def results(folder: str) -> list[tuple[int, float, float]]:
    """Return the step, the loss and the metric of each evaluation."""
    (path,) = pathlib.Path(folder).glob("events*")
    found = []
    for event in tf.train.summary_iterator(str(path)):
        values = {value.tag: value.simple_value for value in event.summary.value}
        if "value" in values:
            found.append((event.step, values["loss"], values["value"]))
    return found


def test_the_model_is_evaluated_before_during_and_after_training(tmp_path: pathlib.Path) -> None:
    estimator = tf.estimator.Estimator(model_fn, tmp_path)
    hook = Hook(estimator, input_fn, name="memory", every_n_iter=2)
    estimator.train(training_input_fn, hooks=[hook], steps=5)
    assert results(estimator.eval_dir("memory")) == [
        (step, 10.0 - step, float(step)) for step in (0, 2, 4, 5)
    ]


def test_steps_and_hooks_are_those_of_an_evaluation(tmp_path: pathlib.Path) -> None:
    class Counter(tf.train.SessionRunHook):
        runs = 0

        def before_run(self, run_context: Any) -> None:
            self.runs += 1

    estimator, counter = tf.estimator.Estimator(model_fn, tmp_path), Counter()
    hook = Hook(estimator, input_fn, steps=2, hooks=[counter])
    estimator.train(training_input_fn, hooks=[hook], steps=1)
    # One evaluation is before the training and one after it.
    assert counter.runs == 2 * 2
    np.testing.assert_allclose([loss for _, loss, _ in results(estimator.eval_dir())], [10, 9])


def test_wrong_evaluators_are_refused(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    estimator = tf.estimator.Estimator(model_fn, tmp_path)
    with pytest.raises(ValueError, match="invalid every_n_iter=0"):
        Hook(estimator, input_fn, every_n_iter=0)
    with pytest.raises(TypeError, match="must be a SessionRunHook"):
        Hook(estimator, input_fn, hooks=[3])
    monkeypatch.setenv(
        "TF_CONFIG",
        '{"cluster": {"chief": ["h:1"], "ps": ["i:1"]}, "task": {"type": "chief", "index": 0}}',
    )
    with pytest.raises(ValueError, match="only single machine"):
        Hook(tf.estimator.Estimator(model_fn, tmp_path), input_fn)


@pytest.mark.parametrize("part", ["saver", "init_fn"])
def test_a_scaffold_of_the_model_is_refused(part: str, tmp_path: pathlib.Path) -> None:
    def with_scaffold(features: Any, labels: Any, mode: str) -> Any:
        spec = model_fn(features, labels, mode)
        made = {"saver": tf.train.Saver, "init_fn": lambda: lambda scaffold, session: None}[part]()
        return spec._replace(scaffold=tf.train.Scaffold(**{part: made}))

    estimator = tf.estimator.Estimator(with_scaffold, tmp_path)
    with pytest.raises(ValueError, match=f"does not support custom {part}"):
        estimator.train(training_input_fn, hooks=[Hook(estimator, input_fn)], steps=1)
