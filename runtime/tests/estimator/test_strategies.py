"""Estimators in the replicas of a distribution strategy."""

import json
import pathlib
from typing import Any

import numpy as np
import pytest

import capstan as tf

DRAWN = np.random.RandomState(0).rand(32, 3).astype(np.float32)
TARGETS = DRAWN.sum(1, keepdims=True) - 1.5


def strategies() -> list[Any]:
    devices = ["/cpu:0", "/cpu:1"]
    return [
        tf.distribute.OneDeviceStrategy("/cpu:0"),
        tf.distribute.MirroredStrategy(devices),
        tf.distribute.experimental.CentralStorageStrategy(devices),
    ]


def model_fn(features: Any, labels: Any, mode: str, params: Any) -> Any:
    hidden = tf.layers.dense(features["x"], 4, tf.nn.tanh, kernel_initializer=tf.ones_initializer())
    outputs = tf.layers.dense(hidden, 1, kernel_initializer=tf.ones_initializer())
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(mode, predictions={"y": outputs})
    loss = tf.losses.mean_squared_error(labels, outputs, reduction=params["reduction"])
    if mode == tf.estimator.ModeKeys.EVAL:
        error = tf.metrics.mean_absolute_error(labels, outputs)
        return tf.estimator.EstimatorSpec(mode, loss=loss, eval_metric_ops={"error": error})
    train = tf.train.MomentumOptimizer(0.002, 0.9).minimize(loss, tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train)


def input_fn(input_context: Any = None) -> Any:
    """Return batches of 16 examples, or of the part of one replica."""
    count = 1 if input_context is None else input_context.num_replicas_in_sync
    return tf.data.Dataset.from_tensor_slices(({"x": DRAWN}, TARGETS)).repeat().batch(16 // count)


def config(folder: pathlib.Path, strategy: Any) -> Any:
    return tf.estimator.RunConfig(
        model_dir=str(folder),
        train_distribute=strategy,
        eval_distribute=strategy,
        session_config=tf.ConfigProto(device_count={"CPU": 2}),
        log_step_count_steps=None,
        save_summary_steps=1,
    )


def results(estimator: Any) -> dict[str, float]:
    estimator.train(input_fn, steps=6)
    found = estimator.evaluate(input_fn, steps=2)
    predicted = estimator.predict(lambda: tf.data.Dataset.from_tensors({"x": DRAWN[:1]}))
    found["prediction"] = next(iter(predicted))["y"][0]
    return {name: float(value) for name, value in found.items()}


@pytest.mark.parametrize(
    "reduction", [tf.losses.Reduction.SUM, tf.losses.Reduction.SUM_OVER_BATCH_SIZE]
)
def test_replicas_train_and_evaluate_as_one_replica_does(
    tmp_path: pathlib.Path, reduction: str
) -> None:
    params = {"reduction": reduction}
    alone = results(
        tf.estimator.Estimator(model_fn, config=config(tmp_path / "0", None), params=params)
    )
    for number, strategy in enumerate(strategies(), 1):
        made = config(tmp_path / str(number), strategy)
        estimator = tf.estimator.Estimator(model_fn, config=made, params=params)
        found = results(estimator)
        # The loss of an evaluation is the mean of the losses of replicas, which may be sums.
        count = strategy.num_replicas_in_sync if reduction == tf.losses.Reduction.SUM else 1
        found["loss"] *= count
        assert found == pytest.approx(alone, rel=1e-4)
        assert not [name for name in estimator.get_variable_names() if "replica" in name]


def test_a_model_of_keras_trains_in_replicas_as_in_one(tmp_path: pathlib.Path) -> None:
    found = []
    for number, strategy in enumerate([None, *strategies()]):
        tf.keras.backend.clear_session()
        inputs = tf.keras.Input((3,), name="x")
        hidden = tf.keras.layers.Dense(4, "tanh", kernel_initializer="ones")(inputs)
        outputs = tf.keras.layers.Dense(1, kernel_initializer="ones")(hidden)
        model = tf.keras.Model(inputs, outputs)
        optimizer = tf.keras.optimizers.SGD(0.1, momentum=0.9)
        model.compile(optimizer, "mse", metrics=["mae"])
        estimator = tf.keras.estimator.model_to_estimator(
            model, config=config(tmp_path / str(number), strategy)
        )
        estimator.train(input_fn, steps=6)
        found.append(estimator.evaluate(input_fn, steps=2))
    for each in found[1:]:
        assert each == pytest.approx(found[0], rel=1e-4)


def test_hooks_and_scaffolds_of_replicas_are_combined(tmp_path: pathlib.Path) -> None:
    calls: list[str] = []

    class Hook(tf.train.SessionRunHook):
        def __init__(self, name: str) -> None:
            self._name = name

        def begin(self) -> None:
            calls.append(self._name)

    def hooked(features: Any, labels: Any, mode: str) -> Any:
        spec = model_fn(features, labels, mode, {"reduction": "weighted_sum"})
        scaffold = tf.train.Scaffold(
            init_op=tf.global_variables_initializer(),
            ready_op=tf.report_uninitialized_variables(),
            init_fn=lambda scaffold, session: calls.append("init"),
        )
        return spec._replace(training_hooks=[Hook("all")], scaffold=scaffold)

    strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
    estimator = tf.estimator.Estimator(hooked, config=config(tmp_path, strategy))
    estimator.train(input_fn, steps=1, hooks=[Hook("own")])
    assert sorted(calls) == ["all", "init", "own"]


def test_an_input_must_be_a_dataset(tmp_path: pathlib.Path) -> None:
    made = config(tmp_path, tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"]))
    estimator = tf.estimator.Estimator(model_fn, config=made, params={"reduction": "weighted_sum"})
    with pytest.raises(ValueError, match=r"must return a tf\.data\.Dataset"):
        estimator.train(lambda: ({"x": tf.constant(DRAWN)}, tf.constant(TARGETS)), steps=1)


def test_a_metric_has_a_name_of_its_own(tmp_path: pathlib.Path) -> None:
    def named(features: Any, labels: Any, mode: str) -> Any:
        spec = model_fn(features, labels, mode, {"reduction": "weighted_sum"})
        metrics = {"loss": tf.metrics.mean(labels)} if mode == "eval" else None
        return spec._replace(eval_metric_ops=metrics)

    made = config(tmp_path, tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"]))
    with pytest.raises(ValueError, match="`loss` is not allowed"):
        tf.estimator.Estimator(named, config=made).evaluate(input_fn, steps=1)


def test_a_strategy_for_one_process_refuses_a_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    strategy = tf.distribute.OneDeviceStrategy("/cpu:0")
    cluster = {"chief": ["a:1"], "worker": ["b:1"]}
    task = {"cluster": cluster, "task": {"type": "chief", "index": 0}}
    monkeypatch.setenv("TF_CONFIG", json.dumps(task))
    with pytest.raises(ValueError, match="trains in one process"):
        tf.estimator.RunConfig(train_distribute=strategy)
    task["cluster"] = {"chief": ["a:1"]}
    monkeypatch.setenv("TF_CONFIG", json.dumps(task))
    assert tf.estimator.RunConfig(train_distribute=strategy).train_distribute is strategy
