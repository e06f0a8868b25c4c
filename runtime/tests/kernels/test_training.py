"""The optimizers' updates compared with their formulas, also across block borders."""

import inspect
import itertools
import select
import threading
from typing import Any

import interpreter
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from capstan import errors
from capstan.core import dtypes, recording, tensor_shape
from capstan.core.resource_name import ResourceName
from capstan.framework import opdef
from capstan.framework.raw import raw
from capstan.kernels import registry, regularized_formulas, training
from capstan.resources import containers, variable

TARGETS = {
    *("var", "accum", "accum_update", "gradient_accumulator", "gradient_squared_accumulator"),
    *("m", "v", "ms", "mom", "mg", "linear"),
}
"""The names of the variables that updates change."""
SHAPES = [(), (0,), (3,), (2, 5), (training.BLOCK,), (3, training.BLOCK // 2 + 1)]


class Cells:
    """Variables with random values, and the values."""

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
def test_gradient_descent_follows_its_formula(shape: Any) -> None:
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
def test_momentum_follows_its_formula(shape: Any, nesterov: bool) -> None:
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
def test_adam_follows_its_formula(shape: Any, nesterov: bool) -> None:
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


def keras_momentum(slope: Any, value: Any, speed: Any) -> tuple[Any, ...]:
    speed = 0.9 * speed - 0.1 * slope
    return value + speed, speed


def keras_nesterov(slope: Any, value: Any, speed: Any) -> tuple[Any, ...]:
    speed = 0.9 * speed - 0.1 * slope
    return value + 0.9 * speed - 0.1 * slope, speed


def amsgrad(slope: Any, value: Any, mean: Any, power: Any, largest: Any) -> tuple[Any, ...]:
    mean, power = 0.9 * mean + 0.1 * slope, 0.8 * power + 0.2 * slope**2
    largest = np.maximum(largest, power)
    rate = 0.1 * np.sqrt(1 - 0.64) / (1 - 0.81)
    return value - rate * mean / (np.sqrt(largest) + 0.01), mean, power, largest


def ada_max(slope: Any, value: Any, mean: Any, norm: Any) -> tuple[Any, ...]:
    mean, norm = 0.9 * mean + 0.1 * slope, np.maximum(0.8 * norm, np.abs(slope))
    return value - 0.1 / (1 - 0.81) * mean / (norm + 0.01), mean, norm


def adagrad(slope: Any, value: Any, accum: Any) -> tuple[Any, ...]:
    accum = accum + slope**2
    return value - 0.1 * slope / (np.sqrt(accum) + 0.01), accum


RATE = np.float64(0.1)
"""The type of the first number is that of the update."""
OF_KERAS = {
    "momentum": (
        keras_momentum,
        lambda cells, slope: raw.ResourceApplyKerasMomentum(*cells, RATE, slope, 0.9),
    ),
    "nesterov": (
        keras_nesterov,
        lambda cells, slope: raw.ResourceApplyKerasMomentum(
            *cells, RATE, slope, 0.9, use_nesterov=True
        ),
    ),
    "amsgrad": (
        amsgrad,
        lambda cells, slope: raw.ResourceApplyAdamWithAmsgrad(
            *cells, np.float64(0.81), 0.64, RATE, 0.9, 0.8, 0.01, slope
        ),
    ),
    "adamax": (
        ada_max,
        lambda cells, slope: raw.ResourceApplyAdaMax(
            *cells, np.float64(0.81), RATE, 0.9, 0.8, 0.01, slope
        ),
    ),
    "adagrad": (
        adagrad,
        lambda cells, slope: raw.ResourceApplyAdagradV2(*cells, RATE, 0.01, slope),
    ),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", OF_KERAS)
def test_updates_of_keras_follow_their_formulas(name: str, shape: Any) -> None:
    formula, update = OF_KERAS[name]
    draw, runner = np.random.default_rng(1), interpreter.Interpreter()
    count = len(inspect.signature(formula).parameters) - 1
    values = [np.asarray(np.abs(draw.normal(size=shape))) for _ in range(count)]
    cells = [
        raw.VarHandleOp(dtype=dtypes.float64, shape=shape, shared_name=f"cell{index}")
        for index in range(count)
    ]
    for cell, value in zip(cells, values, strict=True):
        runner.run(raw.AssignVariableOp(cell, value))
    for _ in range(2):
        slope = np.asarray(draw.normal(size=shape))
        runner.run(update(cells, slope))
        values = list(formula(slope, *values))
    for cell, value in zip(cells, values, strict=True):
        found = runner.run(raw.ReadVariableOp(cell, dtype=dtypes.float64))
        np.testing.assert_allclose(found, value, rtol=1e-12, atol=1e-13)


@pytest.mark.e2e
@given(
    indices=st.lists(st.integers(0, 3), max_size=6),
    nesterov=st.booleans(),
    kind=st.sampled_from([np.int32, np.int64]),
)
def test_sparse_momentum_is_momentum_applied_row_by_row(
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


def test_the_memory_order_of_a_gradient_does_not_matter() -> None:
    cells = Cells("w", shape=(3, 4))
    slope = cells.random.normal(size=(4, 3))
    turned = raw.Transpose(slope, [1, 0])
    cells.runner.run(raw.ApplyGradientDescent(cells.refs[0], 1.0, turned))
    cells.check(cells.values[0] - slope.T)


def test_an_update_keeps_single_precision() -> None:
    ref, runner = raw.VariableV2(dtype=dtypes.float32, shape=[2]), interpreter.Interpreter()
    runner.run(raw.Assign(ref, [1.0, 2.0]))
    found = runner.run(raw.ApplyGradientDescent(ref, 0.5, [1.0, 1.0]))
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, [0.5, 1.5])


def test_updates_that_do_not_fit_are_refused() -> None:
    runner = interpreter.Interpreter()
    unknown = tensor_shape.TensorShape(None)
    var, accum = (raw.VariableV2(dtype=dtypes.float32, shape=unknown, name=n) for n in "ab")
    runner.run([raw.Assign(var, [1.0, 2.0]), raw.Assign(accum, [1.0])])
    with pytest.raises(errors.InvalidArgumentError, match="var and delta do not have the same"):
        runner.run(raw.ApplyGradientDescent(var, 0.1, [1.0]))
    with pytest.raises(errors.InvalidArgumentError, match="var and accum do not have the same"):
        runner.run(raw.ApplyMomentum(var, accum, 0.1, [1.0, 1.0], 0.9))
    with pytest.raises(errors.InvalidArgumentError, match="cannot be its own slot"):
        runner.run(raw.ApplyMomentum(var, var, 0.1, [1.0, 1.0], 0.9))


def test_a_matrix_of_row_numbers_is_refused_although_its_shape_is_known_only_in_the_step() -> None:
    cells = Cells("w", "accum", shape=(4, 3))
    indices, grad = (raw.Placeholder(dtype=t) for t in (dtypes.int32, dtypes.float64))
    update = raw.SparseApplyAdagrad(*cells.refs, 0.1, grad, indices)
    with pytest.raises(errors.InvalidArgumentError, match="indices must be one-dimensional"):
        cells.runner.run(update, {indices: np.array([[0, 1], [2, 3]]), grad: np.ones((2, 2, 3))})
    cells.check(*cells.values)


@pytest.mark.parametrize("op", training.UPDATES)
def test_a_hyperparameter_is_a_scalar_although_its_shape_is_known_only_in_the_step(op: str) -> None:
    names = [argument.name for argument in opdef.lookup(op).input_arguments]
    count = next(place for place, name in enumerate(names) if name not in TARGETS)
    cells = Cells(*names[:count], shape=(2,))
    inputs = {
        name: raw.Placeholder(dtype={"indices": dtypes.int32, "global_step": dtypes.int64}.get(
            name, dtypes.float64))
        for name in names[count:]
    }  # fmt: skip
    update = getattr(raw, op)(*cells.refs, *inputs.values())
    fed = {name: np.array(1) for name in inputs}
    fed |= {name: np.ones(2) for name in ("grad", "delta") if name in inputs}
    fed |= {"indices": np.arange(2, dtype=np.int32)} if "indices" in inputs else {}
    for name in inputs.keys() - {"grad", "delta", "indices"}:
        given = {**fed, name: np.array([1])}
        feeds = {tensor: given[each].astype(tensor.dtype.as_numpy_dtype)
                 for each, tensor in inputs.items()}  # fmt: skip
        with pytest.raises(errors.InvalidArgumentError, match=rf"{name} is not a scalar: \[1\]"):
            cells.runner.run(update, feeds)
    cells.check(*cells.values)


class LoggedLock:
    """Replaces a variable's lock, records each acquisition and then yields to other threads."""

    def __init__(self, name: str, acquired: list[str]) -> None:
        self.name, self.acquired = name, acquired
        self.lock = threading.Lock()

    def __enter__(self) -> None:
        self.lock.acquire()
        self.acquired.append(self.name)
        select.select((), (), (), 0)

    def __exit__(self, *_: object) -> None:
        self.lock.release()

    acquire, release = __enter__, __exit__


def updates(is_resource: bool, *variables: Any) -> list[Any]:
    """Return every update of several variables, with its variables in the given order."""
    prefix = "Resource" if is_resource else ""
    kinds = {
        2: {
            "ApplyMomentum": (0.1, np.ones(3), 0.9),
            "SparseApplyMomentum": (0.1, np.ones(3), np.arange(3), 0.9),
        },
        3: {"ApplyAdam": (0.9, 0.9, 0.1, 0.9, 0.9, 1e-8, np.ones(3))},
    }
    made = [
        getattr(raw, prefix + kind)(*variables, *map(np.asarray, numbers))
        for kind, numbers in kinds[len(variables)].items()
    ]
    return [getattr(update, "op", update) for update in made]


def variables_and_runner(is_resource: bool) -> tuple[list[Any], interpreter.Interpreter]:
    runner, variables = interpreter.Interpreter(), []
    for name in "abc":
        if is_resource:
            variable = raw.VarHandleOp(dtype=dtypes.float64, shape=[3], shared_name=name)
            runner.run(raw.AssignVariableOp(variable, np.ones(3)))
        else:
            variable = raw.VariableV2(dtype=dtypes.float64, shape=[3], name=name)
            runner.run(raw.Assign(variable, np.ones(3)))
        variables.append(variable)
    return variables, runner


def log_locks(runner: interpreter.Interpreter, is_resource: bool) -> list[str]:
    """Replace the variables' locks by locks that add their name to the returned list."""
    acquired: list[str] = []
    kind = variable.ResourceVariable if is_resource else variable.Variable
    for name in "abc":
        cell = runner.resources.variable(ResourceName("localhost", name), dtypes.float64, kind=kind)
        cell.lock = LoggedLock(name, acquired)  # type: ignore[assignment]
    return acquired


@pytest.mark.parametrize("is_resource", [False, True])
@pytest.mark.parametrize("count", [2, 3])
def test_the_order_of_locks_does_not_depend_on_the_order_of_arguments(
    is_resource: bool, count: int
) -> None:
    variables, runner = variables_and_runner(is_resource)
    acquired = log_locks(runner, is_resource)
    seen = {}
    for order in itertools.permutations(variables[:count]):
        for update in updates(is_resource, *order):
            acquired.clear()
            runner.run(update)
            seen[update, order] = tuple(acquired)
    assert len(seen[update, order]) == count
    assert len(set(seen.values())) == 1


@pytest.mark.e2e
@pytest.mark.parametrize("is_resource", [False, True])
def test_concurrent_updates_with_swapped_variables_do_not_deadlock(
    is_resource: bool,
) -> None:
    variables, runner = variables_and_runner(is_resource)
    log_locks(runner, is_resource)
    start = threading.Barrier(2)
    rounds = []

    def repeat(update: Any) -> None:
        for _ in range(300):
            start.wait(30)
            runner.run(update)
        rounds.append(300)

    threads = [
        threading.Thread(target=repeat, args=updates(is_resource, *order), daemon=True)
        for order in (variables, variables[::-1])
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(40)
    assert rounds == [300, 300]


def test_an_update_of_other_elements_names_the_variable() -> None:
    handle = raw.VarHandleOp(dtype=dtypes.float64, shape=[3], shared_name="wide")
    runner = interpreter.Interpreter()
    runner.run(raw.AssignVariableOp(handle, np.ones(3)))
    update = raw.ResourceApplyGradientDescent(handle, np.float32(0.1), np.ones(3, np.float32))
    with pytest.raises(errors.InvalidArgumentError, match="'wide' has elements of float64"):
        runner.run(getattr(update, "op", update))


def test_a_formula_with_a_constant_power_is_one_program() -> None:
    """Ftrl takes a square root if the power is -0.5, and decides that when the node is made."""
    for power, functions in ((-0.5, {"sqrt"}), (-0.25, {"power"})):
        node = registry.NodeContext(
            name="ftrl",
            op="ApplyFtrl",
            device="/device:CPU:0",
            attrs={"T": dtypes.float32, "multiply_linear_by_lr": False},
            input_dtypes=[dtypes.float32] * 8,
            input_shapes=[(3,)] * 4 + [()] * 4,
            output_dtypes=[dtypes.float32],
            output_shapes=[(3,)],
            resources=containers.ResourceManager().for_session(),
            constants={7: np.float32(power)},
        )
        formula = regularized_formulas.ftrl
        with pytest.raises(recording.Unrecordable, match="value of an array"):
            training._recorded(node, formula, 3, 3, 3, {})
        program = training._recorded(node, formula, 3, 3, 3, {7: power})
        assert functions < {call.function for call in program.calls}
