"""The text of a GPU's kernel along rows computes NumPy's values, when the host compiles it.

The threads of a block are threads of the host, which wait for each other at a barrier.
"""

import ctypes
import pathlib
import shutil
import subprocess
import types
from typing import Any

import numpy as np
import pytest

from capstan.core import row_programs
from capstan.hardware import cuda_elementwise, cuda_text

BLOCK = 128

SHELL = """
#include <cmath>
#include <pthread.h>
using namespace std;
typedef {number} T;
typedef long long int64;
typedef unsigned long long uint64;
static pthread_barrier_t barrier;
static thread_local struct {{ int x; }} threadIdx;
#define __shared__ static
#define __syncthreads() pthread_barrier_wait(&barrier)
struct Work {{ long count; void **arrays; int64 rows, columns; int thread; }};
static void *work(void *given) {{
  const Work &mine = *(Work *)given;
  const int64 rows = mine.rows, columns = mine.columns;
  threadIdx.x = mine.thread;
  {arguments}
  for (long i = mine.thread; i < mine.count; i += {block}) {{
    {body}
  }}
  return 0;
}}
extern "C" void run(long count, void **arrays, int64 rows, int64 columns) {{
  static Work all[{block}];
  pthread_t threads[{block}];
  pthread_barrier_init(&barrier, 0, {block});
  for (int k = 0; k < {block}; k++) {{
    all[k] = {{count, arrays, rows, columns, k}};
    pthread_create(&threads[k], 0, work, &all[k]);
  }}
  for (int k = 0; k < {block}; k++) pthread_join(threads[k], 0);
  pthread_barrier_destroy(&barrier);
}}
"""
"""CuPy puts the same loop around the body of a kernel."""


def compiled(program: row_programs.Program, lanes: int, folder: pathlib.Path) -> Any:
    """Compile the text of a program for the host, and return the C function."""
    compiler = shutil.which("c++")
    if compiler is None:
        pytest.skip("there is no C++ compiler: apt-get install g++")
    text = cuda_text.write_rows(program, lanes, BLOCK)
    *inputs, rows, columns = text.inputs.split(", ")
    assert (rows, columns) == ("int64 rows", "int64 columns")
    parameters = [part.split() for part in [*inputs, *text.results.split(", ")]]
    source = SHELL.format(
        number="double" if program.dtype == np.float64 else "float",
        block=BLOCK,
        arguments=" ".join(
            f"{kind} *const {name} = ({kind} *)mine.arrays[{index}];"
            for index, (_, kind, name) in enumerate(parameters)
        ),
        body=text.body,
    )
    (folder / f"kernel{lanes}.cc").write_text(source)
    library = folder / f"kernel{lanes}.so"
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-pthread", "-o", library, f"kernel{lanes}.cc"],
        cwd=folder,
        check=True,
    )
    return ctypes.CDLL(str(library)).run


def computed(
    program: row_programs.Program, inputs: list[np.ndarray], lanes: int, run: Any
) -> list[np.ndarray]:
    """Return the results of the compiled program."""
    rows, columns = inputs[0].shape
    widths = [1 if program.is_of_row()[result] else columns for result in program.results]
    # A kernel writes the elements of its results, and nothing after them.
    results = [
        np.full((rows + 1, width), 7, dtype)
        for width, dtype in zip(widths, program.result_dtypes, strict=True)
    ]
    arrays = [*inputs, *results]
    pointers = (ctypes.c_void_p * len(arrays))(*(array.ctypes.data for array in arrays))
    blocks = -(-rows * lanes // BLOCK)
    sizes = ctypes.c_longlong(rows), ctypes.c_longlong(columns)
    run(ctypes.c_long(blocks * BLOCK), pointers, *sizes)
    for result in results:
        assert (result[rows:] == 7).all()
    return [result[:rows] for result in results]


def sparse_cross_entropy(dtype: Any) -> row_programs.Program:
    """Return a program that has each kind of call, a row of input, and both kinds of results."""
    recorder = row_programs.Recorder(dtype)
    row, scale, label = recorder.input(), recorder.row_input(), recorder.row_input(np.uint64)
    scaled = row * scale
    top = recorder.maximum(scaled)
    power: Any = np.exp(scaled - top)
    total = recorder.sum(power)
    is_label = recorder.columns(row) == label
    chosen = recorder.sum(np.where(is_label, scaled, 0.0))
    loss: Any = np.log(total) + top - chosen
    return recorder.program([loss, power / total, top, np.where(is_label, 1.0, 0.0)])  # type: ignore[list-item]


@pytest.mark.e2e
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("lanes", [1, 2, 16, 128])
def test_threads_that_share_a_row_compute_the_values_of_numpy(
    dtype: Any, lanes: int, tmp_path: pathlib.Path
) -> None:
    program = sparse_cross_entropy(dtype)
    run = compiled(program, lanes, tmp_path)
    draw = np.random.default_rng(lanes)
    for rows, columns in ((1, 1), (5, 3), (11, 40), (3, 300)):
        row = draw.normal(size=(rows, columns)).astype(dtype)
        scale = draw.normal(size=(rows, 1)).astype(dtype)
        label = draw.integers(0, columns, (rows, 1)).astype(np.uint64)
        inputs = [row, scale, label]
        for found, wanted in zip(
            computed(program, inputs, lanes, run), program.run(inputs), strict=True
        ):
            assert wanted.dtype == dtype
            np.testing.assert_allclose(found, wanted, rtol=3e-5, atol=1e-6)


@pytest.mark.e2e
@pytest.mark.parametrize("lanes", [1, 128])
def test_the_maximum_of_a_row_with_nan_is_nan(lanes: int, tmp_path: pathlib.Path) -> None:
    recorder = row_programs.Recorder(np.float32)
    program = recorder.program([recorder.maximum(recorder.input())])
    rows = np.float32([[1, np.nan, 2], [np.nan, 1, 2], [-np.inf, -np.inf, -np.inf], [1, 2, np.nan]])
    [found] = computed(program, [rows], lanes, compiled(program, lanes, tmp_path))
    np.testing.assert_array_equal(found, rows.max(1, keepdims=True))


@pytest.mark.parametrize(
    ("shape", "size", "block"),
    [
        ((1, 1), 128, 128),
        ((100, 10), 13 * 128, 128),
        ((3, 128), 3 * 128, 128),
        ((1024, 1000), 1024 * 512, 512),
        ((2, 70_000), 2 * 512, 512),
    ],
)
def test_whole_blocks_compute_whole_rows(shape: tuple[int, int], size: int, block: int) -> None:
    calls = []

    def kernel(*arrays: Any, **options: int) -> None:
        calls.append((arrays[1:3], arrays[-1].shape, options))

    cupy = types.SimpleNamespace(ElementwiseKernel=lambda *_: kernel, empty=np.empty)
    recorder = row_programs.Recorder(np.float32)
    row = recorder.input()
    program = recorder.program([row - recorder.maximum(row)])
    cuda_elementwise.compiled_rows(cupy, program)([np.zeros(shape, np.float32)])
    assert calls == [(shape, shape, {"size": size, "block_size": block})]


def test_very_long_rows_are_computed_call_by_call() -> None:
    recorder = row_programs.Recorder(np.float32)
    row = recorder.input()
    program = recorder.program([row - recorder.maximum(row)])
    numbers = np.arange(1 << 18, dtype=np.float32)[None]
    run = cuda_elementwise.compiled_rows(types.SimpleNamespace(ElementwiseKernel=None), program)
    np.testing.assert_array_equal(run([numbers])[0], numbers - numbers.max())
