"""Copies between the memories of real GPUs, and within the memory of one."""

from typing import Any

import numpy as np
import pytest

from capstan.core import config
from capstan.hardware import cuda

pytest.importorskip(
    "cupy", reason="CuPy is not installed: .venv/bin/pip install -r requirements/cuda.txt"
)
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
