"""Kernels that write and read checkpoints, and kernels that make their file names.

The files are on the file system of the task that runs the node. If several tasks write one
checkpoint, they need a shared file system.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from capstan import errors
from capstan.core import attr_value, bundle_entry, dtypes, shapes
from capstan.core.arrays import Array
from capstan.kernels import rejection
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.resources import bundle_writer, checkpoints, elements


def _save(node: NodeContext) -> Function:
    def save(prefix: Array, names: Array, specs: Array, *tensors: Array) -> None:
        bundle_writer.write(file_name(prefix), pieces(node.op, names, specs, tensors))

    return save


def pieces(
    op: str, names: Array, specs: Array, tensors: Sequence[Array]
) -> Iterator[bundle_writer.Piece]:
    """Return the tensors that an op writes. `specs` holds their slices, as `piece` takes them.

    Raises:
        InvalidArgumentError: the numbers of names, slices and tensors differ.
    """
    found, slices = texts(names), texts(specs)
    if not len(found) == len(slices) == len(tensors):
        raise errors.InvalidArgumentError(
            None,
            None,
            f"{op} takes one name and one slice per tensor, but got {len(found)} names and "
            f"{len(slices)} slices for {len(tensors)} tensors",
        )
    return map(piece, found, slices, tensors)


def piece(name: str, spec: str, tensor: Array) -> bundle_writer.Piece:
    """Return a tensor to write. `spec` is empty, or says of which slice it holds the values.

    Raises:
        InvalidArgumentError: `spec` is malformed, or the tensor does not have the slice's shape.
    """
    value = np.asarray(tensor)
    if not spec:
        return bundle_writer.Piece(name, value)
    full_shape, extents = parse_slice(spec)
    expected = tuple(
        size if length == bundle_entry.WHOLE else length
        for size, (_, length) in zip(full_shape, extents, strict=True)
    )
    if value.shape != expected:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"Slice {spec!r} of {name} has shape {expected}, but its tensor has {value.shape}",
        )
    return bundle_writer.Piece(name, value, full_shape, extents)


def _restore(node: NodeContext) -> Function:
    expected = list(node.attrs["dtypes"])

    def restore(prefix: Array, names: Array, specs: Array) -> Array | tuple[Array, ...]:
        reader = checkpoints.opened(file_name(prefix))
        requests = zip(texts(names), texts(specs), expected, strict=True)
        tensors = tuple(read(reader, name, spec, dtype) for name, spec, dtype in requests)
        return tensors[0] if len(tensors) == 1 else tensors

    return restore


def read(reader: checkpoints.Checkpoint, name: str, spec: str, dtype: dtypes.DType) -> Array:
    """Return a tensor of a checkpoint, or the slice of the tensor that `spec` names.

    Raises:
        NotFoundError: the checkpoint has no such tensor.
        InvalidArgumentError: the tensor has another dtype, or another shape than `spec` says.
        DataLossError: the checkpoint is damaged.
    """
    stored_dtype = reader.dtype(name)
    if stored_dtype is not dtype.base_dtype:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"tensor_name = {name}; expected dtype {dtype.base_dtype.name} does not equal "
            f"original dtype {stored_dtype.name}",
        )
    if not spec:
        return reader.read(name)
    full_shape, extents = parse_slice(spec)
    if reader.shape(name) != full_shape:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"tensor_name = {name}; shape in shape_and_slice spec {shapes.show(full_shape)} does "
            f"not match the shape stored in checkpoint: {shapes.show(reader.shape(name))}",
        )
    return reader.read(name, extents)


def parse_slice(spec: str) -> tuple[tuple[int, ...], tuple[bundle_entry.Extent, ...]]:
    """Return the shape of the full tensor, and the slice of this tensor that a variable holds.

    >>> parse_slice("10 4 0,5:-")
    ((10, 4), ((0, 5), (0, -1)))

    Raises:
        InvalidArgumentError: `spec` does not have the form of the example.
    """
    *sizes, extents = spec.split()
    try:
        full_shape = tuple(map(int, sizes))
        parts = tuple(_extent(text) for text in extents.split(":"))
    except ValueError as error:
        raise _no_slice(spec, str(error)) from error
    if len(full_shape) != len(parts):
        raise _no_slice(spec, f"{len(full_shape)} sizes and {len(parts)} parts")
    return full_shape, parts


def _no_slice(spec: str, why: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(
        None, None, f"not a slice of a tensor: {spec!r} ({why}); write it as '10 4 0,5:-'"
    )


def _extent(text: str) -> bundle_entry.Extent:
    if text == "-":
        return 0, bundle_entry.WHOLE
    start, length = map(int, text.split(","))
    return start, length


def _merge(node: NodeContext) -> Function:
    delete_folders = bool(node.attrs["delete_old_dirs"])

    def merge(prefixes: Array, destination: Array) -> None:
        bundle_writer.merge(texts(prefixes), file_name(destination), delete_folders=delete_folders)

    return merge


def _sharded_filename(node: NodeContext) -> Function:
    def sharded_filename(basename: Array, shard: Array, shards: Array) -> Array:
        return elements.scalar(
            f"{file_name(basename)}-{int(shard):05d}-of-{int(shards):05d}".encode()
        )

    return sharded_filename


def _string_join(node: NodeContext) -> Function:
    separator = node.attrs["separator"]
    between: bytes = separator.encode() if isinstance(separator, str) else separator

    def string_join(*inputs: Array) -> Array:
        parts = np.broadcast_arrays(*(np.asarray(array, object) for array in inputs))
        joined = np.empty(parts[0].shape, object)
        for position, strings in enumerate(zip(*(part.flat for part in parts), strict=True)):
            joined.flat[position] = between.join(strings)
        return joined

    return string_join


def file_name(value: Array) -> str:
    """Return the file name in a scalar string tensor."""
    return attr_value.text(rejection.string(value, "a file name"))


def texts(value: Array) -> list[str]:
    """Return the elements of a tensor of strings."""
    return [attr_value.text(text) for text in np.asarray(value, object).ravel()]


for _op, _make in (
    ("SaveV2", _save),
    ("RestoreV2", _restore),
    ("MergeV2Checkpoints", _merge),
    ("ShardedFilename", _sharded_filename),
    ("StringJoin", _string_join),
):
    register(Kernel(_op, _make))
