"""The function that layers compute from inputs to outputs (python/keras/engine/network.py)."""

from typing import Any

from capstan.api.layers import context
from capstan.framework import nest
from capstan.keras import layer_order, shape_nests


class Function:
    """The calls of layers that lead from inputs to outputs. A call repeats them on other inputs.

    `inputs` and `outputs` are a tensor or a nest of tensors.

    Raises:
        ValueError: an output does not come from the inputs through layers, an input is there twice,
            or the inputs have different sizes of batches.
    """

    def __init__(self, known: context.GraphContext, inputs: Any, outputs: Any) -> None:
        self.inputs, self.outputs = inputs, outputs
        self._inputs = nest.flatten(inputs)
        _check_inputs(self._inputs)
        found = layer_order.Search(known, self._inputs, nest.flatten(outputs))
        layer_order.check_names(found.layers)
        self.nodes, self.layers = found.nodes, found.layers

    def extend(self, known: context.GraphContext, tensor: Any) -> None:
        """Let a call also compute a tensor, which it does not return. Its layers come last."""
        found = layer_order.Search(known, self._inputs, [tensor])
        self.nodes = list(dict.fromkeys([*self.nodes, *found.nodes]))
        self.layers = list({id(layer): layer for layer in [*self.layers, *found.layers]}.values())

    def __call__(self, inputs: Any) -> Any:
        found = {id(old): new for old, new in zip(self._inputs, nest.flatten(inputs), strict=True)}

        def new(value: Any) -> Any:
            return found.get(id(value), value)

        for node in self.nodes:
            inputs, args, kwargs = nest.mapped(new, [node.inputs, list(node.args), node.kwargs])
            made = node.layer(inputs, *args, **kwargs)
            for old, tensor in zip(nest.flatten(node.outputs), nest.flatten(made), strict=True):
                found[id(old)] = tensor
        return nest.mapped(new, self.outputs)

    def shapes(self, input_shapes: Any) -> Any:
        """Return the shapes of the outputs for those of the inputs. Each layer computes its own."""
        given = nest.flatten(input_shapes)
        if len(given) != len(self._inputs):
            raise ValueError(
                f"Invalid input_shape argument {input_shapes}: the model has {len(self._inputs)} "
                "tensor inputs"
            )
        found = {id(old): shape for old, shape in zip(self._inputs, given, strict=True)}
        for node in self.nodes:
            inputs = nest.mapped(lambda each: found.get(id(each), each.shape), node.inputs)
            made = shape_nests.shapes(node.layer.compute_output_shape(inputs))
            for old, shape in zip(node.output_list, nest.flatten(made), strict=True):
                found[id(old)] = shape
        return nest.mapped(lambda each: found[id(each)], self.outputs)


def _check_inputs(inputs: list[Any]) -> None:
    if len(set(map(id, inputs))) != len(inputs):
        raise ValueError(
            "The list of inputs passed to the model is redundant. All inputs should only appear "
            f"once. Found: {inputs}"
        )
    shapes = [tensor.shape for tensor in inputs]
    sizes = {shape.as_list()[0] for shape in shapes if shape.ndims}
    if len(sizes - {None}) > 1:
        raise ValueError(
            f"The specified batch sizes of the Input Layers are incompatible. Found: {shapes}"
        )
