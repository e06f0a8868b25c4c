"""`tf.config`: the settings of sessions without a ConfigProto."""

from collections.abc import Iterator

import pytest

import capstan as tf
from capstan.framework import defaults


@pytest.fixture(autouse=True)
def _process() -> Iterator[None]:
    kept = {name: getattr(defaults.BEHAVIOUR, name) for name in defaults.Behaviour.__slots__}
    yield
    for name, value in kept.items():
        setattr(defaults.BEHAVIOUR, name, value)


def placed_on_a_gpu() -> tf.Graph:
    graph = tf.Graph()
    with graph.as_default(), tf.device("/gpu:0"):
        tf.constant(["text"], name="text")
    return graph


def test_soft_placement_holds_for_new_sessions() -> None:
    assert tf.config.get_soft_device_placement() is False
    with (
        tf.Session(graph=placed_on_a_gpu()) as session,
        pytest.raises(tf.errors.InvalidArgumentError),
    ):
        session.run("text:0")
    tf.config.set_soft_device_placement(True)
    assert tf.config.get_soft_device_placement() is True
    with tf.Session(graph=placed_on_a_gpu()) as session:
        assert session.run("text:0") == [b"text"]


def test_a_config_proto_wins() -> None:
    tf.config.set_soft_device_placement(True)
    with (
        tf.Session(graph=placed_on_a_gpu(), config=tf.ConfigProto()) as session,
        pytest.raises(tf.errors.InvalidArgumentError),
    ):
        session.run("text:0")


def test_choices_are_kept() -> None:
    threading, optimizer = tf.config.threading, tf.config.optimizer
    threading.set_inter_op_parallelism_threads(3)
    threading.set_intra_op_parallelism_threads(2)
    optimizer.set_jit(True)
    optimizer.set_experimental_options({"constant_folding": True})
    optimizer.set_experimental_options({"layout_optimizer": False})
    assert threading.get_inter_op_parallelism_threads() == 3
    assert threading.get_intra_op_parallelism_threads() == 2
    assert optimizer.get_jit() is True
    wanted = {"constant_folding": True, "layout_optimizer": False}
    assert optimizer.get_experimental_options() == wanted


def test_devices_of_this_machine() -> None:
    experimental = tf.config.experimental
    (cpu,) = experimental.list_physical_devices("CPU")
    assert (cpu.name, cpu.device_type) == ("/physical_device:CPU:0", "CPU")
    assert cpu in experimental.get_visible_devices()
    assert [each.name for each in experimental.list_logical_devices("CPU")] == ["/device:CPU:0"]
    assert "/job:localhost/replica:0/task:0/device:CPU:0" in tf.config.experimental_list_devices()


def test_gpus_are_hidden() -> None:
    experimental = tf.config.experimental
    experimental.set_visible_devices([], "GPU")
    assert experimental.list_logical_devices("GPU") == []
    assert experimental.get_visible_devices("GPU") == []


def test_devices_that_cannot_be_chosen_are_refused() -> None:
    experimental = tf.config.experimental
    (cpu,) = experimental.list_physical_devices("CPU")
    with pytest.raises(ValueError, match="Unrecognized device: 'CPU:0'"):
        experimental.set_visible_devices("CPU:0")
    with pytest.raises(ValueError, match="is not of type GPU"):
        experimental.set_visible_devices(cpu, "GPU")
    with pytest.raises(ValueError, match="a session needs a CPU"):
        experimental.set_visible_devices([])
    with pytest.raises(ValueError, match="Cannot set memory growth on non-GPU devices"):
        experimental.set_memory_growth(cpu, True)


def test_a_traced_function_can_run_as_python() -> None:
    double = tf.function(lambda x: x * 2)
    assert double(2) is not None
    tf.config.experimental_run_functions_eagerly(True)
    assert double(2) == 4


def test_a_machine_has_virtual_cpus() -> None:
    experimental = tf.config.experimental
    cpu = experimental.list_physical_devices("CPU")[0]
    assert experimental.get_virtual_device_configuration(cpu) is None
    virtual = experimental.VirtualDeviceConfiguration
    experimental.set_virtual_device_configuration(cpu, [virtual()] * 3)
    assert experimental.get_virtual_device_configuration(cpu) == [virtual()] * 3
    assert len(experimental.list_physical_devices("CPU")) == 1
    assert len(experimental.list_logical_devices("CPU")) == 3
    with tf.Graph().as_default(), tf.device("/cpu:2"), tf.Session() as session:
        assert session.run(tf.constant(4)) == 4
        names = [each.name for each in session.list_devices()]
    assert sum("CPU" in name for name in names) == 3
    for devices, message in (
        ([], "at least one virtual device"),
        ([virtual(memory_limit=4)], "memory limit on CPU"),
    ):
        with pytest.raises(ValueError, match=message):
            experimental.set_virtual_device_configuration(cpu, devices)
    gpu = experimental.PhysicalDevice("/physical_device:GPU:99", "GPU")
    with pytest.raises(ValueError, match="Unrecognized device"):
        experimental.set_virtual_device_configuration(gpu, [virtual()])
