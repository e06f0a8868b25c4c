"""Batch normalization with renormalization, virtual batches, several axes and adjustments."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import capstan as tf

RANDOM = np.random.default_rng(7)
BATCHES = RANDOM.normal(1, 2, (4, 6, 3)).astype(np.float32)
GAMMA, BETA, EPSILON, MOMENTUM = 1.5, 0.25, 1e-3, 0.9
SHAPED = {
    "gamma_initializer": tf.constant_initializer(GAMMA),
    "beta_initializer": tf.constant_initializer(BETA),
    "momentum": MOMENTUM,
}


@pytest.fixture(autouse=True)
def session() -> Iterator[Any]:
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def close(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def named(part: str) -> Any:
    (found,) = [each for each in tf.global_variables() if each.op.name.endswith(part)]
    return found


class Renormalized:
    """The same in NumPy."""

    def __init__(self, limits: dict[str, float], momentum: float) -> None:
        self.limits, self.momentum = limits, momentum
        self.mean = self.moving_mean = np.zeros(3)
        self.deviation = self.moving_deviation = np.ones(3)
        self.moving_variance = np.ones(3)

    def trained(self, batch: Any) -> Any:
        mean, variance = batch.mean(0), batch.var(0)
        deviation = np.sqrt(variance + EPSILON)
        average = np.maximum(self.deviation, np.sqrt(EPSILON))
        factor = deviation / average
        factor = np.clip(factor, self.limits.get("rmin", 0), self.limits.get("rmax", 1e9))
        most = self.limits.get("dmax", 1e9)
        addend = np.clip((mean - self.mean) / average, -most, most)
        self.mean = self._moved(self.mean, mean, self.momentum)
        self.deviation = self._moved(self.deviation, deviation, self.momentum)
        self.moving_mean = self._moved(self.moving_mean, mean, MOMENTUM)
        self.moving_deviation = self._moved(self.moving_deviation, deviation, MOMENTUM)
        self.moving_variance = np.maximum(self.moving_deviation**2 - EPSILON, 0)
        return ((batch - mean) / deviation * factor + addend) * GAMMA + BETA

    def applied(self, batch: Any) -> Any:
        deviation = np.sqrt(self.moving_variance + EPSILON)
        return (batch - self.moving_mean) / deviation * GAMMA + BETA

    @staticmethod
    def _moved(old: Any, new: Any, momentum: float) -> Any:
        return old - (old - new) * (1 - momentum)


@pytest.mark.parametrize("limits", [{}, {"rmin": 0.8, "rmax": 1.1, "dmax": 0.2}])
@pytest.mark.parametrize("is_fed", [False, True])
def test_a_batch_is_corrected_by_the_averages_before_it(
    session: Any, limits: dict[str, float], is_fed: bool
) -> None:
    given = tf.placeholder(tf.float32, [None, 3])
    training = tf.placeholder(tf.bool, []) if is_fed else True
    outputs = tf.layers.batch_normalization(
        given, training=training, renorm=True, renorm_clipping=limits, renorm_momentum=0.8,
        **SHAPED,
    )  # fmt: skip
    updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    session.run(tf.global_variables_initializer())
    reference = Renormalized(limits, 0.8)
    feeds = {training: True} if is_fed else {}
    for batch in BATCHES:
        found, *_ = session.run([outputs, *updates], {given: batch, **feeds})
        close(found, reference.trained(batch))
    averages = ["moving_mean", "moving_variance", "moving_stddev", "renorm_mean", "renorm_stddev"]
    before = session.run([named(each) for each in averages])
    close(before[1], reference.moving_variance)
    close(before[3:], [reference.mean, reference.deviation])
    if is_fed:
        found, *_ = session.run([outputs, *updates], {given: BATCHES[0], training: False})
        close(found, reference.applied(BATCHES[0]))
        after = session.run([named(each) for each in averages])
        np.testing.assert_array_equal(after, before)


def test_corrections_have_no_gradients(session: Any) -> None:
    given = tf.constant(BATCHES[0])
    plain = tf.layers.batch_normalization(given, training=True, momentum=0.5)
    renormalized = tf.layers.batch_normalization(given, training=True, renorm=True)
    weights = tf.constant(RANDOM.normal(size=(6, 3)).astype(np.float32))
    slopes = [tf.gradients(weights * each, given)[0] for each in (plain, renormalized)]
    session.run(tf.global_variables_initializer())
    one, other = session.run(slopes)
    # At first the averages are 0 and 1, so a correction multiplies by the deviation of the batch.
    close(other, one * np.sqrt(BATCHES[0].var(0) + EPSILON))


def test_each_part_of_a_batch_has_its_own_moments(session: Any) -> None:
    given = tf.placeholder(tf.float32, [None, 3])
    training = tf.placeholder(tf.bool, [])
    outputs = tf.layers.batch_normalization(
        given, training=training, virtual_batch_size=2, **SHAPED
    )
    assert outputs.shape.as_list() == [None, 3]
    assert named("gamma").shape.as_list() == [1, 1, 3]
    updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    session.run(tf.global_variables_initializer())
    (batch,) = BATCHES[:1]
    found, *_ = session.run([outputs, *updates], {given: batch, training: True})
    parts = batch.reshape(2, 3, 3)
    mean, variance = parts.mean(0, keepdims=True), parts.var(0, keepdims=True)
    expected = (parts - mean) / np.sqrt(variance + EPSILON) * GAMMA + BETA
    close(found, expected.reshape(6, 3))
    close(session.run(named("moving_mean")), mean.mean(1, keepdims=True) * (1 - MOMENTUM))
    close(session.run(outputs, {given: batch, training: False}).shape, (6, 3))


def test_several_axes_keep_their_moments_apart(session: Any) -> None:
    values = RANDOM.normal(size=(5, 4, 3, 2)).astype(np.float32)
    given = tf.constant(values)
    outputs = tf.layers.batch_normalization(given, axis=[1, -1], training=True, **SHAPED)
    assert named("moving_variance").shape.as_list() == [1, 4, 1, 2]
    updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    session.run(tf.global_variables_initializer())
    found, *_ = session.run([outputs, *updates])
    mean, variance = (getattr(values, each)((0, 2), keepdims=True) for each in ("mean", "var"))
    close(found, (values - mean) / np.sqrt(variance + EPSILON) * GAMMA + BETA)
    close(session.run(named("moving_mean")), mean * (1 - MOMENTUM))


def test_an_adjustment_changes_normalized_activations_in_training(session: Any) -> None:
    given, training = tf.constant(BATCHES[0]), tf.placeholder(tf.bool, [])
    outputs = tf.layers.batch_normalization(
        given,
        training=training,
        adjustment=lambda shape: (tf.fill(shape[:1], 2.0)[:, None], tf.fill([1, 3], 0.5)),
        **SHAPED,
    )
    session.run(tf.global_variables_initializer())
    batch = BATCHES[0]
    unit = (batch - batch.mean(0)) / np.sqrt(batch.var(0) + EPSILON)
    close(session.run(outputs, {training: True}), (unit * 2 + 0.5) * GAMMA + BETA)
    expected = batch / np.sqrt(1 + EPSILON) * GAMMA + BETA
    close(session.run(outputs, {training: False}), expected)


def test_a_layer_of_keras_renormalizes_and_keeps_its_arguments(session: Any) -> None:
    keras = tf.keras
    layer = keras.layers.BatchNormalization(
        renorm=True, renorm_clipping={"rmax": 2.0}, renorm_momentum=0.8, momentum=MOMENTUM
    )
    config = layer.get_config()
    assert config["renorm_clipping"] == {"rmax": 2.0}
    assert type(layer).from_config(config).get_config() == config
    plain = keras.layers.BatchNormalization().get_config()
    assert not {"renorm", "renorm_clipping", "virtual_batch_size", "adjustment"} & set(plain)
    outputs = layer(tf.constant(BATCHES[0]), training=True)
    session.run(tf.global_variables_initializer())
    found, *_ = session.run([outputs, *layer.updates])
    expected = Renormalized({"rmax": 2.0}, 0.8).trained(BATCHES[0])
    close(found, (expected - BETA) / GAMMA)
    names = [variable.op.name.rpartition("/")[2] for variable in layer.non_trainable_weights]
    assert names == [
        "moving_mean", "moving_variance", "moving_stddev", "renorm_mean", "renorm_stddev",
    ]  # fmt: skip


def test_batch_norm_of_contrib_renormalizes(session: Any) -> None:
    batch_norm = tf.contrib.layers.batch_norm
    outputs = batch_norm(
        tf.constant(BATCHES[0]), 0.9, epsilon=EPSILON, renorm=True, renorm_clipping={"rmax": 2.0}
    )
    session.run(tf.global_variables_initializer())
    expected = Renormalized({"rmax": 2.0}, 0.99).trained(BATCHES[0])
    close(session.run(outputs), (expected - BETA) / GAMMA)
    with pytest.raises(ValueError, match="not supported with batch_weights"):
        batch_norm(tf.constant(BATCHES[0]), renorm=True, batch_weights=tf.ones([6]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"axis": [1, 1]}, "Duplicate axis"),
        ({"axis": 3}, "Invalid axis: 3"),
        ({"renorm": True, "renorm_clipping": {"most": 1}}, "contains keys not in"),
        ({"virtual_batch_size": 0}, "must be a positive integer"),
        ({"virtual_batch_size": 2, "axis": 0}, "axis cannot include 0"),
        ({"virtual_batch_size": 2, "adjustment": lambda shape: (1, 0)}, "adjustment cannot be"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tf.layers.batch_normalization(tf.constant(BATCHES[0]), training=True, **options)
