"""A compiled pass changes the rows of several tables as NumPy does with copies of the rows."""

from typing import Any

import numpy as np
import pytest

from capstan.core import recording
from capstan.hardware import cpu_loops, cpu_tables
from capstan.kernels import training_formulas

pytest.importorskip("llvmlite")


@pytest.fixture(autouse=True)
def _compiles_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpu_loops, "_COMPILE_SECONDS", 0.0)


def adagrad(dtype: Any) -> Any:
    """Return the program of an update of rows of a variable and of its accumulator."""
    recorder = recording.Recorder(np.dtype(dtype))
    changed = [recorder.input(), recorder.input()]
    slope, rate = recorder.input(), recorder.input()
    update = training_formulas.adagrad({"update_slots": True}, rate)
    update(*changed, slope, recorder.scratch())
    return recorder.program(changed)


@pytest.mark.parametrize("width", [1, 2, 3, 16, 40, 192])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_a_pass_changes_the_rows_that_are_named(width: int, dtype: Any, index: Any) -> None:
    random = np.random.default_rng(width)
    lengths, sizes = (9, 4, 7), np.array([5, 0, 7])
    columns = [
        [random.random((length, width)).astype(dtype) + 1 for length in lengths] for _ in range(2)
    ]
    named = [random.permutation(n)[:k] for n, k in zip(lengths, sizes, strict=True)]
    grad = random.normal(size=(sizes.sum(), width)).astype(dtype)
    expected = [[table.copy() for table in column] for column in columns]
    parts = np.split(grad, sizes.cumsum()[:-1])
    for values, sums, rows, part in zip(*expected, named, parts, strict=True):
        sums[rows] += part * part
        values[rows] -= part * dtype(0.5) / np.sqrt(sums[rows])
    change = cpu_tables.Rows(lambda: adagrad(dtype), 2).after(1)
    assert change is not None
    change(columns, np.concatenate(named).astype(index), sizes, grad, [dtype(0.5)])
    for column, right in zip(columns, expected, strict=True):
        for table, other in zip(column, right, strict=True):
            np.testing.assert_allclose(table, other, rtol=1e-6)


def test_a_pass_over_rows_without_numbers_changes_nothing() -> None:
    memory = np.ones(64, np.float32)
    columns = [[memory[8:8].reshape(4, 0)] for _ in range(2)]
    change = cpu_tables.Rows(lambda: adagrad(np.float32), 2).after(0)
    assert change is not None
    change(columns, np.arange(3), np.array([3]), memory[8:8].reshape(3, 0), [np.float32(0.5)])
    np.testing.assert_array_equal(memory, 1.0)


def test_a_pass_is_compiled_after_calls_that_cost_as_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpu_loops, "_COMPILE_SECONDS", 0.04)
    rows = cpu_tables.Rows(lambda: adagrad(np.float32), 2)
    assert rows.after(10) is None
    assert rows.after(10_000_000) is None
    assert rows.after(10) is not None
