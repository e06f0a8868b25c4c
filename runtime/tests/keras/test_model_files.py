"""Models of Keras are saved as whole files, and loaded (python/keras/saving)."""

import builtins
import pathlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import strict

import capstan as tf

keras = tf.keras
X = np.random.default_rng(0).normal(size=(8, 3)).astype(np.float32)
Y = X @ np.float32([1, -2, 0.5])

h5py = pytest.importorskip("h5py", reason="h5py is not installed: make test installs it")


@contextmanager
def program() -> Iterator[None]:
    """Return the block of a program with a graph and a session of its own."""
    with tf.Graph().as_default():
        yield
        keras.backend.set_session(None)


def functional() -> Any:
    inputs = keras.Input((3,), name="given")
    hidden = keras.layers.BatchNormalization()(keras.layers.Dense(2, "tanh")(inputs))
    shared = keras.layers.Dense(2, name="shared")
    added = keras.layers.Add()([shared(hidden), shared(shared(hidden))])
    inner = keras.Sequential([keras.layers.Dense(1, input_shape=(2,))], name="inner")
    return keras.Model(inputs, inner(added), name="functional")


def sequential() -> Any:
    return keras.Sequential([keras.layers.Dense(2, input_shape=(3,)), keras.layers.Dense(1)])


class Own(keras.Model):
    """A model that no configuration describes."""

    def __init__(self) -> None:
        super().__init__()
        self.dense = keras.layers.Dense(1)

    def call(self, inputs: Any) -> Any:
        return self.dense(inputs)


def train(model: Any) -> Any:
    """Make two training steps, and return the loss and the weights after them."""
    history = model.fit(X, Y, batch_size=4, shuffle=False, verbose=0).history
    return [np.array(history["loss"]), *model.get_weights()]


def check(found: Any, expected: Any) -> None:
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("make", [functional, sequential])
@pytest.mark.parametrize("optimizer", ["adam", "rmsprop", "ftrl"])
def test_a_training_continues_in_a_loaded_model(
    make: Any, optimizer: str, tmp_path: pathlib.Path
) -> None:
    path = str(tmp_path / "model.h5")
    with program():
        model = make()
        model.compile(optimizer, "mse", ["mae", keras.metrics.RootMeanSquaredError()])
        train(model)
        model.save(path)
        outputs = model.predict(X)
        expected = train(model)
    with program():
        again = keras.models.load_model(path)
        np.testing.assert_allclose(again.predict(X), outputs, rtol=1e-6)
        check(train(again), expected)
        assert again.metrics_names == ["loss", "mean_absolute_error", "root_mean_squared_error"]
        assert type(again) is type(model)
        assert again.optimizer.get_config() == pytest.approx(model.optimizer.get_config())


def test_the_arguments_of_compile_return(tmp_path: pathlib.Path) -> None:
    path = str(tmp_path / "model")
    with program():
        given = keras.Input((3,))
        ends = [keras.layers.Dense(1, name=name)(given) for name in ("one", "two")]
        model = keras.Model(given, ends)
        model.compile(
            keras.optimizers.SGD(0.5, momentum=0.25),
            {"one": keras.losses.Huber(0.75), "two": "mae"},
            {"one": ["mse"]},
            loss_weights={"two": 0.5},
            weighted_metrics={"two": ["mse"]},
        )
        before = train_both(model)
        names = model.metrics_names
        model.save(path)
        after = train_both(model)
    with program():
        again = keras.models.load_model(path)
        found = train_both(again)
        assert again.metrics_names == names
        assert found == after != before


def train_both(model: Any) -> Any:
    return model.fit(X, [Y, Y], batch_size=4, shuffle=False, verbose=0).history["loss"]


def test_a_model_is_loaded_without_its_training(tmp_path: pathlib.Path) -> None:
    path = str(tmp_path / "model.h5")
    with program():
        model = sequential()
        model.compile("adam", "mse")
        train(model)
        model.save(path, include_optimizer=False)
        with h5py.File(path, "r") as file:
            assert set(file) == {"model_weights"}
            assert "training_config" not in file.attrs
        keras.models.save_model(model, path)
        expected = model.predict(X)
    with program():
        again = keras.models.load_model(path, compile=False)
        assert again.optimizer is None
        np.testing.assert_array_equal(again.predict(X), expected)


def test_an_open_file_and_objects_of_the_program_are_taken(tmp_path: pathlib.Path) -> None:
    class Doubled(keras.layers.Layer):
        def call(self, inputs: Any) -> Any:
            return inputs * 2

    def off(y_true: Any, y_pred: Any) -> Any:
        return keras.losses.mean_squared_error(y_true, y_pred) + 1.0

    path = str(tmp_path / "model.h5")
    with program():
        model = keras.Sequential([Doubled(input_shape=(3,)), keras.layers.Dense(1)])
        model.compile("sgd", off, [off])
        expected = model.evaluate(X, Y, verbose=0)
        with h5py.File(path, "w") as file:
            model.save(file, overwrite=False)  # An open file is nothing to ask about.
    with program(), h5py.File(path, "r") as file:
        with pytest.raises(ValueError, match="Unknown layer: Doubled"):
            keras.models.load_model(file)
        own = {"Doubled": Doubled, "off": off}
        again = keras.models.load_model(file, custom_objects=own)
        assert again.evaluate(X, Y, verbose=0) == expected


def test_an_optimizer_of_train_is_not_in_the_file(
    tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = str(tmp_path / "model.h5")
    with program():
        model = sequential()
        model.compile(tf.train.AdamOptimizer(), "mse")
        model.save(path)
        assert "no configuration" in caplog.text
        assert keras.models.load_model(path).optimizer is None
        assert "was *not* compiled" in caplog.text


def test_state_that_does_not_fit_is_reported(
    tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = str(tmp_path / "model.h5")
    with program():
        model = sequential()
        model.compile("adam", "mse")
        train(model)
        model.save(path)
        with h5py.File(path, "r+") as file:
            names = file["optimizer_weights"].attrs["weight_names"]
            file["optimizer_weights"].attrs["weight_names"] = names[:2]
        again = keras.models.load_model(path)
        assert "begins anew" in caplog.text
        check(again.get_weights(), model.get_weights())


@pytest.mark.parametrize("begins", [train, lambda model: model.build((None, 3))])
def test_a_sequence_whose_data_gave_its_input_is_loaded(
    begins: Any, tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = str(tmp_path / "model.h5")
    with program():
        model = keras.Sequential([keras.layers.Dense(2), keras.layers.Dense(1)])
        assert "build_input_shape" not in model.get_config()
        model.compile("adam", "mse")
        begins(model)
        assert model.get_config()["build_input_shape"] == [None, 3]
        model.save(path)
        expected = model.get_weights()
        copy = keras.models.clone_model(model)
        assert not copy.built
    with program():
        again = keras.models.load_model(path)
        check(again.get_weights(), expected)
        assert again.get_config()["build_input_shape"] == [None, 3]
        train(again)
    assert ("begins anew" in caplog.text) == (begins is train)


def test_models_and_files_that_do_not_fit_are_refused(tmp_path: pathlib.Path) -> None:
    path = str(tmp_path / "model")
    with program():
        own = Own()
        own.build((None, 3))
        with pytest.raises(NotImplementedError, match="Functional model or a Sequential"):
            own.save(path)
        with pytest.raises(NotImplementedError, match="no format 'tf'"):
            sequential().save(path, save_format="tf")
        sequential().save_weights(f"{path}.h5")
        with pytest.raises(ValueError, match="No model found"):
            keras.models.load_model(f"{path}.h5")
        with pytest.raises(OSError, match="there is no file"):
            keras.models.load_model(path)
        with pytest.raises(OSError, match="is not an HDF5 file"):
            keras.models.load_model(str(tmp_path))


def test_a_file_is_replaced_if_the_answer_is_yes(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "model.h5"
    path.write_bytes(b"before")
    answers = iter("ny")
    monkeypatch.setattr(builtins, "input", lambda question: next(answers))
    with program():
        sequential().save(path, overwrite=False)
        assert path.read_bytes() == b"before"
        sequential().save(path, overwrite=False)
    assert h5py.is_hdf5(path)


class Odd(keras.layers.Layer):
    """A layer that JSON cannot describe."""

    def call(self, inputs: Any) -> Any:
        return inputs

    def get_config(self) -> Any:
        return {**super().get_config(), "object": object()}


def test_a_model_that_cannot_be_saved_leaves_the_file_before_it(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "model.h5"
    with program():
        sequential().save(path)
        before = path.read_bytes()
        with pytest.raises(TypeError, match="Not JSON Serializable"):
            keras.Sequential([keras.layers.Dense(2, input_shape=(3,)), Odd()]).save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_callback_saves_whole_models(tmp_path: pathlib.Path) -> None:
    pattern = str(tmp_path / "model-{epoch}.h5")
    with program():
        model = sequential()
        model.compile("adam", "mse")
        save = keras.callbacks.ModelCheckpoint(pattern)
        model.fit(X, Y, epochs=2, verbose=0, callbacks=[save])
        expected = model.predict(X)
        again = keras.models.load_model(pattern.format(epoch=2))
        np.testing.assert_array_equal(again.predict(X), expected)
        # A file of a whole model has its weights, too.
        other = sequential()
        other.load_weights(pattern.format(epoch=2))
        np.testing.assert_array_equal(other.predict(X), expected)


def test_a_callback_saves_the_weights_of_a_subclass(tmp_path: pathlib.Path) -> None:
    with program():
        model = Own()
        model.compile("sgd", "mse")
        save = keras.callbacks.ModelCheckpoint(str(tmp_path / "weights"))
        model.fit(X, Y, verbose=0, callbacks=[save])
        assert tf.train.latest_checkpoint(str(tmp_path)) == str(tmp_path / "weights")


def test_an_optimizer_without_kernels_for_a_gpu_trains_on_its_cpu(tmp_path: pathlib.Path) -> None:
    path = str(tmp_path / "model.h5")
    with strict.installed():
        with program():
            model = sequential()
            model.compile("ftrl", "mse")
            train(model)
            model.save(path)
            expected = train(model)
        with program():
            check(train(keras.models.load_model(path)), expected)
