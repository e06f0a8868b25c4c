"""`tf.config.optimizer`: options of TensorFlow's graph optimizer. Capstan keeps them, and its
compiler ignores them.
"""

from collections.abc import Mapping
from typing import Any

from capstan.framework import defaults

__all__ = ["get_experimental_options", "get_jit", "set_experimental_options", "set_jit"]


def get_jit() -> bool:
    """Return what `set_jit` chose. A new process has chosen False."""
    return defaults.BEHAVIOUR.uses_jit


def set_jit(enabled: bool) -> None:
    """Keep the choice for `get_jit`. It changes nothing, because Capstan has no XLA."""
    defaults.BEHAVIOUR.uses_jit = bool(enabled)


def get_experimental_options() -> dict[str, Any]:
    """Return the options that the program has set."""
    return dict(defaults.BEHAVIOUR.optimizer_options)


def set_experimental_options(options: Mapping[str, Any]) -> None:
    """Add options to those that are set. They change nothing."""
    kept = defaults.BEHAVIOUR.optimizer_options
    defaults.BEHAVIOUR.optimizer_options = {**kept, **options}
