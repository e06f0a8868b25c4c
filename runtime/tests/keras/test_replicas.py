"""`fit` and `evaluate` of models of Keras in the replicas of a strategy."""

import contextlib
import json
import pathlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import capstan as tf

DRAWN = np.random.RandomState(0).rand(32, 3).astype(np.float32)
TARGETS = DRAWN.sum(1, keepdims=True) - 1.5
keras = tf.keras


@pytest.fixture(autouse=True)
def _session() -> Iterator[None]:
    keras.backend.clear_session()
    yield
    keras.backend.clear_session()


def mirrored(count: int) -> Any:
    return tf.distribute.MirroredStrategy([f"/cpu:{number}" for number in range(count)])


def compiled(strategy: Any, optimizer: Any, make: Callable[[], Any]) -> Any:
    """Return a model that was made and compiled in the scope of a strategy, in a new graph."""
    keras.backend.clear_session()
    config = tf.ConfigProto(device_count={"CPU": 4})
    keras.backend.set_session(tf.Session(config=config))
    with contextlib.nullcontext() if strategy is None else strategy.scope():
        model = make()
        model.compile(optimizer(), "mse", metrics=["mae", keras.metrics.MeanSquaredError()])
    return model


def dense() -> Any:
    decay = keras.regularizers.l2(0.01)
    layers = [
        keras.layers.Dense(
            4, "tanh", kernel_initializer="ones", kernel_regularizer=decay, input_shape=(3,)
        ),
        keras.layers.Dense(1, kernel_initializer="ones"),
    ]
    return keras.Sequential(layers)


OPTIMIZERS = {
    "name": lambda: "adam",
    "keras": lambda: keras.optimizers.SGD(0.1, momentum=0.9),
    "train": lambda: tf.train.AdagradOptimizer(0.1),
}


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_replicas_train_and_evaluate_as_one_replica_does(optimizer: str) -> None:
    found = []
    for strategy in (None, mirrored(2), mirrored(4)):
        model = compiled(strategy, OPTIMIZERS[optimizer], dense)
        history = model.fit(
            DRAWN, TARGETS, 16, epochs=2, shuffle=False, verbose=0,
            validation_data=(DRAWN[:8], TARGETS[:8]),
        )  # fmt: skip
        losses = [history.history[name] for name in sorted(history.history)]
        results = model.evaluate(DRAWN, TARGETS, 16, verbose=0)
        found.append([*np.ravel(losses), *results, *model.predict(DRAWN[:2]).ravel()])
    for each in found[1:]:
        np.testing.assert_allclose(each, found[0], rtol=2e-4)


ONE_OR_MORE = {
    "one device": lambda: tf.distribute.OneDeviceStrategy("/cpu:0"),
    "one replica": lambda: mirrored(1),
    "two replicas": lambda: mirrored(2),
}


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("strategy", ONE_OR_MORE)
def test_a_model_trains_in_the_scope_of_its_strategy_too(strategy: str, optimizer: str) -> None:
    found = []
    for is_inside in (False, True):
        chosen = ONE_OR_MORE[strategy]()
        model = compiled(chosen, OPTIMIZERS[optimizer], dense)
        with chosen.scope() if is_inside else contextlib.nullcontext():
            history = model.fit(DRAWN, TARGETS, 16, epochs=2, shuffle=False, verbose=0)
            results = model.evaluate(DRAWN, TARGETS, 16, verbose=0)
            single = model.train_on_batch(DRAWN[:8], TARGETS[:8])
            outputs = model.predict(DRAWN[:2])
        found.append([*history.history["loss"], *results, *np.ravel(single), *outputs.ravel()])
    np.testing.assert_allclose(found[1], found[0], rtol=1e-5)


def test_a_part_of_a_batch_may_have_no_example() -> None:
    model = compiled(mirrored(4), lambda: "sgd", dense)
    history = model.fit(DRAWN[:9], TARGETS[:9], 8, epochs=1, verbose=0)
    assert np.isfinite(history.history["loss"]).all()
    assert np.isfinite(model.get_weights()[0]).all()


def with_inner_loss() -> Any:
    model = dense()
    inner = tf.reduce_mean(tf.square(model.layers[0].output))
    model.add_loss(inner)
    model.add_metric(inner, "mean", "inner")
    return model


def test_the_loss_of_a_tensor_between_layers_counts_once_for_each_example() -> None:
    found = []
    for strategy in (None, mirrored(2), mirrored(4)):
        model = compiled(strategy, OPTIMIZERS["keras"], with_inner_loss)
        assert [type(layer).__name__ for layer in model.layers] == ["Dense", "Dense"]
        assert model.metrics_names[-1] == "inner"
        history = model.fit(DRAWN, TARGETS, 16, epochs=2, shuffle=False, verbose=0)
        results = model.evaluate(DRAWN, TARGETS, 16, verbose=0)
        found.append([*history.history["loss"], *history.history["inner"], *results])
    for each in found[1:]:
        np.testing.assert_allclose(each, found[0], rtol=2e-4)


class AddsLoss(keras.layers.Layer):
    """A layer whose call adds a loss, and whose first call adds two others."""

    def __init__(self, loss: Callable[[Any, Any], Any], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.loss = loss

    def build(self, input_shape: Any) -> None:
        self.scale = self.add_weight("scale", [3], initializer="ones")
        self.add_loss(lambda: 0.1 * tf.reduce_sum(self.scale))
        self.add_loss(0.2 * tf.reduce_sum(self.scale * self.scale))
        super().build(input_shape)

    def call(self, inputs: Any) -> Any:
        self.add_loss(self.loss(inputs, self.scale))
        return inputs * self.scale


ADDED_IN_CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "of the inputs": lambda inputs, scale: tf.reduce_mean(tf.square(inputs * scale)),
    "of a variable": lambda inputs, scale: tf.reduce_sum(tf.square(scale)),
    "of a function": lambda inputs, scale: lambda: tf.reduce_sum(tf.square(scale)),
}


@pytest.mark.parametrize("kind", ADDED_IN_CALLS)
def test_the_loss_that_a_call_adds_counts_in_the_replica_of_the_call(kind: str) -> None:
    def make() -> Any:
        scaled = AddsLoss(ADDED_IN_CALLS[kind], input_shape=(3,))
        return keras.Sequential([scaled, keras.layers.Dense(1, kernel_initializer="ones")])

    found = []
    for strategy in (None, mirrored(2)):
        model = compiled(strategy, OPTIMIZERS["keras"], make)
        history = model.fit(DRAWN, TARGETS, 16, epochs=2, shuffle=False, verbose=0)
        found.append([*history.history["loss"], *model.evaluate(DRAWN, TARGETS, 16, verbose=0)])
    np.testing.assert_allclose(found[1], found[0], rtol=1e-4)


def test_a_layer_after_an_inner_loss_is_part_of_the_model() -> None:
    model = with_inner_loss()
    before = model.losses[1]
    model.add(keras.layers.Lambda(lambda x: 2.0 * x))
    model.compile("sgd", "mse")
    doubled = model.predict(DRAWN[:4])
    model.pop()
    model.compile("sgd", "mse")
    np.testing.assert_allclose(doubled, 2 * model.predict(DRAWN[:4]), rtol=1e-6)
    assert before in model.losses


@pytest.mark.parametrize("reduction", ["sum", "sum_over_batch_size"])
def test_losses_are_added_or_averaged_as_in_one_replica(reduction: str) -> None:
    found = []
    for strategy in (None, mirrored(2)):
        model = compiled(strategy, OPTIMIZERS["keras"], dense)
        with contextlib.nullcontext() if strategy is None else strategy.scope():
            model.compile(
                keras.optimizers.SGD(0.001), keras.losses.MeanSquaredError(reduction=reduction)
            )
        history = model.fit(DRAWN, TARGETS, 16, epochs=2, shuffle=False, verbose=0)
        results = model.evaluate(DRAWN, TARGETS, 16, verbose=0)
        weights = [each.ravel() for each in model.get_weights()]
        found.append(np.concatenate([history.history["loss"], [results], *weights]))
    np.testing.assert_allclose(found[1], found[0], rtol=1e-4)


@pytest.mark.parametrize("count", [0, 1, 2])
def test_a_model_may_be_trained_inside_the_scope(count: int) -> None:
    strategy = mirrored(count) if count else tf.distribute.OneDeviceStrategy("/cpu:0")
    model = compiled(strategy, OPTIMIZERS["keras"], dense)
    expected = compiled(None, OPTIMIZERS["keras"], dense)
    wanted = expected.fit(DRAWN, TARGETS, 16, epochs=2, shuffle=False, verbose=0)
    model = compiled(strategy, OPTIMIZERS["keras"], dense)
    with strategy.scope():
        history = model.fit(DRAWN, TARGETS, 16, epochs=2, shuffle=False, verbose=0)
        model.train_on_batch(DRAWN, TARGETS)
        assert np.isfinite(model.evaluate(DRAWN, TARGETS, verbose=0)).all()
        assert model.predict(DRAWN).shape == (32, 1)
    np.testing.assert_allclose(history.history["loss"], wanted.history["loss"], rtol=1e-4)


@pytest.mark.parametrize("kind", ["fused", "plain", "renormalized"])
def test_a_replica_without_an_example_leaves_the_averages_of_batches_alone(kind: str) -> None:
    values = np.float32([2, 4, 6, 8, 10]).reshape(-1, 1, 1, 1)

    def make() -> Any:
        options: dict[str, Any] = {"renorm": True} if kind == "renormalized" else {}
        layer = keras.layers.BatchNormalization(
            momentum=0.5, fused=kind == "fused", input_shape=(1, 1, 1), **options
        )
        return keras.Sequential([layer, keras.layers.Flatten(), keras.layers.Dense(1)])

    strategy = mirrored(2)
    model = compiled(strategy, lambda: "sgd", make)
    history = model.fit(values, values.reshape(-1, 1), 4, shuffle=False, verbose=0)
    assert np.isfinite(history.history["loss"]).all()
    assert all(np.isfinite(each).all() for each in model.get_weights())
    # The second batch has one example, which the first replica gets.
    expected = [(0 + 3) / 4 + 10 / 2, (0 + 7) / 2]
    copies = list(strategy.unwrap(model.layers[0].moving_mean))
    found = keras.backend.get_session().run(copies)
    np.testing.assert_allclose(np.ravel(found), expected)


def test_a_dataset_and_weights_of_examples_are_divided_too() -> None:
    found = []
    weights = np.linspace(0.0, 2.0, 32).astype(np.float32)
    source = tf.data.Dataset.from_tensor_slices
    for strategy in (None, mirrored(2)):
        model = compiled(strategy, OPTIMIZERS["keras"], dense)
        dataset = source((DRAWN, TARGETS, weights)).batch(16).repeat()
        history = model.fit(dataset, steps_per_epoch=4, verbose=0)
        found.append(history.history["loss"])
    np.testing.assert_allclose(found[1], found[0], rtol=1e-4)


def test_averages_of_replicas_are_saved_as_their_mean(tmp_path: pathlib.Path) -> None:
    def make() -> Any:
        layers = [
            keras.layers.BatchNormalization(momentum=0.5, input_shape=(3,)),
            keras.layers.Dense(1),
        ]
        return keras.Sequential(layers)

    strategy = mirrored(2)
    model = compiled(strategy, lambda: "sgd", make)
    model.fit(DRAWN, TARGETS, 32, epochs=1, shuffle=False, verbose=0)
    moving = model.layers[0].moving_mean
    session = keras.backend.get_session()
    copies = session.run(list(strategy.unwrap(moving)))
    halves = [DRAWN[:16].mean(0) / 2, DRAWN[16:].mean(0) / 2]
    np.testing.assert_allclose(copies, halves, rtol=1e-5)
    model.save_weights(str(tmp_path / "weights"))
    expected = model.predict(DRAWN[:2])
    model.set_weights([np.zeros_like(each) for each in model.get_weights()])
    model.load_weights(str(tmp_path / "weights"))
    np.testing.assert_allclose(model.predict(DRAWN[:2]), expected, rtol=1e-5)
    copies = session.run(list(strategy.unwrap(moving)))
    np.testing.assert_allclose(copies, [np.mean(halves, axis=0)] * 2, rtol=1e-5)


def test_a_loop_of_its_own_says_how_the_losses_of_replicas_are_reduced() -> None:
    strategy = mirrored(2)
    for reduction in (keras.losses.Reduction.AUTO, keras.losses.Reduction.SUM_OVER_BATCH_SIZE):
        loss = keras.losses.MeanAbsoluteError(reduction=reduction)
        with pytest.raises(ValueError, match=r"Reduction\.SUM` or `.*Reduction\.NONE`"):
            strategy.experimental_run_v2(loss, args=([[1.0]], [[2.0]]))
    total = keras.losses.MeanAbsoluteError(reduction=keras.losses.Reduction.SUM)
    losses = strategy.experimental_run_v2(total, args=([[1.0], [2.0]], [[2.0], [4.0]]))
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
        assert session.run(list(strategy.unwrap(losses))) == [3.0, 3.0]


def test_a_model_in_replicas_needs_inputs_of_its_own() -> None:
    with mirrored(2).scope():
        model = keras.Sequential([keras.layers.Dense(1)])
        with pytest.raises(NotImplementedError, match="input_shape"):
            model.compile("sgd", "mse")


def test_a_strategy_of_parameter_servers_trains_no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = {"ps": ["a:1"], "worker": ["b:1"]}
    task = {"cluster": cluster, "task": {"type": "worker", "index": 0}}
    monkeypatch.setenv("TF_CONFIG", json.dumps(task))
    strategy = tf.distribute.experimental.ParameterServerStrategy()
    with pytest.raises(NotImplementedError, match="model_to_estimator"):
        compiled(strategy, keras.optimizers.SGD, dense)
