"""`tf.contrib.predictor`: an exported model, or an estimator, as a function of arrays."""

from typing import Any

import numpy as np
import pytest

import capstan as tf

pytestmark = pytest.mark.e2e

predictor = tf.contrib.predictor
X, DOUBLE = [[1.0], [4.0]], [[2.0], [8.0]]


def double(features: Any, labels: Any, mode: Any) -> Any:
    weight = tf.get_variable("weight", initializer=[2.0])
    y = features["x"] * weight
    outputs = {
        "serving_default": tf.estimator.export.PredictOutput({"y": y}),
        "twice": tf.estimator.export.PredictOutput({"z": 2.0 * y}),
    }
    step = tf.assign_add(tf.train.get_or_create_global_step(), 1).op
    loss = tf.reduce_sum(y)
    return tf.estimator.EstimatorSpec(mode, y, loss, step, export_outputs=outputs)


def receive() -> Any:
    x = tf.placeholder(tf.float32, [None, 1], name="input")
    return tf.estimator.export.ServingInputReceiver({"x": x}, {"feature": x})


@pytest.fixture(scope="module")
def estimator(tmp_path_factory: pytest.TempPathFactory) -> Any:
    trained = tf.estimator.Estimator(double, str(tmp_path_factory.mktemp("model")))
    trained.train(lambda: {"x": tf.constant(X)}, steps=1)
    return trained


@pytest.fixture(scope="module")
def exported(estimator: Any, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("exports")
    return str(estimator.export_saved_model(str(folder), receive).decode())


def test_a_saved_model_becomes_a_function(exported: str) -> None:
    call = predictor.from_saved_model(exported)
    np.testing.assert_array_equal(call({"feature": X})["y"], DOUBLE)
    assert list(call.feed_tensors) == ["feature"]
    assert list(call.fetch_tensors) == ["y"]
    assert call.session.graph is call.graph


def test_a_signature_or_names_of_tensors_choose_the_outputs(exported: str) -> None:
    call = predictor.from_saved_model(exported, signature_def_key="twice", tags="serve")
    np.testing.assert_array_equal(call({"feature": X})["z"], 2 * np.array(DOUBLE))
    call = predictor.from_saved_model(
        exported, input_names={"a": "input:0"}, output_names={"b": "mul:0"}
    )
    np.testing.assert_array_equal(call({"a": X})["b"], DOUBLE)


def test_an_estimator_becomes_a_function(estimator: Any) -> None:
    call = predictor.from_estimator(estimator, receive, output_key="twice")
    np.testing.assert_array_equal(call({"feature": X})["z"], 2 * np.array(DOUBLE))
    with pytest.raises(KeyError, match=r"output_key must be one of .*serving_default"):
        predictor.from_estimator(estimator, receive, output_key="none")


def test_unknown_inputs_and_contradictions_are_refused(exported: str) -> None:
    with pytest.raises(ValueError, match="unexpected keys in input_dict"):
        predictor.from_saved_model(exported)({"wrong": X})
    with pytest.raises(ValueError, match="Available signatures are"):
        predictor.from_saved_model(exported, signature_def_key="none")
    with pytest.raises(ValueError, match="must both be specified"):
        predictor.from_saved_model(exported, input_names={})
    with pytest.raises(ValueError, match="at most one of"):
        predictor.from_saved_model(exported, "twice", input_names={}, output_names={})
