"""`python.eager.context`: programs ask here whether they build a graph. They always do."""

from contextlib import AbstractContextManager, nullcontext

from capstan.api.behavior import executing_eagerly as executing_eagerly
from capstan.client import device_lib

__all__ = [
    "executing_eagerly", "graph_mode", "in_eager_mode", "in_graph_mode", "list_devices", "num_gpus",
]  # fmt: skip


def in_graph_mode() -> bool:
    """Return True."""
    return True


def in_eager_mode() -> bool:
    """Return False."""
    return False


def graph_mode() -> AbstractContextManager[None]:
    """Return a `with` block that changes nothing."""
    return nullcontext()


def list_devices() -> list[str]:
    """Return the names of the devices of this process. Blocks while the GPUs are found."""
    return [str(each.name) for each in device_lib.list_local_devices()]


def num_gpus() -> int:
    """Return the number of GPUs of this process. Blocks while they are found."""
    return sum(each.device_type == "GPU" for each in device_lib.list_local_devices())
