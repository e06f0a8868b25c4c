"""Names and configurations of objects as arguments of the layers of `tf.layers`.

`tf.layers.Dense(3, activation="relu", kernel_regularizer="l2")` takes the names that Keras knows
(python/keras/utils/generic_utils.py).
"""

import functools
import importlib
import inspect
from typing import Any

_MODULES = {
    "activation": "activations",
    "_initializer": "initializers",
    "_regularizer": "regularizers",
    "_constraint": "constraints",
}
_LIBRARY = __name__.rpartition(".")[0]
_OF_ALL_LAYERS = ("common", "tracking", "callable_layer", "base")


def arguments(layer: Any) -> tuple[str, ...]:
    """Return the arguments of a class of layers in order. Those that all layers have are left out.

    The arguments of a class of the program are those of the library's class below it.
    """
    return _arguments(layer)


@functools.lru_cache(maxsize=256)
def _arguments(layer: Any) -> tuple[str, ...]:
    names: list[str] = []
    for each in layer.__mro__:
        package, _, module = each.__module__.rpartition(".")
        if package == _LIBRARY and module not in _OF_ALL_LAYERS and "__init__" in vars(each):
            found = inspect.signature(each.__init__).parameters.values()
            passed_on = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
            names += [each.name for each in found if each.kind not in passed_on]
            if all(each.kind is not inspect.Parameter.VAR_POSITIONAL for each in found):
                break
    return tuple(name for name in names if name not in ("self", "trainable", "name"))


def resolved(layer: Any, name: str, value: Any) -> Any:
    """Return the object for a name or a configuration, if the argument `name` is such an object.

    Raises:
        ValueError: the name is unknown.
    """
    if not isinstance(value, str | dict) or name not in arguments(layer):
        return value
    for suffix, module in _MODULES.items():
        if name.endswith(suffix):
            # Keras is above this package, and only programs that give names need it.
            return importlib.import_module(f"capstan.keras.{module}").get(value)
    return value


def described(name: str, value: Any) -> Any:
    """Return the value of an argument as JSON can hold it: an object as its configuration."""
    if not any(name.endswith(suffix) for suffix in _MODULES):
        return value
    if value is None:
        return "linear" if name == "activation" else None
    made = value() if inspect.isclass(value) else value
    if hasattr(made, "get_config"):
        return {"class_name": type(made).__name__, "config": made.get_config()}
    return getattr(made, "__name__", type(made).__name__)
