"""The configurations of models, and the models that they describe.

A function of layers has a dictionary for each layer, with the calls of the layer that lead from the
inputs to the outputs. A call names each of its inputs by a layer, the number of one of its calls,
and the number of an output of this call. Sources: tensorflow/python/keras/engine/{network,
sequential}.py.
"""

import inspect
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from capstan.api import logging
from capstan.api.layers import context, values
from capstan.framework import graph as graphs
from capstan.framework import nest
from capstan.keras import added_layers, built_in, functional, layer_order, objects

VERSION = "2.2.4-tf"
"""The version of Keras in TensorFlow 1.15, which files name."""

_LATER = {"groups": 1, "optional": False, "keepdims": False, "mode": "reflect"}
"""The arguments that TensorFlow 2 added to layers, with their default values."""

Make = Callable[[Mapping[str, Any]], Any]
"""Returns the layer that the dictionary of a layer describes."""


class _Calls:
    """The calls of layers between inputs and outputs, numbered for each layer."""

    def __init__(self, inputs: Iterable[Any], nodes: Iterable[Any]) -> None:
        known = context.of(context.graph_of(next(iter(inputs)))).nodes
        self._places: dict[int, tuple[str, int, int]] = {}
        self.nodes: dict[int, list[Any]] = {}
        for node in [*(known[tensor] for tensor in inputs if tensor in known), *nodes]:
            calls = self.nodes.setdefault(id(node.layer), [])
            number = len(calls) + _first(node.layer)
            calls.append(node)
            for place, tensor in enumerate(nest.flatten(node.outputs)):
                self._places[id(tensor)] = (node.layer.name, number, place)

    def place(self, tensor: Any) -> list[Any]:
        """Return the name of the layer, the number of the call, and the number of the output.

        Raises:
            ValueError: no layer has made the tensor.
        """
        if id(tensor) not in self._places:
            raise ValueError(
                f"{tensor.name} is not an output of a layer. Make it by tf.keras.Input"
            )
        return list(self._places[id(tensor)])

    def described(self, node: Any) -> Any:
        """Return the inputs of a call, each as a place and the other arguments of the call."""
        return self.places(node.inputs, self._options(node))

    def places(self, tensors: Any, *more: Any) -> Any:
        """Return a nest of tensors as a nest of places, each with `more`. One tensor is a list."""
        entries = [_Entry([*self.place(tensor), *more]) for tensor in nest.flatten(tensors)]
        packed = nest.packed(tensors, entries)
        listed = [packed] if isinstance(packed, _Entry) else packed
        return nest.mapped(lambda entry: entry.value, listed)

    def _options(self, node: Any) -> dict[str, Any]:
        """Return the arguments of a call behind its inputs, or none if JSON cannot hold them.

        A tensor is described by its place if a layer of the model makes it, else by its value. The
        learning phase has no value of its own: a call without it reads it too.
        """
        names = list(inspect.signature(node.layer.call).parameters)[1:]
        given = {**dict(zip(names, node.args, strict=False)), **node.kwargs}
        given = {
            name: value
            for name, value in given.items()
            if value is not None and not _is_learning_phase(value)
        }
        options: dict[str, Any] = nest.mapped(self._option, given)
        try:
            json.dumps(options)
        except TypeError:
            logging.warning(
                "Layer %s was passed non-serializable keyword arguments: %s. They will not be "
                "included in the serialized model (and thus will be missing at deserialization "
                "time).",
                node.layer.name,
                given,
            )
            return {}
        return options

    def _option(self, value: Any) -> Any:
        if id(value) in self._places:
            return self.place(value)
        if isinstance(value, graphs.Tensor) and not _is_learning_phase(value):
            return values.get_value(value).tolist()
        return value.tolist() if isinstance(value, np.ndarray) else value


def _is_learning_phase(value: Any) -> bool:
    graph: Any = getattr(value, "graph", None)
    return isinstance(value, graphs.Tensor) and value is context.of(graph).phase_input


class _Entry:
    """A list that counts as one value in a nest."""

    def __init__(self, value: list[Any]) -> None:
        self.value = value


def _first(layer: Any) -> int:
    """Return the number of the first call of a layer.

    The calls that made a function of layers are its call 0. A `Sequential` without an input has no
    such calls.
    """
    return int(getattr(layer, "_is_graph_network", False))


def of_function(model: Any, made: functional.Function) -> dict[str, Any]:
    """Return the configuration of a model that layers have made.

    Raises:
        ValueError: two layers have the same name.
    """
    calls = _Calls(model.inputs, made.nodes)
    layer_order.check_names(model.layers)
    return {
        "name": model.name,
        "layers": [
            {
                "name": layer.name,
                "class_name": type(layer).__name__,
                "config": layer.get_config(),
                "inbound_nodes": [
                    calls.described(node)
                    for node in calls.nodes.get(id(layer), ())
                    if nest.flatten(node.inputs)
                ],
            }
            for layer in model.layers
        ],
        "input_layers": calls.places(made.inputs),
        "output_layers": calls.places(made.outputs),
    }


def function(config: Mapping[str, Any], make: Make) -> tuple[Any, Any, list[Any]]:
    """Return the inputs and the outputs of a function of layers: a tensor, or a nest of several.

    The third result are the tensors that were added as losses and metrics, in order.

    Raises:
        ValueError: the calls of the configuration do not lead from its inputs.
    """
    layers = {data["name"]: make(data) for data in config["layers"]}
    made: dict[tuple[str, int], list[Any]] = {}
    queues: dict[str, list[tuple[int, Any]]] = {}
    for data in config["layers"]:
        name, calls = data["name"], data["inbound_nodes"]
        queues[name] = [*enumerate(map(_entries, calls), _first(layers[name]))]
        if not calls:
            made[name, 0] = [layers[name].output]
    while any(queues.values()):
        count = len(made)
        for name, queue in queues.items():
            while queue and _is_ready(queue[0][1], layers, made):
                number, call = queue.pop(0)
                made[name, number] = nest.flatten(_called(name, call, layers, made))
        if len(made) == count:
            stuck = [name for name, queue in queues.items() if queue]
            raise ValueError(f"No layer computes the inputs of the layers {stuck}")
    inputs, outputs = (
        _one_or_all(_with_tensors(_entries(config[ends]), made))
        for ends in ("input_layers", "output_layers")
    )
    kinds = added_layers.AddLoss, added_layers.AddMetric
    added = [name for name, layer in layers.items() if isinstance(layer, kinds)]
    others = [made[each] for name in added for each in made if each[0] == name]
    return inputs, outputs, nest.flatten(others)


def _one_or_all(tensors: Any) -> Any:
    return tensors[0] if isinstance(tensors, list) and len(tensors) == 1 else tensors


def _entries(call: Any) -> Any:
    """Return the call with an `_Entry` in the place of each input."""
    if isinstance(call, Mapping):
        return {key: _entries(value) for key, value in call.items()}
    if call and isinstance(call[0], str):
        return _Entry(list(call))
    return nest.like(call, [_entries(value) for value in call])


def _is_ready(call: Any, layers: Mapping[str, Any], made: Mapping[tuple[str, int], Any]) -> bool:
    entries = nest.flatten([call, _with_entries(_options(call), layers)])
    return all(tuple(each.value[:2]) in made for each in entries if isinstance(each, _Entry))


def _called(
    name: str, call: Any, layers: Mapping[str, Any], made: Mapping[tuple[str, int], Any]
) -> Any:
    inputs, options = _with_tensors([call, _with_entries(_options(call), layers)], made)
    if isinstance(inputs, list) and len(nest.flatten(inputs)) == 1:
        (inputs,) = nest.flatten(inputs)
    return layers[name](inputs, **options)


def _with_tensors(value: Any, made: Mapping[tuple[str, int], Any]) -> Any:
    """Return a nest with the output of a layer in the place of each `_Entry`."""

    def known(each: Any) -> Any:
        if not isinstance(each, _Entry):
            return each
        source, number, place, *_ = each.value
        return made[source, number][place]

    return nest.mapped(known, value)


def _options(call: Any) -> dict[str, Any]:
    """Return the arguments of a call behind its inputs. Each input has them."""
    first = nest.flatten(call)[0].value
    options: dict[str, Any] = first[3] if len(first) > 3 else {}
    return options


def _with_entries(options: Any, layers: Mapping[str, Any]) -> Any:
    """Return arguments of a call with an `_Entry` in the place of each output of a layer."""
    if isinstance(options, Mapping):
        return {name: _with_entries(value, layers) for name, value in options.items()}
    if not isinstance(options, list | tuple):
        return options
    kinds = [type(each) for each in options]
    if kinds == [str, int, int] and options[0] in layers:
        return _Entry(list(options))
    return nest.like(options, [_with_entries(value, layers) for value in options])


def made_by(custom_objects: Mapping[str, Any] | None) -> Make:
    """Return the function that makes layers from their configurations."""

    def make(data: Mapping[str, Any]) -> Any:
        config = data["config"]
        if isinstance(config, Mapping):
            config = {name: each for name, each in config.items() if not _is_later(name, each)}
        described = {"class_name": data["class_name"], "config": config}
        return built_in.deserialize(described, custom_objects)

    return make


def _is_later(name: str, value: Any) -> bool:
    """Return whether TensorFlow 2 added an argument, and it has the value that changes nothing."""
    return name in _LATER and value == _LATER[name]


def of_sequence(name: str, layers: Iterable[Any]) -> dict[str, Any]:
    """Return the configuration of layers that follow each other."""
    return {"name": name, "layers": [objects.serialize_keras_object(layer) for layer in layers]}


def as_json(model: Any, options: Mapping[str, Any]) -> str:
    """Return the configuration of a model as JSON. `options` are arguments of `json.dumps`."""
    described = {
        "class_name": type(model).__name__,
        "config": model.get_config(),
        "keras_version": VERSION,
        "backend": "tensorflow",
    }
    return json.dumps(described, default=plain, **options)


def plain(value: Any) -> Any:
    """Return a value that JSON can hold for an object of Keras, or an array or type of NumPy.

    Raises:
        TypeError: there is none.
    """
    if hasattr(value, "get_config"):
        return {"class_name": type(value).__name__, "config": value.get_config()}
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if hasattr(value, "as_list"):
        return value.as_list()
    if hasattr(value, "__name__"):
        return value.__name__
    raise TypeError(f"Not JSON Serializable: {value}")
