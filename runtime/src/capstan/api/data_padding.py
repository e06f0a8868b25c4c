"""`Dataset.padded_batch`: the shapes and values of the padding."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from capstan.api import data_structure
from capstan.core import dtypes, tensor_shape
from capstan.framework import convert
from capstan.framework import graph as graphs
from capstan.framework.raw import raw


def padded_batch(
    dataset: Any, batch_size: Any, padded_shapes: Any, padding_values: Any, drop_remainder: Any
) -> tuple[Any, Any]:
    """Return the variant and the structure of `dataset.padded_batch(...)`.

    Raises:
        ValueError: a padded shape has another rank than its component, or is smaller.
        TypeError: a padding value has another type than its component.
    """
    spec = dataset._spec
    leaves = data_structure.flatten(spec)
    if any(leaf.packed_type is dtypes.variant for leaf in leaves):
        raise TypeError(f"Batching of padded sparse tensors is not currently supported: {spec}")
    given = leaf_values(spec, padded_shapes, [leaf.shape for leaf in leaves])
    sizes = [_sizes(value) for value in given]
    values = leaf_values(spec, padding_values, [None] * len(leaves))
    paddings = [_padding(value, leaf.dtype) for value, leaf in zip(values, leaves, strict=True)]
    size = convert.convert_to_tensor(batch_size, dtypes.int64, name="batch_size")
    drop = convert.convert_to_tensor(drop_remainder, dtypes.bool_, name="drop_remainder")
    is_dropping, count = drop.op.constant_value(), size.op.constant_value()
    first = count.item() if is_dropping is not None and is_dropping and count is not None else None
    for leaf, (static, _) in zip(leaves, sizes, strict=True):
        if not _has_room(static, leaf.shape):
            raise ValueError(
                f"The padded shape {static} is not compatible with the corresponding input "
                f"component shape {leaf.shape}."
            )
    found = iter(tensor_shape.TensorShape([first]).concatenate(static) for static, _ in sizes)
    made = data_structure.mapped(
        lambda leaf: data_structure.TensorSpec(next(found), leaf.dtype), spec
    )
    tensor = raw.PaddedBatchDatasetV2(
        dataset._variant_tensor,
        size,
        [tensor for _, tensor in sizes],
        paddings,
        drop,
        output_shapes=data_structure.shapes(made),
    )
    return tensor, made


def _has_room(padded: tensor_shape.TensorShape, component: tensor_shape.TensorShape) -> bool:
    """Return whether a padded shape can hold a component, as far as the shapes are known."""
    if padded.ndims is None or component.ndims is None:
        return True
    if padded.ndims != component.ndims:
        return False
    sizes = zip(padded.as_list(), component.as_list(), strict=True)
    return all(most is None or size is None or most >= size for most, size in sizes)


def leaf_values(spec: Any, given: Any, defaults: list[Any]) -> list[Any]:
    """Return the value of `given` for each leaf of `spec`, or the defaults if it is None.

    Raises:
        ValueError: `given` has another structure.
    """
    if given is None:
        return defaults
    if isinstance(spec, tuple):
        if not isinstance(given, tuple | list) or len(given) != len(spec):
            raise ValueError(
                f"The two structures don't have the same number of elements: {spec!r} and {given!r}"
            )
        pairs = list(zip(spec, given, strict=True))
    elif isinstance(spec, Mapping):
        pairs = [(spec[key], given[key]) for key in sorted(spec)]
    else:
        return [given]
    found: list[Any] = []
    for part, value in pairs:
        count = len(data_structure.flatten(part))
        found += leaf_values(part, value, defaults[len(found) : len(found) + count])
    return found


def _sizes(value: Any) -> tuple[tensor_shape.TensorShape, Any]:
    """Return a padded shape as a static shape, and as a tensor with -1 for unknown sizes."""
    if isinstance(value, graphs.Tensor):
        rank = value.shape.as_list()[0] if value.shape.ndims == 1 else None
        constant = value.op.constant_value()
        tensor = raw.Cast(value, DstT=dtypes.int64) if value.dtype is not dtypes.int64 else value
        if constant is not None:
            known = [None if size < 0 else size for size in constant.tolist()]
            return tensor_shape.TensorShape(known), tensor
        unknown = tensor_shape.TensorShape(None if rank is None else [None] * rank)
        return unknown, tensor
    shape = tensor_shape.TensorShape(
        [None if size == -1 else size for size in value]
        if isinstance(value, list | tuple | np.ndarray)
        else value
    )
    sizes = [-1 if size is None else size for size in shape.as_list()]
    return shape, convert.convert_to_tensor(np.array(sizes, np.int64), name="padded_shape")


def _padding(value: Any, dtype: dtypes.DType) -> Any:
    if value is None:
        value = b"" if dtype is dtypes.string else np.zeros((), dtype.as_numpy_dtype)
    tensor = convert.convert_to_tensor(value, name="padding_value")
    if not tensor.shape.is_compatible_with([]):
        raise ValueError(f"Padding value should be a scalar, but is not: {tensor}")
    if tensor.dtype is not dtype:
        raise TypeError(f"Padding value tensor ({tensor}) does not match output type: {dtype!r}")
    return tensor
