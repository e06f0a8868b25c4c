"""Kernels that write and read checkpoints in format V1, which format V2 has replaced.

The files are on the file system of the task that runs the node.
"""

import numpy as np

from capstan.core.arrays import Array
from capstan.kernels import io
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.resources import checkpoints, elements, slice_files


def _save(node: NodeContext) -> Function:
    def save(filename: Array, names: Array, *tensors: Array) -> None:
        specs = np.full(np.shape(names), b"", object)
        slice_files.write(io.file_name(filename), io.pieces("Save", names, specs, tensors))

    return save


def _save_slices(node: NodeContext) -> Function:
    def save(filename: Array, names: Array, specs: Array, *tensors: Array) -> None:
        slice_files.write(io.file_name(filename), io.pieces("SaveSlices", names, specs, tensors))

    return save


def _restore(node: NodeContext) -> Function:
    dtype = node.attrs["dt"]

    def restore(pattern: Array, name: Array, spec: Array | None = None) -> Array:
        reader = checkpoints.opened(io.file_name(pattern))
        slice_spec = "" if spec is None else io.texts(spec)[0]
        return io.read(reader, io.texts(name)[0], slice_spec, dtype)

    return restore


def _sharded_filespec(node: NodeContext) -> Function:
    def sharded_filespec(basename: Array, shards: Array) -> Array:
        return elements.scalar(f"{io.file_name(basename)}-?????-of-{int(shards):05d}".encode())

    return sharded_filespec


for _op, _make in (
    ("Save", _save),
    ("SaveSlices", _save_slices),
    ("Restore", _restore),
    ("RestoreSlice", _restore),
    ("ShardedFilespec", _sharded_filespec),
):
    register(Kernel(_op, _make))
