"""Copies of models that are subclasses, with new layers.

Source: `_in_place_subclassed_model_reset` of python/keras/models.py.
"""

from collections.abc import Callable, Mapping
from typing import Any

from capstan.api import variables
from capstan.api.layers import common
from capstan.keras import network


def clone(model: Any, clone_function: Callable[[Any], Any]) -> Any:
    """Return a copy of a subclass of `Model` that has no inputs and no variables yet.

    `__init__` of the subclass does not run. The copy has the attributes that the subclass has set.
    `clone_function` returns the new layer for a layer in them, also in lists and dictionaries.

    Raises:
        ValueError: an attribute holds a variable that the model made before its first call.
    """
    kind: Any = type(model)
    new = kind.__new__(kind)
    network.Model.__init__(new, name=model.name, dtype=model.dtype, trainable=model.trainable)
    own = set(vars(new))
    known: dict[int, Any] = {}

    def renewed(value: Any) -> Any:
        if isinstance(value, common.CommonLayer):
            if id(value) not in known:
                known[id(value)] = clone_function(value)
            return known[id(value)]
        if isinstance(value, Mapping):
            return {name: renewed(each) for name, each in value.items()}
        if type(value) in (list, tuple):
            return type(value)(map(renewed, value))
        if isinstance(value, variables.Variable):
            raise ValueError(  # noqa: TRY004 - TensorFlow's
                f"The model {model.name} holds the variable {value.name}, which a copy cannot make "
                "again. Make variables in `build` of a layer"
            )
        return value

    for name, value in vars(model).items():
        if name not in own and not hasattr(network.Model, name):
            setattr(new, name, renewed(value))
    return new
