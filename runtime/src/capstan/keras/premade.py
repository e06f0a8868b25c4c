"""`LinearModel` and `WideDeepModel` of `tf.keras.experimental` (python/keras/premade)."""

from collections.abc import Mapping
from typing import Any

from capstan.api import nn
from capstan.framework import graph as graphs
from capstan.keras import (
    activations,
    base_layer,
    built_in,
    initializers,
    network,
    objects,
    optimizers,
    regularizers,
)
from capstan.keras.layers import core


class LinearModel(network.Model):
    """The sum of a linear function of each input, and a bias.

    Each input has a `Dense` layer of its own. `activation` changes the sum.
    """

    def __init__(
        self,
        units: int = 1,
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.units, self.use_bias = units, use_bias
        self.activation = activations.get(activation)
        self.kernel_initializer = initializers.get(kernel_initializer)
        self.bias_initializer = initializers.get(bias_initializer)
        self.kernel_regularizer = regularizers.get(kernel_regularizer)
        self.bias_regularizer = regularizers.get(bias_regularizer)

    def build(self, input_shape: Any) -> None:
        """Make a layer for each input, and the bias."""
        shapes = input_shape if isinstance(input_shape, list) else [input_shape]
        self.dense_layers = [
            core.Dense(
                self.units,
                use_bias=False,
                kernel_initializer=self.kernel_initializer,
                kernel_regularizer=self.kernel_regularizer,
            )
            for _ in shapes
        ]
        self.bias: Any = None
        if self.use_bias:
            self.bias = self.add_weight(
                "bias",
                (self.units,),
                initializer=self.bias_initializer,
                regularizer=self.bias_regularizer,
            )

    def call(self, inputs: Any, training: Any = None, mask: Any = None) -> Any:
        """Return the sum for an input [batch, features], or for a list of inputs.

        Raises:
            ValueError: the number of inputs is another one than in the first call.
        """
        given = inputs if isinstance(inputs, list | tuple) else [inputs]
        if len(given) != len(self.dense_layers):
            raise ValueError(
                f"Expected {len(self.dense_layers)} inputs, but got {len(given)} inputs"
            )
        first, *others = (layer(each) for layer, each in zip(self.dense_layers, given, strict=True))
        result = first
        for other in others:
            result = result + other
        if self.use_bias:
            result = nn.bias_add(result, self.bias)
        return result if self.activation is None else self.activation(result)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that create an equal model."""
        return {
            **base_layer.Layer.get_config(self),
            "units": self.units,
            "activation": activations.serialize(self.activation),
            "use_bias": self.use_bias,
            "kernel_initializer": initializers.serialize(self.kernel_initializer),
            "bias_initializer": initializers.serialize(self.bias_initializer),
            "kernel_regularizer": regularizers.serialize(self.kernel_regularizer),
            "bias_regularizer": regularizers.serialize(self.bias_regularizer),
        }

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        """Return a new model with these arguments."""
        return cls(**config)


class WideDeepModel(network.Model):
    """The mean of the outputs of a linear model and of a deep one, which train together.

    `compile` takes one optimizer, or a list of one for the linear model and one for the deep model.
    Both models get the same inputs, unless the inputs are a pair. `activation` changes the mean.
    """

    def __init__(
        self, linear_model: Any, dnn_model: Any, activation: Any = None, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.linear_model, self.dnn_model = linear_model, dnn_model
        self.activation = activations.get(activation)

    def call(self, inputs: Any, training: Any = None, mask: Any = None) -> Any:
        is_pair = isinstance(inputs, list | tuple) and len(inputs) == 2
        linear, deep = inputs if is_pair else (inputs, inputs)
        output = 0.5 * (self.linear_model(linear) + self.dnn_model(deep))
        return output if self.activation is None else self.activation(output)

    def _optimizer(self, identifier: Any) -> Any:
        if not isinstance(identifier, list | tuple):
            return super()._optimizer(identifier)
        return [optimizers.get(each) for each in identifier]

    def _optimizer_updates(self, loss: Any, weights: list[Any]) -> list[Any]:
        given = self.optimizer
        pair = given if isinstance(given, list) else [given, given]
        # A weight that `compile` found untrainable stays so.
        trained = {id(weight) for weight in weights}
        updates: list[Any] = []
        for optimizer, model in zip(pair, (self.linear_model, self.dnn_model), strict=True):
            own = [each for each in model.trainable_weights if id(each) in trained]
            # One optimizer for both counts each model as a step, one after the other.
            with graphs.get_default_graph().control_dependencies(updates):
                updates = [*updates, *optimizer.get_updates(loss, own)]
        return updates

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that create an equal model."""
        return {
            **base_layer.Layer.get_config(self),
            "linear_model": objects.serialize_keras_object(self.linear_model),
            "dnn_model": objects.serialize_keras_object(self.dnn_model),
            "activation": activations.serialize(self.activation),
        }

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        """Return a new model with these arguments."""
        models: Mapping[str, Any] = {
            name: built_in.deserialize(config[name], custom_objects)
            for name in ("linear_model", "dnn_model")
        }
        return cls(**{**config, **models})
