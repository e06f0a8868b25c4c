"""The text of a GPU's kernel computes NumPy's values, when the compiler of the host compiles it."""

import ctypes
import pathlib
import shutil
import subprocess
import warnings
from typing import Any

import numpy as np
import pytest

from capstan.core import elementwise
from capstan.hardware import cuda_text

SHELL = """
#include <cmath>
using namespace std;
typedef {number} T;
extern "C" void run(long count, {parameters}) {{
  for (long i = 0; i < count; i++) {{
    {arguments}
    {{ {body} }}
  }}
}}
"""
"""CuPy puts the same loop around the body of a kernel."""


def compiled(program: elementwise.Program, folder: pathlib.Path) -> Any:
    """Compile a program for the host, and return the C function."""
    compiler = shutil.which("c++")
    if compiler is None:
        pytest.skip("there is no C++ compiler: apt-get install g++")
    text = cuda_text.write(program)
    inputs = [part.split()[1] for part in text.inputs.split(", ")]
    results = [part.split()[1] for part in text.results.split(", ")]
    source = SHELL.format(
        number="double" if program.dtype == np.float64 else "float",
        parameters=", ".join(f"T *{name}_" for name in inputs + results),
        arguments=" ".join(f"T &{name} = {name}_[i];" for name in inputs + results),
        body=text.body,
    )
    (folder / "kernel.cc").write_text(source)
    command = [compiler, "-shared", "-fPIC", "-o", "kernel.so", "kernel.cc"]
    subprocess.run(command, cwd=folder, check=True)
    return ctypes.CDLL(str(folder / "kernel.so")).run


@pytest.mark.e2e
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_each_function_gives_the_values_of_numpy(dtype: Any, tmp_path: pathlib.Path) -> None:
    recorder = elementwise.Recorder(dtype)
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
    found = [np.empty(100, dtype) for _ in results]
    pointers = [array.ctypes.data_as(ctypes.c_void_p) for array in arrays + found]
    compiled(program, tmp_path)(ctypes.c_long(100), *pointers)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        expected = program.run(arrays)
    epsilon = np.finfo(dtype).eps
    for name, one, other in zip(
        [*sorted(elementwise.FUNCTIONS), *["add"] * 4], found, expected, strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=8 * epsilon, atol=epsilon, err_msg=name)
