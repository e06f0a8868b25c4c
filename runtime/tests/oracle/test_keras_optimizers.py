"""The optimizers of Keras create the variables of TensorFlow's Keras and give its numbers."""

import itertools
from collections.abc import Callable
from typing import Any

import genuine
import numpy as np
import pytest

import capstan

pytestmark = genuine.MARKS

STEPS = 3
OPTIMIZERS: dict[str, Callable[[Any], Any]] = {
    "SGD": lambda o: o.SGD(0.1),
    "SGD, lr, decay": lambda o: o.SGD(lr=0.1, decay=0.5),
    "Momentum": lambda o: o.SGD(0.1, 0.9, name="mine"),
    "Nesterov": lambda o: o.SGD(0.1, 0.9, nesterov=True),
    "RMSprop": lambda o: o.RMSprop(0.1, 0.8),
    "RMSprop, centered": lambda o: o.RMSprop(0.1, 0.8, epsilon=0.5, centered=True),
    "RMSprop, momentum": lambda o: o.RMSprop(0.1, 0.8, 0.5),
    "RMSprop, centered, momentum": lambda o: o.RMSprop(0.1, 0.8, 0.5, 0.3, centered=True),
    "Adagrad": lambda o: o.Adagrad(0.5, 0.2, 0.01),
    "Adadelta": lambda o: o.Adadelta(0.5, 0.8, 1e-3),
    "Adam": lambda o: o.Adam(0.1, 0.8, 0.7),
    "Adam, amsgrad": lambda o: o.Adam(0.1, 0.8, 0.3, amsgrad=True),
    "Adamax": lambda o: o.Adamax(0.1, 0.8, 0.7),
    "Nadam": lambda o: o.Nadam(0.1, 0.8, 0.7),
    "Ftrl": lambda o: o.Ftrl(0.5, l1_regularization_strength=0.01),
    "Ftrl, shrinkage": lambda o: o.Ftrl(
        0.5, -0.4, 0.3, 0.01, 0.02, l2_shrinkage_regularization_strength=0.1
    ),
    "ExponentialDecay": lambda o: o.SGD(o.schedules.ExponentialDecay(0.5, 2, 0.3)),
    "InverseTimeDecay": lambda o: o.Adam(o.schedules.InverseTimeDecay(0.5, 2, 0.3, True)),
    "PiecewiseConstantDecay": lambda o: o.SGD(
        o.schedules.PiecewiseConstantDecay([0, 1], [0.5, 0.2, 0.1])
    ),
    "PolynomialDecay": lambda o: o.RMSprop(o.schedules.PolynomialDecay(0.5, 2, 0.1, 2.0)),
    "PolynomialDecay, cycle": lambda o: o.SGD(o.schedules.PolynomialDecay(0.5, 2, 0.1, cycle=True)),
}


@pytest.fixture(scope="module")
def keras(tf: Any) -> Any:
    """The optimizers of the Keras that is inside of TensorFlow 2, which keeps those of 1.15."""
    from tensorflow.python.keras import optimizers
    from tensorflow.python.keras.optimizer_v2 import (
        adadelta,
        adagrad,
        adam,
        adamax,
        ftrl,
        gradient_descent,
        learning_rate_schedule,
        nadam,
        rmsprop,
    )  # fmt: skip

    class Optimizers:
        SGD, RMSprop, Ftrl = gradient_descent.SGD, rmsprop.RMSprop, ftrl.Ftrl
        Adagrad, Adadelta = adagrad.Adagrad, adadelta.Adadelta
        Adam, Adamax, Nadam = adam.Adam, adamax.Adamax, nadam.Nadam
        schedules = learning_rate_schedule
        serialize, deserialize = optimizers.serialize, optimizers.deserialize

    return Optimizers


def trained(module: Any, optimizers: Any, make: Callable[[Any], Any], dtype: Any) -> Any:
    """Return the configuration, the names of variables, and their values after each step.

    One variable has a dense gradient. The other has a sparse gradient with a repeated row.
    """
    with module.Graph().as_default(), module.Session() as session:
        w = module.get_variable(
            "w", initializer=np.array([[1, -2], [0.5, 3]], dtype), use_resource=True
        )
        table = module.get_variable(
            "table", initializer=np.arange(1, 9, dtype=dtype).reshape(4, 2) / 4, use_resource=True
        )
        gradients = [
            (module.constant(np.array([[0.5, -1], [2, 0]], dtype)), w),
            (
                module.IndexedSlices(
                    module.constant(np.array([[1, 2], [-1, 0.5], [0.5, 1]], dtype)),
                    module.constant([2, 0, 2]),
                    module.constant([4, 2]),
                ),
                table,
            ),
        ]
        optimizer = make(optimizers)
        config = optimizers.serialize(optimizer)
        config["config"].pop("beta", None)  # Later versions of Ftrl have this hyperparameter.
        train_op = optimizer.apply_gradients(gradients)
        every = [each for each in module.global_variables() if each.name != "Ftrl/beta:0"]
        names = [
            sorted((each.name, each.dtype.base_dtype.name, each.trainable) for each in every),
            [each.name for each in optimizer.weights],
            list(optimizer.get_slot_names()),
            train_op.type,
        ]
        session.run(module.global_variables_initializer())
        values = []
        for _ in range(STEPS):
            session.run(train_op)
            values.append(dict(zip([v.name for v in every], session.run(every), strict=True)))
        return config, names, values


@pytest.mark.parametrize(
    ("optimizer", "dtype"),
    list(zip(OPTIMIZERS, itertools.cycle([np.float32, np.float64]), strict=False)),
)
def test_an_optimizer_gives_the_variables_and_numbers_of_keras(
    v1: Any, keras: Any, optimizer: str, dtype: Any
) -> None:
    make = OPTIMIZERS[optimizer]
    config, names, values = trained(v1, keras, make, dtype)
    found_config, found_names, found_values = trained(
        capstan, capstan.keras.optimizers, make, dtype
    )
    assert found_config == config
    assert found_names == names
    for found, expected in zip(found_values, values, strict=True):
        for name, value in expected.items():
            np.testing.assert_allclose(found[name], value, rtol=2e-5, atol=1e-7, err_msg=name)
            assert found[name].dtype == value.dtype
    again = capstan.keras.optimizers.deserialize(found_config)
    assert capstan.keras.optimizers.serialize(again) == config
