"""`tf.config.experimental`: the devices of sessions."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from capstan.client import device_lib
from capstan.core import config
from capstan.framework import defaults

__all__ = [
    "VirtualDeviceConfiguration",
    "get_memory_growth",
    "get_virtual_device_configuration",
    "get_visible_devices",
    "list_logical_devices",
    "list_physical_devices",
    "set_memory_growth",
    "set_virtual_device_configuration",
    "set_visible_devices",
]


@dataclass(frozen=True, slots=True)
class PhysicalDevice:
    """A device of the machine, such as `/physical_device:GPU:0`."""

    name: str
    device_type: str


@dataclass(frozen=True, slots=True)
class LogicalDevice:
    """A device that a session of this process has, such as `/device:GPU:0`."""

    name: str
    device_type: str


@dataclass(frozen=True, slots=True)
class VirtualDeviceConfiguration:
    """A device that a session has in place of one of the machine. `memory_limit` is in MB."""

    memory_limit: int | None = None


def list_physical_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """Return the devices of this machine, or those of one type. Blocks while they are found."""
    found = device_lib.list_local_devices(config.SessionConfig().to_proto())
    return [
        PhysicalDevice(each.name.replace("/device", "/physical_device"), each.device_type)
        for each in found
        if device_type in (None, each.device_type)
    ]


def list_logical_devices(device_type: str | None = None) -> list[LogicalDevice]:
    """Return the devices that a new session has, or those of one type."""
    return [
        LogicalDevice(each.name, each.device_type)
        for each in device_lib.list_local_devices()
        if device_type in (None, each.device_type)
    ]


def get_visible_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """Return the devices of this machine that a new session has, or those of one type."""
    settings = defaults.BEHAVIOUR.settings
    listed = settings.gpu_options.visible_device_list
    numbers = listed.split(",") if listed else None

    def is_visible(device: PhysicalDevice) -> bool:
        if settings.device_count.get(device.device_type) == 0:
            return False
        is_listed = numbers is None or device.name.rpartition(":")[2] in numbers
        return device.device_type != "GPU" or is_listed

    return [each for each in list_physical_devices(device_type) if is_visible(each)]


def set_visible_devices(devices: Any, device_type: str | None = None) -> None:
    """Let new sessions have only `devices`, of `list_physical_devices`, or only these of one type.

    Raises:
        ValueError: a device does not exist or is of another type, or no CPU is left.
    """
    chosen: Sequence[Any] = devices if isinstance(devices, list | tuple) else [devices]
    known = list_physical_devices()
    for each in chosen:
        if each not in known:
            raise ValueError(f"Unrecognized device: {each!r}")
        if device_type not in (None, each.device_type):
            raise ValueError(f"Unrecognized device: {each!r} is not of type {device_type}")
    settings = defaults.BEHAVIOUR.settings
    counts = dict(settings.device_count)
    gpus = settings.gpu_options
    for kind in ("CPU", "GPU") if device_type is None else (device_type,):
        names = [each.name for each in chosen if each.device_type == kind]
        if kind == "CPU" and not names:
            raise ValueError("a session needs a CPU: add one to the visible devices")
        counts.pop(kind, None)
        if not names:
            counts[kind] = 0
        if kind == "GPU":
            numbers = ",".join(name.rpartition(":")[2] for name in names)
            gpus = replace(gpus, visible_device_list=numbers)
    defaults.BEHAVIOUR.settings = replace(settings, device_count=counts, gpu_options=gpus)


def get_memory_growth(device: PhysicalDevice) -> bool:
    """Return whether sessions take the memory of GPUs only as they need it.

    Raises:
        ValueError: the device is not a GPU of this machine.
    """
    _check_gpu(device)
    return defaults.BEHAVIOUR.settings.gpu_options.allow_growth


def set_memory_growth(device: PhysicalDevice, enable: bool) -> None:
    """Choose whether sessions take the memory of GPUs only as they need it.

    The choice holds for all GPUs.

    Raises:
        ValueError: the device is not a GPU of this machine.
    """
    _check_gpu(device)
    settings = defaults.BEHAVIOUR.settings
    gpus = replace(settings.gpu_options, allow_growth=bool(enable))
    defaults.BEHAVIOUR.settings = replace(settings, gpu_options=gpus)


def _check_known(device: PhysicalDevice) -> None:
    if device not in list_physical_devices():
        raise ValueError(f"Unrecognized device: {device!r}")


def _check_gpu(device: PhysicalDevice) -> None:
    _check_known(device)
    if device.device_type != "GPU":
        raise ValueError("Cannot set memory growth on non-GPU devices")


def get_virtual_device_configuration(
    device: PhysicalDevice,
) -> list[VirtualDeviceConfiguration] | None:
    """Return the devices that a new session has in place of a device, or None for itself.

    Raises:
        ValueError: the device is not one of this machine.
    """
    _check_known(device)
    count = defaults.BEHAVIOUR.settings.device_count.get("CPU", 0)
    if device.device_type != "CPU" or count < 1:
        return None
    return [VirtualDeviceConfiguration()] * count


def set_virtual_device_configuration(
    device: PhysicalDevice, virtual_devices: Sequence[VirtualDeviceConfiguration]
) -> None:
    """Give new sessions several CPUs, which share the cores of the machine.

    Raises:
        ValueError: the device is not a CPU of this machine, there are no virtual devices, or one
            has a limit of memory.
    """
    _check_known(device)
    if device.device_type != "CPU":
        raise ValueError(f"Capstan divides no {device.device_type}: {device.name} stays one device")
    if not virtual_devices:
        raise ValueError("a session needs a CPU: give at least one virtual device")
    if any(each.memory_limit is not None for each in virtual_devices):
        raise ValueError("Setting memory limit on CPU virtual devices is currently not supported")
    settings = defaults.BEHAVIOUR.settings
    counts = {**settings.device_count, "CPU": len(virtual_devices)}
    defaults.BEHAVIOUR.settings = replace(settings, device_count=counts)
