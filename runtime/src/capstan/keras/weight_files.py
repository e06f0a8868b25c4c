"""`save_weights` and `load_weights` of a model (python/keras/engine/network.py)."""

import os
from typing import Any

from capstan import errors
from capstan.api.layers import context, sessions
from capstan.framework import graph as graphs
from capstan.keras import hdf5_weights
from capstan.resources import file_names
from capstan.train import checkpoint_reader, checkpoint_state, object_checkpoint, object_status

HDF5_SUFFIXES = (".h5", ".keras", ".hdf5")
_CHECKPOINT = "use a name without .h5, which is a checkpoint"
_FORMATS = {"tensorflow": "tf", "tf": "tf", "hdf5": "h5", "h5": "h5", "keras": "h5"}


class WeightFiles:
    """A model whose weights can be saved and loaded. One thread at a time may do so."""

    name: str
    built: bool
    weights: list[Any]
    _files: Any = None

    def save_weights(
        self, filepath: str, overwrite: bool = True, save_format: str | None = None
    ) -> None:
        """Save the weights, and the state of the optimizer of `compile`. Blocks.

        The values come from Keras's session. `filepath` is the prefix of a checkpoint of
        `tf.train.Checkpoint`, which `tf.train.latest_checkpoint` finds. A name that ends with
        `.h5`, `.hdf5` or `.keras`, or the format "h5", means an HDF5 file, which has the weights
        only. Without `overwrite`, a question on the terminal comes before a file is replaced.

        Raises:
            ValueError: the model has no weights yet, or the format does not fit.
            ImportError: the file is an HDF5 file, and h5py is not installed.
        """
        if not (self.built or self.weights):
            raise ValueError(
                f"Weights for model {self.name} have not yet been created. Weights are created "
                "when the Model is first called on inputs or `build()` is called with an "
                "`input_shape`."
            )
        path = os.fspath(filepath)
        is_hdf5 = _format(path, save_format) == "h5"
        h5py = hdf5_weights.module("save_weights", _CHECKPOINT) if is_hdf5 else None
        shown = path if is_hdf5 else f"{path}.index"
        if not overwrite and os.path.isfile(shown) and not may_replace(shown):
            return
        with self._weights_graph().as_default():
            session = sessions.get_session()
            if h5py is not None:
                with hdf5_weights.written(h5py, path) as file:
                    hdf5_weights.save(file, self)
                return
            self._weight_saver().save(path, session)
        checkpoint_state.update_checkpoint_state(
            file_names.folder_of(path), path, [path], save_relative_paths=True
        )

    def load_weights(self, filepath: str, by_name: bool = False) -> Any:
        """Load weights in Keras's session. Blocks.

        A checkpoint returns the status of `tf.train.Checkpoint.restore`. Variables that Keras
        initializes later, such as slots of the optimizer, get their saved values then. In a
        checkpoint of `tf.train.Saver`, as an estimator writes it, the names of the variables count.
        In an HDF5 file, the order of the layers counts, or with `by_name` their names.

        Raises:
            NotFoundError: there is no such checkpoint.
            AssertionError: nothing in the checkpoint fits the model.
            ValueError: the weights in the file do not fit the model.
            NotImplementedError: `by_name` is given for a checkpoint.
            ImportError: the file is an HDF5 file, and h5py is not installed.
        """
        path = os.fspath(filepath)
        status = None if path.endswith(HDF5_SUFFIXES) else self._status(path)
        with self._weights_graph().as_default() as graph:
            session = sessions.get_session()
            if status is None:
                with hdf5_weights.module("load_weights", _CHECKPOINT).File(path, "r") as file:
                    hdf5_weights.load(file, self, by_name=by_name)
                return None
            if by_name:
                raise NotImplementedError(
                    "Weights may only be loaded based on topology into Models when loading "
                    "TensorFlow-formatted weights (got by_name=True to load_weights)."
                )
            if isinstance(status, object_status.NameBasedSaverStatus):
                self._require_names(path)
                status.run_restore_ops(session)
                return status
            status.run_restore_ops(session)
            context.of(graph).restores[self] = session, status
        return status.assert_nontrivial_match()

    def _status(self, path: str) -> Any:
        """Return the status of a checkpoint, or None if the file may be an HDF5 file."""
        try:
            return self._weight_saver().restore(path)
        except errors.DataLossError:
            return None

    def _weight_saver(self) -> object_checkpoint.TrackableSaver:
        if self._files is None:
            self._files = object_checkpoint.TrackableSaver(self)
        saver: object_checkpoint.TrackableSaver = self._files
        return saver

    def _weights_graph(self) -> graphs.Graph:
        found = self.weights[0].graph if self.weights else graphs.get_default_graph()
        graph: graphs.Graph = found
        return graph

    def _require_names(self, path: str) -> None:
        saved = {name for name, _ in checkpoint_reader.list_variables(path)}
        missing = [each.op.name for each in self.weights if each.op.name not in saved]
        if missing:
            raise ValueError(f"The checkpoint {path} has no variable {missing[0]!r} of the model")


def _format(path: str, given: str | None) -> str:
    """Return "tf" or "h5"."""
    is_hdf5 = path.endswith(HDF5_SUFFIXES)
    if given is None:
        return "h5" if is_hdf5 else "tf"
    found = _FORMATS.get(given.lower().strip())
    if found is None:
        raise ValueError(f'Unknown format "{given}". Was expecting one of {{"tf", "h5"}}.')
    if found == "tf" and is_hdf5:
        raise ValueError(
            f'save_weights got save_format="tf"/"tensorflow", but the filepath ("{path}") looks '
            'like an HDF5 file. Omit the ".h5"/".keras" when saving in TensorFlow format.'
        )
    return found


def may_replace(path: str) -> bool:
    """Ask on the terminal whether a file may be replaced. Blocks."""
    answer = ""
    while answer not in ("y", "n"):
        answer = input(f"[WARNING] {path} already exists - overwrite? [y/n]").strip().lower()
    return answer == "y"
