"""`tf.contrib.tpu` on machines without TPUs."""

import inspect
import pathlib
from typing import Any

import numpy as np
import pytest

import capstan as tf

pytestmark = pytest.mark.e2e

tpu = tf.contrib.tpu


def config(folder: pathlib.Path, **options: Any) -> Any:
    return tpu.RunConfig(
        model_dir=str(folder), tpu_config=tpu.TPUConfig(iterations_per_loop=5, num_shards=8),
        **options,
    )  # fmt: skip


def test_an_estimator_trains_evaluates_and_predicts_without_tpus(tmp_path: pathlib.Path) -> None:
    seen: list[Any] = []
    steps: list[int] = []

    def input_fn(params: Any) -> Any:
        x = np.arange(24.0, dtype=np.float32).reshape(-1, 1) / 24
        data = tf.data.Dataset.from_tensor_slices(({"x": x}, 3 * x[:, 0]))
        return data.repeat(10).batch(params["batch_size"], drop_remainder=True)

    def model_fn(features: Any, labels: Any, mode: str, params: Any) -> Any:
        seen.append((mode, params["batch_size"], params["rate"]))
        outputs = tf.layers.dense(features["x"], 1, use_bias=False)[:, 0]
        if mode == tf.estimator.ModeKeys.PREDICT:
            return tpu.TPUEstimatorSpec(mode, predictions={"y": outputs})
        loss = tf.losses.mean_squared_error(labels, outputs)
        step = tf.train.get_or_create_global_step()
        train = tf.train.GradientDescentOptimizer(params["rate"]).minimize(loss, step)

        def metrics(labels: Any, outputs: Any) -> Any:
            return {"error": tf.metrics.mean_absolute_error(labels, outputs)}

        def noted(step: Any) -> Any:
            return tf.py_func(lambda value: steps.append(int(value[0])) or value, [step], tf.int64)

        return tpu.TPUEstimatorSpec(
            mode, loss=loss, train_op=train,
            eval_metrics=(metrics, {"labels": labels, "outputs": outputs}),
            host_call=(noted, [tf.reshape(step, [1])]),
            scaffold_fn=tf.train.Scaffold,
        )  # fmt: skip

    estimator = tpu.TPUEstimator(
        model_fn, config=config(tmp_path), params={"rate": 0.5}, use_tpu=False,
        train_batch_size=8, eval_batch_size=6, predict_batch_size=4, export_to_cpu=False,
    )  # fmt: skip
    estimator.train(input_fn, max_steps=25)
    assert len(steps) == 25
    found = estimator.evaluate(input_fn, steps=2)
    assert found["error"] < 0.1
    assert found["global_step"] == 25
    first = next(estimator.predict(input_fn))
    assert abs(first["y"]) < 0.1
    assert seen == [("train", 8, 0.5), ("eval", 6, 0.5), ("infer", 4, 0.5)]


def test_a_tpu_is_refused(tmp_path: pathlib.Path) -> None:
    def model_fn(features: Any, labels: Any, mode: str, params: Any) -> Any:
        return None

    with pytest.raises(ValueError, match=r"knows no TPUs\. Give TPUEstimator use_tpu=False"):
        tpu.TPUEstimator(model_fn, config=config(tmp_path))
    with pytest.raises(ValueError, match=r"Leave out `embedding_config_spec`"):
        tpu.TPUEstimator(
            model_fn, config=config(tmp_path), use_tpu=False, embedding_config_spec=object()
        )
    cluster = tf.train.ClusterSpec({"worker": ["10.0.0.1:8470"]})
    resolver = tf.contrib.cluster_resolver.SimpleClusterResolver(cluster, "grpc://10.0.0.1:8470")
    with pytest.raises(ValueError, match=r"knows no TPUs\. Leave out `cluster`"):
        config(tmp_path, cluster=resolver)
    with pytest.raises(ValueError, match="Describe the cluster in the environment variable"):
        config(tmp_path, master="grpc://10.0.0.1:8470")


def test_an_estimator_has_the_parameters_of_tensorflow_in_their_order() -> None:
    assert list(inspect.signature(tpu.TPUEstimator).parameters) == [
        *("model_fn", "model_dir", "config", "params", "use_tpu", "train_batch_size"),
        *("eval_batch_size", "predict_batch_size", "batch_axis", "eval_on_tpu", "export_to_tpu"),
        *("export_to_cpu", "warm_start_from", "embedding_config_spec"),
        "export_saved_model_api_version",
    ]


def test_an_estimator_without_a_model_is_refused(tmp_path: pathlib.Path) -> None:
    with pytest.raises(ValueError, match="model_fn"):
        tpu.TPUEstimator(config=config(tmp_path), use_tpu=False)


def test_wrong_settings_are_refused(tmp_path: pathlib.Path) -> None:
    def model_fn(features: Any, params: Any) -> Any:
        return None

    with pytest.raises(ValueError, match=r"type `tpu_config\.RunConfig`"):
        tpu.TPUEstimator(model_fn, config=tf.estimator.RunConfig(), use_tpu=False)
    with pytest.raises(ValueError, match="batch_size is a reserved key"):
        tpu.TPUEstimator(model_fn, config=config(tmp_path), params={"batch_size": 3}, use_tpu=False)
    for options, message in (
        ({"iterations_per_loop": 0}, "iterations_per_loop must be a positive integer"),
        ({"iterations_per_loop": "5 minutes"}, "a time such as '3600s', '60m' or '1h'"),
        ({"num_shards": 0}, "num_shards must be positive"),
        ({"num_cores_per_replica": 3}, "must be 1, 2, 4, 8, 16, 32, 64, 128; got 3"),
        ({"eval_training_input_configuration": 3}, "must be PER_HOST_V1 or SLICED; got 3"),
    ):
        with pytest.raises(ValueError, match=message):
            tpu.TPUConfig(**options)
    with pytest.raises(ValueError, match="eval_metrics should be a tuple"):
        tpu.TPUEstimatorSpec("eval", eval_metrics=[1, 2])
    with pytest.raises(TypeError, match="Hooks must be a SessionRunHook"):
        tpu.TPUEstimatorSpec("eval", evaluation_hooks=[3])


def test_settings_of_tpus_can_be_replaced(tmp_path: pathlib.Path) -> None:
    usual = config(tmp_path, tf_random_seed=3)
    kinds = tpu.InputPipelineConfig
    assert usual.tpu_config.per_host_input_for_training == kinds.PER_HOST_V1
    other = usual.replace(tpu_config=tpu.TPUConfig(per_host_input_for_training=False))
    assert other.tpu_config.per_host_input_for_training == kinds.PER_SHARD_V1
    assert (other.tf_random_seed, usual.tpu_config.num_shards) == (3, 8)
    assert usual.replace(tf_random_seed=4).tpu_config == usual.tpu_config


@pytest.mark.parametrize("loop", [100, "100", "60s", "5m", "1h"])
def test_a_loop_on_tpus_takes_some_steps_or_some_time(loop: Any) -> None:
    kinds = tpu.InputPipelineConfig
    settings = tpu.TPUConfig(
        loop, None, 128, eval_training_input_configuration=kinds.SLICED,
        experimental_host_call_every_n_steps=10,
    )  # fmt: skip
    assert settings.iterations_per_loop == loop
    assert settings[-2:] == (5, 10)
    assert tpu.TPUConfig()[-2:] == (kinds.PER_HOST_V1, 1)


def test_variables_of_bfloat16_keep_single_precision() -> None:
    with tf.Graph().as_default():
        with tpu.bfloat16_scope():
            short = tf.get_variable("short", [2], tf.bfloat16)
            other = tf.get_variable("other", [2], tf.float64)
        assert (short.dtype, other.dtype.base_dtype) == (tf.bfloat16, tf.float64)
        stored = {variable.op.name: variable.dtype.base_dtype for variable in tf.global_variables()}
        assert stored == {"short": tf.float32, "other": tf.float64}


def test_a_resolver_of_no_tpus_describes_this_process(tmp_path: pathlib.Path) -> None:
    resolver = tf.contrib.cluster_resolver.TPUClusterResolver("", zone="z", project="p")
    assert (resolver.master(), resolver.get_master()) == ("", "")
    assert not resolver.cluster_spec()
    assert config(tmp_path, cluster=resolver).cluster is resolver
    assert tf.distribute.cluster_resolver.TPUClusterResolver("local").get_job_name() is None
    for name in (None, "my-tpu", ["grpc://10.0.0.1:8470"], []):
        with pytest.raises(ValueError, match="Capstan knows no TPUs"):
            tf.contrib.cluster_resolver.TPUClusterResolver(name)


def test_gradients_are_summed_over_one_replica() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        variable = tf.get_variable("v", initializer=[1.0, 2.0])
        made = tpu.CrossShardOptimizer(tf.train.MomentumOptimizer(0.5, 0.9))
        step = made.minimize(tf.reduce_sum(variable**2), tf.train.get_or_create_global_step())
        session.run(tf.global_variables_initializer())
        session.run(step)
        assert session.run(variable).tolist() == [0.0, 0.0]
        assert made.get_slot_names() == ["momentum"]
        assert session.run(made.get_slot(variable, "momentum")).tolist() == [2.0, 4.0]
        assert made.variables() == [made.get_slot(variable, "momentum")]
    with pytest.raises(ValueError, match="Unsupported reduction"):
        tpu.CrossShardOptimizer(tf.train.AdamOptimizer(), reduction="none")
    with pytest.raises(TypeError, match=r"needs an optimizer of tf\.train"):
        tpu.CrossShardOptimizer(tf.keras.optimizers.Adam())


def test_loops_run_and_nothing_is_compiled() -> None:
    assert tf.python.tpu.tpu_function.get_tpu_context().number_of_shards is None
    with tf.Session() as session:
        powers = tpu.repeat(3, lambda x, y: (x * 2, y + 1), [tf.constant(1), tf.constant(5)])
        assert session.run(powers) == [8, 8]
        last = tpu.while_loop(lambda x: x < 50, lambda x: x * 3, [tf.constant(1)])
        assert session.run(last) == 81
        assert session.run(tpu.outside_compilation(tf.add, 1, y=2)) == 3
        assert session.run(tpu.cross_replica_sum(tf.constant(4), [[0]])) == 4
    with pytest.raises(ValueError, match="infeed_queue must be None"):
        tpu.while_loop(lambda x: x < 5, lambda x: x, [1], infeed_queue=object())
    with pytest.raises(ValueError, match="but returns None"):
        tpu.repeat(3, lambda: None)
    with pytest.raises(ValueError, match="tensors first, and operations after them"):
        tpu.repeat(3, lambda x: [tf.no_op(), x], [1])


def test_loops_of_tpus_run_the_operations_that_their_body_returns(graph: tf.Graph) -> None:
    total = tf.get_variable("total", initializer=0.0)
    trained = tpu.repeat(3, lambda: total.assign_add(1.0).op)
    assert isinstance(trained, tf.Operation)
    both = tpu.repeat(2, lambda x: (x * 2, total.assign_add(10.0).op), [tf.constant(1)])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(trained) is None
        assert session.run(total) == 3.0
        assert session.run(both) == [4]
        assert session.run(total) == 23.0
