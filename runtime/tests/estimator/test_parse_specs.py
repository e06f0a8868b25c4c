"""The specs of serialized Examples name the features, the label and the weight of a model."""

import pytest

import capstan as tf

X = tf.feature_column.numeric_column("x")


def test_specs_hold_features_labels_and_weights():
    classes = tf.estimator.classifier_parse_example_spec([X], "label", weight_column="w")
    assert classes == {
        "x": tf.FixedLenFeature((1,), tf.float32),
        "label": tf.FixedLenFeature((1,), tf.int64),
        "w": tf.FixedLenFeature((1,), tf.float32),
    }
    values = tf.estimator.regressor_parse_example_spec(
        [X], "y", label_default=[0.0] * 2, label_dimension=2
    )
    assert values["y"] == tf.FixedLenFeature((2,), tf.float32, [0.0, 0.0])


@pytest.mark.parametrize(
    "label, weight, message",
    [
        ("x", None, "label should not be used as feature"),
        ("y", "x", "weight_column should not be used as feature"),
        ("y", 1, "should be an instance of tf.feature_column.numeric_column"),
    ],
)
def test_labels_and_weights_that_are_features_are_refused(label, weight, message):
    with pytest.raises(ValueError, match=message):
        tf.estimator.regressor_parse_example_spec([X], label, weight_column=weight)
