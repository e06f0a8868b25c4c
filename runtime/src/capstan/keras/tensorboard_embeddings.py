"""The embeddings that the callback TensorBoard saves (python/keras/callbacks_v1.py)."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from capstan.api import variables
from capstan.api.layers import sessions, values
from capstan.keras import backend
from capstan.resources import file_names
from capstan.train import projector_files, saver


class Embeddings:
    """The outputs of layers for some examples, in a checkpoint of the log folder.

    `names` are those of the layers, by default of all layers `Embedding`. `metadata` is the name of
    a file with the labels of the examples, or has one for each layer. `data` are inputs of the
    model: an array, a list or a dictionary of arrays. The configuration of the projector names the
    variables.
    """

    def __init__(self, model: Any, names: Any, metadata: Any, data: Any, batch_size: int) -> None:
        """Raises ValueError if the data do not fit the inputs of the model."""
        chosen = names or [each.name for each in model.layers if _is_embedding(each)]
        self._data = _listed(model, data)
        self._batch_size = batch_size
        self._metadata = metadata
        outputs = [model.get_layer(name).output for name in chosen]
        self._function = backend.function(model.inputs, outputs)
        count = len(self._data[0])
        self._variables = {
            name: variables.Variable(
                np.zeros((count, math.prod(output.shape.as_list()[1:])), np.float32),
                trainable=False,
                name=f"{name}_embedding",
            )
            for name, output in zip(chosen, outputs, strict=True)
        }
        self._saver = saver.Saver(list(self._variables.values()))

    def describe(self, writer: Any) -> None:
        """Write the configuration of the projector to the folder of a summary writer."""
        from tensorboard.plugins.projector import projector_config_pb2

        config = projector_config_pb2.ProjectorConfig()
        is_each = isinstance(self._metadata, Mapping)
        for name, variable in self._variables.items():
            found = self._metadata.get(name) if is_each else self._metadata
            config.embeddings.add(tensor_name=variable.name, metadata_path=found)
        projector_files.visualize_embeddings(writer, config)

    def save(self, folder: str, epoch: int) -> None:
        """Compute the outputs of the layers, and save the checkpoint of an epoch. Blocks."""
        parts = [
            self._function([each[start : start + self._batch_size] for each in self._data])
            for start in range(0, len(self._data[0]), self._batch_size)
        ]
        for variable, found in zip(self._variables.values(), zip(*parts, strict=True), strict=True):
            table = np.concatenate(found)
            values.set_value(variable, table.reshape(len(table), -1))
        path = file_names.joined(folder, "keras_embedding.ckpt")
        self._saver.save(sessions.get_session(), path, epoch)


def _is_embedding(layer: Any) -> bool:
    return type(layer).__name__ == "Embedding"


def _listed(model: Any, data: Any) -> list[np.ndarray]:
    if isinstance(data, Mapping):
        data = [data[name] for name in model.input_names]
    found = [np.asarray(each) for each in (data if isinstance(data, list | tuple) else [data])]
    if len(found) != len(model.inputs):
        raise ValueError(
            f"`embeddings_data` has {len(found)} arrays, and the model has {len(model.inputs)} "
            "inputs"
        )
    return found
