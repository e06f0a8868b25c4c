"""Whole models in HDF5 files: layers, arguments of `compile`, weights, and the optimizer's state.

The root has the configurations as attributes in JSON. Source:
python/keras/saving/{hdf5_format,saving_utils}.py.
"""

import json
import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from capstan.api import logging
from capstan.keras import hdf5_weights, losses, metrics, model_configs, objects, optimizers
from capstan.keras.metrics import means
from capstan.keras.optimizers import wrapped

_STATE = "optimizer_weights"

_WEIGHTS = "keep only the weights, by save_weights and a name without .h5"
"""What a program can do without h5py."""


def opened(path: Any) -> AbstractContextManager[Any]:
    """Return the block that reads a file. A file that is open already stays open.

    Raises:
        OSError: there is no such file, or it is not an HDF5 file.
        ImportError: h5py is not installed.
    """
    h5py = hdf5_weights.module("load_model", _WEIGHTS)
    if isinstance(path, h5py.File):
        return nullcontext(path)
    if isinstance(path, str | os.PathLike) and not os.path.exists(path):
        raise OSError(f"load_model: there is no file {path}")
    if not h5py.is_hdf5(path):
        raise OSError(
            f"load_model: {path} is not an HDF5 file. Load a checkpoint by load_weights, and a "
            "SavedModel by tf.keras.experimental.load_from_saved_model"
        )
    file: AbstractContextManager[Any] = h5py.File(path, "r")
    return file


def written(path: Any) -> AbstractContextManager[Any]:
    """Return the block that writes a file. A file that is open already stays open.

    Raises:
        ImportError: h5py is not installed.
    """
    h5py = hdf5_weights.module("save", _WEIGHTS)
    return nullcontext(path) if isinstance(path, h5py.File) else hdf5_weights.written(h5py, path)


def save(file: Any, model: Any, *, include_optimizer: bool) -> None:
    """Write a model, with the values of Keras's session. Blocks."""
    file.attrs["keras_version"] = model_configs.VERSION
    file.attrs["backend"] = "tensorflow"
    described = {"class_name": type(model).__name__, "config": model.get_config()}
    file.attrs["model_config"] = _json(described)
    hdf5_weights.save(file.create_group("model_weights"), model)
    optimizer = model.optimizer
    if not include_optimizer or optimizer is None:
        return
    if isinstance(optimizer, wrapped.TFOptimizer):
        logging.warning(
            "The file has no optimizer: those of tf.train have no configuration. Compile the model "
            "again after loading it, or prefer an optimizer of Keras."
        )
        return
    file.attrs["training_config"] = _json(_training(model._compiled))
    if optimizer.weights:
        group = file.create_group(_STATE)
        hdf5_weights.save_arrays(group, optimizer.weights)


def _json(described: Any) -> bytes:
    return json.dumps(described, default=model_configs.plain).encode()


def _training(given: Any) -> dict[str, Any]:
    return {
        "loss": given.loss,
        "metrics": given.metrics,
        "weighted_metrics": given.weighted_metrics,
        "sample_weight_mode": given.sample_weight_mode,
        "loss_weights": given.loss_weights,
        "optimizer_config": optimizers.serialize(given.optimizer),
    }


def load(
    file: Any,
    make: Callable[[Any, Any], Any],
    custom_objects: Mapping[str, Any] | None,
    *,
    compiles: bool,
) -> Any:
    """Return the model of a file, with its values in Keras's session. Blocks.

    `make(config, custom_objects)` returns the model of a configuration.

    Raises:
        ValueError: the file has no model, or an object in it is unknown.
    """
    described = file.attrs.get("model_config")
    if described is None:
        raise ValueError("No model found in config file.")
    model = make(json.loads(described), custom_objects)
    has_state = compiles and _compile(file, model, custom_objects or {})
    hdf5_weights.load(file["model_weights"], model, by_name=False)
    if has_state:
        try:
            model.optimizer.set_weights(hdf5_weights.arrays(file[_STATE]))
        except ValueError as error:
            logging.warning("The state of the optimizer does not fit, so it begins anew: %s", error)
    return model


def _compile(file: Any, model: Any, custom_objects: Mapping[str, Any]) -> bool:
    """Compile a model as its file says. Return whether the optimizer has weights for its state.

    The first step that names a variable chooses its device, and an optimizer may have no kernel for
    a GPU. The operations of the optimizer are therefore built before the weights are loaded.
    """
    training = file.attrs.get("training_config")
    if training is None:
        logging.warning(
            "No training configuration found in save file: the model was *not* compiled. Compile "
            "it manually."
        )
        return False
    with objects.custom_object_scope(custom_objects):
        model.compile(**_compile_arguments(json.loads(training), custom_objects))
    if _STATE not in file:
        return False
    if not model.outputs:
        logging.warning(
            "A Sequential without an `input_shape` of its first layer cannot load the state of its "
            "optimizer. The optimizer begins anew."
        )
        return False
    model._unweighted_steps().prepare(trains=True)  # It creates the weights of the optimizer.
    return True


def _compile_arguments(
    training: Mapping[str, Any], custom_objects: Mapping[str, Any]
) -> dict[str, Any]:
    def named(given: Any, get: Callable[[Any], Any]) -> Any:
        """Return lists and dictionaries with objects in the place of configurations."""
        if isinstance(given, dict) and "class_name" in given:
            return get(given)
        if isinstance(given, dict):
            return {name: named(each, get) for name, each in given.items()}
        if isinstance(given, list):
            return [named(each, get) for each in given]
        return custom_objects.get(given, given) if isinstance(given, str) else given

    return {
        "optimizer": optimizers.deserialize(training["optimizer_config"], custom_objects),
        "loss": named(training["loss"], _loss),
        "metrics": named(training["metrics"], _metric),
        "weighted_metrics": named(training.get("weighted_metrics"), _metric),
        "sample_weight_mode": training.get("sample_weight_mode"),
        "loss_weights": training.get("loss_weights"),
    }


def _loss(described: dict[str, Any]) -> Any:
    """Return the Loss of a configuration. Files of TensorFlow 2 also name its function."""
    config = {name: each for name, each in described["config"].items() if name != "fn"}
    return losses.get({**described, "config": config})


def _metric(described: dict[str, Any]) -> Any:
    """Return the Metric of a configuration. Files of TensorFlow 2 name the function of a mean."""
    if described["class_name"] != means.MeanMetricWrapper.__name__:
        return metrics.get(described)
    config = described["config"]
    return means.MeanMetricWrapper(metrics.get(config["fn"]), config["name"], config.get("dtype"))
