"""The function that layers compute from inputs to outputs (python/keras/engine/network.py)."""

from typing import Any

from capstan.api.layers import context
from capstan.framework import nest
from capstan.keras import layer_order, shape_nests


class Function:
    """The calls of layers that lead from inputs to outputs. A call repeats them on other inputs."""

    def __init__(self, known: context.GraphContext, inputs: Any, outputs: Any) -> None:
        self._inputs, self._outputs = nest.flatten(inputs), outputs
        found = layer_order.Search(known, self._inputs, nest.flatten(outputs))
        layer_order.check_names(found.layers)
        self.nodes, self.layers = found.nodes, found.layers

    def extend(self, known: context.GraphContext, tensors: list[Any]) -> None:
        """Let a call also compute the tensors, which it does not return."""
        found = layer_order.Search(known, self._inputs, tensors)
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
        return nest.mapped(new, self._outputs)

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
        return nest.mapped(lambda each: found[id(each)], self._outputs)
