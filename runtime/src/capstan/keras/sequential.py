"""`tf.keras.Sequential` (python/keras/engine/sequential.py)."""

from typing import Any

from capstan.api.layers import context
from capstan.core import tensor_shape
from capstan.keras import (
    base_layer,
    functional,
    layer_order,
    model_configs,
    network,
    shape_nests,
)
from capstan.keras import inputs as input_layers


def _first_input(layer: Any) -> Any:
    """Return an input for a sequence that begins with this layer, or None if it has no shape."""
    if isinstance(layer, network.Model) and layer.inputs:
        shape, dtype = layer.inputs[0].shape.as_list(), layer.inputs[0].dtype
    elif hasattr(layer, "_batch_input_shape"):
        shape, dtype = layer._batch_input_shape, layer.dtype
    else:
        return None
    # Estimators of the model know the feature by this name.
    return input_layers.Input(batch_shape=shape, dtype=dtype, name=f"{layer.name}_input")


def _one_output(layer: Any, output: Any, error: type[Exception]) -> Any:
    if isinstance(output, list | tuple) and len(output) != 1:
        raise error(
            "All layers in a Sequential model should have a single output tensor. The layer "
            f"{layer.name} has {len(output)}. For layers with several outputs, use the functional "
            "API"
        )
    return output


class Sequential(network.Model):
    """A model whose layers follow each other.

    If the first layer has an `input_shape`, the model makes its input and calls each layer at once.
    Otherwise its first call makes the variables. The loss or the metric of a tensor between the
    layers gets a layer of its own, which is not in `layers`.
    """

    def __init__(self, layers: Any = None, name: str | None = None) -> None:
        self._sequence: list[Any] = []
        self._ends: list[Any] = []
        self._added: list[Any] = []
        self._with_added: Any = None
        super().__init__(name=name)
        given = [layers] if isinstance(layers, base_layer.Layer) else layers or ()
        for layer in given:
            self.add(layer)

    @property
    def layers(self) -> list[Any]:
        return [each for each in self._sequence if not isinstance(each, input_layers.InputLayer)]

    @property
    def _inner_layers(self) -> list[Any]:
        if self._with_added is None:
            return self._sequence
        known = set(map(id, self._sequence))
        return [
            *self._sequence,
            *(each for each in self._with_added.layers if id(each) not in known),
        ]

    def _attach(self, tensors: list[Any]) -> None:
        """Let a call of the model also compute some tensors."""
        self._added += tensors
        self._close()

    def _numbered_layers(self) -> list[Any]:
        return self._sequence

    def add(self, layer: Any) -> None:
        """Append a layer, or begin with a tensor of `tf.keras.Input`.

        Raises:
            TypeError: `layer` is not a layer, or returns a list.
            ValueError: the model knows its inputs, and another of its layers has the same name, or
                its first layer returns several tensors.
        """
        if context.is_tensor(layer) and layer in context.of().nodes:
            layer = context.of().nodes[layer].layer
        if not isinstance(layer, base_layer.Layer):
            raise TypeError(f"The added layer must be an instance of class Layer. Found: {layer}")
        self._sequence.append(layer)
        if self._ends:
            self._ends.append(_one_output(layer, layer(self._ends[-1]), TypeError))
        elif len(self._sequence) == 1 and isinstance(layer, input_layers.InputLayer):
            self.inputs = [layer.output]
            self._ends.append(layer.output)
        elif len(self._sequence) == 1 and (first := _first_input(layer)) is not None:
            self.inputs = [first]
            self._ends.append(_one_output(layer, layer(first), ValueError))
        self._close()

    def pop(self) -> None:
        """Remove the last layer.

        Raises:
            TypeError: there is no layer.
        """
        if not self.layers:
            raise TypeError("There are no layers in the model.")
        self._sequence.pop()
        self._ends = self._ends[:-1]
        self._close()

    def _close(self) -> None:
        """End the model with the outputs of the last layer that was called at once."""
        if self._ends:
            # A layer may be there several times.
            layer_order.check_names(list({id(each): each for each in self._sequence}.values()))
        self.outputs = self._ends[-1:] or None
        self.built = self.outputs is not None
        if self._added and self.outputs:
            function = functional.Function(context.of(), self.inputs, self.outputs[0])
            for tensor in self._added:
                function.extend(context.of(), tensor)
            self._with_added = function

    @property
    def _is_graph_network(self) -> bool:
        return bool(self._ends)

    @property
    def _is_described(self) -> bool:
        return True

    def compute_output_shape(self, input_shape: Any) -> Any:
        """Return the shape of the outputs for a shape of the inputs. Each layer computes its own.

        Raises:
            NotImplementedError: a layer does not know its shapes.
        """
        shape = shape_nests.shapes(input_shape)
        for layer in self.layers:
            shape = shape_nests.shapes(layer.compute_output_shape(shape))
        return shape

    def get_config(self) -> dict[str, Any]:
        """Return the layers, as values that JSON can hold.

        If `build` or data have made the variables, `build_input_shape` lets `from_config` make them
        again.
        """
        config = model_configs.of_sequence(self.name, self._sequence)
        if self._built_for is not None:
            config["build_input_shape"] = tensor_shape.as_shape(self._built_for).as_list()
        return config

    @classmethod
    def from_config(cls, config: Any, custom_objects: Any = None) -> Any:
        """Return a new model with the layers of a configuration, or of a list of them."""
        is_list = isinstance(config, list)
        make = model_configs.made_by(custom_objects)
        model = cls(name=None if is_list else config.get("name"))
        for data in config if is_list else config["layers"]:
            model.add(make(data))
        shape = None if is_list else config.get("build_input_shape")
        if shape and not model.inputs:
            model.build(shape)
        return model

    def predict_proba(self, x: Any, batch_size: int = 32, verbose: int = 0) -> Any:
        """Return what `predict` returns: the probabilities of a classifier. Blocks."""
        return self.predict(x, batch_size, verbose)

    def predict_classes(self, x: Any, batch_size: int = 32, verbose: int = 0) -> Any:
        """Return the number of the class of each example. Blocks.

        Of several outputs, the largest one is the class. One output is the class 1 above 0.5.
        """
        shares = self.predict(x, batch_size, verbose)
        return shares.argmax(-1) if shares.shape[-1] > 1 else (shares > 0.5).astype("int32")

    def call(self, inputs: Any, training: Any = None, mask: Any = None) -> Any:
        if self._with_added is not None:
            return self._with_added(inputs)
        outputs = inputs
        for layer in self.layers:
            outputs = layer(outputs)
        return outputs
