"""An estimator that starts from a SavedModel goes on where the exported estimator ended."""

import pathlib
from typing import Any

import numpy as np
import pytest

import capstan as tf
from capstan import contrib

pytestmark = pytest.mark.e2e

MODES = tf.estimator.ModeKeys
WORDS = ["green", "yellow"]


def model_fn(features: Any, labels: Any, mode: str, params: Any) -> Any:
    table = tf.contrib.lookup.index_table_from_file(params["words"])
    ids = tf.one_hot(table.lookup(features["word"]), 2)
    weights = tf.get_variable("weights", [2, 1], initializer=tf.zeros_initializer())
    outputs = tf.matmul(ids, weights)[:, 0] + features["x"] * tf.constant(0.5)
    predictions = {"y": outputs, "x": features["x"]}
    if mode == MODES.PREDICT:
        exported = {"serving_default": tf.estimator.export.PredictOutput(predictions)}
        return tf.estimator.EstimatorSpec(mode, predictions, export_outputs=exported)
    loss = tf.reduce_mean((outputs - labels) ** 2)
    optimizer = tf.train.MomentumOptimizer(0.1, 0.9)
    return tf.estimator.EstimatorSpec(
        mode,
        predictions,
        loss,
        optimizer.minimize(loss, tf.train.get_global_step()),
        eval_metric_ops={"error": tf.metrics.mean_absolute_error(labels, outputs)},
    )


def input_fn() -> Any:
    features = {"word": tf.constant(["green", "green", "yellow"]), "x": tf.constant([3.5, 4, 6])}
    labels = tf.constant([1.0, 0.0, 0.0])
    return tf.data.Dataset.from_tensors((features, labels)).repeat()


def predicted() -> Any:
    return {"word": tf.constant(WORDS), "x": tf.constant([0.0, 1.0])}


def supervised() -> Any:
    features = {"word": tf.placeholder(tf.string, [None]), "x": tf.placeholder(tf.float32, [None])}
    return tf.estimator.experimental.build_raw_supervised_input_receiver_fn(
        features, tf.placeholder(tf.float32, [None])
    )()


def serving() -> Any:
    features = {"word": tf.placeholder(tf.string, [None]), "x": tf.placeholder(tf.float32, [None])}
    return tf.estimator.export.ServingInputReceiver(features, features)


@pytest.fixture
def trained(tmp_path: pathlib.Path) -> tf.estimator.Estimator:
    words = tmp_path / "words"
    words.write_text("\n".join(WORDS))
    estimator = tf.estimator.Estimator(model_fn, tmp_path / "model", params={"words": str(words)})
    estimator.train(input_fn, steps=5)
    return estimator


def exported(estimator: Any, folder: pathlib.Path, *modes: str) -> str:
    receivers = {mode: serving if mode == MODES.PREDICT else supervised for mode in modes}
    found = contrib.estimator.export_all_saved_models(estimator, folder, receivers)
    return str(found.decode())


def predictions(estimator: Any) -> list[dict[str, float]]:
    found = estimator.predict(predicted)
    return [{name: float(value) for name, value in next(found).items()} for _ in WORDS]


def test_every_mode_goes_on_with_the_values_of_the_saved_model(
    trained: Any, tmp_path: pathlib.Path
) -> None:
    folder = exported(trained, tmp_path / "saved", MODES.TRAIN, MODES.EVAL, MODES.PREDICT)
    before, first = trained.evaluate(input_fn, 2), predictions(trained)
    trained.train(input_fn, steps=3)
    wanted, last = trained.evaluate(input_fn, 1), trained.get_variable_value("weights")
    # The SavedModel has a copy of the words.
    (tmp_path / "words").unlink()

    loaded = contrib.estimator.SavedModelEstimator(folder, tmp_path / "loaded")
    after = loaded.evaluate(input_fn, 2)
    assert after["metrics/error"] == before["error"]
    assert (after["loss"], after["global_step"]) == (before["loss"], 5)
    assert predictions(loaded) == first
    loaded.train(input_fn, steps=3)
    np.testing.assert_array_equal(loaded.get_variable_value("weights"), last)
    assert loaded.get_variable_value("global_step") == 8
    again = contrib.estimator.SavedModelEstimator(
        exported(loaded, tmp_path / "again", MODES.EVAL), tmp_path / "again_model"
    )
    assert again.evaluate(input_fn, 1)["loss"] == wanted["loss"]


def test_a_missing_mode_and_wrong_inputs_are_refused(trained: Any, tmp_path: pathlib.Path) -> None:
    folder = exported(trained, tmp_path / "saved", MODES.EVAL)
    loaded = contrib.estimator.SavedModelEstimator(folder, tmp_path / "loaded")
    with pytest.raises(RuntimeError, match="could not be found"):
        loaded.train(input_fn, steps=1)
    with pytest.raises(ValueError, match='Key "label" not found'):
        loaded.evaluate(predicted, 1)
    with pytest.raises(ValueError, match="validation failed for input x"):
        loaded.evaluate(
            lambda: ({"word": tf.constant(WORDS), "x": tf.constant([1, 2])}, tf.constant([0.0])), 1
        )

    def with_step() -> Any:
        tf.train.create_global_step()
        return input_fn()

    with pytest.raises(RuntimeError, match="must not contain a global step"):
        loaded.evaluate(with_step, 1)
    with pytest.raises(OSError, match="SavedModel file does not exist"):
        contrib.estimator.SavedModelEstimator(str(tmp_path / "none"))
