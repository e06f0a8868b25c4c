"""`save`, `to_json` and `to_yaml` of a model (python/keras/engine/network.py)."""

import abc
import json
import os
from typing import Any

from capstan.keras import hdf5_models, model_configs, weight_files, yaml_files


class ModelFiles(weight_files.WeightFiles):
    """A model that can be saved with its layers. One thread at a time may do so."""

    @property
    @abc.abstractmethod
    def _is_described(self) -> bool:
        """Whether a configuration describes the model."""

    def to_json(self, **kwargs: Any) -> str:
        """Return the configuration as JSON, for `tf.keras.models.model_from_json`.

        The arguments are those of `json.dumps`.
        """
        return model_configs.as_json(self, kwargs)

    def to_yaml(self, **kwargs: Any) -> str:
        """Return the configuration as YAML, for `tf.keras.models.model_from_yaml`.

        The arguments are those of `yaml.dump`.

        Raises:
            ImportError: PyYAML is not installed.
        """
        return str(yaml_files.module().dump(json.loads(self.to_json()), **kwargs))

    def save(
        self,
        filepath: Any,
        overwrite: bool = True,
        include_optimizer: bool = True,
        save_format: str | None = None,
        signatures: Any = None,
    ) -> None:
        """Save the layers, the arguments of `compile`, the weights, and the optimizer's state.

        `filepath` is the path of an HDF5 file, or an open file of h5py, also for a name without
        `.h5`. `tf.keras.models.load_model` reads it. The values come from Keras's session. Without
        `overwrite`, a question on the terminal comes before a file is replaced. Blocks.

        Raises:
            NotImplementedError: the model is a subclass, or the format is not "h5".
            ImportError: h5py is not installed.
        """
        is_named_so = str(filepath).endswith(weight_files.HDF5_SUFFIXES)
        if save_format not in (None, "h5") and not is_named_so:
            raise NotImplementedError(
                f"Model.save: there is no format {save_format!r} of whole models. Use "
                'save_format="h5", or tf.keras.experimental.export_saved_model for a SavedModel'
            )
        if not self._is_described:
            raise NotImplementedError(
                "Saving the model to HDF5 format requires the model to be a Functional model or a "
                "Sequential model. It does not work for subclassed models, because only their code "
                "describes them. Use `save_weights` instead."
            )
        is_there = isinstance(filepath, str | os.PathLike) and os.path.isfile(filepath)
        if not overwrite and is_there and not weight_files.may_replace(str(filepath)):
            return
        with self._weights_graph().as_default(), hdf5_models.written(filepath) as file:
            hdf5_models.save(file, self, include_optimizer=include_optimizer)
