"""`tf.config`: the settings of sessions that are created without a `tf.ConfigProto`
(python/framework/config.py).

The settings hold for the whole process, and for sessions that are created afterwards.
"""

from dataclasses import replace

from capstan.api.config import experimental as experimental
from capstan.api.config import optimizer as optimizer
from capstan.api.config import threading as threading
from capstan.client import device_lib
from capstan.framework import defaults

__all__ = [
    "experimental",
    "experimental_list_devices",
    "experimental_run_functions_eagerly",
    "get_soft_device_placement",
    "optimizer",
    "set_soft_device_placement",
    "threading",
]


def get_soft_device_placement() -> bool:
    """Return what `set_soft_device_placement` chose. A new process has chosen False."""
    return defaults.BEHAVIOUR.settings.allow_soft_placement


def set_soft_device_placement(enabled: bool) -> None:
    """Choose whether an operation may run on a CPU if its device cannot run it."""
    settings = defaults.BEHAVIOUR.settings
    defaults.BEHAVIOUR.settings = replace(settings, allow_soft_placement=bool(enabled))


def experimental_list_devices() -> list[str]:
    """Return the names of the devices of this process. Blocks while they are found."""
    start = "/job:localhost/replica:0/task:0"
    return [start + each.name for each in device_lib.list_local_devices()]


def experimental_run_functions_eagerly(run_eagerly: bool) -> None:
    """Choose whether a call of a `tf.function` calls its Python function, without a trace.

    The operations of the function then belong to the graph of the call.
    """
    defaults.BEHAVIOUR.calls_python_functions = bool(run_eagerly)
