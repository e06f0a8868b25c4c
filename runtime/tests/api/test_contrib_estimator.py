"""`tf.contrib.estimator` extends estimators and optimizers, and names heads and exports."""

import pathlib
from typing import Any

import numpy as np
import pytest

import capstan as tf
from capstan.estimator import stop_at_checkpoint

pytestmark = pytest.mark.e2e

contrib, experimental = tf.contrib.estimator, tf.estimator.experimental
MODES = tf.estimator.ModeKeys
X = np.array([[1.0], [3.0]], np.float32)


def features() -> Any:
    return {"x": tf.constant(X), "key": tf.constant(["a", "b"])}


def model(folder: Any) -> Any:
    return tf.estimator.LinearRegressor([tf.feature_column.numeric_column("x")], folder)


def test_heads_have_the_older_order_of_arguments() -> None:
    with tf.Graph().as_default():
        weights = {"w": tf.constant([[2.0], [0.0]])}
        for head, wanted in (
            (contrib.regression_head("w", 1), 2 * 1.0 / 2),
            (contrib.poisson_regression_head("w", 1, compute_full_loss=False), 2 * np.e / 2),
        ):
            loss = head.loss(tf.zeros([2, 1]), tf.constant([[1.0], [5.0]]), weights)
            with tf.Session() as session:
                np.testing.assert_allclose(session.run(loss), wanted, rtol=1e-5)
    assert contrib.multi_head([contrib.multi_label_head(2, name="a")]).logits_dimension == 2


def test_features_are_forwarded_to_the_predictions(tmp_path: pathlib.Path) -> None:
    wrapped = contrib.forward_features(model(tmp_path), "key")
    wrapped.train(lambda: (features(), tf.constant([[1.0], [2.0]])), steps=1)
    found = list(wrapped.predict(lambda: tf.data.Dataset.from_tensors(features())))
    assert [each["key"] for each in found] == [b"a", b"b"]
    assert sorted(found[0]) == ["key", "predictions"]
    with tf.Graph().as_default():
        tf.train.create_global_step()
        spec = wrapped.model_fn(features(), None, MODES.PREDICT, wrapped.config)
        assert sorted(spec.export_outputs["predict"].outputs) == ["key", "predictions"]


def test_a_sparse_feature_is_forwarded_with_its_default(tmp_path: pathlib.Path) -> None:
    with tf.Graph().as_default():
        tf.train.create_global_step()
        sparse = tf.SparseTensor([[0, 0]], [5], [2, 2])
        given = {"x": tf.constant(X), "ids": sparse}
        wrapped = contrib.forward_features(model(tmp_path), ["ids"], {"ids": -1})
        spec = wrapped.model_fn(given, None, MODES.PREDICT, wrapped.config)
        with tf.Session() as session:
            assert session.run(spec.predictions["ids"]).tolist() == [[5, -1], [-1, -1]]
    with tf.Graph().as_default():
        given = {"x": tf.constant(X), "ids": tf.SparseTensor([[0, 0]], [5], [2, 2])}
        wrapped = contrib.forward_features(model(tmp_path), "ids")
        with pytest.raises(ValueError, match="should be a Tensor"):
            wrapped.model_fn(given, None, MODES.PREDICT, wrapped.config)


@pytest.mark.parametrize(
    "keys, kind, message",
    [
        (3, TypeError, "either a string or a list"),
        ([3], TypeError, "should be a string"),
        ("absent", ValueError, 'Key "absent" is not in features'),
        ("predictions", ValueError, r"Cannot forward feature key \(predictions\)"),
    ],
)
def test_wrong_keys_are_refused(keys: Any, kind: type[Exception], message: str) -> None:
    def forward() -> None:
        wrapped = contrib.forward_features(model(None), keys)
        given = {**features(), "predictions": tf.constant(X)}
        wrapped.model_fn(given, None, MODES.PREDICT, wrapped.config)

    with tf.Graph().as_default(), pytest.raises(kind, match=message):
        forward()


def test_gradients_are_clipped_together_before_they_are_applied() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        first, second = tf.Variable([3.0, 0.0]), tf.Variable([4.0])
        inner = tf.train.MomentumOptimizer(1.0, 0.9)
        optimizer = contrib.clip_gradients_by_norm(inner, 1.0)
        assert optimizer.get_name() == "ClipByNormMomentum"
        loss = tf.reduce_sum(tf.square(first)) / 2 + tf.reduce_sum(tf.square(second)) / 2
        step = tf.train.create_global_step()
        train = optimizer.minimize(loss, step)
        session.run(tf.global_variables_initializer())
        session.run(train)
        np.testing.assert_allclose(session.run(first), [3.0 - 0.6, 0.0], rtol=1e-5)
        np.testing.assert_allclose(session.run(second), [4.0 - 0.8], rtol=1e-5)
        assert session.run(step) == 1
        assert optimizer.get_slot_names() == ["momentum"]
        assert optimizer.get_slot(first, "momentum") is inner.get_slot(first, "momentum")
        assert optimizer.variables() == inner.variables()


def test_functions_of_logits_build_the_canned_models() -> None:
    columns = [tf.feature_column.numeric_column("x")]
    with tf.Graph().as_default(), tf.Session() as session:
        deep = experimental.dnn_logit_fn_builder(2, [3], columns, tf.nn.relu, None, None, False)
        wide = experimental.linear_logit_fn_builder(2, columns)
        called = [
            experimental.call_logit_fn(each, features(), MODES.TRAIN, None, None)
            for each in (deep, wide)
        ]
        names = {variable.op.name for variable in tf.trainable_variables()}
        assert names == {
            "hiddenlayer_0/kernel", "hiddenlayer_0/bias", "logits/kernel", "logits/bias",
            "linear_model/x/weights", "linear_model/bias_weights",
        }  # fmt: skip
        session.run(tf.global_variables_initializer())
        assert [each.shape for each in session.run(called)] == [(2, 2), (2, 2)]
    with pytest.raises(ValueError, match="units must be an int"):
        experimental.dnn_logit_fn_builder(2.0, [3], columns, None, None, None, False)
    with pytest.raises(ValueError, match="should return a Tensor"):
        contrib.call_logit_fn(lambda features, params: params, {}, MODES.TRAIN, [1], None)


def test_a_graph_is_exported_for_features_and_labels(tmp_path: pathlib.Path) -> None:
    estimator = model(tmp_path / "model")
    estimator.train(lambda: (features(), tf.constant([[1.0], [2.0]])), steps=1)
    with tf.Graph().as_default():
        receiver = experimental.build_raw_supervised_input_receiver_fn(
            {"x": tf.constant(X)}, tf.constant([[1.0]])
        )
        with pytest.raises(ValueError, match=r"overlapping keys: \{'x'\}"):
            experimental.build_raw_supervised_input_receiver_fn(
                {"x": tf.constant(X)}, {"x": tf.constant(X)}
            )
    folder = contrib.export_all_saved_models(
        estimator, str(tmp_path / "all"), {MODES.EVAL: receiver}
    )
    with tf.Graph().as_default(), tf.Session() as session:
        loaded = tf.saved_model.loader.load(session, ["eval"], folder.decode())
        signature = loaded.signature_def["eval"]
        feeds = {signature.inputs["x"].name: X, signature.inputs["label"].name: [[1.0], [2.0]]}
        assert session.run(signature.outputs["loss"].name, feeds) > 0.0

    def batches(labels: Any) -> Any:
        return tf.data.Dataset.from_tensors((features(), labels))

    receiver = contrib.build_supervised_input_receiver_fn_from_input_fn(batches, labels=[[1.0]])
    with tf.Graph().as_default() as graph:
        assert receiver().receiver_tensors.keys() == {"x", "key", "label"}
        assert {op.type for op in graph.get_operations()} == {"Placeholder"}
    serving = tf.estimator.export.build_raw_serving_input_receiver_fn
    with tf.Graph().as_default():
        receiver = serving({"x": tf.constant(X)})
    one = contrib.export_saved_model_for_mode(estimator, str(tmp_path / "one"), receiver)
    assert (pathlib.Path(one.decode()) / "saved_model.pb").exists()


@pytest.mark.parametrize("saved, stops", [(4, True), (3, False)])
def test_a_worker_stops_when_the_last_step_is_saved(saved: int, stops: bool) -> None:
    hook = stop_at_checkpoint.StopAtCheckpointStepHook(lambda: saved, 4, 0)
    with tf.Graph().as_default():
        step = tf.train.create_global_step()
        train = tf.assign_add(step, 1)
        counted = []
        with tf.train.MonitoredSession(hooks=[hook]) as session:
            while not session.should_stop() and len(counted) < 9:
                counted.append(session.run(train))
    assert (len(counted) < 9) == stops


def test_the_chief_stops_at_the_last_step(tmp_path: pathlib.Path) -> None:
    estimator = model(tmp_path)
    hook = contrib.make_stop_at_checkpoint_step_hook(estimator, 3)
    estimator.train(lambda: (features(), tf.constant([[1.0], [2.0]])), hooks=[hook])
    assert estimator.get_variable_value("global_step") == 3
    with pytest.raises(ValueError, match="last_step must be specified"):
        stop_at_checkpoint.StopAtCheckpointStepHook(lambda: 0, None, 0)  # type: ignore[arg-type]


@pytest.mark.parametrize("devices", [None, ["/cpu:0"]])
def test_a_model_is_replicated_on_one_device(devices: Any, tmp_path: pathlib.Path) -> None:
    def model_fn(features: Any, labels: Any, mode: str, params: Any) -> Any:
        value = tf.get_variable("value", initializer=params["start"])
        loss = tf.reduce_sum(tf.square(value) * features) / 2
        assert loss.device == ("" if devices is None else "/device:CPU:0")
        optimizer = contrib.TowerOptimizer(lambda: tf.train.GradientDescentOptimizer(0.5))
        train = optimizer.minimize(loss, tf.train.get_global_step())
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train)

    replicated = contrib.replicate_model_fn(model_fn, devices=devices)
    estimator = tf.estimator.Estimator(replicated, tmp_path, params={"start": 8.0})
    estimator.train(lambda: (tf.constant(1.0), None), steps=2)
    assert estimator.get_variable_value("value") == 2.0


def test_replicas_on_several_devices_are_refused() -> None:
    with pytest.raises(ValueError, match="run a worker for each GPU"):
        contrib.replicate_model_fn(lambda features: features, devices=["/gpu:0", "/gpu:1"])
    with pytest.raises(ValueError, match="none reduction is specified"):
        contrib.replicate_model_fn(lambda features: features, tf.losses.Reduction.NONE)
    optimizer = tf.train.GradientDescentOptimizer(0.5)
    with tf.Graph().as_default():
        assert contrib.TowerOptimizer(optimizer).get_slot_names() == []
