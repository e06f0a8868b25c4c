"""Models of Keras train, evaluate and predict in graphs (python/keras/engine/training.py)."""

import io
import itertools
import re
import sys
import time
from collections.abc import Iterator
from typing import Any

import clusters
import numpy as np
import pytest
from keras_training import (
    RATE,
    START,
    Numbered,
    Reference,
    X,
    Y,
    batches,
    check,
    dataset,
    endless,
    linear,
)

import capstan as tf

keras = tf.keras


@pytest.fixture(autouse=True)
def session() -> Iterator[None]:
    with tf.Graph().as_default():
        yield
    keras.backend.set_session(None)


@pytest.mark.e2e
@pytest.mark.parametrize(
    ("data", "options"),
    [
        (lambda: (X, Y), {"batch_size": 4}),
        (lambda: ({"dense_input": X}, {"dense": Y}), {"batch_size": 4}),
        (lambda: (dataset(4),), {}),
        (lambda: (dataset(4).repeat(),), {"steps_per_epoch": 3}),
        (lambda: (dataset(4).repeat().make_one_shot_iterator(),), {"steps_per_epoch": 3}),
        (lambda: (endless(),), {"steps_per_epoch": 3}),
        (lambda: (Numbered(),), {}),
    ],
    ids=["arrays", "names", "dataset", "steps", "iterator", "generator", "sequence"],
)
def test_fit_descends_as_the_formula_says(data: Any, options: dict[str, int]) -> None:
    model, reference = linear(), Reference()
    if "dense_input" in (data()[0] if isinstance(data()[0], dict) else {}):
        (name,) = model.input_names
        given: Any = ({name: X}, {model.output_names[0]: Y})
    else:
        given = data()
    history = model.fit(*given, epochs=2, shuffle=False, verbose=0, **options)
    expected = []
    for _ in range(2):
        losses = [reference.step(X[place], Y[place]) for place in batches(4)]
        # Only of arrays, Keras knows the number of examples before.
        sizes = [len(X[place]) if "batch_size" in options else 1 for place in batches(4)]
        expected.append(np.average(losses, weights=sizes))
    np.testing.assert_allclose(history.history["loss"], expected, rtol=1e-4)
    assert history.epoch == [0, 1]
    check(model, reference)


def test_evaluate_and_predict_see_each_example_once() -> None:
    model, reference = linear(metrics=["mae", keras.metrics.RootMeanSquaredError()]), Reference()
    assert model.metrics_names == ["loss", "mean_absolute_error", "root_mean_squared_error"]
    errors = reference.errors(X, Y)
    expected = [np.mean(errors**2), np.mean(np.abs(errors)), np.sqrt(np.mean(errors**2))]
    for _ in range(2):  # Each pass begins with empty metrics.
        np.testing.assert_allclose(model.evaluate(X, Y, batch_size=4), expected, rtol=1e-5)
    np.testing.assert_allclose(model.evaluate(dataset(5)), expected, rtol=1e-5)
    np.testing.assert_allclose(model.evaluate(Numbered())[1:], expected[1:], rtol=1e-5)
    found = model.predict(X, batch_size=4)
    np.testing.assert_allclose(found, X @ START, rtol=1e-5)
    np.testing.assert_allclose(model.predict(dataset(4)), found)
    np.testing.assert_allclose(model.predict_on_batch(X), found)
    np.testing.assert_allclose(model.test_on_batch(X, Y), expected, rtol=1e-5)
    np.testing.assert_allclose(model.train_on_batch(X, Y), expected, rtol=1e-5)
    reference.step(X, Y)
    check(model, reference)


def test_the_last_examples_validate_the_model() -> None:
    model, reference = linear(metrics=["mse"]), Reference()
    history = model.fit(X, Y, batch_size=8, validation_split=0.2, verbose=0, shuffle=False)
    reference.step(X[:8], Y[:8])
    assert set(history.history) == {
        "loss", "mean_squared_error", "val_loss", "val_mean_squared_error"
    }  # fmt: skip
    expected = reference.loss(X[8:], Y[8:])
    np.testing.assert_allclose(history.history["val_loss"], [expected], rtol=1e-4)
    again = model.fit(X, Y, validation_data=(X[8:], Y[8:]), verbose=0, epochs=4, validation_freq=2)
    assert len(again.history["val_loss"]) == 2


REFUSED: list[tuple[Any, type[Exception], str]] = [
    (lambda model: keras.Sequential().fit(X, Y), RuntimeError, "You must compile your model"),
    (lambda model: model.fit(X, Y[:3]), ValueError, "same number of examples"),
    (lambda model: model.fit([X, X], Y), ValueError, "has 2 arrays, and the model expects 1"),
    (lambda model: model.fit({"b": X}, Y), ValueError, "No data provided for"),
    (lambda model: model.fit(dataset(2), Y), ValueError, "must be parts of the elements"),
    (lambda model: model.fit(endless()), ValueError, "Please specify `steps_per_epoch`"),
    (lambda model: model.fit(X[:0], Y[:0]), ValueError, "no examples"),
    (lambda model: model.fit(X), ValueError, "There are no targets"),
    (lambda model: model.fit(X, np.ones((10, 3))), ValueError, "same shape as the output"),
    (lambda model: model.fit(Y, Y), ValueError, r"expected dense_.*input to have shape \(3,\)"),
    (lambda model: model.fit(X, Y, epoch=3), TypeError, "epoch"),
    (lambda model: model.compile("sgd", "no_loss"), ValueError, "no_loss"),
    (lambda model: model.compile("no_sgd", "mse"), ValueError, "no_sgd"),
    (lambda model: model.compile("sgd", "mse", ["no_metric"]), ValueError, "no_metric"),
    (lambda model: model.compile("sgd", "mse", "acc"), TypeError, "not understood"),
    (lambda model: model.compile("sgd", "mse", metric=["acc"]), TypeError, "metric"),
    (lambda model: model.compile("sgd"), ValueError, "no loss to optimize"),
    (lambda model: model.compile("sgd", {"b": "mse"}), ValueError, "Unknown"),
    (lambda model: model.compile("sgd", ["mse"] * 2), ValueError, "one entry"),
]


@pytest.mark.parametrize(("use", "error", "message"), REFUSED)
def test_a_wrong_use_is_refused(use: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        use(linear())


@pytest.mark.parametrize(
    ("steps", "epochs"), [(3, [0]), (2, [0]), (1, [0, 1])], ids=["within", "at the end", "after"]
)
@pytest.mark.parametrize("data", [lambda: dataset(5), lambda: iter([(X[:5], Y[:5])] * 2)])
def test_data_that_end_early_end_the_training(data: Any, steps: int, epochs: list[int]) -> None:
    model = linear()
    history = model.fit(data(), steps_per_epoch=steps, epochs=5, verbose=0)
    assert history.epoch == epochs
    assert model.history is history


def test_each_validation_begins_with_the_first_batch_of_a_dataset() -> None:
    model = linear()
    model.optimizer.lr = 0.0
    history = model.fit(
        X, Y, epochs=3, verbose=0, validation_data=dataset(5), validation_steps=1
    )  # fmt: skip
    expected = Reference().loss(X[:5], Y[:5])
    np.testing.assert_allclose(history.history["val_loss"], [expected] * 3, rtol=1e-5)


def test_a_stopped_training_is_not_validated_and_a_list_names_the_epochs_that_are() -> None:
    model = linear()
    stop = keras.callbacks.LambdaCallback(
        on_batch_end=lambda *_: setattr(model, "stop_training", True)
    )
    options = {"validation_data": (X, Y), "verbose": 0}
    assert set(model.fit(X, Y, callbacks=[stop], **options).history) == {"loss"}
    found = model.fit(X, Y, epochs=4, validation_freq=[1, 3], **options).history
    assert [len(found[name]) for name in ("loss", "val_loss")] == [4, 2]


def test_a_model_trains_the_weights_that_were_trainable_when_it_was_compiled() -> None:
    inner = linear()
    inner.trainable = False
    outer = keras.Sequential([keras.layers.Dense(3, input_shape=(3,)), inner])
    outer.compile("sgd", "mse")
    before = inner.get_weights()
    outer.fit(X, Y, verbose=0)
    np.testing.assert_array_equal(inner.get_weights()[0], before[0])
    inner.fit(X, Y, verbose=0)
    assert np.abs(inner.get_weights()[0] - before[0]).max() > 0


def test_the_name_of_a_loss_function_may_begin_with_an_underscore() -> None:
    def _distance(labels: Any, values: Any) -> Any:
        return tf.reduce_mean(tf.abs(labels - values), -1)

    model = linear()
    model.compile("sgd", _distance)
    found = model.evaluate(X, Y, verbose=0)
    model.compile("sgd", "mae")
    assert found == pytest.approx(model.evaluate(X, Y, verbose=0))


def test_a_model_may_train_without_targets_on_a_loss_that_it_adds() -> None:
    inputs = keras.Input((3,))
    outputs = keras.layers.Dense(3)(inputs)
    model = keras.Model(inputs, outputs)
    model.add_loss(tf.reduce_mean(tf.square(outputs - inputs)))
    model.compile(keras.optimizers.SGD(0.1))
    expected = np.mean((model.predict(X) - X) ** 2)
    history = model.fit(X, epochs=3, batch_size=len(X), validation_data=(X, None), verbose=0)
    losses = history.history["loss"]
    np.testing.assert_allclose(losses[0], expected, rtol=1e-5)
    assert losses[2] < losses[1] < losses[0]
    assert model.train_on_batch(X) == pytest.approx(history.history["val_loss"][-1])


def test_a_layer_is_frozen_and_released_after_the_model_was_compiled() -> None:
    base, head = keras.layers.Dense(3), keras.layers.Dense(1)
    model = keras.Sequential([keras.layers.InputLayer((3,)), base, head])
    weights = model.weights
    for is_trained in (True, False, True):
        base.trainable = is_trained
        model.compile("sgd", "mse")
        assert len(model.weights) == 4
        assert model.trainable_weights == (weights if is_trained else head.weights)
        before = model.get_weights()
        model.fit(X, Y, verbose=0)
        moved = [np.abs(a - b).max() > 0 for a, b in zip(model.get_weights(), before, strict=True)]
        assert sum(moved) == (4 if is_trained else 2)


def test_the_optimizer_has_its_values_in_the_session_of_keras() -> None:
    model = linear()
    model.fit(X, Y, verbose=0)
    optimizer = model.optimizer
    assert [value.tolist() for value in optimizer.get_weights()] == [1]
    optimizer.set_weights([np.int64(7)])
    assert keras.backend.get_value(optimizer.iterations) == 7
    optimizer.lr = 0.5
    assert keras.backend.get_value(optimizer.lr) == 0.5
    assert optimizer.get_config()["learning_rate"] == 0.5


def test_models_of_two_graphs_keep_their_values() -> None:
    first = linear()
    first.fit(X, Y, verbose=0)
    values = first.get_weights()
    with tf.Graph().as_default():
        second = linear()
        second.fit(X, Y, epochs=2, verbose=0)
    np.testing.assert_array_equal(first.get_weights()[0], values[0])
    assert np.abs(second.get_weights()[0] - values[0]).max() > 0


def test_a_sequence_learns_of_the_end_of_each_epoch() -> None:
    class Counted(Numbered):
        ends = 0

        def on_epoch_end(self) -> None:
            self.ends += 1

    batches_ = Counted()
    linear().fit(batches_, epochs=3, verbose=0)
    assert batches_.ends == 3


def test_a_pipe_gets_a_line_for_each_epoch(capsys: pytest.CaptureFixture[str]) -> None:
    linear().fit(X, Y, epochs=2)
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.startswith("Epoch")] == ["Epoch 1/2", "Epoch 2/2"]
    assert re.match(r"10/10 - \d+s - loss: ", lines[1])
    assert len(lines) == 4


def test_functions_of_the_backend_use_the_session_of_keras() -> None:
    x, v = tf.placeholder(tf.float32, [2]), tf.Variable(1.0)
    double = keras.backend.function([x], [x * 2, v + 0.0], [(v, v + 1.0)])
    assert [each.tolist() for each in double([[1.0, 2.0]])] == [[2, 4], 1]
    assert keras.backend.get_value(v) == 2
    keras.backend.batch_set_value([(v, 5.0)])
    assert keras.backend.batch_get_value([v, x.op.graph and v + 1.0]) == [5, 6]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert keras.backend.get_session() is session
        assert keras.backend.get_value(v) == 1


def test_a_function_of_the_backend_takes_arguments_of_a_run() -> None:
    x, scale, v = (
        tf.placeholder(tf.float32, []),
        tf.placeholder_with_default(2.0, []),
        tf.Variable(0),
    )
    more, feeds, metadata = tf.placeholder(tf.float32, []), {}, tf.RunMetadata()
    function = keras.backend.function(
        [x, scale], [x * scale + more], fetches=[v.assign_add(1)], feed_dict=feeds,
        options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), run_metadata=metadata,
    )  # fmt: skip
    for number in (1.0, 10.0):
        feeds[more] = number
        assert function([3.0, None]) == [6 + number]
    assert function([3.0, 5.0]) == [25]
    assert keras.backend.get_value(v) == 3
    assert metadata.step_stats.dev_stats
    with pytest.raises(ValueError, match='Invalid argument "colour"'):
        keras.backend.function([x], [x], colour=1)


@pytest.mark.e2e
def test_a_model_trains_on_a_parameter_server() -> None:
    with clusters.running(ps=1, worker=1) as servers:
        with tf.device("/job:ps/task:0"):
            model = linear()
        keras.backend.set_session(tf.Session(servers["worker:0"].target))
        model.fit(X, Y, batch_size=4, shuffle=False, verbose=0)
        reference = Reference()
        for place in batches(4):
            reference.step(X[place], Y[place])
        check(model, reference)
        assert {variable.device for variable in model.weights} == {"/job:ps/task:0"}
        keras.backend.get_session().close()


@pytest.mark.e2e
def test_a_model_inside_trains_with_its_updates_and_losses_for_the_outer_inputs() -> None:
    inner = keras.Sequential(
        [
            keras.layers.BatchNormalization(input_shape=(3,)),
            keras.layers.ActivityRegularization(l1=1.0),
        ]
    )
    given = keras.Input((3,))
    model = keras.Model(given, inner(given))
    model.compile("sgd", "mse")
    # Keras divides the loss of activities by the number of examples.
    expected = np.abs(X).sum() / len(X) + np.square(X).mean()
    np.testing.assert_allclose(model.evaluate(X, X * 0, batch_size=10), expected, rtol=1e-3)
    model.fit(X, X, batch_size=10, verbose=0)
    np.testing.assert_allclose(model.get_weights()[2], X.mean(axis=0) * 0.01, rtol=1e-4)


def test_a_model_trains_on_tensors_of_the_graph() -> None:
    given = keras.Input(tensor=tf.constant(X))
    start = tf.constant_initializer(START)
    end = keras.layers.Dense(1, kernel_initializer=start, name="end")(given)
    model = keras.Model(given, end)
    target = tf.constant(Y[:, np.newaxis])
    model.compile(keras.optimizers.SGD(RATE), "mse", ["mae"], target_tensors=[target])
    reference = Reference()
    expected = [reference.step(X, Y) for _ in range(3)]
    history = model.fit(steps_per_epoch=1, epochs=3, verbose=0).history
    np.testing.assert_allclose(history["loss"], expected, rtol=1e-5)
    check(model, reference)
    assert model.evaluate(steps=1, verbose=0)[0] == pytest.approx(reference.loss(X, Y), rel=1e-5)
    np.testing.assert_allclose(model.predict(None, steps=1)[:, 0] - Y, reference.errors(X, Y), 1e-4)
    with pytest.raises(ValueError, match="should specify the `steps_per_epoch` argument"):
        model.fit(verbose=0)


@pytest.mark.parametrize("named", [False, True])
def test_a_target_tensor_takes_the_place_of_targets(named: bool) -> None:
    doubled = keras.Input((1,))
    given = keras.Input((3,), name="given")
    ends = [keras.layers.Dense(1, name=name)(given) for name in ("one", "two")]
    model = keras.Model([given, doubled], ends)
    tensors = {"two": 2 * doubled} if named else [None, 2 * doubled]
    model.compile("sgd", "mse", target_tensors=tensors)
    y = Y[:, np.newaxis]
    found = model.evaluate([X, y], y, verbose=0)
    one, two = model.predict([X, y])
    expected = [np.square(one - y).mean(), np.square(two - 2 * y).mean()]
    np.testing.assert_allclose(found, [sum(expected), *expected], rtol=1e-5)


def test_target_tensors_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="one entry per model output"):
        linear(target_tensors=[tf.constant(Y), tf.constant(Y)])
    with pytest.raises(ValueError, match="needs data for its inputs"):
        linear(target_tensors=tf.constant(Y)).fit(steps_per_epoch=1)


@pytest.mark.parametrize("verbose", [1, 2])
def test_fit_prints_a_line_for_each_epoch(verbose: int, capsys: pytest.CaptureFixture) -> None:
    linear().fit(X, Y, verbose=verbose)
    assert re.fullmatch(r"10/10 - \d+s - loss: \d+\.\d{4}\n", capsys.readouterr().out)
    linear().fit(X, 0.0 * Y, epochs=2, verbose=verbose)
    assert "Epoch 2/2\n10/10" in capsys.readouterr().out


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("verbose", [0, 1])
def test_evaluate_and_predict_print_a_line(verbose: int, capsys: pytest.CaptureFixture) -> None:
    model = linear()
    model.evaluate(X, Y, verbose=verbose)
    model.predict(X, verbose=verbose)
    printed = re.sub(r"\d+s", "0s", capsys.readouterr().out)
    loss = Reference().loss(X, Y)
    assert printed == (f"10/10 - 0s - loss: {loss:.4f}\n10/10 - 0s\n" if verbose else "")


def test_evaluate_shows_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = Terminal()
    times = itertools.count()
    monkeypatch.setattr(sys, "stdout", shown)
    monkeypatch.setattr(time, "monotonic", lambda: next(times))
    linear().evaluate(X, Y, batch_size=5)
    assert "\r5/10 [===============...............] - loss: " in shown.getvalue()
    assert shown.getvalue().endswith("\x1b[K\n")


def test_a_model_cannot_run_eagerly() -> None:
    linear(run_eagerly=False, experimental_run_tf_function=True)
    with pytest.raises(ValueError, match="eager execution"):
        linear(run_eagerly=True)
