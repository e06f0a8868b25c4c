"""`tf.debugging.set_log_device_placement` and its twin (python/eager/context.py)."""

from dataclasses import replace
from typing import Any

from capstan.framework import defaults


def set_log_device_placement(enabled: Any) -> None:
    """Choose whether sessions without a `config` log where each operation is placed.

    The choice holds for sessions that the process makes afterwards. A session with a `config`
    follows its `log_device_placement`.
    """
    settings = defaults.BEHAVIOUR.settings
    defaults.BEHAVIOUR.settings = replace(settings, log_device_placement=bool(enabled))


def get_log_device_placement() -> bool:
    """Return what `set_log_device_placement` chose. A new process has chosen False."""
    return defaults.BEHAVIOUR.settings.log_device_placement
