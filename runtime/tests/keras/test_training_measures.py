"""Losses, metrics and weights of the outputs and the examples of models that train."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from keras_training import RANDOM, Reference, X, Y, check, dataset_of, linear

import capstan as tf

keras = tf.keras


@pytest.fixture(autouse=True)
def session() -> Iterator[None]:
    with tf.Graph().as_default():
        yield
    keras.backend.set_session(None)


def test_weights_of_examples_and_classes_multiply_the_losses() -> None:
    model, reference = linear(), Reference()
    labels = (Y > 0).astype(np.float32)
    weights = np.linspace(0, 2, len(X), dtype=np.float32)
    model.fit(
        X, labels, batch_size=10, shuffle=False, verbose=0,
        sample_weight=weights, class_weight={0: 0.5, 1: 3.0},
    )  # fmt: skip
    reference.step(X, labels, weights * np.where(labels, 3.0, 0.5))
    check(model, reference)
    weighted = dataset_of(labels, weights)
    model.fit(weighted, verbose=0, class_weight={0: 0.5, 1: 3.0})
    reference.step(X, labels, weights * np.where(labels, 3.0, 0.5))
    check(model, reference)
    with pytest.raises(ValueError, match="`class_weight` must contain all classes"):
        model.fit(X, labels, class_weight={0: 1.0}, verbose=0)


def two_outputs() -> Any:
    x = keras.Input((3,), name="x")
    shared = keras.layers.Dense(4, kernel_regularizer=keras.regularizers.l2(0.1))(x)
    kind = keras.layers.Dense(2, activation="softmax", name="kind")(shared)
    size = keras.layers.Dense(1, name="size")(shared)
    return keras.Model(x, [kind, size])


def test_losses_of_several_outputs_are_weighted_and_summed() -> None:
    model = two_outputs()
    model.compile(
        "sgd",
        {"kind": "sparse_categorical_crossentropy", "size": keras.losses.MeanSquaredError()},
        metrics={"kind": ["accuracy", "ce"], "size": [keras.metrics.mean_absolute_error]},
        loss_weights={"kind": 2.0, "size": 0.5},
    )
    kinds = (Y > 0).astype(np.int64)
    total, kind, size, accuracy, entropy, distance = model.evaluate(X, [kinds, Y])
    assert model.metrics_names == [
        *("loss", "kind_loss", "size_loss", "kind_acc", "kind_ce", "size_mean_absolute_error")
    ]
    (kernel, *_) = model.get_weights()
    penalty = 0.1 * np.square(kernel).sum()
    np.testing.assert_allclose(total, 2 * kind + 0.5 * size + penalty, rtol=1e-5)
    probabilities, sizes = model.predict(X)
    chosen = probabilities[np.arange(len(X)), kinds]
    np.testing.assert_allclose(kind, -np.log(chosen).mean(), rtol=1e-4)
    np.testing.assert_allclose(entropy, kind, rtol=1e-4)
    np.testing.assert_allclose(accuracy, (chosen > 0.5).mean(), rtol=1e-5)
    np.testing.assert_allclose(distance, np.abs(sizes[:, 0] - Y).mean(), rtol=1e-4)


@pytest.mark.parametrize(
    ("loss", "width", "expected"),
    [("binary_crossentropy", 1, 0.6), ("binary_crossentropy", 2, 0.55),
     ("sparse_categorical_crossentropy", 2, 0.7), ("categorical_crossentropy", 2, 0.7)],
)  # fmt: skip
def test_the_loss_and_the_shape_choose_the_kind_of_accuracy(
    loss: str, width: int, expected: float
) -> None:
    x = keras.Input((width,))
    model = keras.Model(x, keras.layers.Activation("linear")(x))
    model.compile("sgd", loss, metrics=["acc"])
    random = np.random.default_rng(1)
    found = random.random((20, width)).astype(np.float32)
    numbers = random.integers(0, 2, 20)
    one_hot = np.eye(2, dtype=np.float32)[numbers]
    labels = one_hot if width == 2 and loss != "sparse_categorical_crossentropy" else numbers
    if width == 1:
        right = (found[:, 0] > 0.5) == numbers
    elif loss == "binary_crossentropy":
        right = (found > 0.5) == one_hot
    else:
        right = found.argmax(1) == numbers
    np.testing.assert_allclose(model.evaluate(found, labels)[1], right.mean(), rtol=1e-5)


def test_masked_steps_count_for_nothing() -> None:
    words = keras.Input((4,), dtype="int32")
    vectors = keras.layers.Embedding(5, 3, mask_zero=True)(words)
    model = keras.Model(words, keras.layers.TimeDistributed(keras.layers.Dense(1))(vectors))
    model.compile("sgd", "mse", metrics=["mae"])
    ids = np.array([[1, 2, 0, 0], [3, 0, 0, 0]])
    labels = np.ones((2, 4, 1), np.float32)
    loss, error = model.evaluate(ids, labels)
    errors = model.predict(ids)[ids > 0] - 1
    np.testing.assert_allclose(loss, np.square(errors).sum() / 8, rtol=1e-5)
    np.testing.assert_allclose(error, np.abs(errors).mean(), rtol=1e-5)


def test_models_and_layers_add_tensors_to_the_metrics() -> None:
    class Shown(keras.layers.Layer):
        def call(self, inputs: Any) -> Any:
            self.add_metric(tf.reduce_max(inputs), "mean", "largest")
            return inputs

    inputs = keras.Input((3,))
    model = keras.Model(inputs, keras.layers.Dense(1)(Shown()(inputs)))
    model.add_metric(keras.metrics.Mean(name="output")(model.output))
    model.compile("sgd", "mse")
    assert model.metrics_names == ["loss", "output", "largest"]
    for _ in range(2):  # Each pass begins with empty metrics.
        _, output, largest = model.evaluate(X, Y, batch_size=5, verbose=0)
        assert largest == pytest.approx((X[:5].max() + X[5:].max()) / 2)
        assert output == pytest.approx(model.predict(X).mean(), rel=1e-5)
    assert {"largest", "output"} < set(model.fit(X, Y, verbose=0).history)


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"aggregation": "sum", "name": "a"}, "must be None or"),
        ({"name": "a"}, "must be the result of a tf.keras.metrics.Metric"),
        ({"aggregation": "mean"}, "provide a `name`"),
    ],
)
def test_a_tensor_without_a_name_or_an_aggregation_is_no_metric(
    arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        linear().add_metric(tf.constant(1.0), **arguments)


@pytest.mark.parametrize("form", ["a dictionary", "a list", "a generator"])
def test_only_some_outputs_may_have_weights(form: str) -> None:
    inputs = keras.Input((3,))
    outputs = [keras.layers.Dense(1, name=name)(inputs) for name in "ab"]
    model = keras.Model(inputs, outputs)
    model.compile("sgd", "mse")
    weights = np.linspace(1, 2, len(X))
    given: Any = {"b": weights} if form == "a dictionary" else [None, weights]
    if form == "a generator":
        found = model.evaluate(iter([(X, [Y, Y], given)]), steps=1, verbose=0)
    else:
        found = model.evaluate(X, [Y, Y], sample_weight=given, verbose=0)
    errors = [(np.ravel(Y) - np.ravel(value)) ** 2 for value in model.predict(X)]
    expected = errors[0].mean(), (errors[1] * weights).mean()
    np.testing.assert_allclose(found, [sum(expected), *expected], rtol=1e-4)


def test_outputs_share_no_metric_of_a_list() -> None:
    inputs = keras.Input((3,))
    outputs = [keras.layers.Dense(1, name=name)(inputs) for name in "ab"]
    model = keras.Model(inputs, outputs)
    given = keras.metrics.MeanSquaredError(name="error")
    weighted = keras.metrics.MeanSquaredError(name="heavy")
    model.compile("sgd", "mse", metrics=[given], weighted_metrics=[weighted])
    weights = np.linspace(1, 2, len(X))
    found = dict(
        zip(
            model.metrics_names,
            model.evaluate(X, [Y, 3 * Y], sample_weight=[weights, weights], verbose=0),
            strict=True,
        )
    )
    for name, target, value in zip("ab", [Y, 3 * Y], model.predict(X), strict=True):
        errors = np.mean((np.reshape(target, (-1, 1)) - value) ** 2, 1)
        assert found[f"{name}_error"] == pytest.approx(errors.mean(), rel=1e-4)
        expected = (errors * weights).sum() / weights.sum()
        assert found[f"{name}_weighted_heavy"] == pytest.approx(expected, rel=1e-4)


def test_metrics_go_on_until_they_are_reset() -> None:
    model = linear(metrics=["mae"])
    errors = np.abs(Reference().errors(X, Y))
    first = model.test_on_batch(X[:2], Y[:2], reset_metrics=False)
    second = model.test_on_batch(X[2:4], Y[2:4])
    third = model.test_on_batch(X[4:], Y[4:])
    found = [each[1] for each in (first, second, third)]
    np.testing.assert_allclose(
        found, [errors[:2].mean(), errors[:4].mean(), errors[4:].mean()], rtol=1e-5
    )
    (metric,) = model.metrics
    assert metric.name == "mean_absolute_error"
    metric.reset_states()


@pytest.mark.parametrize("loss", [{"size": "mse"}, [None, "mse"]])
@pytest.mark.parametrize("targets", [Y, [Y], {"size": Y}, [Y, Y]])
def test_an_output_without_a_loss_needs_no_targets(loss: Any, targets: Any) -> None:
    x = keras.Input((3,))
    size = keras.layers.Dense(1, name="size")(x)
    model = keras.Model(x, [keras.layers.Activation("tanh", name="kind")(size), size])
    model.compile("sgd", loss, metrics={"size": ["mae"]}, weighted_metrics={"size": ["mse"]})
    assert model.metrics_names == [
        *("loss", "size_loss", "size_mean_absolute_error", "size_weighted_mean_squared_error")
    ]
    model.fit(X, targets, verbose=0)
    assert len(model.predict(X)) == 2


STEPS = RANDOM.normal(size=(6, 4, 2)).astype(np.float32)


def steps_model(**options: Any) -> Any:
    start = tf.constant_initializer([[0.5], [-1.0]])
    model = keras.Sequential([keras.layers.Dense(1, input_shape=(4, 2), kernel_initializer=start)])
    model.compile("sgd", "mse", weighted_metrics=["mse"], **options)
    return model


@pytest.mark.parametrize("mode", ["temporal", ["temporal"], {"dense": "temporal"}])
def test_the_steps_of_examples_have_weights(mode: Any) -> None:
    model = steps_model(sample_weight_mode=mode)
    targets = np.ones((6, 4, 1), np.float32)
    weights = RANDOM.uniform(size=(6, 4)).astype(np.float32)
    errors = np.square(STEPS @ np.float32([[0.5], [-1.0]]) - targets)[..., 0]
    loss, weighted = model.evaluate(STEPS, targets, sample_weight=weights, verbose=0)
    assert loss == pytest.approx((errors * weights).mean(), rel=1e-5)
    assert weighted == pytest.approx((errors * weights).sum() / weights.sum(), rel=1e-5)


def test_weights_of_a_wrong_form_are_refused() -> None:
    targets = np.ones((6, 4, 1), np.float32)
    with pytest.raises(ValueError, match="should pass a 2D sample_weight array"):
        steps_model(sample_weight_mode="temporal").fit(STEPS, targets, sample_weight=np.ones(6))
    with pytest.raises(ValueError, match='specify sample_weight_mode="temporal"'):
        steps_model().fit(STEPS, targets, sample_weight=np.ones((6, 4)))
    with pytest.raises(ValueError, match="restricted to outputs that are at least 3D"):
        linear(sample_weight_mode="temporal").fit(X, Y, sample_weight=np.ones((10, 3)))
    with pytest.raises(ValueError, match="should be None or"):
        linear(sample_weight_mode="steps")


def test_metrics_in_attributes_come_before_other_metrics() -> None:
    class Measured(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.dense = keras.layers.Dense(1)
            self.first = keras.metrics.Mean(name="first")

        def call(self, inputs: Any) -> Any:
            self.add_metric(tf.reduce_sum(inputs), aggregation="mean", name="second")
            self.add_metric(self.first(inputs))
            return self.dense(inputs)

    model = Measured()
    model.compile("sgd", "mse")
    found = model.evaluate(np.ones((4, 2)), np.ones((4, 1)), verbose=0)
    assert model.metrics_names == ["loss", "first", "second"]
    assert found[1:] == [1.0, 8.0]


def test_a_layer_is_trained_as_it_was_trainable_when_its_model_was_compiled() -> None:
    shared = keras.layers.BatchNormalization()

    def compiled() -> Any:
        inputs = keras.Input(3)
        model = keras.Model(inputs, shared(inputs))
        model.compile("sgd", "mse")
        return model

    shared.trainable = False
    fixed = compiled()
    shared.trainable = True
    trained = compiled()
    before = shared.get_weights()
    fixed.train_on_batch(np.ones((4, 3)), np.ones((4, 3)))
    assert shared.trainable
    np.testing.assert_array_equal(shared.get_weights(), before)
    trained.train_on_batch(np.ones((4, 3)), np.ones((4, 3)))
    assert all(
        (old != new).any() for old, new in zip(before[1:], shared.get_weights()[1:], strict=True)
    )


def test_an_output_without_loss_is_warned_of(caplog: Any) -> None:
    inputs = keras.Input(3)
    outputs = [keras.layers.Dense(1, name=name)(inputs) for name in ("one", "two")]
    with caplog.at_level("WARNING", logger="capstan"):
        keras.Model(inputs, outputs).compile("sgd", {"one": "mse"})
    assert "Output two missing from loss dictionary" in caplog.text
