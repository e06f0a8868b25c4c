"""Callbacks see the events of a training, and change it (python/keras/callbacks.py)."""

import csv
import pathlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import capstan as tf

keras = tf.keras
X = np.arange(6, dtype=np.float32).reshape(6, 1)


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield
    keras.backend.set_session(None)


@pytest.fixture(name="model")
def fixture_model() -> Any:
    zeros = tf.zeros_initializer()
    model = keras.Sequential([keras.layers.Dense(1, input_shape=(1,), kernel_initializer=zeros)])
    model.compile(keras.optimizers.SGD(0.01), "mse")
    return model


class Recorder(keras.callbacks.Callback):
    def __init__(self) -> None:
        super().__init__()
        self.events: list[Any] = []

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("on_") and name not in ("on_batch_begin", "on_batch_end"):
            return lambda *args: self.events.append((name, *args[:-1]))
        return super().__getattribute__(name)


class Values(keras.callbacks.Callback):
    """Replaces the value of `val_loss` by values that are given."""

    def __init__(self, values: list[float]) -> None:
        super().__init__()
        self.values = values

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        logs["val_loss"] = self.values[epoch]


def train(model: Any, *callbacks: Any, epochs: int = 6, **options: Any) -> Any:
    return model.fit(X, X, batch_size=4, epochs=epochs, verbose=0, callbacks=callbacks, **options)


def test_a_callback_sees_all_events_in_order(model: Any) -> None:
    seen = Recorder()
    train(model, seen, epochs=1, validation_data=(X, X))
    batches = [(f"on_train_batch_{at}", number) for number in (0, 1) for at in ("begin", "end")]
    assert seen.events == [
        ("on_train_begin",),
        ("on_epoch_begin", 0),
        *batches,
        ("on_test_begin",),
        *[(f"on_test_batch_{at}", number) for number in (0, 1) for at in ("begin", "end")],
        ("on_test_end",),
        ("on_epoch_end", 0),
        ("on_train_end",),
    ]
    assert seen.model is model
    assert seen.params["samples"] == 6
    assert seen.params["metrics"] == ["loss", "val_loss"]
    seen.events.clear()
    model.predict(X, callbacks=[seen])
    assert [event for event, *_ in seen.events] == [
        *("on_predict_begin", "on_predict_batch_begin", "on_predict_batch_end", "on_predict_end")
    ]


@pytest.mark.parametrize(
    ("values", "options", "epochs"),
    [
        ([3, 2, 1, 1, 1, 1], {"patience": 2}, 5),
        ([3, 2.9, 2.8, 1, 1, 1], {"patience": 1, "min_delta": 0.5}, 2),
        ([1, 2, 3, 4, 4, 4], {"patience": 2, "mode": "max"}, 6),
        ([3, 2, 1, 0, 0, 0], {"patience": 1, "baseline": 0.5}, 1),
    ],
)
def test_a_training_that_does_not_improve_ends(
    model: Any, values: list[float], options: dict[str, Any], epochs: int
) -> None:
    history = train(model, Values(values), keras.callbacks.EarlyStopping(**options))
    assert len(history.epoch) == epochs


def test_the_best_weights_come_back(model: Any) -> None:
    kernels: list[float] = []
    keep = keras.callbacks.LambdaCallback(
        on_epoch_end=lambda *_: kernels.append(float(model.get_weights()[0][0, 0]))
    )
    stop = keras.callbacks.EarlyStopping(patience=2, restore_best_weights=True)
    train(model, Values([3, 1, 2, 2, 2, 2]), keep, stop)
    assert len(set(kernels)) == 4
    assert float(model.get_weights()[0][0, 0]) == kernels[1]


def test_the_learning_rate_follows_a_schedule_and_a_plateau(model: Any) -> None:
    schedule = keras.callbacks.LearningRateScheduler(lambda epoch: 0.1 / (epoch + 1))
    np.testing.assert_allclose(train(model, schedule, epochs=2).history["lr"], [0.1, 0.05])
    with_rate = keras.callbacks.LearningRateScheduler(lambda epoch, rate: rate / 2)
    np.testing.assert_allclose(train(model, with_rate, epochs=2).history["lr"], [0.025, 0.0125])
    plateau = keras.callbacks.ReduceLROnPlateau(patience=2, factor=0.5, min_lr=0.004)
    found = train(model, Values([1] * 6), plateau).history["lr"]
    np.testing.assert_allclose(found, [0.0125, 0.0125, 0.0125, 0.00625, 0.00625, 0.004])


def test_a_loss_that_is_no_number_ends_the_training(model: Any) -> None:
    seen = Recorder()
    labels = np.full((6, 1), np.nan, np.float32)
    model.fit(X, labels, batch_size=2, epochs=3, verbose=0,
              callbacks=[seen, keras.callbacks.TerminateOnNaN()])  # fmt: skip
    assert [event for event in seen.events if event[0] == "on_train_batch_end"] == [
        ("on_train_batch_end", 0)
    ]


def test_a_csv_file_has_a_row_for_each_epoch(model: Any, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "log.csv"
    history = train(model, keras.callbacks.CSVLogger(path), epochs=2)
    more = train(model, keras.callbacks.CSVLogger(path, append=True), epochs=1)
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["epoch"] for row in rows] == ["0", "1", "0"]
    expected = [*history.history["loss"], *more.history["loss"]]
    np.testing.assert_allclose([float(row["loss"]) for row in rows], expected)


def test_a_terminal_gets_a_bar(
    model: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    model.fit(X, X, batch_size=4, epochs=1)
    out = capsys.readouterr().out
    assert out.startswith("Epoch 1/1\n\r4/6 [====================..........] - loss: ")
    assert out.endswith("\x1b[K\n")
    assert "\r6/6 - 0s - loss: " in out
