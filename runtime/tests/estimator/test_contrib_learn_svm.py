"""`tf.contrib.learn.SVM` finds the optimum of the hinge loss, under TensorFlow's names."""

import itertools
import pathlib
from typing import Any

import numpy as np
import pytest

import capstan as tf
from capstan.contrib import learn

layers = tf.contrib.layers
pytestmark = pytest.mark.e2e


def input_fn() -> Any:
    """Four points: two of each class, mirrored at 0."""
    features = {
        "id": tf.constant(["a", "b", "c", "d"]),
        "x": tf.constant([[2.0, 0.0], [1.0, 1.0], [-2.0, 0.0], [-1.0, -1.0]]),
        "colour": tf.SparseTensor([[0, 0], [2, 0]], ["red", "green"], [4, 1]),
        "w": tf.constant([[1.0], [1.0], [1.0], [1.0]]),
    }
    return features, tf.constant([[1], [1], [0], [0]])


def test_a_machine_reaches_the_optimum(tmp_path: pathlib.Path) -> None:
    svm = learn.SVM(
        "id", [layers.real_valued_column("x", 2)], "w", str(tmp_path), l2_regularization=2.0
    )
    svm.fit(input_fn=input_fn, steps=30)
    # The minimum of |w|**2 + sum max(0, 1 - y x w): two points at the margin, 2 w0 and w0 + w1.
    weights = svm.get_variable_value("linear/x/weight")[:, 0]
    np.testing.assert_allclose(weights, [0.5, 0.5], atol=1e-2)
    assert svm.get_variable_value("linear/bias_weight") == pytest.approx(0, abs=1e-2)
    found = svm.evaluate(input_fn=input_fn, steps=1)
    assert found["accuracy"] == 1
    assert found["loss"] == pytest.approx(0, abs=2e-2)
    classes = itertools.islice(svm.predict_classes(input_fn=input_fn), 4)
    assert [int(each) for each in classes] == [1, 1, 0, 0]


def test_columns_of_words_are_features_of_a_machine(tmp_path: pathlib.Path) -> None:
    colour = layers.sparse_column_with_hash_bucket("colour", 5)
    svm = learn.SVM("id", [colour, layers.real_valued_column("x", 2)], model_dir=str(tmp_path))
    svm.fit(input_fn=input_fn, steps=5)
    assert {"linear/colour/weight", "linear/x/weight"} <= set(svm.get_variable_names())
    assert svm.evaluate(input_fn=input_fn, steps=1)["accuracy"] == 1


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="Kernel SVMs"):
        learn.SVM("id", [], kernels=[1])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="non-negative"):
        learn.SVM("id", [], l2_regularization=-1.0)
