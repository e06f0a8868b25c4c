"""Runs of nodes that a device repeats without the host (`executor.runs`, `executor.repeats`)."""

import gc
import tracemalloc
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import strict

from capstan.executor import repeats
from capstan.hardware import cpu
from capstan.resources import variable

TASK = "/job:localhost/replica:0/task:0"
ENOUGH = repeats.CALLS_BEFORE + 3


@pytest.fixture
def gpu() -> strict.Strict:
    return strict.Strict(f"{TASK}/device:GPU:0")


class Counted:
    """A function of arrays, and the number of its calls."""

    def __init__(self, function: Callable[..., Sequence[Any]]) -> None:
        self.function = function
        self.calls = 0

    def __call__(self, *inputs: Any) -> Sequence[Any]:
        self.calls += 1
        return self.function(*inputs)


def repeated(
    gpu: strict.Strict,
    function: Callable[..., Sequence[Any]],
    inputs: int = 1,
    changed: Sequence[variable.Variable] = (),
) -> tuple[repeats.Repeats, Counted]:
    counted = Counted(function)
    made = repeats.Repeats(
        counted, gpu, changed, changed, [False] * inputs, [False] * inputs, [False]
    )
    return made, counted


def on_host(gpu: strict.Strict, array: Any) -> Any:
    found = gpu.copy_out(array)
    gpu.stream.synchronize()
    return found


def call(gpu: strict.Strict, run: repeats.Repeats, *inputs: Any) -> Any:
    given = [gpu.put(value) if value.dtype.kind == "f" else value for value in inputs]
    [result] = run(*given)
    return on_host(gpu, result)


def test_a_run_is_recorded_after_some_calls_and_computes_with_new_values(
    gpu: strict.Strict,
) -> None:
    run, function = repeated(gpu, lambda x: [np.multiply(x, np.add(x, 1.0))])
    for number in range(10):
        found = call(gpu, run, np.array([number, 2.0]))
        assert found.tolist() == [number * (number + 1.0), 6.0]
    assert function.calls == repeats.CALLS_BEFORE + 1


def test_the_results_of_a_call_stay_as_they_are_when_the_next_call_runs(gpu: strict.Strict) -> None:
    run, _ = repeated(gpu, lambda x: [np.negative(x)])
    results = [run(gpu.put(np.array([float(number)])))[0] for number in range(ENOUGH)]
    assert [on_host(gpu, result).tolist() for result in results] == [
        [-float(number)] for number in range(ENOUGH)
    ]


def test_each_shape_and_each_value_in_host_memory_has_its_own_recording(gpu: strict.Strict) -> None:
    run, function = repeated(gpu, lambda x, times: [np.multiply(x, float(times))], inputs=2)
    for _ in range(5):
        for size, times in ((2, 3), (4, 3), (2, 5)):
            found = call(gpu, run, np.ones(size), np.int32(times))
            assert found.tolist() == [times] * size
    assert function.calls == 3 * (repeats.CALLS_BEFORE + 1)


def test_an_array_of_the_host_is_copied_to_the_place_that_recorded_work_reads(
    gpu: strict.Strict, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = Counted(lambda x: [np.add(x, 1.0)])
    run = repeats.Repeats(counted, gpu, [], [], [False], [True], [False])
    places: list[Any] = []
    copy_in = gpu.copy_in

    def copy(value: Any, out: Any = None) -> Any:
        places.append(out)
        return copy_in(value, out)

    monkeypatch.setattr(gpu, "copy_in", copy)
    for number in range(10):
        value = np.array([float(number)])
        [result] = run(value)
        value[0] = -1.0  # the caller may change it
        assert on_host(gpu, result).tolist() == [number + 1.0]
    assert counted.calls == repeats.CALLS_BEFORE + 1
    first, *others = places[repeats.CALLS_BEFORE + 1 :]
    assert first is not None
    assert all(place is first for place in others)


def test_a_run_whose_calls_never_repeat_is_not_recorded(gpu: strict.Strict) -> None:
    run, function = repeated(gpu, lambda x, times: [np.multiply(x, float(times))], inputs=2)
    count = 2 * repeats.MOST_CALLS
    for number in range(count):
        assert call(gpu, run, np.ones(1), np.int32(number)).tolist() == [number]
    assert function.calls == count
    for _ in range(ENOUGH):
        assert call(gpu, run, np.ones(1), np.int32(7)).tolist() == [7]
    assert function.calls == count + ENOUGH


def test_a_run_that_records_none_any_more_keeps_no_recording(gpu: strict.Strict) -> None:
    made: list[weakref.ref[Any]] = []

    def negative(x: Any, _: Any) -> Sequence[Any]:
        result = np.negative(x)
        made.append(weakref.ref(result))
        return [result]

    run, _ = repeated(gpu, negative, inputs=2)
    for number in (*[0] * ENOUGH, *range(1, 2 * repeats.MOST_CALLS)):
        call(gpu, run, np.ones(1), np.int32(number))
    gc.collect()
    assert [result for result in made if result() is not None] == []


@pytest.mark.alone
def test_calls_that_never_repeat_take_no_memory_beside_one_that_is_repeated(
    gpu: strict.Strict,
) -> None:
    run, _ = repeated(gpu, lambda n: [n])
    large, steps = np.zeros(100), 1000
    for _ in range(ENOUGH):
        run(np.ones(1))
    tracemalloc.start()
    try:
        for number in range(steps):
            large[:] = number
            run(large)
            run(np.ones(1))
        assert tracemalloc.get_traced_memory()[0] < steps * large.nbytes / 2
    finally:
        tracemalloc.stop()


def test_a_run_has_a_limited_number_of_recordings(gpu: strict.Strict) -> None:
    run, function = repeated(gpu, lambda x: [np.add(x, 1.0)])
    sizes = range(1, repeats.MOST_RECORDINGS + 2)
    for size in sizes:
        for _ in range(ENOUGH):
            assert call(gpu, run, np.zeros(size)).tolist() == [1.0] * size
    recorded = repeats.MOST_RECORDINGS * (repeats.CALLS_BEFORE + 1)
    assert function.calls == recorded + ENOUGH


def test_work_that_needs_the_host_is_never_recorded(gpu: strict.Strict) -> None:
    run, function = repeated(gpu, lambda x: [np.multiply(x, float(np.sum(x)))])
    for number in range(ENOUGH):
        assert call(gpu, run, np.array([1.0, number])).tolist() == [
            1 + number,
            number * (1 + number),
        ]
    # The call that was to be recorded ended early, and its plain call came after it.
    assert function.calls == ENOUGH + 1


def test_an_error_of_a_run_is_the_error_of_the_plain_call(gpu: strict.Strict) -> None:
    run, _ = repeated(gpu, lambda x, y: [np.add(x, y)], inputs=2)
    for _ in range(ENOUGH):
        with pytest.raises(ValueError, match="broadcast"):
            run(gpu.put(np.ones(2)), gpu.put(np.ones(3)))


def test_a_device_without_memory_for_a_recording_makes_the_plain_call(
    gpu: strict.Strict, monkeypatch: pytest.MonkeyPatch
) -> None:
    def duplicate(value: Any) -> Any:
        raise cpu.exhausted(value.shape, value.dtype, value.nbytes)

    run, function = repeated(gpu, lambda x: [np.negative(x)])
    monkeypatch.setattr(gpu, "duplicate", duplicate)
    for number in range(ENOUGH):
        assert call(gpu, run, np.array([float(number)])).tolist() == [-number]
    assert function.calls == ENOUGH


def test_a_device_with_too_little_memory_for_a_recording_runs_the_function() -> None:
    for spare in (0, 1, 2, 3):
        x, places = np.ones(100), 2 + spare  # An input and a result, and what a recording needs.
        gpu = strict.Strict(f"{TASK}/device:GPU:0", memory_limit=places * x.nbytes)
        run, _ = repeated(gpu, lambda x: [np.multiply(x, 2.0)])
        for number in range(1, 3 * ENOUGH):
            assert call(gpu, run, number * x).tolist() == [2.0 * number] * 100
        assert gpu.used_bytes in (0, 2 * x.nbytes)


def test_a_repeated_change_is_made_once_if_the_copies_of_its_results_do_not_fit() -> None:
    gpu = strict.Strict(f"{TASK}/device:GPU:0", memory_limit=10_000)
    total = variable.Variable("total", "", gpu)
    total.assign(gpu.put(np.zeros(100)))
    run, _ = repeated(gpu, adding(total), changed=[total])
    x, taken = np.ones(100), []
    for number in range(1, 3 * ENOUGH):
        given = gpu.put(x)
        if number == ENOUGH:
            taken.append(gpu.allocate((gpu.memory_limit - gpu.used_bytes,), np.uint8))
        [found] = run(given)
        taken.clear()
        assert on_host(gpu, found).tolist() == [float(number)] * 100


@pytest.fixture
def cell(gpu: strict.Strict) -> variable.Variable:
    made = variable.Variable("v", "", gpu)
    made.assign(gpu.put(np.zeros(2)))
    return made


def adding(cell: variable.Variable) -> Callable[..., Sequence[Any]]:
    def add(x: Any) -> Sequence[Any]:
        with cell.lock:
            array = cell.writable()
            np.add(array, x, array)
        return [np.multiply(array, 1.0)]

    return add


def test_a_repeated_run_changes_a_variable(gpu: strict.Strict, cell: variable.Variable) -> None:
    run, function = repeated(gpu, adding(cell), changed=[cell])
    totals = [call(gpu, run, np.array([1.0, 2.0])).tolist() for _ in range(ENOUGH)]
    assert totals == [[number, 2.0 * number] for number in range(1, ENOUGH + 1)]
    assert function.calls == repeats.CALLS_BEFORE + 1


def test_a_variable_that_is_sent_meanwhile_does_not_change(
    gpu: strict.Strict, cell: variable.Variable
) -> None:
    run, _ = repeated(gpu, adding(cell), changed=[cell])
    for _ in range(ENOUGH):
        call(gpu, run, np.array([1.0, 1.0]))
    pinned = cell.pin()
    assert call(gpu, run, np.array([1.0, 1.0])).tolist() == [ENOUGH + 1.0] * 2
    assert on_host(gpu, pinned).tolist() == [float(ENOUGH)] * 2
    cell.unpin(pinned)
    for number in range(ENOUGH):
        assert call(gpu, run, np.array([1.0, 1.0])).tolist() == [ENOUGH + 2.0 + number] * 2


def test_a_variable_that_gets_other_memory_is_recorded_again(
    gpu: strict.Strict, cell: variable.Variable
) -> None:
    run, function = repeated(gpu, adding(cell), changed=[cell])
    for shape in (2, 3):
        cell.assign(gpu.put(np.zeros(shape)), validate_shape=False)
        totals = [call(gpu, run, np.ones(shape)).tolist() for _ in range(ENOUGH)]
        assert totals == [[float(number)] * shape for number in range(1, ENOUGH + 1)]
    assert function.calls == 2 * (repeats.CALLS_BEFORE + 1)


def test_a_variable_that_is_only_read_may_get_other_memory(
    gpu: strict.Strict, cell: variable.Variable
) -> None:
    counted = Counted(lambda: [np.add(cell.read(), 1.0)])
    run = repeats.Repeats(counted, gpu, [cell], [], [], [], [False])
    for shape in (2, 3):
        cell.assign(gpu.put(np.full(shape, float(shape))), validate_shape=False)
        for _ in range(ENOUGH):
            assert call(gpu, run).tolist() == [shape + 1.0] * shape


@pytest.mark.parametrize("is_sent", [False, True])
def test_a_variable_that_gets_other_memory_while_its_run_is_recorded_keeps_its_value(
    gpu: strict.Strict, cell: variable.Variable, is_sent: bool
) -> None:
    def replace(x: Any) -> Sequence[Any]:
        before = np.multiply(cell.read(), 1.0)
        cell.assign(x, validate_shape=False)
        return [before]

    run, _ = repeated(gpu, replace, changed=[cell])
    for _ in range(repeats.CALLS_BEFORE):
        call(gpu, run, np.ones(3))
    cell.assign(gpu.put(np.full(3 if is_sent else 2, 7.0)), validate_shape=False)
    if is_sent:
        cell.pin()
    assert call(gpu, run, np.ones(3)).tolist() == [7.0] * (3 if is_sent else 2)
    assert on_host(gpu, cell.read()).tolist() == [1.0] * 3


def test_an_input_with_the_memory_of_a_variable_changes_with_the_variable(
    gpu: strict.Strict, cell: variable.Variable
) -> None:
    def add(alias: Any) -> Sequence[Any]:
        with cell.lock:
            array = cell.writable()
            np.add(array, 1.0, array)
        return [np.multiply(alias, 1.0)]

    run = repeats.Repeats(add, gpu, [cell], [cell], [True], [False], [False])
    totals = [on_host(gpu, run(cell.read())[0]).tolist() for _ in range(ENOUGH)]
    assert totals == [[float(number)] * 2 for number in range(1, ENOUGH + 1)]


def test_a_result_in_host_memory_does_not_change_with_a_buffer_of_the_step(
    gpu: strict.Strict,
) -> None:
    run, _ = repeated(gpu, lambda n: [n])
    buffer = np.array([1])
    for _ in range(ENOUGH):
        run(buffer)
    buffer[:] = 2
    run(buffer)
    [found] = run(np.array([1]))
    assert found.tolist() == [1]
