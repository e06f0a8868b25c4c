"""Weights of layers in HDF5 files, as Keras has written them since version 2.

The root has the names of the layers as an attribute, and a group for each layer. A group has the
names of the weights as an attribute, and a data set for each weight. Source:
python/keras/saving/hdf5_format.py.
"""

import contextlib
import importlib
import os
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from capstan.api.layers import values
from capstan.keras import model_configs

_LIMIT = 64512
"""The number of bytes that an attribute of an HDF5 file may have."""


def module(caller: str, instead: str = "") -> Any:
    """Return the module h5py. `instead` says what works without it.

    Raises:
        ImportError: it is not installed.
    """
    try:
        return importlib.import_module("h5py")
    except ImportError as error:
        raise ImportError(
            f"`{caller}` reads or writes HDF5, and requires h5py. Install it (pip install h5py)"
            + (instead and f", or {instead}")
        ) from error


@contextlib.contextmanager
def written(h5py: Any, path: Any) -> Iterator[Any]:
    """Open a new file for the block. It becomes the file `path` when the block ends without error.

    A program that is killed meanwhile, or cannot write the whole file, keeps the file before it.
    """
    unfinished = f"{os.fspath(path)}.{os.getpid()}.{threading.get_ident()}.tmp"
    try:
        with h5py.File(unfinished, "w") as file:
            yield file
        os.replace(unfinished, path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(unfinished)


def save(file: Any, model: Any) -> None:
    """Write the values that the weights of a model have in Keras's session. Blocks."""
    _set_names(file, "layer_names", [layer.name for layer in model.layers])
    file.attrs["backend"] = b"tensorflow"
    file.attrs["keras_version"] = model_configs.VERSION.encode()
    for layer in model.layers:
        save_arrays(file.create_group(layer.name), _weights(layer))


def save_arrays(group: Any, variables: Sequence[Any]) -> None:
    """Write the values that variables have in Keras's session, with their names in order."""
    _set_names(group, "weight_names", [variable.name for variable in variables])
    for variable, value in zip(variables, values.batch_get_value(variables), strict=True):
        group.create_dataset(variable.name, data=value)


def load(file: Any, model: Any, *, by_name: bool) -> None:
    """Set the weights of a model to those in a file, in Keras's session. Blocks.

    The layers with weights are matched in order. With `by_name`, those with equal names match.

    Raises:
        ValueError: the numbers of layers or weights, or the shapes differ.
    """
    if "layer_names" not in file.attrs and "model_weights" in file:
        file = file["model_weights"]  # The file has a whole model.
    saved = [(name, arrays(file[name])) for name in _names(file, "layer_names")]
    if by_name:
        named = [(layer, layer.name) for layer in model.layers]
        pairs = [(layer, *each) for each in saved for layer, name in named if name == each[0]]
    else:
        full = [each for each in saved if each[1]]
        own = [layer for layer in model.layers if layer.weights]
        if len(full) != len(own):
            raise ValueError(
                f"You are trying to load a weight file containing {len(full)} layers into a model "
                f"with {len(own)} layers."
            )
        pairs = [(layer, *each) for layer, each in zip(own, full, strict=True)]
    # All layers are checked before a value changes.
    values.batch_set_value([each for found in pairs for each in _assignments(*found)])


def _assignments(layer: Any, name: str, given: list[Any]) -> list[tuple[Any, Any]]:
    own = _weights(layer)
    shapes = [tuple(variable.shape.as_list()) for variable in own]
    found = [array.shape for array in given]
    if shapes != found:
        raise ValueError(
            f'The layer "{layer.name}" has weights of the shapes {shapes}, and the layer "{name}" '
            f"in the file has the shapes {found}"
        )
    return list(zip(own, given, strict=True))


def _weights(layer: Any) -> list[Any]:
    """Return the weights in the order of files, which was that of `weights` in early versions."""
    return [*layer.trainable_weights, *layer.non_trainable_weights]


def arrays(group: Any) -> list[Any]:
    """Return the arrays that `save_arrays` has written, in order."""
    return [np.asarray(group[name]) for name in _names(group, "weight_names")]


def _names(group: Any, key: str) -> list[str]:
    """Return the names in an attribute, or in the attributes `key0`, `key1` ..."""
    if key in group.attrs:
        return [_text(name) for name in group.attrs[key]]
    found: list[str] = []
    number = 0
    while f"{key}{number}" in group.attrs:
        found += [_text(name) for name in group.attrs[f"{key}{number}"]]
        number += 1
    return found


def _set_names(group: Any, key: str, names: Sequence[str]) -> None:
    """Write the names as one attribute, or as several if there are too many bytes for one."""
    encoded = np.asarray([name.encode() for name in names], "S" if names else "S1")
    count = max(1, -(-encoded.nbytes // _LIMIT))
    while count > 1 and max(part.nbytes for part in np.array_split(encoded, count)) > _LIMIT:
        count += 1
    if count == 1:
        group.attrs[key] = encoded
        return
    for number, part in enumerate(np.array_split(encoded, count)):
        group.attrs[f"{key}{number}"] = part


def _text(name: Any) -> str:
    return name.decode() if isinstance(name, bytes) else str(name)
