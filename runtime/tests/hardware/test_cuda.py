"""GPUs by the real CuPy: without a GPU what the process says, and with one its memory."""

import logging
from typing import Any

import numpy as np
import pytest

import capstan as tf
from capstan.core import config, elementwise
from capstan.hardware import cuda

cupy = pytest.importorskip(
    "cupy", reason="CuPy is not installed: .venv/bin/pip install -r requirements/cuda.txt"
)
TASK = "/job:localhost/replica:0/task:0"
GROWING = config.GpuOptions(allow_growth=True)
on_a_gpu = pytest.mark.skipif(bool(cuda.missing()), reason=cuda.missing())
without_a_gpu = pytest.mark.skipif(not cuda.missing(), reason="this machine has a GPU")


@pytest.fixture(autouse=True)
def _decide_again() -> None:
    cuda.usable.cache_clear()


@without_a_gpu
def test_one_warning_names_the_missing_part(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "capstan"):
        assert cuda.create(TASK, None, GROWING) == cuda.create(TASK, None, GROWING) == []
    [warning] = caplog.messages
    assert warning == f"No GPU is used: {cuda.missing()}"


@without_a_gpu
def test_a_session_without_a_gpu_uses_the_cpu() -> None:
    assert not tf.test.is_gpu_available()
    assert tf.test.gpu_device_name() == ""
    assert tf.test.is_built_with_cuda()


def test_a_task_that_hides_its_gpus_says_nothing(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert cuda.create(TASK, None, GROWING) == []
    assert not caplog.messages


@pytest.fixture
def gpu() -> Any:
    return cuda.create(TASK, 1, GROWING)[0]


@on_a_gpu
@pytest.mark.parametrize("shape", [(), (0,), (3, 4)])
def test_values_pass_through_the_memory_of_a_gpu(gpu: Any, shape: tuple[int, ...]) -> None:
    value = np.arange(np.prod(shape, dtype=int), dtype=np.float32).reshape(shape)
    back = gpu.copy_out(gpu.duplicate(gpu.put(value)))
    gpu.stream.synchronize()
    np.testing.assert_array_equal(back, value)


@on_a_gpu
def test_too_large_an_array_is_refused_with_the_figures_of_the_pool(gpu: Any) -> None:
    with pytest.raises(tf.errors.ResourceExhaustedError, match=r"of its pool.*limit set to"):
        gpu.allocate((gpu.memory_limit,), np.float64)
    gpu.put(np.zeros(3))


@on_a_gpu
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_a_program_of_elementwise_functions_is_one_kernel(gpu: Any, dtype: Any) -> None:
    recorder = elementwise.Recorder(dtype)
    value, speed, rate = (recorder.input() for _ in range(3))
    np.add(np.multiply(speed, 0.5), np.tanh(value), speed)
    np.subtract(value, np.multiply(rate, speed), value)
    program = recorder.program([value, speed])
    arrays = [np.array([1, -2, np.nan], dtype), np.array([4, 0, 1], dtype), np.array(0.5, dtype)]
    on_gpu = [gpu.put(array) for array in arrays]
    gpu.compile(program)(on_gpu, on_gpu[:2])
    found = [gpu.copy_out(array) for array in on_gpu[:2]]
    gpu.stream.synchronize()
    for one, other in zip(found, program.run(arrays), strict=True):
        np.testing.assert_allclose(one, other, rtol=4 * np.finfo(dtype).eps)
