"""The devices that a task makes when it starts."""

import numpy as np
import pytest

from capstan import errors
from capstan.core import config
from capstan.hardware import cpu, device, factories

TASK = "/job:ps/replica:0/task:0"


def test_a_task_has_one_cpu_unless_device_count_says_otherwise() -> None:
    assert [found.name for found in factories.create(TASK, config.SessionConfig())] == [
        f"{TASK}/device:CPU:0"
    ]
    four = factories.create(TASK, config.SessionConfig(device_count={"CPU": 4}))
    assert [found.name for found in four] == [f"{TASK}/device:CPU:{index}" for index in range(4)]


def test_a_task_without_a_cpu_is_refused() -> None:
    with pytest.raises(errors.NotFoundError, match="No CPU devices are available"):
        factories.create(TASK, config.SessionConfig(device_count={"CPU": 0}))


def test_a_partial_name_denotes_the_first_device_that_matches() -> None:
    found = device.Devices(cpu.create(TASK, 2))
    assert found.of("").name == f"{TASK}/device:CPU:0"
    assert found.of("/device:CPU:1").name == f"{TASK}/device:CPU:1"
    with pytest.raises(errors.InvalidArgumentError, match="no device '/device:GPU:0'"):
        found.of("/device:GPU:0")


def test_a_cpu_allocates_aligned_memory_and_says_when_there_is_none() -> None:
    (here,) = cpu.create(TASK, 1)
    array = here.allocate((3, 5), np.float32)
    assert (array.shape, array.dtype, array.ctypes.data % 64) == ((3, 5), np.float32, 0)
    with pytest.raises(errors.ResourceExhaustedError, match=r"shape\[4611686018427387904\]"):
        here.allocate((1 << 62,), np.float32)
