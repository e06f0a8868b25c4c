"""The devices that a task makes when it starts."""

import subprocess
import sys
import threading

import numpy as np
import pytest
import strict

from capstan import errors
from capstan.core import config
from capstan.hardware import cpu, device, factories

TASK = "/job:ps/replica:0/task:0"

BLOCKED = """
import threading
from capstan.hardware import cpu, device

started = threading.Event()
def block():
    started.set()
    threading.Event().wait()
device.Devices(cpu.create("", 2)).submit(block)
started.wait()
print("over")
"""


def test_a_task_has_one_cpu_unless_device_count_says_otherwise() -> None:
    one = factories.create(TASK, config.SessionConfig(device_count={"GPU": 0}))
    assert [found.name for found in one] == [f"{TASK}/device:CPU:0"]
    four = factories.create(TASK, config.SessionConfig(device_count={"CPU": 4, "GPU": 0}))
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


@pytest.mark.e2e
def test_a_segment_that_runs_does_not_keep_the_process_alive() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", BLOCKED],
        env={"PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        timeout=50,
        check=True,
    )
    assert ended.stdout == "over\n"


def test_the_threads_of_devices_end_with_the_devices() -> None:
    found: list[threading.Thread] = []
    started = threading.Event()

    def note() -> None:
        found.append(threading.current_thread())
        started.set()

    devices = device.Devices(cpu.create(TASK, 1))
    devices.submit(note)
    assert started.wait(50)
    del devices
    found[0].join(50)
    assert not found[0].is_alive()


def test_a_process_has_its_own_gpus_again_after_a_test_with_simulated_ones() -> None:
    before = dict(factories._FACTORIES)
    with strict.installed():
        assert "GPU" in factories._FACTORIES
    assert before == factories._FACTORIES
