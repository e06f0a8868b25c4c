"""Reading checkpoints without a graph: `tf.train.load_checkpoint` and related functions.

Source: tensorflow/python/training/checkpoint_utils.py.
"""

import os
from typing import Any

import numpy as np

from capstan.api import file_io
from capstan.core import dtypes
from capstan.resources import checkpoints
from capstan.train import checkpoint_state

Array = np.ndarray[Any, Any]


class CheckpointReader:
    """The tensors of a checkpoint by name. Thread-safe."""

    def __init__(self, opened: checkpoints.Checkpoint) -> None:
        self._opened = opened

    def has_tensor(self, tensor_str: str) -> bool:
        return tensor_str in self._opened.names

    def get_tensor(self, tensor_str: str) -> Any:
        """Return a tensor as a new array. A scalar is returned as a NumPy scalar or `bytes`.

        Raises:
            NotFoundError: the checkpoint has no tensor of that name.
            DataLossError: the bytes of the tensor are damaged.
        """
        value = self._opened.read(tensor_str)
        return value if value.ndim else value[()]

    def get_variable_to_shape_map(self) -> dict[str, list[int]]:
        return {name: list(self._opened.shape(name)) for name in self._opened.names}

    def get_variable_to_dtype_map(self) -> dict[str, dtypes.DType]:
        return {name: self._opened.dtype(name) for name in self._opened.names}

    def debug_string(self) -> bytes:
        """Return one line for each tensor, such as `weights (DT_FLOAT) [784,10], 2 slices`."""
        from tensorboard.compat.proto import types_pb2

        lines = []
        for name in self._opened.names:
            dtype = types_pb2.DataType.Name(self._opened.dtype(name).as_datatype_enum)
            sizes = ",".join(map(str, self._opened.shape(name)))
            count = self._opened.slice_count(name)
            lines.append(f"{name} ({dtype}) [{sizes}]" + f", {count} slices" * (count > 1) + "\n")
        return "".join(lines).encode()


def NewCheckpointReader(filepattern: str) -> CheckpointReader:
    """Open a checkpoint of either format by its name.

    The name of a sharded checkpoint of format V1 is a pattern, such as `model.ckpt-?????-of-00002`.

    Raises:
        NotFoundError: there is no checkpoint of that name.
        DataLossError: the index of the checkpoint is damaged.
    """
    return CheckpointReader(checkpoints.opened(os.fspath(filepattern)))


def load_checkpoint(ckpt_dir_or_file: str) -> CheckpointReader:
    """Open a checkpoint, or the newest checkpoint of a folder.

    Raises:
        ValueError: the folder has no checkpoints.
        NotFoundError: there is no such checkpoint.
    """
    path = os.fspath(ckpt_dir_or_file)
    newest: str | None = path
    if file_io.is_directory(path):
        newest = checkpoint_state.latest_checkpoint(path)
    if newest is None:
        raise ValueError(
            f"Couldn't find 'checkpoint' file or checkpoints in given directory {path}"
        )
    return NewCheckpointReader(newest)


def load_variable(ckpt_dir_or_file: str, name: str) -> Any:
    """Return one tensor of a checkpoint. The name may end with `:0`, as a tensor's name does."""
    return load_checkpoint(ckpt_dir_or_file).get_tensor(name.removesuffix(":0"))


def list_variables(ckpt_dir_or_file: str) -> list[tuple[str, list[int]]]:
    """Return the name and shape of every tensor of a checkpoint, sorted by name."""
    return sorted(load_checkpoint(ckpt_dir_or_file).get_variable_to_shape_map().items())
