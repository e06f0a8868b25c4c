"""The text of a GPU's kernel computes NumPy's values, when the compiler of the host compiles it."""

import ctypes
import functools
import pathlib
import shutil
import subprocess
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from capstan.core import elementwise, recording
from capstan.hardware import cuda, cuda_text
from capstan.kernels import random_formulas

SHELL = """
#include <cmath>
using namespace std;
typedef {number} T;
typedef float bfloat16, float16;
extern "C" void run(long count, {parameters}) {{
  for (long i = 0; i < count; i++) {{
    {arguments}
    {{ {body} }}
  }}
}}
"""
"""CuPy puts the same loop around the body of a kernel. A `raw` parameter is a whole array.

Not all compilers of hosts have numbers of 16 bits.
"""

TYPES = {
    "float32": "float",
    "float64": "double",
    "int64": "long long",
    "uint32": "unsigned int",
    "uint64": "unsigned long long",
}
"""CuPy knows these names in the list of parameters, and declares none of them for the body."""


def compiled(
    program: elementwise.Program, folder: pathlib.Path, text: cuda_text.Text | None = None
) -> Any:
    """Compile a program, or this text of it, for the host, and return the C function."""
    compiler = shutil.which("c++")
    if compiler is None:
        pytest.skip("there is no C++ compiler: apt-get install g++")
    text = text or cuda_text.write(program)
    parameters = [
        [TYPES.get(word, word) for word in part.split()]
        for part in f"{text.inputs}, {text.results}".split(", ")
    ]
    source = SHELL.format(
        number="double" if program.dtype == np.float64 else "float",
        parameters=", ".join(f"{kind} *{name}_" for *_, kind, name in parameters),
        arguments=" ".join(
            f"{kind} *{name} = {name}_;" if raw else f"{kind} &{name} = {name}_[i];"
            for *raw, kind, name in parameters
        ),
        body=text.body,
    )
    (folder / "kernel.cc").write_text(source)
    command = [compiler, "-shared", "-fPIC", "-o", "kernel.so", "kernel.cc"]
    subprocess.run(command, cwd=folder, check=True)
    return ctypes.CDLL(str(folder / "kernel.so")).run


def computed(
    program: elementwise.Program, inputs: Sequence[np.ndarray], folder: pathlib.Path
) -> list[np.ndarray]:
    """Return the results of the compiled program. All inputs are vectors of the same length."""
    [count] = inputs[0].shape
    wide = [
        np.float32 if elementwise.is_number(dtype) and dtype.itemsize == 2 else dtype
        for dtype in program.result_dtypes
    ]
    results = [np.empty(count, dtype) for dtype in wide]
    pointers = [array.ctypes.data_as(ctypes.c_void_p) for array in [*inputs, *results]]
    compiled(program, folder)(ctypes.c_long(count), *pointers)
    return results


@pytest.mark.e2e
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_each_function_gives_the_values_of_numpy(dtype: Any, tmp_path: pathlib.Path) -> None:
    recorder = recording.Recorder(dtype)
    inputs = [recorder.input() for _ in range(3)]
    results = []
    for name in sorted(elementwise.FUNCTIONS):
        arguments = [inputs[1] > 0, *inputs[:2]] if name == "where" else inputs
        function = getattr(np, name)
        count = function.nin if isinstance(function, np.ufunc) else 3
        result = function(*arguments[:count])
        if name in elementwise.PREDICATES:
            result = np.where(result, *inputs[:2])
        results.append(result)
    results += [np.add(inputs[0], constant) for constant in (0.1, np.inf, -np.inf, np.nan)]
    program = recorder.program(results)
    numbers = np.array([-np.inf, -2.5, -1, -0.0, 0, 0.5, 1, 3, np.inf, np.nan], dtype)
    arrays = [array.ravel().copy() for array in np.meshgrid(numbers, numbers)] + [
        np.zeros(100, dtype)
    ]
    found = computed(program, arrays, tmp_path)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        expected = program.run(arrays)
    epsilon = np.finfo(dtype).eps
    for name, one, other in zip(
        [*sorted(elementwise.FUNCTIONS), *["add"] * 4], found, expected, strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=8 * epsilon, atol=epsilon, err_msg=name)


@pytest.mark.e2e
def test_neighbours_may_have_several_dtypes(tmp_path: pathlib.Path) -> None:
    recorder = recording.Recorder(np.float64)
    single = recorder.input(dtype=np.float32)
    words = recorder.input(dtype=np.uint64)
    double = single.astype(np.float64)
    program = recorder.program([double * 2.0, single, words + words])
    count = 2 * cuda_text.WIDTH
    inputs = [np.linspace(0, 1, count, dtype=np.float32), np.arange(count, dtype=np.uint64)]
    function = compiled(program, tmp_path, cuda_text.write_wide(program, [False, False]))
    results = [np.zeros(count, dtype) for dtype in program.result_dtypes]
    pointers = [array.ctypes.data_as(ctypes.c_void_p) for array in [*inputs, *results]]
    function(ctypes.c_long(count // cuda_text.WIDTH), *pointers)
    for found, wanted in zip(results, program.run(inputs), strict=True):
        np.testing.assert_array_equal(found, wanted, strict=True)


@pytest.mark.e2e
def test_neighbours_that_are_computed_together_get_the_values_of_numpy(
    tmp_path: pathlib.Path,
) -> None:
    recorder = recording.Recorder(np.float32)
    vector, scale, other, rate = (recorder.input() for _ in range(4))
    product = vector * np.sqrt(scale)
    program = recorder.program([product + other * rate, product > 3.0])
    count = 3 * cuda_text.WIDTH
    inputs = [
        np.arange(count, dtype=np.float32),
        np.array(2.0, np.float32),
        np.linspace(0, 1, count, dtype=np.float32),
        np.array(0.5, np.float32),
    ]
    text = cuda_text.write_wide(program, [False, True, False, True])
    function = compiled(program, tmp_path, text)
    results = [np.zeros(count, dtype) for dtype in program.result_dtypes]
    pointers = [array.ctypes.data_as(ctypes.c_void_p) for array in [*inputs, *results]]
    function(ctypes.c_long(count // cuda_text.WIDTH), *pointers)
    for found, wanted in zip(results, program.run(inputs), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_a_sum_of_more_arrays_than_a_kernel_takes_is_no_kernel() -> None:
    """CUDA takes 4 KiB of arguments, and 32 KiB with new drivers."""
    gpu = cuda.Cuda.__new__(cuda.Cuda)
    for count, is_kernel in ((2, True), (40, True), (41, False), (1200, False)):
        recorder = recording.Recorder(np.float32)
        inputs = [recorder.input() for _ in range(count)]
        program = recorder.program([functools.reduce(np.add, inputs)])
        assert gpu.fuses(program) is is_kernel


@pytest.mark.e2e
@pytest.mark.parametrize("dtype", [np.uint32, np.uint64])
def test_each_function_of_words_gives_the_values_of_numpy(
    dtype: Any, tmp_path: pathlib.Path
) -> None:
    recorder = recording.Recorder(np.float64)
    one, other = (recorder.input(dtype=dtype) for _ in range(2))
    results = [one.astype(to) for to in (np.uint32, np.uint64, np.int64, np.float64)]
    for name in sorted(elementwise.WORD_FUNCTIONS):
        second = other & 31 if "shift" in name else other
        arguments = [one > other, one, other] if name == "where" else [one, second]
        results.append(getattr(np, name)(*arguments))
    results += [one + int(np.iinfo(dtype).max), recorder.positions(one)]
    program = recorder.program(results)
    words = np.array([1, 2, 3, 0x7FFFFFFF, 0x80000000, np.iinfo(dtype).max], dtype)
    arrays = [array.ravel().copy() for array in np.meshgrid(words, words)]
    with np.errstate(all="ignore"):
        expected = program.run(arrays)
    for call, found, values in zip(
        program.result_dtypes, computed(program, arrays, tmp_path), expected, strict=True
    ):
        np.testing.assert_array_equal(found, values, err_msg=str(call), strict=True)


@pytest.mark.e2e
@pytest.mark.parametrize(
    ("formula", "dtype", "strips", "more"),
    [
        (random_formulas.uniform, np.float32, 4, []),
        (random_formulas.normal, np.float16, 4, []),
        (random_formulas.normal, np.float64, 2, []),
        (random_formulas.truncated, np.float32, 1, []),
        (random_formulas.gumbel, np.float32, 2, []),
        (random_formulas.integers, np.int64, 2, [2**64 - 5, 10**18]),
    ],
)
def test_the_random_numbers_of_a_gpu_are_those_of_numpy(
    formula: Any, dtype: Any, strips: int, more: list[int], tmp_path: pathlib.Path
) -> None:
    program = random_formulas.program(formula, np.dtype(dtype), strips, len(more))
    scalars = [np.uint64(2**63 + 5), np.uint64(77), np.uint64(2**64 - 50), *map(np.uint64, more)]
    target = np.zeros(100, np.float32 if dtype is np.float16 else dtype)
    arrays = [target, *(np.full(100, scalar) for scalar in scalars)]
    with np.errstate(all="ignore"):
        expected = program.run(arrays)
    for found, values in zip(computed(program, arrays, tmp_path), expected, strict=True):
        if np.dtype(dtype).kind == "f":
            epsilon = np.finfo(dtype).eps
            np.testing.assert_allclose(found, values, rtol=8 * epsilon, atol=epsilon)
        else:
            np.testing.assert_array_equal(found, values)
