"""`tf.keras.models` (python/keras/models.py)."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from capstan.api.absent import absent
from capstan.api.layers import context
from capstan.framework import nest
from capstan.keras import built_in, hdf5_models, model_configs, subclass_clones, yaml_files
from capstan.keras import inputs as _inputs
from capstan.keras.network import Model as Model
from capstan.keras.sequential import Sequential as Sequential


def model_from_config(config: Any, custom_objects: Any = None) -> Any:
    """Return the model that `{"class_name": ..., "config": ...}` describes.

    `custom_objects` has the program's own classes and functions by name.

    Raises:
        TypeError: the configuration is a list.
    """
    if isinstance(config, list):
        raise TypeError(
            f"`model_from_config` expects a dictionary, not a list: {config}. Maybe you meant to "
            "use `Sequential.from_config(config)`?"
        )
    described = {"class_name": config["class_name"], "config": config["config"]}
    return built_in.deserialize(described, custom_objects)


def model_from_json(json_string: str, custom_objects: Any = None) -> Any:
    """Return the model that `to_json` has described."""
    return model_from_config(json.loads(json_string), custom_objects)


def model_from_yaml(yaml_string: Any, custom_objects: Any = None) -> Any:
    """Return the model that `to_yaml` has described. `yaml_string` may be an open file.

    Raises:
        ImportError: PyYAML is not installed.
    """
    return model_from_config(yaml_files.module().safe_load(yaml_string), custom_objects)


def save_model(
    model: Any,
    filepath: Any,
    overwrite: bool = True,
    include_optimizer: bool = True,
    save_format: str | None = None,
    signatures: Any = None,
) -> None:
    """Save a model as `Model.save` does."""
    model.save(filepath, overwrite, include_optimizer, save_format, signatures)


def load_model(
    filepath: Any,
    custom_objects: Any = None,
    compile: bool = True,  # noqa: A002 - TensorFlow's
) -> Any:
    """Return the model in an HDF5 file of `Model.save`, with its values in Keras's session.

    The model is compiled, unless `compile` is False or it was not compiled. The optimizer has its
    saved state. `filepath` is a path, or an open file of h5py. Blocks.

    Raises:
        OSError: it is not an HDF5 file.
        ValueError: the file has no model, or an object in it is unknown.
        ImportError: h5py is not installed.
    """
    with hdf5_models.opened(filepath) as file:
        return hdf5_models.load(file, model_from_config, custom_objects, compiles=compile)


def clone_with_layers(model: Any) -> Any:
    """Return a copy of any model, also of a subclass, with new layers. It has no inputs yet.

    A subclass gets the attributes of `model`, with a new layer in the place of each layer.
    """
    if isinstance(model, Model) and not model._is_described:
        return subclass_clones.clone(model, clone_with_layers)
    return _unbuilt(model)


def _unbuilt(layer: Any) -> Any:
    """Return a layer of the same configuration, without variables."""
    config = {**layer.get_config()}
    config.pop("build_input_shape", None)
    return type(layer).from_config(config)


def clone_model(
    model: Any,
    input_tensors: Any = None,
    clone_function: Callable[[Any], Any] | None = None,
) -> Any:
    """Return a model of new layers, with variables of its own.

    `input_tensors` take the place of the inputs. `clone_function(layer)` returns the new layer in
    the place of a layer, by default one with the same configuration.

    Raises:
        ValueError: the model is not a `Sequential` and no function of layers.
    """
    clone = clone_function or _unbuilt
    given = list(map(_input, nest.flatten(input_tensors))) if input_tensors is not None else []
    if isinstance(model, Sequential):
        own = [part for part in model._sequence if isinstance(part, _inputs.InputLayer)]
        first = given or [type(part).from_config(part.get_config()) for part in own]
        return Sequential([*first, *map(clone, model.layers)], name=model.name)
    if not model._is_graph_network:
        raise ValueError(
            "Expected `model` argument to be a functional `Model` instance, but got a subclass "
            f"model instead: {model}"
        )
    inputs = [context.of(context.graph_of(each)).nodes[each].layer for each in model.inputs]
    new = {layer.name: tensor for layer, tensor in zip(inputs, given, strict=False)}

    def make(data: Mapping[str, Any]) -> Any:
        layer = model.get_layer(data["name"])
        if data["name"] in new:
            return context.of().nodes[new[data["name"]]].layer
        return type(layer).from_config(data["config"]) if layer in inputs else clone(layer)

    *ends, others = model_configs.function(model.get_config(), make)
    made = Model(*ends, name=model.name)
    made._attach(others)
    return made


def _input(tensor: Any) -> Any:
    """Return a tensor of an InputLayer for a tensor."""
    node = context.of().nodes.get(tensor)
    if node is not None and isinstance(node.layer, _inputs.InputLayer):
        return tensor
    return _inputs.Input(tensor=tensor)


def __getattr__(name: str) -> Any:
    raise absent("tf.keras.models", name)
