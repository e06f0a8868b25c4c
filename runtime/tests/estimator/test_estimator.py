"""An estimator trains, evaluates, predicts and is exported, and its checkpoints carry the model."""

import functools
import pathlib

import linear_estimator as linear
import numpy as np
import pytest

import capstan as tf

pytestmark = pytest.mark.e2e

PREDICT = tf.estimator.ModeKeys.PREDICT


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    estimator = linear.estimator(tmp_path_factory.mktemp("model"), save_checkpoints_steps=60)
    return estimator.train(linear.input_fn, steps=120)


def test_training_reaches_the_steps_and_saves_checkpoints(trained):
    assert trained.latest_checkpoint().endswith("model.ckpt-120")
    assert sorted(trained.get_variable_names()) == ["dense/bias", "dense/kernel", "global_step"]
    np.testing.assert_allclose(trained.get_variable_value("dense/kernel"), [[1.0], [2.0]], atol=0.2)
    saved = tf.train.get_checkpoint_state(trained.model_dir).all_model_checkpoint_paths
    assert [pathlib.Path(path).name for path in saved] == [
        f"model.ckpt-{step}" for step in (0, 60, 120)
    ]


def test_steps_add_up_and_max_steps_is_a_limit(tmp_path):
    estimator = linear.estimator(tmp_path)
    estimator.train(linear.input_fn, steps=2).train(linear.input_fn, steps=2)
    assert estimator.get_variable_value("global_step") == 4
    estimator.train(linear.input_fn, max_steps=5).train(linear.input_fn, max_steps=5)
    assert estimator.get_variable_value("global_step") == 5
    for steps in ({"steps": 0}, {"max_steps": -1}, {"steps": 1, "max_steps": 1}):
        with pytest.raises(ValueError, match="steps"):
            estimator.train(linear.input_fn, **steps)


def test_training_ends_with_the_input(tmp_path):
    estimator = linear.estimator(tmp_path)
    estimator.train(functools.partial(linear.input_fn, mode="one epoch"))
    assert estimator.get_variable_value("global_step") == 4


def test_an_evaluation_returns_and_writes_metrics(trained):
    results = trained.evaluate(linear.input_fn, steps=2, name="two")
    assert set(results) == {"loss", "mse", "global_step"}
    assert results["global_step"] == 120
    np.testing.assert_allclose(results["loss"], results["mse"], rtol=1e-5)
    assert pathlib.Path(trained.eval_dir("two")).name == "eval_two"
    (events,) = pathlib.Path(trained.eval_dir("two")).iterdir()
    written = {
        value.tag: value
        for event in tf.train.summary_iterator(str(events))
        for value in event.summary.value
    }
    assert written["loss"].simple_value == pytest.approx(results["loss"])
    assert written["checkpoint_path"].tensor.string_val == [trained.latest_checkpoint().encode()]


def test_steps_limit_the_batches_of_an_evaluation(trained):
    seen = []

    class Counter(tf.train.SessionRunHook):
        def after_run(self, run_context, run_values):
            seen.append(1)

    trained.evaluate(linear.input_fn, steps=3, hooks=[Counter()])
    assert len(seen) == 3


def test_older_checkpoints_can_be_evaluated(trained):
    path = f"{trained.model_dir}/model.ckpt-0"
    first = trained.evaluate(linear.input_fn, checkpoint_path=path)
    assert first["global_step"] == 0
    assert first["loss"] > trained.evaluate(linear.input_fn)["loss"]


def test_metrics_with_reserved_names_are_refused(tmp_path):
    def model_fn(features, labels, mode):
        loss = tf.reduce_mean(labels)
        return tf.estimator.EstimatorSpec(
            mode, loss=loss, eval_metric_ops={"loss": tf.metrics.mean(labels)}
        )

    estimator = tf.estimator.Estimator(model_fn, str(tmp_path))
    with pytest.raises(ValueError, match="`loss` is not allowed"):
        estimator.evaluate(linear.input_fn)


def test_predictions_come_by_example_or_by_batch(trained):
    examples = list(trained.predict(linear.input_fn))
    batches = list(trained.predict(linear.input_fn, yield_single_examples=False))
    assert [each["y"].shape for each in batches] == [(16, 1)] * 4
    np.testing.assert_array_equal(
        np.stack([each["y"] for each in examples]),
        np.concatenate([each["y"] for each in batches]),
    )


def test_two_predictions_may_run_at_the_same_time_and_the_default_graph_stays(trained):
    before = tf.get_default_graph()
    first, second = trained.predict(linear.input_fn), trained.predict(linear.input_fn)
    for left, right in zip(first, second, strict=True):
        assert left["y"] == right["y"]
        assert tf.get_default_graph() is before


def test_predict_keys_choose_predictions(tmp_path):
    def model_fn(features, labels, mode):
        x = features["x"]
        return tf.estimator.EstimatorSpec(mode, predictions={"a": x, "b": x[:1]})

    estimator = tf.estimator.Estimator(model_fn, str(tmp_path))
    for keys in (["a"], "a"):
        assert set(next(estimator.predict(linear.input_fn, predict_keys=keys))) == {"a"}
    with pytest.raises(ValueError, match="Expected to run at least one output"):
        next(estimator.predict(linear.input_fn, predict_keys=["c"]))
    with pytest.raises(ValueError, match="Batch length of predictions should be same"):
        next(estimator.predict(linear.input_fn))


def test_a_model_starts_from_the_checkpoint_or_saved_model_of_another(trained, tmp_path):
    export = trained.export_saved_model(tmp_path / "export", linear.receiver).decode()
    expected = trained.evaluate(linear.input_fn)["loss"]
    for source in (
        trained.model_dir,
        export,
        tf.estimator.WarmStartSettings(export + "/variables/variables"),
    ):
        warm = tf.estimator.Estimator(
            linear.model_fn, str(tmp_path / "warm"), params={"rate": 0.1}, warm_start_from=source
        )
        results = warm.evaluate(linear.input_fn)
        assert results["global_step"] == 0
        np.testing.assert_allclose(results["loss"], expected)


def test_an_export_serves_the_predictions(trained, tmp_path):
    extra = tmp_path / "words"
    extra.write_text("a")
    path = trained.export_saved_model(
        tmp_path / "export", linear.receiver, assets_extra={"sub/words": str(extra)}
    ).decode()
    assert (pathlib.Path(path) / "assets.extra" / "sub" / "words").read_text() == "a"
    with tf.Graph().as_default(), tf.Session() as session:
        model = tf.saved_model.loader.load(session, [tf.saved_model.tag_constants.SERVING], path)
        signature = model.signature_def["serving_default"]
        y = session.run(
            signature.outputs["y"].name, {signature.inputs["x"].name: [[1.0, 0.0], [0.0, 1.0]]}
        )
    np.testing.assert_allclose(y, [[1.0], [2.0]], atol=0.3)


def test_exports_of_one_second_have_names_of_their_own(trained, tmp_path):
    paths = [trained.export_saved_model(tmp_path, linear.receiver) for _ in range(3)]
    assert len(set(paths)) == 3
    assert paths == sorted(paths)
    assert {path.decode() for path in paths} == {str(each) for each in tmp_path.iterdir()}


def test_one_saved_model_can_hold_the_graph_of_each_mode(trained, tmp_path):
    def supervised():
        x, y = tf.placeholder(tf.float32, [None, 2]), tf.placeholder(tf.float32, [None, 1])
        return tf.estimator.export.SupervisedInputReceiver({"x": x}, y, {"x": x, "y": y})

    path = trained.experimental_export_all_saved_models(
        tmp_path, {"train": supervised, "eval": supervised, PREDICT: linear.receiver}
    ).decode()
    for tag, signature in (("train", "train"), ("eval", "eval"), ("serve", "serving_default")):
        with tf.Graph().as_default(), tf.Session() as session:
            model = tf.saved_model.loader.load(session, [tag], path)
            assert list(model.signature_def) == [signature]


def test_exports_without_a_checkpoint_or_with_missing_variables_are_refused(trained, tmp_path):
    with pytest.raises(ValueError, match="Couldn't find trained model"):
        linear.estimator(tmp_path).export_saved_model(tmp_path, linear.receiver)

    def model_fn(features, labels, mode):
        tf.get_variable("new", [])
        return tf.estimator.EstimatorSpec(mode, predictions=features["x"])

    other = tf.estimator.Estimator(model_fn, trained.model_dir)
    with pytest.raises(ValueError, match="Could not load all requested variables"):
        other.export_saved_model(tmp_path, linear.receiver)


def test_functions_get_the_arguments_that_they_name(tmp_path):
    given = {}

    def input_fn(config, params):
        given["input"] = (config.task_type, params)
        return tf.constant([1.0])

    def model_fn(features, mode, config, params):
        given["model"] = (mode, config.task_type, params)
        return tf.estimator.EstimatorSpec(mode, predictions=features)

    estimator = tf.estimator.Estimator(model_fn, str(tmp_path), params={"a": 1})
    next(estimator.predict(input_fn))
    assert given == {"input": ("worker", {"a": 1}), "model": (PREDICT, "worker", {"a": 1})}


@pytest.mark.parametrize(
    "model_fn, params, message",
    [
        (None, None, "model_fn must be provided"),
        (lambda labels: None, None, "must include features"),
        (lambda features: None, {"a": 1}, "does not include params"),
        (lambda features, cook: None, None, "not expected args: \\['cook'\\]"),
    ],
)
def test_a_model_fn_with_wrong_arguments_is_refused(model_fn, params, message):
    with pytest.raises(ValueError, match=message):
        tf.estimator.Estimator(model_fn, "folder", params=params)


def test_subclasses_may_add_methods_and_not_override_them(tmp_path):
    class Added(tf.estimator.Estimator):
        def describe(self):
            return "linear"

    class Overridden(tf.estimator.Estimator):
        def evaluate(self):
            return {}

    assert Added(linear.model_fn, str(tmp_path)).describe() == "linear"
    with pytest.raises(ValueError, match=r"cannot override .*\['evaluate'\]"):
        Overridden(linear.model_fn, str(tmp_path))


def test_a_program_may_switch_off_the_check_of_its_subclasses(tmp_path, monkeypatch):
    class Overridden(tf.estimator.Estimator):
        def evaluate(self):
            return self._model_dir

    monkeypatch.setattr(
        tf.estimator.Estimator, "_assert_members_are_not_overridden", lambda estimator: None
    )
    assert Overridden(linear.model_fn, str(tmp_path)).evaluate() == str(tmp_path)


def test_a_listener_needs_checkpoints_and_is_called_for_each(tmp_path):
    steps = []

    class Listener(tf.train.CheckpointSaverListener):
        def after_save(self, session, global_step_value):
            steps.append(global_step_value)

    silent = linear.estimator(tmp_path, save_checkpoints_secs=None, save_checkpoints_steps=None)
    with pytest.raises(ValueError, match="There should be a CheckpointSaverHook"):
        silent.train(linear.input_fn, steps=1, saving_listeners=[Listener()])
    estimator = linear.estimator(tmp_path, save_checkpoints_steps=2)
    estimator.train(linear.input_fn, steps=5, saving_listeners=[Listener()])
    assert steps == [0, 2, 4, 5]
    with pytest.raises(TypeError, match="CheckpointSaverListener"):
        estimator.train(linear.input_fn, steps=1, saving_listeners=[1])
    with pytest.raises(TypeError, match="SessionRunHook"):
        estimator.train(linear.input_fn, steps=1, hooks=[1])


def test_metrics_can_be_added_to_an_estimator(trained):
    def metric_fn(labels, predictions):
        return {"mean": tf.metrics.mean(labels), "y": tf.metrics.mean(predictions["y"])}

    results = tf.estimator.add_metrics(trained, metric_fn).evaluate(linear.input_fn)
    assert set(results) == {"loss", "mse", "mean", "y", "global_step"}
    np.testing.assert_allclose(results["mean"], results["y"], atol=0.1)
    with pytest.raises(ValueError, match=r"not expected args: \['cook'\]"):
        tf.estimator.add_metrics(trained, lambda cook: {})
