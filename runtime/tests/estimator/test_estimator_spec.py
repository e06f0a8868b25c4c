"""EstimatorSpec, ExportOutput and ServingInputReceiver check what a model_fn returns."""

import subprocess
import sys

import pytest

import capstan as tf
from capstan.estimator import export

TRAIN, EVAL, PREDICT = tf.estimator.ModeKeys.TRAIN, "eval", "infer"


@pytest.fixture(autouse=True)
def _graph():
    with tf.Graph().as_default():
        yield


@pytest.mark.e2e
def test_importing_capstan_does_not_load_estimators():
    program = "import capstan, sys; sys.exit('capstan.estimator' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


@pytest.mark.parametrize(
    "mode, fields, missing",
    [
        (TRAIN, {"loss"}, "Missing train_op"),
        (TRAIN, {"train_op"}, "Missing loss"),
        (EVAL, {"predictions"}, "Missing loss"),
        (PREDICT, {"loss"}, "Missing predictions"),
    ],
)
def test_each_mode_needs_its_fields(mode, fields, missing):
    given = {"loss": tf.constant(1.0), "train_op": tf.no_op(), "predictions": tf.constant([1.0])}
    with pytest.raises(ValueError, match=missing):
        tf.estimator.EstimatorSpec(mode, **{name: given[name] for name in fields})


@pytest.mark.parametrize(
    "fields, error, message",
    [
        ({"loss": 1.0}, TypeError, "loss must be Tensor"),
        ({"predictions": {"x": 1.0}}, TypeError, r"predictions\[x\] must be Tensor"),
        ({"eval_metric_ops": [1]}, TypeError, "must be a dict"),
        ({"eval_metric_ops": {"m": 1}}, TypeError, "update_op"),
        ({"training_hooks": [1]}, TypeError, "SessionRunHook"),
        ({"scaffold": 1}, TypeError, "scaffold must be"),
        ({"export_outputs": [1]}, TypeError, "must be dict"),
        ({"export_outputs": {"x": 1}}, TypeError, "ExportOutput objects"),
    ],
)
def test_fields_of_a_wrong_type_are_refused(fields, error, message):
    given = {"loss": tf.constant(1.0), "predictions": tf.constant([1.0])}
    with pytest.raises(error, match=message):
        tf.estimator.EstimatorSpec(PREDICT, **{**given, **fields})


def test_a_loss_of_one_element_becomes_a_scalar_and_larger_losses_are_refused():
    spec = tf.estimator.EstimatorSpec(EVAL, loss=tf.constant([1.0]))
    assert spec.loss.shape == []
    with pytest.raises(ValueError, match="Loss must be scalar"):
        tf.estimator.EstimatorSpec(EVAL, loss=tf.constant([1.0, 2.0]))


def test_tensors_of_another_graph_are_refused():
    other = tf.constant(1.0)
    with tf.Graph().as_default(), pytest.raises(ValueError, match="from the default graph"):
        tf.estimator.EstimatorSpec(EVAL, loss=other)


def test_predictions_become_the_default_export_output():
    spec = tf.estimator.EstimatorSpec(PREDICT, predictions=tf.constant([1.0], name="p"))
    assert spec.export_outputs["serving_default"].outputs["output"].op.name == "p"


def test_a_single_export_output_also_becomes_the_default():
    output = export.PredictOutput(tf.constant(1.0))
    given = {"predictions": tf.constant(1.0)}
    spec = tf.estimator.EstimatorSpec(PREDICT, export_outputs={"a": output}, **given)
    assert spec.export_outputs == {"a": output, "serving_default": output}
    with pytest.raises(ValueError, match="none of them is specified as the default"):
        tf.estimator.EstimatorSpec(PREDICT, export_outputs={"a": output, "b": output}, **given)


def test_replace_keeps_the_mode_and_checks_fields():
    spec = tf.estimator.EstimatorSpec(EVAL, loss=tf.constant(1.0))
    hook = tf.train.SessionRunHook()
    assert spec._replace(evaluation_hooks=[hook]).evaluation_hooks == (hook,)
    with pytest.raises(ValueError, match="mode of EstimatorSpec cannot be changed"):
        spec._replace(mode=TRAIN)


def test_the_outputs_of_classifiers_and_regressions_become_signatures():
    examples = {"examples": tf.placeholder(tf.string, [None])}
    scores = export.ClassificationOutput(tf.constant([0.5])).as_signature_def(examples)
    value = export.RegressionOutput(tf.constant([0.5])).as_signature_def(examples)
    assert tf.saved_model.is_valid_signature(scores)
    assert tf.saved_model.is_valid_signature(value)
    with pytest.raises(ValueError, match="single string Tensor"):
        export.RegressionOutput(tf.constant([0.5])).as_signature_def({"x": tf.constant(1)})
    with pytest.raises(ValueError, match="At least one of scores and classes"):
        export.ClassificationOutput()


def test_updates_of_metrics_become_tensors_of_the_signature():
    output = export.EvalOutput(metrics={"mean": (tf.constant(1.0), tf.no_op(name="update"))})
    assert set(output.metrics) == {"metrics/mean/value", "metrics/mean/update_op"}
    wrapped = output.metrics["metrics/mean/update_op"]
    assert [each.name for each in wrapped.op.control_inputs] == ["update"]


def test_single_tensors_of_receivers_get_names():
    x, text = tf.constant([1.0]), tf.placeholder(tf.string)
    named = export.ServingInputReceiver(x, text, {"raw": x})
    assert named == ({"feature": x}, {"input": text}, {"raw": {"input": x}})
    assert export.TensorServingInputReceiver(x, text).features is x
    with pytest.raises(ValueError, match="must be a Tensor or SparseTensor"):
        export.ServingInputReceiver({"x": 1}, text)
    with pytest.raises(ValueError, match="receiver_tensors must be defined"):
        export.ServingInputReceiver(x, None)


def test_features_and_labels_of_receivers_may_have_numbers_as_keys():
    x, text = tf.constant([1.0]), tf.placeholder(tf.string)
    assert export.ServingInputReceiver({42: x}, text).features == {42: x}
    supervised = export.SupervisedInputReceiver({"a": x, 42: x}, {43: x}, text)
    assert supervised.labels == {43: x}
    with pytest.raises(ValueError, match=r"feature keys must be strings or ints: 42\.2"):
        export.ServingInputReceiver({42.2: x}, text)
    with pytest.raises(ValueError, match="receiver_tensor keys must be strings: 1"):
        export.ServingInputReceiver(x, {1: text})


def test_variables_of_keras_metrics_are_local_and_metric_variables():
    metric = tf.keras.metrics.Mean()
    metric.update_state(tf.constant(1.0))
    loss = tf.constant(1.0)
    tf.estimator.EstimatorSpec(EVAL, loss, loss=loss, eval_metric_ops={"mean": metric})
    for collection in (tf.GraphKeys.LOCAL_VARIABLES, tf.GraphKeys.METRIC_VARIABLES):
        assert tf.get_collection(collection) == metric.variables
