"""`tf.contrib.gan.estimator`: estimators train, measure and use generators."""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import capstan as tf

gan = tf.contrib.gan
LOSSES = {
    "generator_loss_fn": gan.losses.wasserstein_generator_loss,
    "discriminator_loss_fn": gan.losses.wasserstein_discriminator_loss,
}


def generator(inputs: Any, mode: str) -> Any:
    assert mode in ("train", "eval", "infer")
    return tf.get_variable("g", initializer=2.0) * inputs["x"]


def discriminator(data: Any, _: Any) -> Any:
    return tf.layers.dense(data, 1)


def inputs(labels: Any = ((1.0, 2.0),)) -> Any:
    return lambda: ({"x": tf.constant([[3.0, 4.0]])}, labels and tf.constant(labels))


def optimizer() -> Any:
    return tf.train.GradientDescentOptimizer(0.1)


def test_an_estimator_trains_both_networks_and_generates_data(tmp_path: Path) -> None:
    estimator = gan.estimator.GANEstimator(
        str(tmp_path), generator, discriminator, **LOSSES, generator_optimizer=optimizer,
        discriminator_optimizer=optimizer(), add_summaries=gan.estimator.SummaryType.VARIABLES,
        get_eval_metric_ops_fn=lambda model: {"mean": tf.metrics.mean(model.generated_data)},
    )  # fmt: skip
    estimator.train(inputs(), steps=2)
    found = estimator.evaluate(inputs(), steps=1)
    assert {"generator_loss", "discriminator_loss", "mean", "loss", "global_step"} == {*found}
    assert found["global_step"] == 2
    assert found["loss"] == pytest.approx(found["generator_loss"] + found["discriminator_loss"])
    data = next(estimator.predict(inputs(None)))
    factor = estimator.get_variable_value("Generator/g")
    assert factor != 2
    assert data == pytest.approx(factor * np.array([3, 4]))


def test_an_estimator_of_domains_trains_and_moves_images(tmp_path: Path) -> None:
    def moved(images: Any, targets: Any) -> Any:
        return tf.get_variable("g", initializer=2.0) * images * targets[:, :1]

    def judge(images: Any, domains: int) -> Any:
        return tf.layers.dense(images, 1)[:, 0], tf.layers.dense(images, domains)

    images, domains = tf.ones_initializer(), np.eye(2, dtype=np.float32)
    estimator = gan.estimator.StarGANEstimator(
        str(tmp_path), moved, judge, gan.stargan_loss, optimizer, optimizer
    )
    estimator.train(lambda: (images([2, 2]), tf.constant(domains)), steps=1)
    found = estimator.predict(lambda: ((images([2, 2]), tf.constant(domains)), None))
    rows = list(itertools.islice(found, 2))
    factor = estimator.get_variable_value("Generator/g")
    assert np.array(rows) == pytest.approx(factor * np.array([[1, 1], [0, 0]]))


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"generator_loss_fn": None}, ValueError),
        ({"discriminator_loss_fn": None}, ValueError),
        ({"use_loss_summaries": "yes"}, ValueError),
        ({"get_hooks_fn": 3}, TypeError),
    ],
)
def test_an_estimator_refuses_what_is_no_function(
    arguments: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error, match="must be"):
        gan.estimator.GANEstimator(None, generator, discriminator, **LOSSES | arguments)


def test_a_prediction_takes_no_labels(tmp_path: Path) -> None:
    estimator = gan.estimator.GANEstimator(str(tmp_path), generator, discriminator, **LOSSES)
    model_fn = estimator.model_fn
    with tf.Graph().as_default(), pytest.raises(ValueError, match="`labels` must be `None`"):
        model_fn({"x": tf.zeros([1])}, tf.zeros([1]), tf.estimator.ModeKeys.PREDICT, None)


@pytest.mark.parametrize("mode", ["train", "eval", "infer"])
def test_a_head_makes_the_spec_of_a_model(mode: str) -> None:
    features = {"x": tf.constant([[3.0, 4.0]])}
    model = gan.gan_model(
        lambda inputs: generator(inputs, mode), discriminator, tf.zeros([1, 2]), features
    )
    head = gan.estimator.gan_head(
        *LOSSES.values(), optimizer(), optimizer(), name="of the head", use_loss_summaries=None
    )
    spec = head.create_estimator_spec(None, mode, model)
    assert spec.mode == mode
    assert (spec.loss is None) == (mode == "infer")
    assert len(spec.training_hooks) == 2 * (mode == "train")
    names = {f"{network}_loss/of the head" for network in ("generator", "discriminator")}
    assert {*(spec.eval_metric_ops or ())} == (names if mode == "eval" else set())
    with pytest.raises(ValueError, match="`logits` must be an instance of a `GANModel`"):
        head.create_estimator_spec(None, mode, tf.zeros([1]))
