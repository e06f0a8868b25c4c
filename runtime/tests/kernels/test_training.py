"""The optimizers' updates against their formulas, over block borders and all."""

from collections.abc import Iterator
from typing import Any

import interpreter
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from capstan import errors
from capstan.core import dtypes, shapes
from capstan.framework import graph as graphs
from capstan.framework.raw import raw
from capstan.kernels import training

SHAPES = [(), (0,), (3,), (2, 5), (training.BLOCK,), (3, training.BLOCK // 2 + 1)]


@pytest.fixture(autouse=True)
def graph() -> Iterator[graphs.Graph]:
    with graphs.Graph().as_default() as graph:
        yield graph


class Cells:
    """Variables with random values, and those values."""

    def __init__(self, *names: str, shape: Any, seed: int = 0) -> None:
        self.random = np.random.default_rng(seed)
        self.runner = interpreter.Interpreter()
        self.shape = shape
        self.refs, self.values = [], []
        for name in names:
            ref = raw.VariableV2(dtype=dtypes.float64, shape=shape, name=name)
            value = np.abs(self.random.normal(size=shape))
            self.runner.run(raw.Assign(ref, value))
            self.refs.append(ref)
            self.values.append(np.asarray(value))

    def gradient(self) -> Any:
        return np.asarray(self.random.normal(size=self.shape))

    def check(self, *expected: Any) -> None:
        for ref, value in zip(self.refs, expected, strict=True):
            np.testing.assert_allclose(self.runner.run(raw.Identity(ref)), value, rtol=1e-12)


@pytest.mark.parametrize("shape", SHAPES)
def test_gradient_descent_steps_downhill(shape: Any) -> None:
    cells = Cells("w", shape=shape)
    (var,), (value,) = cells.refs, cells.values
    step = raw.ApplyGradientDescent(var, 0.1, raw.Placeholder(dtype=dtypes.float64, shape=shape))
    for _ in range(2):
        slope = cells.gradient()
        cells.runner.run(step, {step.op.inputs[2]: slope})
        value = value - 0.1 * slope
    cells.check(value)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("nesterov", [False, True])
def test_momentum_keeps_going(shape: Any, nesterov: bool) -> None:
    cells = Cells("w", "accum", shape=shape)
    (var, accum), (value, speed) = cells.refs, cells.values
    for _ in range(2):
        slope = cells.gradient()
        step = raw.ApplyMomentum(var, accum, 0.1, slope, 0.9, use_nesterov=nesterov)
        cells.runner.run(step)
        speed = speed * 0.9 + slope
        value = value - 0.1 * (slope + 0.9 * speed if nesterov else speed)
    cells.check(value, speed)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("nesterov", [False, True])
def test_adam_follows_its_paper(shape: Any, nesterov: bool) -> None:
    cells = Cells("w", "m", "v", shape=shape)
    (var, m, v), (value, mean, power) = cells.refs, cells.values
    for count in (1, 2):
        slope = cells.gradient()
        numbers = (0.9**count, 0.999**count, 0.01, 0.9, 0.999, 1e-8)
        cells.runner.run(raw.ApplyAdam(var, m, v, *numbers, slope, use_nesterov=nesterov))
        mean = 0.9 * mean + 0.1 * slope
        power = 0.999 * power + 0.001 * slope**2
        rate = 0.01 * np.sqrt(1 - 0.999**count) / (1 - 0.9**count)
        ahead = 0.9 * mean + 0.1 * slope if nesterov else mean
        value = value - rate * ahead / (np.sqrt(power) + 1e-8)
    cells.check(value, mean, power)


@given(
    indices=st.lists(st.integers(0, 3), max_size=6),
    nesterov=st.booleans(),
    kind=st.sampled_from([np.int32, np.int64]),
)
def test_sparse_momentum_is_momentum_row_by_row(
    indices: list[int], nesterov: bool, kind: Any
) -> None:
    cells = Cells("w", "accum", shape=(4, 2))
    (var, accum), (value, speed) = cells.refs, cells.values
    slopes = cells.random.normal(size=(len(indices), 2))
    found = raw.SparseApplyMomentum(
        var, accum, 0.1, slopes, np.array(indices, kind), 0.9, use_nesterov=nesterov
    )
    cells.runner.run(found)
    value, speed = value.copy(), speed.copy()
    for row, slope in zip(indices, slopes, strict=True):
        speed[row] = speed[row] * 0.9 + slope
        value[row] -= 0.1 * (slope + 0.9 * speed[row] if nesterov else speed[row])
    cells.check(value, speed)


def test_a_gradient_in_another_memory_order_is_the_same_gradient() -> None:
    cells = Cells("w", shape=(3, 4))
    slope = cells.random.normal(size=(4, 3))
    turned = raw.Transpose(slope, [1, 0])
    cells.runner.run(raw.ApplyGradientDescent(cells.refs[0], 1.0, turned))
    cells.check(cells.values[0] - slope.T)


def test_single_precision_stays_single() -> None:
    ref, runner = raw.VariableV2(dtype=dtypes.float32, shape=[2]), interpreter.Interpreter()
    runner.run(raw.Assign(ref, [1.0, 2.0]))
    found = runner.run(raw.ApplyGradientDescent(ref, 0.5, [1.0, 1.0]))
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, [0.5, 1.5])


def test_updates_that_do_not_fit_are_refused() -> None:
    runner = interpreter.Interpreter()
    unknown = shapes.TensorShape(None)
    one, other = (raw.VariableV2(dtype=dtypes.float32, shape=unknown, name=n) for n in "ab")
    runner.run([raw.Assign(one, [1.0, 2.0]), raw.Assign(other, [1.0])])
    with pytest.raises(errors.InvalidArgumentError, match="var and delta do not have the same"):
        runner.run(raw.ApplyGradientDescent(one, 0.1, [1.0]))
    with pytest.raises(errors.InvalidArgumentError, match="var and accum do not have the same"):
        runner.run(raw.ApplyMomentum(one, other, 0.1, [1.0, 1.0], 0.9))
    with pytest.raises(errors.InvalidArgumentError, match="cannot be its own slot"):
        runner.run(raw.ApplyMomentum(one, one, 0.1, [1.0, 1.0], 0.9))
