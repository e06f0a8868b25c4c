"""Models of Keras save and load their weights (python/keras/engine/network.py)."""

import pathlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import clusters
import numpy as np
import pytest

import capstan as tf

pytestmark = pytest.mark.e2e

keras = tf.keras
X = np.random.default_rng(0).normal(size=(8, 3)).astype(np.float32)
Y = X @ np.float32([1, -2, 0.5])
VALUE = ".ATTRIBUTES/VARIABLE_VALUE"
NO_HDF5 = "h5py is not installed: make test installs it"


@contextmanager
def program() -> Iterator[None]:
    """Return the block of a program with a graph and a session of its own."""
    with tf.Graph().as_default():
        yield
        keras.backend.set_session(None)


def functional() -> Any:
    inputs = keras.Input((3,))
    hidden = keras.layers.BatchNormalization()(keras.layers.Dense(2)(inputs))
    return keras.Model(inputs, keras.layers.Dense(1)(hidden))


def sequential() -> Any:
    return keras.Sequential([keras.layers.Dense(2), keras.layers.Dense(1)])


class Own(keras.Model):
    def __init__(self) -> None:
        super().__init__()
        self.inner = sequential()

    def call(self, inputs: Any) -> Any:
        return self.inner(inputs)


class Empty(keras.Model):
    """A model without layers."""


def compiled(make: Callable[[], Any] = functional, optimizer: Any = "adam") -> Any:
    model = make()
    model.compile(optimizer, "mse")
    return model


def train(model: Any) -> Any:
    """Make two training steps, and return the weights after them."""
    model.fit(X, Y, batch_size=4, shuffle=False, verbose=0)
    return model.get_weights()


def check(found: Any, expected: Any) -> None:
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("make", [functional, sequential, Own])
@pytest.mark.parametrize("optimizer", ["adam", lambda: tf.train.MomentumOptimizer(0.1, 0.9)])
def test_a_training_continues_from_saved_weights(
    make: Any, optimizer: Any, tmp_path: pathlib.Path
) -> None:
    def model() -> Any:
        return compiled(make, optimizer() if callable(optimizer) else optimizer)

    path = str(tmp_path / "weights")
    with program():
        first = model()
        train(first)
        first.save_weights(path)
        expected = train(first)
    assert tf.train.latest_checkpoint(str(tmp_path)) == path
    with program():
        again = model()
        # The training makes the slots, and the weights of two of these models.
        again.load_weights(path)
        check(train(again), expected)


def test_loaded_weights_replace_values_once(tmp_path: pathlib.Path) -> None:
    path = str(tmp_path / "weights")
    with program():
        model = compiled()
        saved = train(model)
        model.save_weights(path)
    with program():
        model = compiled()
        status = model.load_weights(path)
        check(model.get_weights(), saved)
        with pytest.raises(AssertionError, match="Unresolved object"):
            status.assert_consumed()
        model.set_weights([value * 0 for value in saved])
        model.optimizer.get_updates(model.output, model.trainable_weights)
        keras.backend.get_session()
        assert not any(value.any() for value in model.get_weights())
        status.assert_consumed()


def test_a_checkpoint_names_the_layers_and_the_optimizer(tmp_path: pathlib.Path) -> None:
    path = str(tmp_path / "weights")
    with program():
        model = compiled(Own)
        train(model)
        model.save_weights(path)
    layers = [f"inner/layer_with_weights-{number}" for number in (0, 1)]
    weights = [f"{layer}/{name}" for layer in layers for name in ("kernel", "bias")]
    hyper = ("beta_1", "beta_2", "decay", "iter", "learning_rate")
    assert {name for name, _ in tf.train.list_variables(path)} == {
        "_CHECKPOINTABLE_OBJECT_GRAPH",
        *(f"{each}/{VALUE}" for each in weights),
        *(f"{each}/.OPTIMIZER_SLOT/optimizer/{slot}/{VALUE}" for each in weights for slot in "mv"),
        *(f"optimizer/{name}/{VALUE}" for name in hyper),
    }


def test_a_checkpoint_has_no_other_parts_of_a_compiled_model(tmp_path: pathlib.Path) -> None:
    with program():
        compiled().save_weights(str(tmp_path / "weights"))
    message = tf.contrib.checkpoint.object_metadata(str(tmp_path / "weights"))
    assert {child.local_name for child in message.nodes[0].children} == {
        *(f"layer-{number}" for number in range(4)),
        *(f"layer_with_weights-{number}" for number in range(3)),
        "optimizer",
    }


def test_weights_come_from_a_saver_by_their_names(tmp_path: pathlib.Path) -> None:
    with program():
        model = compiled()
        expected = train(model)
        path = tf.train.Saver().save(keras.backend.get_session(), str(tmp_path / "model"))
    with program():
        model = compiled()
        model.load_weights(path)
        check(model.get_weights(), expected)
        other = keras.Sequential([keras.layers.Dense(1, input_shape=(1,))])
        with pytest.raises(ValueError, match="has no variable 'dense_2/kernel'"):
            other.load_weights(path)


def test_weights_on_a_parameter_server_are_saved_and_loaded(tmp_path: pathlib.Path) -> None:
    path = str(tmp_path / "weights")
    with clusters.running(ps=1, worker=1) as servers, program():
        with tf.device(tf.train.replica_device_setter(ps_tasks=1)):
            model = compiled()
        keras.backend.set_session(tf.Session(servers["worker:0"].target))
        expected = train(model)
        model.save_weights(path)
        train(model)
        model.load_weights(path)
        check(model.get_weights(), expected)
        keras.backend.get_session().close()


def test_a_file_is_replaced_if_the_user_agrees(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, answers = str(tmp_path / "weights"), ["what", "n", "y"]
    monkeypatch.setattr("builtins.input", lambda text: answers.pop(0))
    with program():
        model = compiled()
        model.save_weights(path, overwrite=False)
        model.set_weights([value + 1 for value in model.get_weights()])
        changed = model.get_weights()
        for is_replaced in (False, True):
            model.save_weights(path, overwrite=False)
            model.load_weights(path)
            assert (model.get_weights()[0] == changed[0]).all() == is_replaced
            model.set_weights(changed)
    assert not answers


def damaged(path: str) -> str:
    """Return the name of a file that is no checkpoint."""
    pathlib.Path(f"{path}2").write_bytes(b"\x89HDF\r\n" * 20)
    return f"{path}2"


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda model, path: model.save_weights(path, True, "x"), ValueError, 'format "x"'),
        (lambda model, path: model.save_weights(f"{path}.h5", True, "tf"), ValueError, "Omit"),
        (lambda model, path: sequential().save_weights(path), ValueError, "not yet been created"),
        (lambda model, path: model.load_weights(f"{path}x"), tf.errors.NotFoundError, "weightsx"),
        (lambda model, path: model.load_weights(path, True), NotImplementedError, "by_name=True"),
        (lambda model, path: Empty().load_weights(path), AssertionError, "Nothing except the root"),
        (
            lambda model, path: model.save_weights(f"{path}.h5"),
            ImportError,
            "or use a name without",
        ),
        (lambda model, path: model.save(path), ImportError, "or keep only the weights"),
        (lambda model, path: model.load_weights(f"{path}.h5"), ImportError, "pip install h5py"),
        (lambda model, path: model.load_weights(damaged(path)), ImportError, "requires h5py"),
    ],
)
def test_files_that_do_not_fit_are_refused(
    call: Any, error: Any, message: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "h5py", None)
    path = str(tmp_path / "weights")
    with program():
        model = functional()
        model.save_weights(path)
        with pytest.raises(error, match=message):
            call(model, path)


def test_an_hdf5_file_keeps_the_weights(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("h5py", reason=NO_HDF5)
    path = tmp_path / "weights.h5"
    with program():
        model = compiled()
        saved = train(model)
        model.save_weights(path)
    with program():
        model = functional()
        assert model.load_weights(path) is None
        check(model.get_weights(), saved)
        other = keras.Sequential([keras.layers.Dense(2, input_shape=(3,), name="dense")])
        other.load_weights(path, by_name=True)
        check(other.get_weights(), saved[:2])
        with pytest.raises(ValueError, match="containing 3 layers into a model with 1 layers"):
            other.load_weights(path)
        wide = keras.Sequential([keras.layers.Dense(3, input_shape=(3,), name="dense")])
        with pytest.raises(ValueError, match=r"shapes \[\(3, 3\), \(3,\)\]"):
            wide.load_weights(path, by_name=True)


def test_weights_that_cannot_be_saved_leave_the_file_before_them(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("h5py", reason=NO_HDF5)
    path = tmp_path / "weights.h5"
    with program():
        functional().save_weights(path)
        before = path.read_bytes()
        twice = keras.Sequential([keras.layers.Dense(1, name="same") for _ in range(2)])
        twice.build((None, 1))
        with pytest.raises(ValueError, match="name already exists"):
            twice.save_weights(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_many_names_of_an_hdf5_file_need_several_attributes(tmp_path: pathlib.Path) -> None:
    h5py = pytest.importorskip("h5py", reason=NO_HDF5)
    from capstan.keras import hdf5_weights

    names = [f"{number:0400}" for number in range(400)]
    with h5py.File(tmp_path / "names.h5", "w") as file:
        hdf5_weights._set_names(file, "layer_names", names)
        assert len(file.attrs) == 3
        assert hdf5_weights._names(file, "layer_names") == names


def test_a_prefix_may_be_a_new_folder(tmp_path: pathlib.Path) -> None:
    path = f"{tmp_path}/new/folder/"
    with program():
        first = compiled()
        first.save_weights(path)
        expected = first.get_weights()
    assert (tmp_path / "new" / "folder" / ".index").is_file()
    with program():
        again = compiled()
        again.load_weights(path)
        check(again.get_weights(), expected)


def test_a_second_load_adds_no_operations(tmp_path: pathlib.Path) -> None:
    path = str(tmp_path / "weights")
    with program():
        model, graph = compiled(), tf.get_default_graph()
        model.save_weights(path)
        model.load_weights(path)
        count = len(graph.get_operations())
        model.load_weights(path)
        assert len(graph.get_operations()) == count


def test_variables_get_loaded_values_when_a_call_makes_them(tmp_path: pathlib.Path) -> None:
    path = str(tmp_path / "weights")
    with program():
        first = compiled(Own)
        train(first)
        first.save_weights(path)
        expected = first.predict(X)
    with program(), tf.Session() as session:
        again = Own()
        again.load_weights(path)
        np.testing.assert_allclose(session.run(again(tf.constant(X))), expected, rtol=1e-5)
