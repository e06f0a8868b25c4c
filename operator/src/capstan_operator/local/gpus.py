"""GPUs on one machine: its tasks share them, and nothing reserves them.

Therefore `capstanctl run` starts a job that requests more GPUs than the machine has, and only says
so if the machine has none.
"""

from collections.abc import Iterator
from pathlib import Path

from capstan_operator.api.spec import TrainingJob
from capstan_operator.errors import Fault

_VENDOR = "nvidia.com/"
"""The prefix of the resources of NVIDIA's device plugin: whole GPUs, shared GPUs and parts."""

_DRIVERS = ("nvidiactl", "dxg")
"""The device files of NVIDIA's driver: on Linux, and in Windows' subsystem for Linux."""


def has_driver(devices: Path = Path("/dev")) -> bool:
    """Return whether the driver of a GPU of NVIDIA has its file in `devices`."""
    return any((devices / driver).exists() for driver in _DRIVERS)


def missing(job: TrainingJob, devices: Path = Path("/dev")) -> Iterator[Fault]:
    """Yield a warning for each type of task that requests GPUs, if this machine has no GPU.

    `devices` is the folder of the device files.
    """
    if has_driver(devices):
        return
    for kind, replica in job.spec.replica_specs.items():
        template = replica.template
        resources = template.trainer.resources
        if resources is None:
            continue
        for name, amount in {**resources.requests, **resources.limits}.items():
            if name.startswith(_VENDOR) and str(amount) != "0":
                yield Fault(
                    f"spec.replicaSpecs.{kind}.template.spec.containers[{template.trainer_index}]"
                    ".resources",
                    f"requests {name}, but this machine has no GPU of NVIDIA: these tasks run on "
                    "the CPU",
                )
