"""The losses of `tf.contrib.gan` are TensorFlow's formulas, of tensors and of models."""

from typing import Any

import numpy as np
import pytest

import capstan as tf

gan = tf.contrib.gan
REAL = np.array([[1.0, -2.0], [0.5, 3.0]], np.float32)
GENERATED = np.array([[-0.5, 2.0], [1.5, -4.0]], np.float32)


def run(*fetches: Any) -> list[Any]:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(list(fetches))


def cross_entropy(label: float, logits: Any) -> Any:
    return np.maximum(logits, 0) - logits * label + np.log1p(np.exp(-np.abs(logits)))


MINIMAX = (cross_entropy(0.875, REAL).mean() + cross_entropy(0, GENERATED).mean()).item()
OF_GENERATOR = {
    "wasserstein": -GENERATED.mean(),
    "least_squares": ((GENERATED - 1) ** 2).mean() / 2,
    "modified": cross_entropy(1, GENERATED).mean(),
    "minimax": -(cross_entropy(1, np.ones(1)).mean() + cross_entropy(0, GENERATED).mean()),
}
OF_DISCRIMINATOR = {
    "wasserstein": GENERATED.mean() - REAL.mean(),
    "least_squares": ((REAL - 1) ** 2).mean() / 2 + (GENERATED**2).mean() / 2,
    "modified": MINIMAX,
    "minimax": MINIMAX,
}


@pytest.mark.parametrize("name", OF_GENERATOR)
def test_a_loss_of_generators_is_the_mean_over_generated_data(name: str) -> None:
    (found,) = run(getattr(gan.losses.wargs, f"{name}_generator_loss")(GENERATED))
    assert found == pytest.approx(OF_GENERATOR[name], rel=1e-5)


@pytest.mark.parametrize("name", OF_DISCRIMINATOR)
def test_a_loss_of_discriminators_compares_real_and_generated_data(name: str) -> None:
    loss = getattr(gan.losses.wargs, f"{name}_discriminator_loss")(REAL, GENERATED)
    assert tf.losses.get_losses() == [loss]
    assert run(loss) == [pytest.approx(OF_DISCRIMINATOR[name], rel=1e-5)]


def test_weights_scale_the_losses_of_real_and_of_generated_data_apart() -> None:
    loss = gan.losses.wargs.wasserstein_discriminator_loss(
        REAL, GENERATED, real_weights=3.0, generated_weights=[[1.0], [0.0]]
    )
    assert run(loss) == [pytest.approx(GENERATED[0].mean() - 3 * REAL.mean())]


def test_the_losses_of_classes_are_softmax_cross_entropies() -> None:
    labels = np.eye(2, dtype=np.float32)

    def expected(logits: Any) -> Any:
        return -(labels * (logits - np.log(np.exp(logits).sum(1, keepdims=True)))).sum(1).mean()

    of_generator = gan.losses.wargs.acgan_generator_loss(GENERATED, labels)
    both = gan.losses.wargs.acgan_discriminator_loss(REAL, GENERATED, labels)
    assert run(of_generator, both) == pytest.approx(
        [expected(GENERATED), expected(GENERATED) + expected(REAL)], rel=1e-5
    )


def test_the_gradient_penalty_is_zero_for_a_slope_of_the_target() -> None:
    def judge(data: Any, _: Any) -> Any:
        slope = tf.get_variable("slope", initializer=tf.constant([[0.6, 1.6]]))
        return tf.reduce_sum(slope * data, 1, keepdims=True)

    with tf.variable_scope("D") as scope:
        judge(tf.zeros([1, 2]), None)
    penalty = gan.losses.wargs.wasserstein_gradient_penalty
    slope = np.hypot(0.6, 1.6)
    found = run(
        penalty(REAL, GENERATED, None, judge, scope),
        penalty(REAL, GENERATED, None, judge, scope, target=2.0),
        penalty(REAL, GENERATED, None, judge, scope, target=2.0, one_sided=True),
    )
    assert found == pytest.approx([(slope - 1) ** 2, (slope / 2 - 1) ** 2, 0], abs=1e-5)
    assert [each.op.name for each in tf.trainable_variables()] == ["D/slope"]


def test_the_information_penalty_is_the_negative_log_likelihood_of_the_noise() -> None:
    normal = tf.contrib.distributions.Normal([0.0, 1.0], [1.0, 2.0])
    noise = np.array([0.5, -1.0], np.float32)
    (found,) = run(gan.losses.wargs.mutual_information_penalty([noise], [normal]))
    z = (noise - [0, 1]) / [1, 2]
    assert found == pytest.approx((z**2 / 2 + np.log([1, 2]) + np.log(2 * np.pi) / 2).mean())


@pytest.mark.parametrize(
    ("distributions", "message"),
    [
        (3, "must be a list or tuple"),
        ([3], "must be a list of `Distributions`"),
        ([], "length 1 must be the same as `predicted_distributions` length 0"),
    ],
)
def test_noise_without_its_distributions_is_refused(distributions: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        gan.losses.wargs.mutual_information_penalty([1.0], distributions)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"weight_factor": 0.5}, 9 + 0.5 * 3),
        ({"weight_factor": 0}, 9),
        ({"gradient_ratio": 2.0}, 9 + 3 * (6 / 1 / 2)),
    ],
)
def test_an_adversarial_loss_gets_a_weight_or_a_share_of_the_gradient(
    settings: dict[str, Any], expected: float
) -> None:
    x = tf.Variable(3.0)
    combined = gan.losses.wargs.combine_adversarial_loss(x**2, 1.0 * x, **settings)
    assert run(combined) == [pytest.approx(expected, rel=1e-5)]


@pytest.mark.parametrize(
    ("settings", "message"),
    [({}, "cannot both be `None.`"), ({"weight_factor": 1, "gradient_ratio": 1}, "specified")],
)
def test_an_adversarial_loss_needs_exactly_one_of_weight_and_ratio(
    settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        gan.losses.wargs.combine_adversarial_loss(tf.constant(1.0), tf.constant(1.0), **settings)


def model(**fields: Any) -> Any:
    return gan.GANModel(**dict.fromkeys(gan.GANModel._fields) | fields)


def test_a_loss_of_a_model_takes_the_fields_of_its_arguments() -> None:
    outputs = {"discriminator_real_outputs": REAL, "discriminator_gen_outputs": GENERATED}
    loss = gan.losses.wasserstein_discriminator_loss(model(**outputs), real_weights=2.0)
    assert run(loss) == [pytest.approx(GENERATED.mean() - 2 * REAL.mean())]


def test_a_loss_of_a_model_refuses_missing_and_repeated_arguments() -> None:
    with pytest.raises(ValueError, match="`one_hot_labels` must be supplied to acgan_generator"):
        gan.losses.acgan_generator_loss(model(), discriminator_gen_classification_logits=GENERATED)
    with pytest.raises(ValueError, match="both the tuple and keyword args"):
        gan.losses.wasserstein_generator_loss(model(), discriminator_gen_outputs=GENERATED)


def test_the_cycle_loss_is_half_the_sum_of_both_absolute_differences() -> None:
    cycle = gan.CycleGANModel(
        model(generator_inputs=tf.constant(REAL)), model(generator_inputs=tf.constant(GENERATED)),
        tf.constant(REAL + 1), tf.constant(GENERATED - 2),
    )  # fmt: skip
    assert run(gan.losses.cycle_consistency_loss(cycle)) == [pytest.approx(1.5)]
    with pytest.raises(ValueError, match="must be a `CycleGANModel`"):
        gan.losses.cycle_consistency_loss(model())


@pytest.mark.parametrize("add_summaries", [False, True])
def test_the_parts_of_a_loss_have_summaries_on_request(add_summaries: bool) -> None:
    gan.losses.wargs.minimax_discriminator_loss(REAL, GENERATED, add_summaries=add_summaries)
    assert len(tf.get_collection(tf.GraphKeys.SUMMARIES)) == 3 * add_summaries
