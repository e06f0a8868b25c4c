"""Elementwise programs that are compiled for the processor compute NumPy's values."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import capstan as tf
from capstan.core import elementwise, recording
from capstan.hardware import costs, cpu, cpu_elementwise, llvm_functions, llvm_ufuncs

DTYPES = [np.float32, np.float64]
EDGES = [0.0, 0.5, 1.0, 2.0, 88.7, 88.8, 103.9, 709.7, 745.2, 1e-40, 1e-310, 3e38, np.inf, np.nan]
SERIES = ["exp", "expm1", "log", "log1p", "tanh"]


@pytest.fixture(scope="module")
def compiler() -> llvm_ufuncs.Compiler:
    return llvm_ufuncs.Compiler()


def recorded(
    function: Callable[..., Any], count: int, dtype: Any = np.float32
) -> elementwise.Program:
    """Return the program of a function of arrays, which returns one array or several."""
    recorder = recording.Recorder(dtype)
    results = function(*(recorder.input() for _ in range(count)))
    return recorder.program(results if isinstance(results, list) else [results])


def run(
    compiler: llvm_ufuncs.Compiler, program: elementwise.Program, *inputs: Any, out: Any = ()
) -> Sequence[np.ndarray]:
    loop = compiler.compile(program, tuple(np.ndim(each) == 0 for each in inputs))
    with np.errstate(all="ignore"):
        found = loop.call(*inputs, *out)
    return found if isinstance(found, tuple) else (found,)


def expected(program: elementwise.Program, *inputs: Any) -> Sequence[np.ndarray]:
    with np.errstate(all="ignore"):
        return program.run(inputs)


@pytest.mark.parametrize("dtype", DTYPES)
def test_each_function_gives_the_values_of_numpy(compiler: Any, dtype: Any) -> None:
    names = sorted(llvm_functions.NAMES)

    def everything(x: Any, y: Any) -> list[Any]:
        results = []
        for name in names:
            function = getattr(np, name)
            arguments = [x > 0, x, y] if name == "where" else [x, y]
            results.append(function(*arguments[: getattr(function, "nin", 3)]))
        return results

    program = recorded(everything, 2, dtype)
    with np.errstate(all="ignore"):
        edges = np.array(EDGES, dtype)
    edges = np.concatenate([edges, -edges])
    x, y = (axis.ravel() for axis in np.meshgrid(edges, edges))
    epsilon = np.finfo(dtype).eps
    wanted = expected(program, x, y)
    for name, one, other in zip(names, run(compiler, program, x, y), wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=8 * epsilon, atol=0, err_msg=name)
        assert one.dtype == other.dtype, name


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", SERIES)
def test_a_series_is_near_the_last_place(compiler: Any, name: str, dtype: Any) -> None:
    draw = np.random.default_rng(3)
    scales = np.repeat([1e-30, 1e-4, 0.1, 1, 10, 90], 20_000)
    numbers = (draw.normal(size=scales.size) * scales).astype(dtype)
    if name in ("log", "log1p"):
        numbers = np.abs(numbers)
    (found,) = run(compiler, recorded(getattr(np, name), 1, dtype), numbers)
    with np.errstate(over="ignore"):
        exact = getattr(np, name)(numbers.astype(np.longdouble))
        wanted = exact.astype(dtype)
    is_finite = np.isfinite(wanted)
    places = np.spacing(np.abs(wanted[is_finite])).astype(np.longdouble)
    assert np.max(np.abs(found[is_finite] - exact[is_finite]) / places) < 4
    np.testing.assert_array_equal(found[~is_finite], wanted[~is_finite])


def mixed(x: Any, y: Any, z: Any) -> list[Any]:
    hidden = np.tanh(x * y + z)
    return [hidden, np.where(hidden > 0.25, x, y) - np.exp(-z), np.sqrt(z * z)]


def layouts(size: int, draw: np.random.Generator) -> list[np.ndarray]:
    """Return matrices of `size` rows, also turned, reversed and spread, and what broadcasts."""
    whole = draw.normal(size=(size, 5)).astype(np.float32)
    spread = draw.normal(size=(2 * size, 10)).astype(np.float32)[::2, ::2]
    return [
        whole,
        np.ascontiguousarray(whole.T).T,
        whole[::-1, ::-1],
        spread,
        draw.normal(size=5).astype(np.float32),
        np.broadcast_to(np.float32(0.75), (size, 5)),
        np.array(1.5, np.float32),
    ]


@settings(deadline=None, max_examples=40)
@given(size=st.integers(0, 70), chosen=st.tuples(*[st.integers(0, 6)] * 3), seed=st.integers(0, 9))
def test_arrays_of_all_layouts_broadcast(
    size: int, chosen: tuple[int, int, int], seed: int
) -> None:
    arrays = layouts(size, np.random.default_rng(seed))
    inputs = [arrays[index] for index in chosen]
    program = recorded(mixed, 3)
    # The program is compiled for three whole matrices, and for a number in the first place.
    for numbers in ((False, False, False), (True, False, False)):
        loop = _SHARED.compile(program, numbers)
        shape = np.broadcast_shapes(*(each.shape for each in inputs))
        with np.errstate(all="ignore"):  # as in a step
            found = loop.call(*inputs)
        for one, other in zip(found, program.run(inputs), strict=True):
            assert one.shape == shape
            np.testing.assert_allclose(one, np.broadcast_to(other, shape), rtol=2e-6, atol=1e-6)


_SHARED = llvm_ufuncs.Compiler()


@pytest.mark.parametrize("size", [1, 15, 64, 65, 1000])
def test_a_result_may_replace_an_input(compiler: Any, size: int) -> None:
    program = recorded(lambda x, y: [x * 0.5 + y, y - x], 2)
    draw = np.random.default_rng(5)
    x, y = draw.normal(size=(2, size)).astype(np.float32)
    wanted = program.run([x.copy(), y.copy()])
    run(compiler, program, x, y, out=(x, y))
    np.testing.assert_array_equal(x, wanted[0])
    np.testing.assert_array_equal(y, wanted[1])


def test_truth_values_are_inputs_and_results(compiler: Any) -> None:
    recorder = recording.Recorder(np.float32)
    flag, x = recorder.input(dtype=np.bool_), recorder.input()
    chosen = np.logical_and(flag, x > 1)
    program = recorder.program([chosen, np.where(chosen, x, flag * x), np.logical_not(flag)])
    flags = np.arange(100) % 3 == 0
    numbers = np.linspace(-2, 5, 100, dtype=np.float32)
    for one, other in zip(
        run(compiler, program, flags, numbers), program.run([flags, numbers]), strict=True
    ):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


def test_equal_programs_share_a_loop(compiler: Any) -> None:
    one, other = (recorded(lambda x: np.exp(x) * 2.0, 1) for _ in range(2))
    assert compiler.compile(one, (False,)) is compiler.compile(other, (False,))
    assert compiler.compile(one, (True,)) is not compiler.compile(other, (False,))


def test_a_constant_is_not_taken_for_a_register_or_another_constant(compiler: Any) -> None:
    x, y = np.full(3, 3, np.float32), np.full(3, 5, np.float32)
    programs = [
        recorded(function, 2)
        for function in (
            lambda x, y: [x * y + y],
            lambda x, y: [x * 1.0 + y],
            lambda x, y: [np.copysign(x, 0.0) + y],
            lambda x, y: [np.copysign(x, -0.0) + y],
        )
    ]
    loops = [compiler.compile(program, (False, False)) for program in programs]
    with np.errstate(all="ignore"):
        assert [loop.call(x, y)[0] for loop in loops] == [20, 8, 8, 2]


def test_a_constant_that_is_not_a_number_is_an_extreme(compiler: Any) -> None:
    numbers = np.array([1, np.nan, np.inf], np.float32)
    program = recorded(lambda x: [np.maximum(x, np.nan), np.minimum(np.nan, x)], 1)
    for found in run(compiler, program, numbers):
        assert np.isnan(found).all()


def test_programs_with_other_functions_or_types_stay_with_numpy() -> None:
    host = cpu.Cpu("/device:CPU:0")
    words = recording.Recorder(np.float32)
    cast = words.program([words.input(dtype=np.uint32).astype(np.float32)])
    for program in (recorded(np.arctan, 1), recorded(np.add, 2, np.float16), cast):
        assert not host.fuses(program)
        assert host.ufunc(program, costs.Costs(), len) is len


def test_a_program_of_more_arrays_than_a_ufunc_takes_stays_with_numpy(compiler: Any) -> None:
    def total(*terms: Any) -> list[Any]:
        return [sum(terms)]

    host = cpu.Cpu("/device:CPU:0")
    most, more = (recorded(total, count) for count in (63, 64))
    assert host.fuses(most)
    assert not host.fuses(more)
    numbers = [np.full(3, count, np.float32) for count in range(63)]
    np.testing.assert_array_equal(run(compiler, most, *numbers)[0], [sum(range(63))] * 3)


def test_a_program_is_compiled_when_its_calls_have_cost_as_much() -> None:
    calls = []
    program = recorded(lambda x: np.tanh(x) * 2.0, 1)

    def before(*arrays: Any) -> Any:
        calls.append(len(arrays))
        return program.run(arrays)[0]

    compute = cpu.Cpu("/device:CPU:0").ufunc(program, costs.Costs(), before)
    numbers = np.linspace(-3, 3, 1 << 20, dtype=np.float32)
    results = [compute(numbers) for _ in range(60)]
    assert 0 < len(calls) < 60
    for result in results:
        np.testing.assert_allclose(result, results[0], rtol=1e-6)


def test_equal_programs_of_a_session_share_their_cost() -> None:
    calls: list[int] = []
    spent, host = costs.Costs(), cpu.Cpu("/device:CPU:0")
    numbers = np.linspace(-3, 3, 1 << 20, dtype=np.float32)
    programs = [recorded(lambda x: np.tanh(x) * 2.0, 1) for _ in range(60)]

    def before(*arrays: Any) -> Any:
        calls.append(len(arrays))
        return programs[0].run(arrays)[0]

    for program in programs:
        host.ufunc(program, spent, before)(numbers)
    count = len(calls)
    assert 0 < count < 60
    host.ufunc(programs[0], costs.Costs(), before)(numbers[:1])
    assert len(calls) == count + 1, "another session has costs of its own"


@pytest.mark.e2e
def test_the_steps_of_a_cpu_have_the_same_values_before_and_after_it_compiles_a_group() -> None:
    """The sizes are such that the groups are compiled after some of the steps."""
    draw = np.random.default_rng(7)
    numbers, scale = draw.normal(size=(1024, 512)).astype(np.float32), np.float32(0.5)
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 512])
        factor = tf.constant(scale)
        hidden = tf.tanh(x * factor + 1.0)
        is_high = hidden > 0.5
        cost = tf.square(hidden - tf.exp(-tf.abs(x))) + tf.where(is_high, hidden, -hidden)
        cost *= 1 + tf.cast(tf.logical_not(tf.is_nan(x)), tf.float32)
        (slope,) = tf.gradients(cost, [x])
        steps = [session.run([hidden, cost, slope, is_high], {x: numbers}) for _ in range(20)]
        (small,) = session.run([slope], {x: numbers[:1]})
    wide = numbers.astype(np.float64)
    tanh, decay = np.tanh(wide * 0.5 + 1), np.exp(-np.abs(wide))
    inner = 0.5 * (1 - tanh**2)
    sign = np.where(tanh > 0.5, 1, -1)
    wanted = [
        tanh,
        2 * ((tanh - decay) ** 2 + sign * tanh),
        4 * (tanh - decay) * (inner + np.sign(wide) * decay) + 2 * sign * inner,
    ]
    for found in steps:
        np.testing.assert_array_equal(found[3], found[0] > 0.5)
        for one, other in zip(found, wanted, strict=False):
            np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-6)
    np.testing.assert_allclose(small, wanted[2][:1], rtol=2e-5, atol=2e-6)
    assert any((steps[0][1] != found[1]).any() for found in steps), "no group was compiled"


def test_numpys_functions_keep_no_array_for_longer_than_needed() -> None:
    def function(x: Any, y: Any) -> list[Any]:
        inner = np.tanh(x * y)
        return [inner, np.where(inner > 0.5, np.exp(-inner), 1.0) + x]

    program = recorded(function, 2)
    compute = cpu_elementwise.Ufunc(program, costs.Costs())
    draw = np.random.default_rng(2)
    x, y = draw.normal(size=(2, 30)).astype(np.float32)
    out = np.empty(30, np.float32), np.empty(30, np.float32)
    compute(x, y, *out)
    for found in (compute(x, y), out):
        for one, other in zip(found, program.run([x, y]), strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_a_choice_between_two_numbers_has_the_type_of_the_program(dtype: Any) -> None:
    recorder = recording.Recorder(dtype)
    flag = recorder.input(dtype=np.bool_)
    program = recorder.program([np.where(flag, 1.0, -np.inf)])  # type: ignore[list-item]
    compute = cpu_elementwise.Ufunc(program, costs.Costs())
    flags = np.array([True, False])
    for found in (compute(flags), *program.run([flags])):
        np.testing.assert_array_equal(found, np.array([1, -np.inf], dtype), strict=True)
