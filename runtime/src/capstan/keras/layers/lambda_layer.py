"""`tf.keras.layers.Lambda` (python/keras/layers/core.py)."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from capstan.api import variable_creation
from capstan.api.layers import calls
from capstan.core import tensor_shape
from capstan.framework import nest
from capstan.keras import built_in, function_codes, shape_nests


class Lambda(built_in.BuiltIn):
    """Applies a function of the inputs, and of `mask` and `training` if it takes them.

    The variables that the function makes are parts of the layer. Each call uses the same variables.
    The layer finds a variable by the argument `name` of its constructor, as TensorFlow does, so two
    variables without a name are one variable.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        output_shape: Any = None,
        mask: Any = None,
        arguments: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """`output_shape` is the shape of an example, or a function of the shapes of the inputs."""
        super().__init__(**kwargs)
        self.function = function
        self.arguments = arguments or {}
        if mask is not None:
            self.supports_masking = True
        self.mask = mask
        self._output_shape = output_shape
        self._created: dict[Any, Any] = {}

    def call(self, inputs: Any, mask: Any = None, training: Any = None) -> Any:
        given = {"mask": mask, "training": training}
        taken = {name: value for name, value in given.items() if _takes(self.function, name)}
        with variable_creation.variable_creator_scope(self._create):
            return self.function(inputs, **{**self.arguments, **taken})

    def _create(self, next_creator: Callable[..., Any], **kwargs: Any) -> Any:
        name = kwargs["name"]
        if name not in self._created:
            variable = self._created[name] = next_creator(**kwargs)
            own = self._trainable_weights if variable.trainable else self._non_trainable_weights
            own.append(variable)
        return self._created[name]

    def compute_output_shape(self, input_shape: Any) -> Any:
        """Return the shapes of the outputs: those of `output_shape`, or those of the function."""
        if self._output_shape is None:
            return super().compute_output_shape(input_shape)
        if callable(self._output_shape):
            return shape_nests.shapes(self._output_shape(input_shape))
        batch = tensor_shape.as_shape(nest.flatten(shape_nests.shapes(input_shape))[0]).as_list()[0]
        return nest.mapped(
            lambda shape: tensor_shape.TensorShape([batch, *shape.as_list()]),
            shape_nests.shapes(self._output_shape),
        )

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        return self.mask(inputs, mask) if callable(self.mask) else self.mask

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that create an equal layer, with the bytecode of the functions."""
        config = super(built_in.BuiltIn, self).get_config()
        parts = {"": self.function, "output_shape": self._output_shape}
        if self.mask is not None:
            parts["mask"] = self.mask
        for name, value in parts.items():
            found, kind, module = function_codes.describe(value)
            config[name or "function"] = found
            config[f"{name or 'function'}_type"] = kind
            config[f"{name}_module" if name else "module"] = module
        return {**config, "arguments": self.arguments}

    @classmethod
    def from_config(
        cls, config: dict[str, Any], custom_objects: Mapping[str, Any] | None = None
    ) -> Any:
        """Return the layer that `get_config` describes. `custom_objects` has functions by name."""
        config = dict(config)
        for name, module in (("function", "module"), ("output_shape", ""), ("mask", "")):
            kind = config.pop(f"{name}_type", None)
            home = config.pop(module or f"{name}_module", None)
            if kind is not None:
                config[name] = function_codes.restore(config[name], kind, home, custom_objects)
        arguments = config.get("arguments") or {}
        config["arguments"] = {key: _array(value) for key, value in arguments.items()}
        return cls(**config)


def _takes(function: Callable[..., Any], name: str) -> bool:
    """Return whether a function has an argument. Functions in C may not say which they have."""
    try:
        return calls.Signature(function).has(name)
    except ValueError:
        return False


def _array(value: Any) -> Any:
    """Return the array that a dictionary of TensorFlow stands for, or another value unchanged."""
    is_array = isinstance(value, dict) and value.get("type") == "ndarray"
    return np.array(value["value"]) if is_array else value
