"""The calls of layers between inputs and outputs, and the order of the layers of a model.

Files of weights and checkpoints number the layers in this order. Layers that are farther from the
outputs come first. Of equally far ones, those that a search from the outputs meets first.

Source: `_map_graph_network` of python/keras/engine/network.py.
"""

import collections
from typing import Any

from capstan.api import trackable
from capstan.api.layers import context
from capstan.framework import graph as graphs
from capstan.framework import nest
from capstan.keras import inputs as input_layers
from capstan.keras import operation_layer


class Search:
    """A search for the calls that lead from inputs to outputs.

    `nodes` are the calls of layers in an order in which each comes behind the calls that make its
    inputs. `layers` are their layers, and those of the inputs.

    Raises:
        ValueError: an output does not come from the inputs through layers.
    """

    def __init__(self, known: context.GraphContext, inputs: list[Any], outputs: list[Any]) -> None:
        self._known = known
        self._ends = {id(tensor) for tensor in inputs}
        self._finished: list[context.Node] = []
        self._met: dict[int, Any] = {}
        """The layers in the order in which the search meets them."""
        self._visit(outputs)
        given = [known.nodes[tensor] for tensor in inputs if tensor in known.nodes]
        of_inputs = {id(node) for node in given}
        self.nodes = [node for node in self._finished if id(node) not in of_inputs]
        depths = self._depths()
        unused = [node.layer for node in given if id(node.layer) not in depths]
        places = {number: place for place, number in enumerate(self._met)}
        used = sorted(self._met.values(), key=lambda layer: (-depths[id(layer)], places[id(layer)]))
        # An input that no output needs stands before the layers of the outputs.
        first = [layer for layer in used if depths[id(layer)] > 0]
        last = [layer for layer in used if depths[id(layer)] == 0]
        self.layers = [*first, *{id(layer): layer for layer in unused}.values(), *last]

    def _visit(self, outputs: list[Any]) -> None:
        done: set[int] = set()
        pending = [(tensor, False) for tensor in reversed(outputs)]
        while pending:
            tensor, is_ready = pending.pop()
            node = self._node(tensor)
            if node is None or id(node) in done:
                continue
            self._met.setdefault(id(node.layer), node.layer)
            if is_ready:
                done.add(id(node))
                self._finished.append(node)
                continue
            pending.append((tensor, True))
            pending += [(each, False) for each in reversed(self._inputs(node))]

    def _node(self, tensor: Any) -> context.Node | None:
        """Return the call that made a tensor, or None for an input that no layer has made."""
        if not context.is_tensor(tensor):
            return None
        node = self._known.nodes.get(tensor)
        if id(tensor) in self._ends:
            return node
        if node is None and isinstance(tensor, graphs.Tensor):
            node = operation_layer.wrap(self._known, tensor, self._is_made)
        if node is None or isinstance(node.layer, input_layers.InputLayer):
            raise ValueError(
                f"Graph disconnected: no layer computes {_named(tensor)} from the inputs. Pass "
                "every input to the model. Call loops, branches and functions inside of a layer, "
                "such as tf.keras.layers.Lambda"
            )
        return node

    def _is_made(self, tensor: Any) -> bool:
        """Return whether a tensor is an input, or the output of a layer."""
        return id(tensor) in self._ends or tensor in self._known.nodes

    def _inputs(self, node: context.Node) -> list[Any]:
        """Return the tensors that a call reads, none for a call that makes an input of the model.

        Arguments behind the inputs that do not depend on inputs of the model are left out.
        """
        made = nest.flatten(node.outputs)
        if any(id(tensor) in self._ends for tensor in made):
            return []
        arguments = nest.flatten([list(node.args), node.kwargs])
        return [*nest.flatten(node.inputs), *filter(self._is_computed, arguments)]

    def _is_computed(self, argument: Any) -> bool:
        """Return whether an argument behind the inputs of a call depends on inputs of the model."""
        return context.is_tensor(argument) and context.follows(argument, self._is_made)

    def _depths(self) -> dict[int, int]:
        """Return the largest number of calls between each layer and an output."""
        of_nodes: dict[int, int] = {}
        of_layers: dict[int, int] = {}
        for node in reversed(self._finished):
            depth = max(of_nodes.get(id(node), 0), of_layers.get(id(node.layer), 0))
            of_nodes[id(node)] = of_layers[id(node.layer)] = depth
            for tensor in self._inputs(node):
                source = self._node(tensor)
                if source is not None:
                    of_nodes[id(source)] = max(depth + 1, of_nodes.get(id(source), 0))
        return of_layers


def _named(tensor: Any) -> str:
    return tensor.name if isinstance(tensor, graphs.Tensor) else str(tensor)


def check_names(layers: list[Any]) -> None:
    """Raise ValueError if two layers of a model have the same name.

    Inputs in dictionaries, configurations and files of weights know a layer by its name.
    """
    names = [layer.name for layer in layers]
    for name, count in collections.Counter(names).items():
        if count > 1:
            raise ValueError(
                f'The name "{name}" is used {count} times in the model. All layer names should be '
                "unique."
            )


def numbered(layers: list[Any]) -> trackable.Dependencies:
    """Return the layers by the names that TensorFlow's checkpoints give them."""
    found: trackable.Dependencies = []
    with_weights = 0
    for number, layer in enumerate(layers):
        if layer.weights:
            found.append((f"layer_with_weights-{with_weights}", layer))
            with_weights += 1
        found.append((f"layer-{number}", layer))
    return found
