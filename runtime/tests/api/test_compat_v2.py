"""`tf.compat.v2` has the names of TensorFlow 2, says what it lacks, and trains Keras's layers."""

import inspect
import operator
import pathlib
from typing import Any

import numpy as np
import pytest

import capstan as tf
from capstan.compat import kept_keras_names, kept_names, version2
from capstan.compat.changed import reordered, rows

v2 = tf.compat.v2
KEPT = {**kept_names.NAMES, **kept_keras_names.NAMES}


def found(path: str) -> Any:
    return operator.attrgetter(path.lstrip("."))(v2)


@pytest.mark.parametrize("module", KEPT)
def test_a_kept_name_is_that_of_tf(module: str) -> None:
    for name in KEPT[module].split():
        path = f"{module}.{name}".lstrip(".")
        assert found(path) is operator.attrgetter(path)(tf)


@pytest.mark.parametrize("module", rows.ROWS)
def test_each_argument_of_a_row_is_an_argument_of_its_function(module: str) -> None:
    for text in rows.ROWS[module]:
        row = reordered.parse(module, text)
        theirs = inspect.signature(operator.attrgetter(row.home)(tf)).parameters
        given = {row.renamed.get(name, name) for name in row.signature.parameters}
        needed = {name for name, each in theirs.items() if each.default is each.empty}
        assert needed <= given <= set(theirs)
        assert inspect.signature(found(f"{module}.{row.name}")) == row.signature


def test_the_modules_are_imported_by_their_paths() -> None:
    import capstan.compat.v2 as tf2
    from capstan.compat.v2.keras.layers import Dense
    from capstan.compat.v2.nn import relu

    assert tf2 is v2
    assert Dense is tf.keras.layers.Dense
    assert relu is tf.nn.relu
    assert v2.compat.v1 is tf
    assert v2.losses.MeanSquaredError is tf.keras.losses.MeanSquaredError
    assert v2.metrics.AUC is tf.keras.metrics.AUC
    assert v2.optimizers.Adam is v2.keras.optimizers.Adam
    assert v2.optimizers.schedules.ExponentialDecay is not None
    assert v2.newaxis is None
    assert {"Variable", "argmax", "nn"} <= set(dir(v2))


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("placeholder", "there is no such name in tf.compat.v2. tf.compat.v1.placeholder is"),
        ("nn.conv9d", "module 'capstan.compat.v2.nn' has no attribute 'conv9d': there is no such"),
        ("layers", "there is no such name in tf.compat.v2. tf.compat.v1.layers is similar"),
        (
            "estimator.DNNClassifier",
            "Capstan lacks this part of tf.compat.v2. tf.compat.v1.estimator.DNNClassifier is",
        ),
        ("summary.trace_on", "Capstan lacks this part of tf.compat.v2$"),
    ],
)
def test_a_missing_name_says_why_it_is_missing(path: str, message: str) -> None:
    with pytest.raises(AttributeError, match=message):
        found(path)


@pytest.mark.parametrize("path", version2.LACKED)
def test_a_name_that_is_said_to_be_missing_is_missing(path: str) -> None:
    with pytest.raises(AttributeError, match="Capstan lacks this part"):
        found(path)


def test_a_call_that_does_not_fit_is_refused(graph: Any) -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'dimension'"):
        v2.argmax([1], dimension=0)
    with pytest.raises(TypeError, match="missing a required argument: 'rate'"):
        v2.nn.dropout([1.0])
    with pytest.raises(TypeError, match=r"Expected Tensor's shape: \(3,\), got \(2,\)"):
        v2.constant([1, 2], shape=[3])
    with pytest.raises(RuntimeError, match="does not support functions"):
        v2.device(lambda op: "/cpu:0")
    with pytest.raises(ValueError, match="must be a string"):
        v2.name_scope(None)
    with pytest.raises(ValueError, match="NHWC"):
        v2.nn.dilation2d(
            np.ones((1, 2, 2, 1)), np.ones((1, 1, 1)), [1] * 4, "SAME", "NCHW", [1] * 4
        )
    with pytest.raises(ValueError, match="length 1, 2 or 4"):
        v2.nn.fractional_max_pool(np.ones((1, 4, 4, 1)), [1.5] * 3)
    with pytest.raises(ValueError, match="not implemented"):
        v2.image.resize(np.ones((2, 2, 1)), [3, 3], "none")


def test_variables_and_ragged_tensors_keep_their_kinds(graph: Any) -> None:
    variable = v2.Variable(1.0, name="weight")
    assert isinstance(variable, v2.Variable)
    assert tf.global_variables() == [variable]
    words = v2.strings.split(["a b", "c"])
    assert isinstance(words, tf.RaggedTensor)
    total = v2.reduce_sum(v2.ragged.constant([[1, 2], [3]]), axis=1)
    with tf.Session() as session:
        assert session.run(total).tolist() == [3, 3]


def test_initializers_have_no_type_of_their_own(graph: Any) -> None:
    made = v2.keras.initializers.RandomNormal(0.0, 2.0, seed=1)
    assert made.get_config() == {"mean": 0.0, "stddev": 2.0, "seed": 1}
    again = v2.initializers.get({"class_name": "RandomNormal", "config": made.get_config()})
    assert again.stddev == 2.0
    assert v2.constant_initializer(3)([2]).dtype is tf.int32
    with pytest.raises(TypeError, match="dtype"):
        v2.random_uniform_initializer(dtype=tf.float64)
    for name in version2.INITIALIZERS:
        assert found(f"initializers.{name}") is found(f"keras.initializers.{name}")
    for kind in ("GlorotNormal", "GlorotUniform", "Orthogonal", "VarianceScaling", "Zeros"):
        built = found(f"initializers.{kind}")()
        assert type(built).from_config({**built.get_config(), "dtype": "float32"}) is not None
        assert built([2, 3], tf.float64).dtype is tf.float64


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_recurrent_layers_have_the_defaults_of_cudnn(graph: Any, kind: str) -> None:
    inputs = tf.constant(np.linspace(-1, 1, 24, dtype=np.float32).reshape(2, 4, 3))
    given = {"reset_after": True} if kind == "GRU" else {}
    old = getattr(tf.keras.layers, kind)(5, recurrent_activation="sigmoid", **given)
    new = getattr(v2.keras.layers, kind)(5, return_sequences=True, time_major=False)
    cell = getattr(v2.keras.layers, f"{kind}Cell")(5)
    assert new.get_config()["recurrent_activation"] == cell.get_config()["recurrent_activation"]
    assert new.get_config()["implementation"] == 2
    again = type(new).from_config(new.get_config())
    assert again.get_config() == new.get_config()
    outputs, sequences = old(inputs), new(inputs)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        copies = [tf.assign(to, of) for to, of in zip(new.weights, old.weights, strict=True)]
        session.run(copies)
        first, second = session.run([outputs, sequences])
    np.testing.assert_allclose(second[:, -1], first, rtol=1e-6)


def test_a_frozen_batch_normalization_uses_its_averages(graph: Any) -> None:
    inputs = tf.constant([[1.0], [3.0]])
    layer = v2.keras.layers.BatchNormalization(epsilon=0.0)
    trained = layer(inputs, training=True)
    layer.trainable = False
    frozen = layer(inputs, training=True)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(trained).tolist() == [[-1.0], [1.0]]
        assert session.run(frozen).tolist() == [[1.0], [3.0]]


def test_a_model_of_version_2_trains(graph: Any) -> None:
    layers = v2.keras.layers
    model = v2.keras.Sequential([layers.Dense(4, "relu", input_shape=(3,)), layers.Dense(1)])
    loss = v2.keras.losses.MeanSquaredError(v2.keras.losses.Reduction.SUM_OVER_BATCH_SIZE)
    model.compile(v2.keras.optimizers.SGD(0.05), loss, [v2.keras.metrics.MeanAbsoluteError()])
    x = np.linspace(-1, 1, 30, dtype=np.float32).reshape(10, 3)
    history = model.fit(x, x.sum(1, keepdims=True), epochs=30, verbose=0).history
    assert history["loss"][-1] < history["loss"][0]


def test_a_summary_needs_a_step_and_a_writer(graph: Any, tmp_path: pathlib.Path) -> None:
    without = v2.summary.scalar("loss", 1.0, step=1)
    with v2.summary.create_file_writer(str(tmp_path)).as_default():
        with pytest.raises(ValueError, match="No step set"):
            v2.summary.scalar("loss", 1.0)
        with pytest.raises(ValueError, match="scalar"):
            v2.summary.scalar("loss", [1.0], step=1)
        with pytest.raises(ValueError, match="mp3"):
            v2.summary.audio("sound", np.ones((1, 2, 1)), 100, 1, encoding="mp3")
    with tf.Session() as session:
        assert not session.run(without)
