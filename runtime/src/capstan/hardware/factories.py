"""The registry of device types (TensorFlow: core/common_runtime/device_factory.h).

A process makes the devices of a task once, when the task starts.
"""

import functools
from collections.abc import Callable, Sequence

from capstan import errors
from capstan.core import config
from capstan.hardware import cpu, cuda, device

Factory = Callable[[str, int | None], Sequence[device.Device]]
"""`factory(task, count)` returns the devices of a type. `count` limits their number. If it is None,
the factory returns all devices that the process can use. The CPU factory then returns one."""

_FACTORIES: dict[str, Factory] = {}


def register(device_type: str, factory: Factory) -> None:
    """Give the devices of `factory` to each task that starts from now on.

    It replaces the factory that the device type had, for CPUs and GPUs too.
    """
    _FACTORIES[device_type] = factory


def create(task: str, settings: config.SessionConfig) -> device.Devices:
    """Return the devices of a task that starts. The CPUs come first.

    Raises:
        NotFoundError: `settings.device_count` leaves no CPU.
        InvalidArgumentError: `settings.gpu_options` does not fit the GPUs of the process.
    """
    made: list[device.Device] = []
    own: dict[str, Factory] = {
        "CPU": cpu.create,
        "GPU": functools.partial(cuda.create, options=settings.gpu_options),
    }
    known = own | _FACTORIES
    for device_type in sorted(known, key=lambda name: (name != "CPU", name)):
        made += known[device_type](task, settings.device_count.get(device_type))
    if not any(found.device_type == "CPU" for found in made):
        raise errors.NotFoundError(
            None,
            None,
            "No CPU devices are available in this process: set device_count['CPU'] to 1 or more, "
            "or leave it out",
        )
    return device.Devices(made, settings.inter_op_threads)
