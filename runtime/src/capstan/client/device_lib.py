"""The devices of this process (python/client/device_lib.py)."""

from dataclasses import dataclass
from typing import Any

from capstan.client import session
from capstan.core import devices
from capstan.framework import graph as graphs


@dataclass(frozen=True, slots=True)
class LocalDevice:
    """A device of this process. `memory_limit` is in bytes.

    `physical_device_desc` describes a GPU, and is empty for a CPU.
    """

    name: str
    device_type: str
    memory_limit: int
    physical_device_desc: str


def list_local_devices(session_config: Any = None) -> list[LocalDevice]:
    """Return the devices that a local session with this configuration has."""
    with session.Session(graph=graphs.Graph(), config=session_config) as local:
        return [
            LocalDevice(
                _short(each.name),
                each.device_type,
                each.memory_limit_bytes,
                each.physical_device_desc,
            )
            for each in local.list_devices()
        ]


def _short(name: str) -> str:
    spec = devices.parse(name)
    return f"/device:{spec.device_type}:{spec.device_index}"
