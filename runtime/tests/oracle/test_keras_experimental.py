"""`tf.keras.experimental` has the values and the files of TensorFlow's Keras."""

import pathlib
from collections.abc import Callable
from typing import Any

import genuine
import numpy as np
import pytest

import capstan

pytestmark = genuine.MARKS

OURS = capstan.keras.experimental
RANDOM = np.random.RandomState(3)
STEPS = RANDOM.uniform(-1, 1, (2, 5, 3)).astype(np.float32)

SCHEDULES: dict[str, Callable[[Any], Any]] = {
    "CosineDecay": lambda e: e.CosineDecay(0.5, 6, alpha=0.1),
    "CosineDecayRestarts": lambda e: e.CosineDecayRestarts(0.5, 3, t_mul=2.0, m_mul=0.5),
    "equal periods": lambda e: e.CosineDecayRestarts(0.5, 3, 1.0, alpha=0.1, name="mine"),
    "LinearCosineDecay": lambda e: e.LinearCosineDecay(0.5, 6, 2.0, 0.1, 0.01),
    "NoisyLinearCosineDecay": lambda e: e.NoisyLinearCosineDecay(0.5, 6, initial_variance=1e-12),
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_a_schedule_has_the_rates_of_keras(v1: Any, name: str) -> None:
    from tensorflow.python.keras.optimizer_v2 import learning_rate_schedule as theirs

    ours = SCHEDULES[name](OURS)
    with v1.Graph().as_default(), v1.Session() as session:
        wanted = SCHEDULES[name](theirs)
        expected = session.run([wanted(v1.constant(step)) for step in range(9)])
        assert ours.get_config() == wanted.get_config()
    with capstan.Graph().as_default(), capstan.Session() as session:
        actual = session.run([ours(capstan.constant(step)) for step in range(9)])
    np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("implementation", [1, 2])
def test_a_cell_with_peepholes_is_that_of_keras(v1: Any, implementation: int) -> None:
    from tensorflow.python.keras.layers import recurrent

    def outputs(tf: Any, keras: Any, cell: Any, weights: Any = None) -> Any:
        with tf.Graph().as_default(), tf.Session() as session:
            layer = keras.RNN(cell(4, implementation=implementation), return_sequences=True)
            found = layer(tf.constant(STEPS))
            if weights is None:
                weights = [RANDOM.uniform(-1, 1, each.shape.as_list()) for each in layer.weights]
            session.run(tf.global_variables_initializer())
            for variable, value in zip(layer.weights, weights, strict=True):
                variable.load(value, session)
            return session.run(found), weights, [each.name for each in layer.weights]

    expected, weights, names = outputs(v1, recurrent, recurrent.PeepholeLSTMCell)
    actual, _, own = outputs(capstan, capstan.keras.layers, OURS.PeepholeLSTMCell, weights)
    np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-6)
    assert [each.rsplit("/", 1)[-1] for each in own] == [each.rsplit("/", 1)[-1] for each in names]


def test_tensorflow_loads_the_graphs_and_the_values(v1: Any, tmp_path: pathlib.Path) -> None:
    layers, inputs = capstan.keras.layers, RANDOM.uniform(-1, 1, (3, 4)).astype(np.float32)
    path = str(tmp_path / "model")
    with capstan.Graph().as_default():
        model = capstan.keras.Sequential([layers.Dense(3, input_shape=(4,)), layers.Dense(2)])
        model.compile("adam", "mse", metrics=["mae"])
        model.fit(inputs, np.ones((3, 2)), verbose=0)
        expected = model.predict(inputs)
        OURS.export_saved_model(model, path)
    for tag, output in (("serve", "dense_1"), ("eval", "predictions/dense_1")):
        with v1.Graph().as_default(), v1.Session() as session:
            signatures = v1.saved_model.loader.load(session, [tag], path).signature_def
            (found,) = [signatures[name] for name in ("serving_default", "eval", "train")
                        if name in signatures]  # fmt: skip
            feeds = {found.inputs["dense_input"].name: inputs}
            actual = session.run(found.outputs[output].name, feeds)
            np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-5)
    with v1.Graph().as_default(), v1.Session() as session:
        signatures = v1.saved_model.loader.load(session, ["train"], path).signature_def
        given, (step,) = signatures["train"], signatures["__saved_model_train_op"].outputs.values()
        feeds = {given.inputs["dense_input"].name: inputs,
                 given.inputs["dense_1_target"].name: np.ones((3, 2))}  # fmt: skip
        wanted = [given.outputs["loss"].name, session.graph.get_operation_by_name(step.name)]
        losses = [session.run(wanted, feeds)[0] for _ in range(5)]
        assert losses[-1] < losses[0]
