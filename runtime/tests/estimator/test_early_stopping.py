"""Hooks of tf.estimator.experimental stop a training by the results of its evaluations."""

import json

import linear_estimator as linear
import pytest

import capstan as tf

experimental = tf.estimator.experimental


def _write(folder, values):
    """Write a metric of each step, as evaluations do."""
    with tf.summary.FileWriter(str(folder)) as writer:
        for step, value in values.items():
            summary = tf.Summary(value=[tf.Summary.Value(tag="m", simple_value=value)])
            writer.add_summary(summary, step)


@pytest.mark.e2e
@pytest.mark.parametrize(
    "hook, limit, min_steps, stops",
    [
        ("higher", 0.8, 0, True),
        ("higher", 0.95, 0, False),
        ("higher", 0.8, 400, False),
        ("lower", 0.3, 0, True),
        ("lower", 0.05, 0, False),
        ("no_increase", 200, 0, True),
        ("no_increase", 201, 0, False),
        ("no_decrease", 200, 0, True),
        ("no_decrease", 201, 0, False),
        ("no_increase", 0, 400, True),
        # No evaluation is old enough, so nothing is known of the metric.
        ("no_increase", 0, 500, False),
        ("no_decrease", 0, 500, False),
    ],
)
def test_a_training_stops_by_a_metric(tmp_path, hook, limit, min_steps, stops):
    # At the end the greatest value is 200 steps old. The first least value lasts 200 steps.
    _write(tmp_path / "eval", {100: 0.2, 200: 0.9, 300: 0.5, 400: 0.1})
    estimator = linear.estimator(tmp_path)
    make = getattr(experimental, f"stop_if_{hook}_hook")
    stopper = make(
        estimator, "m", limit, min_steps=min_steps, run_every_secs=None, run_every_steps=1
    )
    estimator.train(linear.input_fn, hooks=[stopper], max_steps=9)
    assert (estimator.get_variable_value("global_step") < 9) == stops


@pytest.mark.e2e
def test_a_function_stops_the_chief_and_the_workers_find_it_in_a_variable(tmp_path, monkeypatch):
    estimator = linear.estimator(tmp_path)
    answers = iter([False, True])
    hook = experimental.make_early_stopping_hook(
        estimator, lambda: next(answers), run_every_secs=None, run_every_steps=1
    )
    estimator.train(linear.input_fn, hooks=[hook], max_steps=9)
    assert estimator.get_variable_value("global_step") == 2
    assert estimator.get_variable_value("signal_early_stopping/STOP")
    cluster = {"chief": ["h:1"], "worker": ["i:1"]}
    task = {"cluster": cluster, "task": {"type": "worker", "index": 0}}
    monkeypatch.setenv("TF_CONFIG", json.dumps(task))
    worker = experimental.make_early_stopping_hook(linear.estimator(tmp_path), lambda: 1 / 0)
    monkeypatch.delenv("TF_CONFIG")
    estimator.train(linear.input_fn, hooks=[worker], max_steps=9)
    assert estimator.get_variable_value("global_step") == 3


def test_wrong_arguments_of_hooks_are_refused(tmp_path):
    estimator = linear.estimator(tmp_path)
    with pytest.raises(TypeError, match="must have type"):
        experimental.make_early_stopping_hook(1, lambda: True)
    with pytest.raises(TypeError, match="must be callable"):
        experimental.make_early_stopping_hook(estimator, 1)
    with pytest.raises(ValueError, match="Only one of"):
        experimental.make_early_stopping_hook(estimator, lambda: True, 1, 1)
