"""Learning-rate decays and moving averages give TensorFlow's numbers, under TensorFlow's names."""

import importlib
from collections.abc import Callable
from typing import Any

import genuine
import numpy as np
import pytest

import capstan
from capstan.train import moving_averages

pytestmark = genuine.MARKS

DECAYS: dict[str, Callable[[Any, Any], Any]] = {
    "exponential": lambda train, step: train.exponential_decay(0.1, step, 4, 0.5),
    "staircase": lambda train, step: train.exponential_decay(0.1, step, 4, 0.5, staircase=True),
    "natural_exp": lambda train, step: train.natural_exp_decay(0.1, step, 4, 0.5),
    "inverse_time": lambda train, step: train.inverse_time_decay(0.1, step, 4, 0.5),
    "inverse_steps": lambda train, step: train.inverse_time_decay(0.1, step, 4, 0.5, True),
    "polynomial": lambda train, step: train.polynomial_decay(0.1, step, 5, 0.01, 2.0),
    "cycles": lambda train, step: train.polynomial_decay(0.1, step, 5, 0.01, 0.5, cycle=True),
    "piecewise": lambda train, step: train.piecewise_constant(step, [2, 6], [1.0, 0.5, 0.1]),
    "piecewise_decay": lambda train, step: train.piecewise_constant_decay(step, [3], [1.0, 0.5]),
    "cosine": lambda train, step: train.cosine_decay(0.1, step, 7, alpha=0.1),
    "restarts": lambda train, step: train.cosine_decay_restarts(0.1, step, 2, m_mul=0.9),
    "equal_restarts": lambda train, step: train.cosine_decay_restarts(0.1, step, 3, t_mul=1.0),
    "linear_cosine": lambda train, step: train.linear_cosine_decay(0.1, step, 7, 1.5, 0.1),
    # Random numbers differ from TensorFlow's, so the noise is zero.
    "noisy": lambda train, step: train.noisy_linear_cosine_decay(0.1, step, 7, 0.0),
}


def rates(module: Any, decays: Callable[[Any, Any], list[Any]]) -> tuple[list[str], Any]:
    """Return the names of all decays, and their values at several steps."""
    with module.Graph().as_default(), module.Session() as session:
        step = module.placeholder(module.int64, [])
        found = decays(module.train, step)
        return [rate.op.name for rate in found], [
            session.run(found, {step: number}) for number in range(10)
        ]


def test_every_decay_gives_tensorflows_rates(v1: Any) -> None:
    def decays(train: Any, step: Any) -> list[Any]:
        return [decay(train, step) for decay in DECAYS.values()]

    expected_names, expected = rates(v1, decays)
    names, found = rates(capstan, decays)
    for name, own, other in zip(DECAYS, names, expected_names, strict=True):
        assert own.split("/")[0] == other.split("/")[0], name
    for step, (row, expected_row) in enumerate(zip(found, expected, strict=True)):
        for name, value, expected_value in zip(DECAYS, row, expected_row, strict=True):
            assert value.dtype == expected_value.dtype == np.float32
            np.testing.assert_allclose(
                value, expected_value, rtol=1e-5, atol=1e-7, err_msg=f"{name} at step {step}"
            )


def test_a_decay_without_a_global_step_and_boundaries_of_other_types_are_refused() -> None:
    with pytest.raises(ValueError, match="global_step is required for exponential_decay"):
        capstan.train.exponential_decay(0.1, None, 4, 0.5)
    with capstan.Graph().as_default():
        step = capstan.placeholder(capstan.int64, [])
        with pytest.raises(ValueError, match="boundaries should be 1 less"):
            capstan.train.piecewise_constant(step, [1, 2], [1.0])
        with pytest.raises(ValueError, match="must have the same dtype as x"):
            capstan.train.piecewise_constant(step, [1.5], [1.0, 2.0])
        with pytest.raises(ValueError, match="elements all with the same dtype"):
            capstan.train.piecewise_constant(step, [1], [1.0, 2])


def averaged(module: Any, *, is_resource: bool) -> tuple[dict[str, Any], list[str], list[str]]:
    """Return the values of all variables, the moving averages, and the names that are restored."""
    with module.Graph().as_default(), module.Session() as session:
        module.get_variable_scope().set_use_resource(is_resource)
        step = module.train.get_or_create_global_step()
        w = module.get_variable("w", initializer=np.float32([1, 2]))
        half = module.get_variable("half", initializer=np.float64(3))
        product = module.multiply([1.0, 2.0], 2.0, name="product")
        average = module.train.ExponentialMovingAverage(0.9, num_updates=step)
        debiased = module.train.ExponentialMovingAverage(0.8, zero_debias=True, name="Debiased")
        before = average.average_name(w)
        change = module.group(w.assign_add([1.0, -1.0]), half.assign_add(0.5), step.assign_add(1))
        with module.control_dependencies([change]):
            update = module.group(average.apply(), debiased.apply([product]))
        assert (average.average(w).op.name, average.average_name(w)) == (before, before)
        assert average.average(step) is None
        session.run(module.global_variables_initializer())
        for _ in range(3):
            session.run(update)
        variables = module.global_variables()
        values = dict(zip([v.op.name for v in variables], session.run(variables), strict=True))
        return (
            values,
            [v.op.name for v in module.moving_average_variables()],
            sorted((name, v.op.name) for name, v in average.variables_to_restore().items()),
        )


@pytest.mark.parametrize("is_resource", [False, True], ids=["ref", "resource"])
def test_moving_averages_equal_those_of_tensorflow(v1: Any, is_resource: bool) -> None:
    expected, expected_averages, expected_names = averaged(v1, is_resource=is_resource)
    found, averages, names = averaged(capstan, is_resource=is_resource)
    assert (averages, names) == (expected_averages, expected_names)
    assert list(found) == list(expected)
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-6, err_msg=name)


def weighted(module: Any, moving_averages: Any) -> tuple[list[str], list[Any]]:
    """Return the names of the variables of a weighted average, and its values in three steps."""
    with module.Graph().as_default(), module.Session() as session:
        value = module.placeholder(module.float32, [2])
        weight = module.placeholder(module.float32, [])
        average = moving_averages.weighted_moving_average(value, 0.8, weight)
        session.run(module.global_variables_initializer())
        values = [
            session.run(average, {value: [step, 2 * step], weight: step}) for step in (1, 3, 2)
        ]
        return [v.name for v in module.global_variables()], values


def test_a_weighted_moving_average_equals_that_of_tensorflow(v1: Any) -> None:
    genuine_averages = importlib.import_module("tensorflow.python.training.moving_averages")
    expected_names, expected = weighted(v1, genuine_averages)
    names, found = weighted(capstan, moving_averages)
    assert names == expected_names
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_integers_have_no_moving_average() -> None:
    with capstan.Graph().as_default():
        count = capstan.get_variable("count", initializer=3)
        with pytest.raises(TypeError, match="must be half, float, or double: count:0"):
            capstan.train.ExponentialMovingAverage(0.9).apply([count])
