"""A GPU with a description of its hardware: in lists, in `tf.test`, in the log, and in threads."""

import dataclasses

import pytest
import strict

import capstan as tf
from capstan.core import config
from capstan.hardware import cuda, device, factories
from capstan.python.client import device_lib
from capstan.transport.grpc import codec

WHAT = "device: 0, name: Test, pci bus id: 0000:3b:00.0, compute capability: 7.0"
NAME = "/job:localhost/replica:0/task:0/device:GPU:0"


class Described(strict.Strict):
    """A strict device that counts how often a thread began to use it."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.physical_description = WHAT
        self.uses = 0

    def use(self) -> None:
        self.uses += 1


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Described]:
    all_made: list[Described] = []

    def create(task: str, count: int | None) -> list[device.Device]:
        all_made.append(Described(f"{task}/device:GPU:0"))
        return [all_made[-1]]

    monkeypatch.setitem(factories._FACTORIES, "GPU", create)
    tf.reset_default_graph()
    return all_made


@pytest.mark.usefixtures("made")
def test_a_list_of_devices_describes_a_gpu() -> None:
    assert [(each.name, each.physical_device_desc) for each in device_lib.list_local_devices()] == [
        ("/device:CPU:0", ""),
        ("/device:GPU:0", WHAT),
    ]
    with tf.Session() as session:
        listed = session.list_devices()
    assert codec.decode_devices(codec.encode_devices(listed)) == tuple(listed)
    assert listed[1] != dataclasses.replace(listed[1], physical_device_desc="")


@pytest.mark.usefixtures("made")
def test_a_program_asks_for_the_compute_capability() -> None:
    assert tf.test.gpu_device_name() == "/device:GPU:0"
    assert tf.test.is_gpu_available()
    assert tf.test.is_gpu_available(cuda_only=True, min_cuda_compute_capability=(7, 0))
    assert not tf.test.is_gpu_available(min_cuda_compute_capability=(7, 5))


@pytest.mark.usefixtures("made")
def test_the_log_of_placement_maps_a_gpu_to_its_hardware(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with tf.Session(config=tf.ConfigProto(log_device_placement=True)):
        pass
    assert capfd.readouterr().out == f"Device mapping:\n{NAME} -> {WHAT}\n"


def test_a_segment_of_a_gpu_makes_it_current_and_a_segment_of_a_cpu_does_not(
    made: list[Described],
) -> None:
    x = tf.placeholder(tf.float32, [])
    with tf.device("/gpu:0"):
        on_gpu = x * 2.0
    with tf.device("/cpu:0"):
        on_cpu = x * 2.0
    with tf.Session() as session:
        session.run(on_cpu, {x: 1.0})
        assert made[0].uses == 0
        assert session.run(on_gpu, {x: 1.0}) == 2.0
        assert made[0].uses > 0


def test_device_count_zero_leaves_cupy_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda, "usable", lambda: pytest.fail("GPUs were counted"))
    assert cuda.create("/job:a/replica:0/task:0", 0, config.GpuOptions()) == []
