"""The attributes of a model (python/keras/engine/network.py)."""

from typing import Any

from capstan.api import variables
from capstan.api.layers import common, tracking


class ModelAttributes:
    """A model whose layers and variables are assigned to attributes, after its constructor ran."""

    def __setattr__(self, name: str, value: Any) -> None:
        """Raise RuntimeError for a layer or variable if the base class was not initialized."""
        is_part = any(True for _ in tracking.parts(value, (common.CommonLayer, variables.Variable)))
        if is_part and not hasattr(self, "_trainable_weights"):
            raise RuntimeError(
                "It looks like you are subclassing `Model` and forgot to call `super().__init__()`."
                f" Call it in {type(self).__name__}.__init__ before you assign {name!r}"
            )
        super().__setattr__(name, value)
