"""Callbacks see the events of a training, and change it (python/keras/callbacks.py)."""

import csv
import http.server
import json
import os
import pathlib
import re
import socket
import threading
import urllib.parse
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import capstan as tf
from capstan.python.keras import callbacks as python_callbacks

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
    assert out.startswith("\r4/6 [====================..........] - loss: ")
    assert out.endswith("\x1b[K\n")
    assert re.search(r"\r6/6 - \d+s - loss: ", out)


def prefixes(folder: pathlib.Path) -> list[str]:
    """Return the names of the checkpoints in a folder."""
    return sorted(path.stem for path in folder.glob("*.index"))


@pytest.mark.e2e
def test_a_checkpoint_of_each_epoch_has_its_weights(model: Any, tmp_path: pathlib.Path) -> None:
    kernels: list[float] = []
    keep = keras.callbacks.LambdaCallback(
        on_epoch_end=lambda *_: kernels.append(float(model.get_weights()[0][0, 0]))
    )
    path = str(tmp_path / "w-{epoch:02d}-{val_loss:.1f}")
    save = keras.callbacks.ModelCheckpoint(path, save_weights_only=True)
    train(model, Values([3, 2, 1]), keep, save, epochs=3)
    assert prefixes(tmp_path) == ["w-01-3.0", "w-02-2.0", "w-03-1.0"]
    assert tf.train.latest_checkpoint(str(tmp_path)) == str(tmp_path / "w-03-1.0")
    model.load_weights(str(tmp_path / "w-02-2.0"))
    assert float(model.get_weights()[0][0, 0]) == kernels[1]


@pytest.mark.e2e
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"save_best_only": True}, ["w-1", "w-3"]),
        ({"save_best_only": True, "mode": "max"}, ["w-1", "w-2"]),
        ({"save_best_only": True, "monitor": "missing"}, []),
        ({"period": 2}, ["w-2"]),
        ({"save_freq": 10}, ["w-2"]),
        ({"save_freq": 7}, ["w-2", "w-3"]),
    ],
)
def test_a_checkpoint_is_written_when_it_is_due(
    model: Any, options: dict[str, Any], expected: list[str], tmp_path: pathlib.Path
) -> None:
    path = str(tmp_path / "w-{epoch}")
    save = keras.callbacks.ModelCheckpoint(path, save_weights_only=True, **options)
    # An epoch has batches of 4 and 2 examples.
    train(model, Values([2, 3, 1]), save, epochs=3)
    assert prefixes(tmp_path) == expected


@pytest.mark.e2e
def test_a_checkpoint_reports_why_it_is_written(
    model: Any, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path / "w")
    save = keras.callbacks.ModelCheckpoint(
        path, save_weights_only=True, save_best_only=True, verbose=1
    )
    train(model, Values([2, 3, 1]), save, epochs=3)
    assert capsys.readouterr().out == (
        f"\nEpoch 00001: val_loss improved from inf to 2.00000, saving model to {path}\n"
        "\nEpoch 00002: val_loss did not improve from 2.00000\n"
        f"\nEpoch 00003: val_loss improved from 2.00000 to 1.00000, saving model to {path}\n"
    )


@pytest.mark.e2e
@pytest.mark.parametrize(("suffix", "expected"), [("", 6.0), (".h5", 5.0)])
def test_a_training_begins_with_the_newest_checkpoint(
    model: Any, suffix: str, expected: float, tmp_path: pathlib.Path
) -> None:
    if suffix:
        pytest.importorskip("h5py", reason="h5py is not installed: make test installs it")
    for epoch, kernel in ((1, 5.0), (2, 6.0), (3, 0.0)):
        model.set_weights([np.full((1, 1), kernel), np.zeros(1)])
        if kernel:
            path = tmp_path / f"w-{epoch}{suffix}"
            model.save_weights(path)
        if kernel and suffix:
            os.utime(path, (9 - epoch, 9 - epoch))
    (tmp_path / "x-3.h5").touch()
    load = keras.callbacks.ModelCheckpoint(
        tmp_path / f"w-{{epoch}}{suffix}", save_weights_only=True, load_weights_on_restart=True
    )
    began: list[float] = []
    see = keras.callbacks.LambdaCallback(
        on_train_begin=lambda _: began.append(float(model.get_weights()[0][0, 0]))
    )
    train(model, load, see, epochs=1)
    # The state file names the newest checkpoint. HDF5 files have only their time.
    assert began == [expected]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"save_freq": "batch"}, ValueError, "Unrecognized save_freq: batch"),
        ({"save_all": True}, TypeError, "no argument 'save_all'"),
        ({"filepath": "w-{val_loss}"}, KeyError, "There is no 'val_loss', but epoch, loss"),
    ],
)
def test_a_checkpoint_that_cannot_be_written_is_refused(
    model: Any, options: dict[str, Any], error: Any, message: str
) -> None:
    with pytest.raises(error, match=message):
        train(model, keras.callbacks.ModelCheckpoint(**{"filepath": "w", **options}))


def events(folder: pathlib.Path) -> tuple[dict[str, dict[int, float]], list[Any]]:
    """Return the scalars by tag and step, and all events of the newest file."""
    (path,) = folder.iterdir()
    found = list(tf.train.summary_iterator(str(path)))
    scalars: dict[str, dict[int, float]] = {}
    for event in found:
        for value in event.summary.value:
            if value.HasField("simple_value"):
                scalars.setdefault(value.tag, {})[event.step] = value.simple_value
    return scalars, found


@pytest.mark.e2e
@pytest.mark.parametrize(
    ("update_freq", "epochs", "batches"),
    [("epoch", [0, 1], []), ("batch", [6, 12], [0, 1, 2, 3]), (6, [6, 12], [1, 3])],
)
def test_tensorboard_gets_the_values_of_epochs_and_batches(
    model: Any, update_freq: Any, epochs: list[int], batches: list[int], tmp_path: pathlib.Path
) -> None:
    board = keras.callbacks.TensorBoard(str(tmp_path), update_freq=update_freq)
    history = train(model, board, epochs=2, validation_data=(X, X)).history
    scalars, found = events(tmp_path)
    for name in ("loss", "val_loss"):
        assert list(scalars[f"epoch_{name}"]) == epochs
        np.testing.assert_allclose(
            list(scalars[f"epoch_{name}"].values()), history[name], rtol=1e-6
        )
    assert list(scalars.get("batch_loss", {})) == batches
    assert (
        {"epoch_loss", "epoch_val_loss"}
        <= set(scalars)
        <= {*("epoch_loss", "epoch_val_loss", "batch_loss")}
    )
    (graph,) = [event.graph_def for event in found if event.graph_def]
    assert b"dense/kernel" in graph


@pytest.mark.e2e
def test_tensorboard_gets_histograms_of_the_weights(model: Any, tmp_path: pathlib.Path) -> None:
    board = keras.callbacks.TensorBoard(str(tmp_path), histogram_freq=2, write_graph=False)
    train(model, board, epochs=3)
    _, found = events(tmp_path)
    tags = {(event.step, value.tag) for event in found for value in event.summary.value
            if value.HasField("histo")}  # fmt: skip
    assert tags == {(step, f"dense/{name}_0") for step in (0, 2) for name in ("kernel", "bias")}
    assert not any(event.graph_def for event in found)
    assert tf.get_collection(tf.GraphKeys.SUMMARIES) == []


def test_tensorboard_gets_the_weights_as_images(tmp_path: pathlib.Path) -> None:
    model = keras.Sequential([keras.layers.Conv2D(2, 3, input_shape=(3, 4, 1)),
                              keras.layers.Flatten(), keras.layers.Dense(1)])  # fmt: skip
    model.compile("sgd", "mse")
    board = keras.callbacks.TensorBoard(str(tmp_path), histogram_freq=1, write_images=True)
    model.fit(np.ones((1, 3, 4, 1)), np.ones((1, 1)), verbose=0, callbacks=[board])
    _, found = events(tmp_path)
    sizes = {value.tag: (value.image.height, value.image.width) for event in found
             for value in event.summary.value if value.HasField("image")}  # fmt: skip
    assert sizes == {
        "conv2d/kernel_0_1/image/0": (3, 3), "conv2d/kernel_0_1/image/1": (3, 3),
        "conv2d/bias_0_1/image/0": (2, 1), "dense/kernel_0_1/image/0": (4, 1),
    }  # fmt: skip


@pytest.mark.e2e
@pytest.mark.parametrize("metadata", ["labels.tsv", {"words": "labels.tsv"}])
def test_tensorboard_saves_embeddings_for_the_projector(
    metadata: Any, tmp_path: pathlib.Path
) -> None:
    words = keras.Input((2,), name="ids")
    vectors = keras.layers.Embedding(5, 3, name="words")(words)
    model = keras.Model(words, keras.layers.Dense(1)(keras.layers.Flatten()(vectors)))
    model.compile("sgd", "mse")
    ids = np.array([[0, 1], [2, 3], [4, 0]])
    board = keras.callbacks.TensorBoard(
        str(tmp_path), batch_size=2, embeddings_freq=2, embeddings_metadata=metadata,
        embeddings_data={"ids": ids},
    )  # fmt: skip
    model.fit(ids, np.ones((3, 1)), epochs=3, verbose=0, callbacks=[board])
    assert (tmp_path / "keras_embedding.ckpt-0.index").is_file()
    saved = tf.train.load_checkpoint(str(tmp_path / "keras_embedding.ckpt-2"))
    (table,) = model.get_layer("words").get_weights()
    np.testing.assert_array_equal(saved.get_tensor("words_embedding"), table[ids].reshape(3, 6))
    text = (tmp_path / "projector_config.pbtxt").read_text()
    assert 'tensor_name: "words_embedding:0"' in text
    assert 'metadata_path: "labels.tsv"' in text
    board = keras.callbacks.TensorBoard(
        str(tmp_path), embeddings_freq=1, embeddings_data=[ids, ids]
    )
    with pytest.raises(ValueError, match="has 2 arrays, and the model has 1 inputs"):
        model.fit(ids, np.ones((3, 1)), verbose=0, callbacks=[board])


def test_tensorboard_refuses_what_it_cannot_write() -> None:
    with pytest.raises(NotImplementedError, match="writes no gradients"):
        keras.callbacks.TensorBoard(write_grads=True)


def test_a_base_logger_puts_means_into_the_logs() -> None:
    logger = keras.callbacks.BaseLogger(stateful_metrics=["accuracy"])
    logger.set_params({"metrics": ["loss", "accuracy", "val_loss"]})
    for epoch in range(2):
        logger.on_epoch_begin(epoch)
        logger.on_batch_end(0, {"size": 3, "loss": 1.0, "accuracy": 0.25})
        logger.on_batch_end(1, {"size": 1, "num_steps": 3, "loss": 2.0, "accuracy": 0.5})
        logs: dict[str, float] = {}
        logger.on_epoch_end(epoch, logs)
        assert logs == {"loss": 1.5, "accuracy": 0.5}


@pytest.fixture(name="server")
def fixture_server() -> Iterator[Any]:
    """A web server on loopback, and the requests that it got."""
    requests: list[Any] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            requests.append((self.path, self.headers, body))
            self.send_response(404 if len(requests) == 2 else 200)
            self.end_headers()

        def log_message(self, *args: Any) -> None: ...

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", requests
        server.shutdown()
        thread.join()


def test_a_remote_monitor_sends_each_epoch(model: Any, server: Any) -> None:
    root, requests = server
    monitors = [
        keras.callbacks.RemoteMonitor(root, field="epochs", headers={"Key": "mine"}),
        keras.callbacks.RemoteMonitor(root, path="/json", send_as_json=True),
    ]
    history = train(model, *monitors, epochs=2).history["loss"]
    assert [path for path, _, _ in requests] == 2 * ["/publish/epoch/end/", "/json"]
    form = urllib.parse.parse_qs(requests[0][2])
    assert json.loads(form["epochs"][0]) == {"epoch": 0, "loss": history[0]}
    assert requests[0][1]["Key"] == "mine"
    assert json.loads(requests[3][2]) == {"epoch": 1, "loss": history[1]}
    assert requests[3][1]["Content-Type"] == "application/json"


def test_a_remote_monitor_warns_if_there_is_no_server(model: Any, caplog: Any) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        root = f"http://127.0.0.1:{closed.getsockname()[1]}"
        with caplog.at_level("WARNING", logger="capstan"):
            keras.callbacks.RemoteMonitor(root).on_epoch_end(0, {"loss": np.float32(1)})
    assert f"could not reach RemoteMonitor root server at {root}" in caplog.text


def test_a_plateau_takes_the_older_name_of_its_smallest_change() -> None:
    assert keras.callbacks.ReduceLROnPlateau(epsilon=1e-13).min_delta == 1e-13


def test_a_list_of_callbacks_calls_their_events_in_order(model: Any) -> None:
    events: list[Any] = []

    class Named(keras.callbacks.Callback):
        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

        def on_train_begin(self, logs: Any = None) -> None:
            events.append((self.name, self.model, self.params, logs))

        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            events.append((self.name, batch, logs))

    called = python_callbacks.CallbackList([Named("a")])
    called.append(Named("b"))
    called.set_model(model)
    called.set_params({"epochs": 2})
    called.on_train_begin()
    called.on_batch_end(3, {"loss": 1.0})
    assert events == [
        *(("a", model, {"epochs": 2}, {}), ("b", model, {"epochs": 2}, {})),
        *(("a", 3, {"loss": 1.0}), ("b", 3, {"loss": 1.0})),
    ]
    assert [each.name for each in called] == ["a", "b"]
    with pytest.raises(AttributeError, match="no attribute 'on_coffee_end'"):
        called.on_coffee_end(1)
