"""train_and_evaluate checks its arguments, evaluates new checkpoints and calls exporters."""

import json
import pathlib

import linear_estimator as linear
import pytest

import capstan as tf
from capstan.estimator import evaluator, training

Spec, EvalSpec = tf.estimator.TrainSpec, tf.estimator.EvalSpec


class Recorder(tf.estimator.Exporter):
    """Records its calls."""

    def __init__(self, name="recorder"):
        self._name, self.calls = name, []

    @property
    def name(self):
        return self._name

    def export(self, estimator, export_path, checkpoint_path, eval_result, is_the_final_export):
        step = int(eval_result["global_step"])
        self.calls.append((pathlib.Path(export_path).name, step, is_the_final_export))
        return step


@pytest.mark.parametrize(
    "make, error, message",
    [
        (lambda: Spec(1), TypeError, "`input_fn` must be callable"),
        (lambda: Spec(linear.input_fn, max_steps=0), ValueError, "max_steps > 0"),
        (lambda: Spec(linear.input_fn, hooks=[1]), TypeError, "SessionRunHook"),
        (lambda: EvalSpec(1), TypeError, "`input_fn` must be callable"),
        (lambda: EvalSpec(linear.input_fn, steps=0), ValueError, "steps > 0"),
        (lambda: EvalSpec(linear.input_fn, name=1), TypeError, "`name` must be string"),
        (lambda: EvalSpec(linear.input_fn, start_delay_secs=-1), ValueError, "start_delay_secs"),
        (lambda: EvalSpec(linear.input_fn, throttle_secs=-1), ValueError, "throttle_secs"),
        (lambda: EvalSpec(linear.input_fn, exporters=1), TypeError, "must be an Exporter"),
        (lambda: EvalSpec(linear.input_fn, exporters=[1]), TypeError, "must be an Exporter"),
        (lambda: EvalSpec(linear.input_fn, exporters=Recorder("")), ValueError, "`None` or empty"),
        (
            lambda: EvalSpec(linear.input_fn, exporters=[Recorder(), Recorder()]),
            ValueError,
            "unique names",
        ),
    ],
)
def test_specs_refuse_wrong_fields(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_train_and_evaluate_refuses_other_arguments(tmp_path):
    estimator, train = linear.estimator(tmp_path), Spec(linear.input_fn, max_steps=1)
    evaluation = EvalSpec(linear.input_fn)
    for arguments in (
        (1, train, evaluation),
        (estimator, 1, evaluation),
        (estimator, train, 1),
    ):
        with pytest.raises(TypeError, match="must have type"):
            tf.estimator.train_and_evaluate(*arguments)
    with pytest.raises(TypeError, match="`continuous_eval_listener` must have type"):
        training.TrainingExecutor(estimator, train, evaluation, continuous_eval_listener=3)


def test_a_second_evaluator_and_unknown_tasks_are_refused(tmp_path, monkeypatch):
    cluster = {"chief": ["h:1"], "cook": ["i:1"]}
    for task, message in (
        ({"type": "evaluator", "index": 1}, "only be one `evaluator`"),
        ({"type": "cook", "index": 0}, "Task type cook is not supported"),
    ):
        monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": cluster, "task": task}))
        with pytest.raises(ValueError, match=message):
            tf.estimator.train_and_evaluate(
                linear.estimator(tmp_path), Spec(linear.input_fn), EvalSpec(linear.input_fn)
            )


@pytest.mark.e2e
def test_without_a_cluster_each_checkpoint_is_evaluated_and_exported(tmp_path):
    recorder = Recorder()
    estimator = linear.estimator(tmp_path, save_checkpoints_steps=2)
    metrics, exports = tf.estimator.train_and_evaluate(
        estimator,
        Spec(linear.input_fn, max_steps=5),
        EvalSpec(linear.input_fn, exporters=recorder, throttle_secs=0),
    )
    assert recorder.calls == [("recorder", 2, False), ("recorder", 4, False), ("recorder", 5, True)]
    assert metrics["global_step"] == 5
    assert exports == [5]


@pytest.mark.e2e
def test_throttling_leaves_the_first_and_the_last_evaluation(tmp_path):
    recorder = Recorder()
    tf.estimator.train_and_evaluate(
        linear.estimator(tmp_path, save_checkpoints_steps=1),
        Spec(linear.input_fn, max_steps=5),
        EvalSpec(linear.input_fn, exporters=recorder, throttle_secs=3600),
    )
    assert [step for _, step, _ in recorder.calls] == [1, 5]


@pytest.mark.e2e
def test_an_evaluator_ends_at_the_last_step(tmp_path, monkeypatch):
    linear.estimator(tmp_path).train(linear.input_fn, max_steps=3)
    task = {"cluster": {"chief": ["h:1"]}, "task": {"type": "evaluator", "index": 0}}
    monkeypatch.setenv("TF_CONFIG", json.dumps(task))
    recorder = Recorder()
    tf.estimator.train_and_evaluate(
        linear.estimator(tmp_path),
        Spec(linear.input_fn, max_steps=3),
        EvalSpec(linear.input_fn, exporters=recorder, start_delay_secs=0),
    )
    assert recorder.calls == [("recorder", 3, True)]


class Listener(training.ContinuousEvalListener):
    """Ends an evaluator before or after its first attempt."""

    def __init__(self, is_before):
        self._is_before, self.paths = is_before, []

    def before_eval(self):
        return not self._is_before

    def after_eval(self, eval_result):
        self.paths.append(eval_result.checkpoint_path)
        return False


@pytest.mark.e2e
@pytest.mark.parametrize("is_before", [True, False])
def test_a_listener_ends_an_evaluator_before_the_last_step(tmp_path, monkeypatch, is_before):
    linear.estimator(tmp_path).train(linear.input_fn, max_steps=2)
    task = {"cluster": {"chief": ["h:1"]}, "task": {"type": "evaluator", "index": 0}}
    monkeypatch.setenv("TF_CONFIG", json.dumps(task))
    estimator, listener = linear.estimator(tmp_path), Listener(is_before)
    training.TrainingExecutor(
        estimator,
        Spec(linear.input_fn, max_steps=3),
        EvalSpec(linear.input_fn, start_delay_secs=0, throttle_secs=0),
        continuous_eval_listener=listener,
    ).run()
    assert listener.paths == ([] if is_before else [estimator.latest_checkpoint()])


def _export(exporter, estimator, folder, *, loss=1.0, is_final=False):
    return exporter.export(
        estimator, str(folder), estimator.latest_checkpoint(), {"loss": loss}, is_final
    )


@pytest.fixture
def trained(tmp_path):
    return linear.estimator(tmp_path / "model").train(linear.input_fn, steps=1)


@pytest.mark.e2e
def test_the_final_exporter_writes_at_the_end_only(trained, tmp_path):
    final = tf.estimator.FinalExporter("final", linear.receiver)
    assert _export(final, trained, tmp_path / "out") is None
    path = _export(final, trained, tmp_path / "out", is_final=True)
    assert [str(each).encode() for each in (tmp_path / "out").iterdir()] == [path]


def test_exporters_need_only_export_saved_model_of_an_estimator(tmp_path):
    class Served:
        def export_saved_model(self, export_dir_base, serving_input_receiver_fn, **options):
            assert serving_input_receiver_fn is linear.receiver
            return export_dir_base, options["checkpoint_path"]

    final = tf.estimator.FinalExporter("final", linear.receiver)
    assert final.export(Served(), "out", "model-1", {}, True) == ("out", "model-1")


@pytest.mark.e2e
def test_the_latest_exporter_keeps_the_newest_models(trained, tmp_path):
    latest = tf.estimator.LatestExporter("latest", linear.receiver, exports_to_keep=2)
    paths = [_export(latest, trained, tmp_path / "out") for _ in range(4)]
    assert sorted(str(each).encode() for each in (tmp_path / "out").iterdir()) == paths[2:]
    with pytest.raises(ValueError, match="must be positive"):
        tf.estimator.LatestExporter("latest", linear.receiver, exports_to_keep=0)


@pytest.mark.e2e
def test_the_best_exporter_writes_improvements_only(trained, tmp_path):
    best = tf.estimator.BestExporter("best", linear.receiver)
    written = [
        _export(best, trained, tmp_path / "out", loss=loss) is not None
        for loss in (3.0, 4.0, 2.0, 2.0)
    ]
    assert written == [True, False, True, False]


@pytest.mark.e2e
def test_after_a_restart_the_best_exporter_reads_old_results(trained, tmp_path):
    loss = trained.evaluate(linear.input_fn)["loss"]
    for factor, is_written in ((2.0, False), (0.5, True)):
        best = tf.estimator.BestExporter("best", linear.receiver)
        path = _export(best, trained, tmp_path / "out", loss=loss * factor)
        assert (path is not None) == is_written


@pytest.mark.parametrize(
    "compare_fn, message",
    [
        (None, "must not be None"),
        (lambda best_eval_result: 1, "current_eval_result"),
        (lambda best_eval_result, current_eval_result, cook: 1, "cook"),
    ],
)
def test_functions_that_cannot_compare_are_refused(compare_fn, message):
    with pytest.raises(ValueError, match=message):
        tf.estimator.BestExporter(serving_input_receiver_fn=linear.receiver, compare_fn=compare_fn)


@pytest.mark.e2e
def test_an_evaluator_waits_for_a_checkpoint_and_evaluates_it_once(tmp_path):
    status, recorder = evaluator.EvalStatus, Recorder()
    estimator = linear.estimator(tmp_path)
    evaluations = evaluator.Evaluator(
        estimator, EvalSpec(linear.input_fn, exporters=recorder), max_training_steps=None
    )
    assert evaluations.evaluate_and_export().status is status.MISSING_CHECKPOINT
    estimator.train(linear.input_fn, steps=1)
    found = [evaluations.evaluate_and_export().status for _ in range(2)]
    assert found == [status.EVALUATED, status.NO_NEW_CHECKPOINT]
    assert recorder.calls == [("recorder", 1, False)]
