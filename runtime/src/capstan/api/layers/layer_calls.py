"""The inputs and outputs of the calls of a layer (python/keras/engine/base_layer.py)."""

from collections.abc import Sequence
from typing import Any

from capstan.api.layers import calls, context
from capstan.framework import graph as graphs
from capstan.framework import nest


class Calls:
    """The properties of a layer about its calls, which are numbered from 0."""

    name: Any
    input: Any
    output: Any
    _graph: graphs.Graph
    _inputs: list[Any]
    _outputs: list[Any]

    @property
    def input_mask(self) -> Any:
        """The mask of the inputs of the only call, or None."""
        return calls.masks_of(context.of(self._graph), self.input)

    @property
    def output_mask(self) -> Any:
        """The mask of the outputs of the only call, or None."""
        return calls.masks_of(context.of(self._graph), self.output)

    @property
    def input_shape(self) -> Any:
        """The shape of the inputs of all calls, as a tuple for each tensor.

        Raises:
            AttributeError: there was no call, or the shapes of the calls differ.
        """
        return self._shape_of_calls("input", self._inputs)

    @property
    def output_shape(self) -> Any:
        """The shape of the outputs of all calls, as `input_shape`."""
        return self._shape_of_calls("output", self._outputs)

    @property
    def inbound_nodes(self) -> list[context.Node]:
        """The calls of the layer that Keras has recorded, in order."""
        return [node for node in context.of(self._graph).calls() if node.layer is self]

    @property
    def outbound_nodes(self) -> list[context.Node]:
        """The calls of other layers with outputs of this layer."""
        made = {id(each) for node in self.inbound_nodes for each in node.output_list}
        return [
            node
            for node in context.of(self._graph).calls()
            if any(id(each) in made for each in node.input_list)
        ]

    def get_input_at(self, node_index: int) -> Any:
        """Return the inputs of a call. Call -1 is the last one.

        Raises:
            ValueError: there was no such call.
        """
        return self._call_at("input", self._inputs, node_index)

    def get_output_at(self, node_index: int) -> Any:
        """Return the outputs of a call, as `get_input_at`."""
        return self._call_at("output", self._outputs, node_index)

    def get_input_mask_at(self, node_index: int) -> Any:
        """Return the mask of the inputs of a call, or None, as `get_input_at`."""
        return calls.masks_of(context.of(self._graph), self.get_input_at(node_index))

    def get_output_mask_at(self, node_index: int) -> Any:
        """Return the mask of the outputs of a call, or None, as `get_input_at`."""
        return calls.masks_of(context.of(self._graph), self.get_output_at(node_index))

    def get_input_shape_at(self, node_index: int) -> Any:
        """Return the shape of the inputs of a call, as `get_input_at`."""
        return _sizes(self._call_at("input shape", self._inputs, node_index))

    def get_output_shape_at(self, node_index: int) -> Any:
        """Return the shape of the outputs of a call, as `get_input_at`."""
        return _sizes(self._call_at("output shape", self._outputs, node_index))

    def _call_at(self, kind: str, found: Sequence[Any], node_index: int) -> Any:
        if not -len(found) <= node_index < len(found):
            raise ValueError(
                f"Asked to get {kind} at node {node_index}, but the layer {self.name} has only "
                f"{len(found)} inbound nodes."
            )
        return found[node_index]

    def _shape_of_calls(self, kind: str, found: Sequence[Any]) -> Any:
        if not found:
            return _sizes(getattr(self, kind))
        first, *others = map(_sizes, found)
        if any(other != first for other in others):
            raise AttributeError(
                f'The layer "{self.name}" has multiple inbound nodes, with different {kind} '
                f'shapes. Hence the notion of "{kind} shape" is ill-defined for the layer. Use '
                f"`get_{kind}_shape_at(node_index)` instead."
            )
        return first


def _sizes(tensors: Any) -> Any:
    return nest.packed(tensors, [tuple(each.shape.as_list()) for each in nest.flatten(tensors)])
