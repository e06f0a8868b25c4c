"""The experiments of `tf.contrib.learn` train, evaluate and export, also in tasks of a cluster."""

import json
import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import capstan as tf
from capstan.contrib import learn

pytestmark = pytest.mark.e2e
X = np.arange(1, 9, dtype=np.float32)[:, None] / 8


def core_estimator(config: Any) -> Any:
    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        slope = tf.get_variable("slope", [], initializer=tf.zeros_initializer())
        predictions = features["x"] * slope
        loss = tf.losses.mean_squared_error(labels, predictions) if labels is not None else None
        train_op = None
        if mode == tf.estimator.ModeKeys.TRAIN:
            optimizer = tf.train.GradientDescentOptimizer(0.5)
            train_op = optimizer.minimize(loss, tf.train.get_global_step())
        return tf.estimator.EstimatorSpec(mode, {"y": predictions}, loss, train_op)

    return tf.estimator.Estimator(model_fn, config=config)


def input_fn() -> Any:
    return {"x": tf.constant(X)}, tf.constant(3 * X)


def serving_input_fn() -> Any:
    return learn.python.learn.utils.input_fn_utils.build_default_serving_input_fn(
        {"x": tf.placeholder(tf.float32, [None, 1])}
    )()


def experiment_fn(**more: Any) -> Callable[[Any, Any], Any]:
    def make(run_config: Any, hparams: Any) -> Any:
        options = {"train_steps": 30, "eval_steps": 1, "check_interval_secs": 0, **more}
        return learn.Experiment(core_estimator(run_config), input_fn, input_fn, **options)

    return make


@pytest.mark.parametrize("checkpoint_and_export", [False, True])
def test_an_experiment_trains_evaluates_and_exports(
    checkpoint_and_export: bool, tmp_path: pathlib.Path
) -> None:
    make = experiment_fn(
        checkpoint_and_export=checkpoint_and_export,
        min_eval_frequency=10,
        export_strategies=learn.make_export_strategy(serving_input_fn, exports_to_keep=1),
    )
    config = learn.RunConfig(model_dir=str(tmp_path), save_checkpoints_steps=10)
    metrics, exports = learn.learn_runner.run(make, run_config=config)
    assert metrics["global_step"] == 30
    assert metrics["loss"] < 0.1
    with tf.Graph().as_default():
        served = tf.contrib.predictor.from_saved_model(exports[0].decode())
        assert served({"x": [[2.0]]})["y"][0][0] == pytest.approx(6, abs=0.5)


@pytest.mark.parametrize(
    ("schedule", "step"), [("train", None), ("continuous_train_and_eval", 30), ("test", 1)]
)
def test_a_program_names_the_schedule(
    schedule: str, step: int | None, tmp_path: pathlib.Path
) -> None:
    result = learn.learn_runner.run(
        experiment_fn(train_steps_per_iteration=10),
        run_config=learn.RunConfig(model_dir=str(tmp_path)), schedule=schedule,
    )  # fmt: skip
    if schedule == "train":
        assert result.get_variable_value("global_step") == 30
    else:
        metrics = result[0] if isinstance(result, tuple) else result
        assert metrics["global_step"] == step


def test_continuous_evaluation_ends_with_the_training(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = learn.RunConfig(model_dir=str(tmp_path))
    experiment = experiment_fn()(config, None)
    experiment.train()
    monkeypatch.setenv("CAPSTAN_PROGRESS_FILE", str(tmp_path / "progress"))
    seen: list[Any] = []
    experiment.continuous_eval(
        delay_secs=0, throttle_delay_secs=0,
        continuous_eval_predicate_fn=lambda metrics: seen.append(metrics) is None,
    )  # fmt: skip
    assert [None if each is None else each["global_step"] for each in seen] == [None, 30]
    evaluated = experiment.evaluate(delay_secs=0)
    assert evaluated["global_step"] == 30
    shown = json.loads((tmp_path / "progress").read_text(encoding="utf-8"))
    assert shown["step"] == 30
    assert shown["metrics"] == {"loss": pytest.approx(evaluated["loss"])}


def test_a_wrong_experiment_is_refused(tmp_path: pathlib.Path) -> None:
    config = learn.RunConfig(model_dir=str(tmp_path))
    run = learn.learn_runner.run
    with pytest.raises(ValueError, match="output_dir"):
        run(experiment_fn())
    with pytest.raises(ValueError, match="non-existent task fly"):
        run(experiment_fn(), run_config=config, schedule="fly")
    with pytest.raises(TypeError, match="did not return an Experiment"):
        run(lambda run_config, hparams: 5, run_config=config)
    with pytest.raises(RuntimeError, match="expected to be used by the `Estimator`"):
        run(lambda run_config, hparams: experiment_fn()(None, None), run_config=config)
    with pytest.raises(ValueError, match="eval_metrics"):
        experiment_fn(eval_metrics={"a": 1})(config, None)


@pytest.mark.parametrize(
    ("task", "expected"),
    [
        (("master", 0), ("train_and_evaluate", True)),
        (("worker", 0), ("train", False)),
        (("ps", 1), ("run_std_server", False)),
    ],
)
def test_the_task_chooses_the_schedule(
    task: Any, expected: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = {"master": ["h:1"], "worker": ["h:2"], "ps": ["h:3", "h:4"]}
    described = {"type": task[0], "index": task[1]}
    monkeypatch.setenv(
        "TF_CONFIG", json.dumps({"cluster": cluster, "task": described, "environment": "cloud"})
    )
    config = learn.RunConfig(num_cores=2)
    runner = tf.contrib.learn.python.learn.learn_runner
    assert (runner._default_schedule(config), config.is_chief) == expected
    assert (config.environment, config.tf_config.inter_op_parallelism_threads) == ("cloud", 2)


def test_worker_0_is_the_chief_of_a_cluster_without_one(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = {"worker": ["h:1", "h:2"], "ps": ["h:3"]}
    monkeypatch.setenv(
        "TF_CONFIG", json.dumps({"cluster": cluster, "task": {"type": "worker", "index": 0}})
    )
    config = learn.RunConfig()
    assert (config.is_chief, config.master, config.num_ps_replicas) == (True, "grpc://h:1", 1)
