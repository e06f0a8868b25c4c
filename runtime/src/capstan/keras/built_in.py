"""The base of the layers of `tf.keras.layers`: arguments by name, and configurations."""

import inspect
from collections.abc import Mapping
from typing import Any, Final

from capstan.api import creation_ops
from capstan.api.layers import settings
from capstan.core import dtypes
from capstan.framework import graph as graphs
from capstan.framework import nest
from capstan.keras import (
    activations,
    base_layer,
    constraints,
    initializers,
    objects,
    regularizers,
    shape_nests,
)

_GETTERS = {
    "_initializer": initializers.get,
    "_regularizer": regularizers.get,
    "_constraint": constraints.get,
    "activation": activations.get,
}
_LIBRARY = __name__.rpartition(".")[0]


def resolved(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments in the `locals()` of `__init__`, with objects in the place of names.

    The last part of the name of an argument, such as `kernel_initializer`, gives its kind.
    """
    arguments = {key: value for key, value in given.items() if key not in ("self", "__class__")}
    arguments.update(arguments.pop("kwargs", {}))
    for name, value in arguments.items():
        for suffix, get in _GETTERS.items():
            if name.endswith(suffix):
                arguments[name] = get(value)
    return arguments


class BuiltIn(base_layer.Layer):
    """A layer whose arguments are its attributes of the same names."""

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that create an equal layer. They are values that JSON can hold."""
        config = super().get_config()
        own = next(
            each
            for each in type(self).__mro__
            if each.__module__.startswith(_LIBRARY) and "__init__" in vars(each)
        )
        if own is base_layer.Layer:
            return config
        for name, parameter in inspect.signature(own.__init__).parameters.items():  # type: ignore[misc]
            is_named = parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
            if is_named and name not in ("self", *config):
                config[name] = self._argument(name)
        return config

    def _argument(self, name: str) -> Any:
        value = getattr(self, name)
        is_object = any(name.endswith(suffix) for suffix in _GETTERS)
        return objects.serialize_keras_object(value) if is_object else value

    def compute_output_shape(self, input_shape: Any) -> Any:
        """Return the shapes of the outputs for a shape, or for a nest of shapes.

        An equal layer computes the shapes, in a graph of its own.
        """
        with graphs.Graph().as_default():
            layer = type(self).from_config(self.get_config())
            kind = self._dtype or dtypes.as_dtype(settings.SETTINGS.floatx)
            tensors = nest.mapped(
                lambda shape: creation_ops.placeholder(kind, shape), shape_nests.shapes(input_shape)
            )
            outputs = layer(tensors)
        return nest.mapped(lambda tensor: tensor.shape, outputs)


_OTHER_NAMES: Final = {
    "BatchNormalizationV1": "BatchNormalization",
    "BatchNormalizationV2": "BatchNormalization",
    "Functional": "Model",
}
"""Names of classes in the files of other versions of TensorFlow."""


def classes() -> dict[str, Any]:
    """Return the classes of Keras's layers by name."""
    found: dict[str, Any] = {}
    pending = [base_layer.Layer]
    while pending:
        layer = pending.pop()
        pending += layer.__subclasses__()
        if layer.__module__.startswith(_LIBRARY):
            found[layer.__name__] = layer
    found |= {other: found[name] for other, name in _OTHER_NAMES.items() if name in found}
    return found


deserialize = objects.deserializer("layer", classes)
