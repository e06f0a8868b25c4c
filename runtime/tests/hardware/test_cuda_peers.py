"""Copies between the memories of real GPUs, or within the memory of one, and sums over GPUs."""

from typing import Any

import accelerated
import ml_dtypes
import numpy as np
import pytest

from capstan.core import config
from capstan.hardware import collectives, cuda

pytest.importorskip("cupy", reason=accelerated.WITHOUT_CUPY)
pytestmark = pytest.mark.skipif(bool(cuda.missing()), reason=cuda.missing())
TASK = "/job:localhost/replica:0/task:0"


@pytest.fixture
def gpus() -> Any:
    return cuda.create(TASK, 2, config.GpuOptions(allow_growth=True))


@pytest.mark.parametrize("is_turned", [False, True])
@pytest.mark.parametrize("shape", [(), (0,), (3, 4)])
def test_a_copy_between_gpus_has_the_elements_of_its_source(
    gpus: Any, shape: tuple[int, ...], is_turned: bool
) -> None:
    source, destination = gpus[0], gpus[-1]
    value = np.arange(np.prod(shape, dtype=int), dtype=np.float32).reshape(shape)
    on_source = source.put(value)
    if is_turned:
        value, on_source = value.T, on_source.T
    back = destination.copy_out(destination.copy_across(on_source, source))
    destination.stream.synchronize()
    np.testing.assert_array_equal(back, value)


@pytest.mark.parametrize(
    "dtype", [ml_dtypes.bfloat16, np.float16, np.float32, np.float64, np.int64]
)
def test_gpus_reduce_and_broadcast_arrays(gpus: Any, dtype: Any) -> None:
    if len(gpus) < 2:
        pytest.skip("this machine has one GPU")
    values = [np.arange(6, dtype=dtype).reshape(2, 3) + index for index in range(2)]
    on_gpus = [gpu.put(value) for gpu, value in zip(gpus, values, strict=True)]
    for name, function in collectives.FUNCTIONS.items():
        reduced = collectives.reduce(name, on_gpus, gpus, gpus[1])
        found = [
            (gpus[1], reduced),
            *zip(gpus, collectives.all_reduce(name, on_gpus, gpus), strict=True),
        ]
        for gpu, array in found:
            back = gpu.copy_out(array)
            gpu.stream.synchronize()
            np.testing.assert_array_equal(back, function(*values))
    (there,) = collectives.broadcast(on_gpus[0], gpus[0], gpus[1:])
    back = gpus[1].copy_out(there)
    gpus[1].stream.synchronize()
    np.testing.assert_array_equal(back, values[0])
