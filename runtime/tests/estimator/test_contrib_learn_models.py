"""The models of `tf.contrib.learn` train with the heads that a program chooses."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import capstan as tf
from capstan.contrib import learn

pytestmark = pytest.mark.e2e


def two_heads() -> Any:
    return learn.multi_head(
        [
            learn.multi_class_head(2, label_name="big", head_name="class"),
            learn.regression_head(label_name="value", head_name="number"),
        ]
    )


@pytest.mark.parametrize(
    ("make", "scopes"),
    [
        (
            lambda columns: learn.DNNEstimator(two_heads(), [4], columns, gradient_clip_norm=5.0,
            optimizer=tf.train.AdamOptimizer(0.05)),
            {"dnn/hiddenlayer_0/weights", "dnn/logits/biases"},
        ),
        (
            lambda columns: learn.LinearEstimator(columns, two_heads(), optimizer="Adagrad"),
            {"linear/linear_model/x/weights"},
        ),
        (
            lambda columns: learn.DNNLinearCombinedEstimator(
                two_heads(), None, columns, "Adagrad", False, columns, None, [4],
                config=learn.RunConfig(tf_random_seed=1),
            ),
            {"dnn/hiddenlayer_0/weights", "linear/linear_model/x/weights"},
        ),
    ],
)  # fmt: skip
def test_models_train_with_the_heads_of_a_program(
    make: Callable[[Any], Any], scopes: set[str]
) -> None:
    x = np.linspace(-1, 1, 20, dtype="f")[:, None]

    def input_fn() -> Any:
        return {"x": tf.constant(x)}, {"big": tf.constant(x > 0), "value": tf.constant(2 * x)}

    estimator = make([tf.contrib.layers.real_valued_column("x")])
    estimator.fit(input_fn=input_fn, steps=1)
    assert scopes <= set(estimator.get_variable_names())
    if isinstance(estimator, learn.DNNLinearCombinedEstimator):
        first = estimator.evaluate(input_fn=input_fn, steps=1)
        estimator.fit(input_fn=input_fn, steps=20)
        metrics = estimator.evaluate(input_fn=input_fn, steps=1)
        assert metrics["global_step"] == 21
        assert metrics["loss"] < first["loss"]
        assert "accuracy/class" in metrics
