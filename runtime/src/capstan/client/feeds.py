"""The feeds of `Session.run`: resolves their tensors, and converts and checks their values."""

import functools
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from capstan.client import tensor_handle
from capstan.core import dtypes
from capstan.framework import composite, indexed_slices, sparse_tensor
from capstan.framework import convert as convert_ops
from capstan.framework import graph as graphs

Array = np.ndarray[Any, Any]
_SEVERAL = (
    tuple,
    indexed_slices.IndexedSlices,
    sparse_tensor.SparseTensor,
    composite.Composite,
)


def is_several(key: object) -> bool:
    """Return whether a key of `feed_dict` can name several tensors."""
    return isinstance(key, _SEVERAL)


def resolve(key: object, graph: graphs.Graph) -> tuple[graphs.Tensor, ...]:
    """Return the tensors that a key of `feed_dict` names.

    Raises:
        TypeError: the key is not a tensor of `graph`.
        ValueError: the tensor may not be fed.
    """
    if isinstance(key, tuple):
        return tuple(tensor for part in key for tensor in resolve(part, graph))
    if isinstance(key, indexed_slices.IndexedSlices):
        slices = (key.values, key.indices, key.dense_shape)
        return tuple(part for part in slices if part is not None)
    if isinstance(key, sparse_tensor.SparseTensor):
        tensors = (key.indices, key.values, key.dense_shape)
        return tuple(tensor for part in tensors for tensor in resolve(part, graph))
    if isinstance(key, composite.Composite):
        return tuple(tensor for part in key._parts() for tensor in resolve(part, graph))
    try:
        tensor = graph.as_graph_element(key, allow_tensor=True, allow_operation=False)
    except (TypeError, ValueError, KeyError) as fault:
        raise TypeError(f"Cannot interpret feed_dict key as Tensor: {fault}") from None
    if not graph.is_feedable(tensor):
        raise ValueError(f"Tensor {tensor} may not be fed.")
    return (tensor,)


def parts(key: object, value: Any) -> tuple[Any, ...]:
    """Split the value for a key into one value for each tensor that `resolve` returns.

    A tuple of one key takes either a sequence of one value or the value itself, unless the value is
    a list or a tuple. The value for a SparseTensor whose shape is constant may lack the shape.

    Raises:
        TypeError: the key is a RaggedTensor, and the value is not.
        ValueError: the key is a nest of tuples or a RaggedTensor, and the value has another
            structure.
    """
    if isinstance(key, tuple):
        return tuple(leaf for pair in pairs(key, value) for leaf in parts(*pair))
    if isinstance(key, indexed_slices.IndexedSlices):
        return tuple(value)[
            : len([part for part in (key.values, key.indices, key.dense_shape) if part is not None])
        ]
    if isinstance(key, sparse_tensor.SparseTensor):
        shape = convert_ops.constant_value(key.dense_shape) if len(value) == 2 else None
        return tuple(value) if shape is None else (*value, shape)
    if isinstance(key, composite.Composite):
        return key._fed(value)
    return (value,)


def pairs(key: tuple[Any, ...], value: Any) -> Iterable[tuple[Any, Any]]:
    """Return each member of a tuple of keys with its value, as `parts` splits the value.

    Raises:
        ValueError: the value has another number of members.
    """
    values = value if isinstance(value, list | tuple) else (value,)
    if len(values) != len(key):
        raise ValueError(
            f"Could not flatten dictionary. Key had {len(key)} elements, but value had "
            f"{len(values)} elements. Key: {key}, value: {value}."
        )
    return zip(key, values, strict=True)


def converter(tensor: graphs.Tensor) -> Callable[[Any], Array]:
    """Return a function that converts a value for `tensor` as `convert` does.

    The function returns a contiguous array of the right dtype without further checks if the array
    has the same shape as the previous value.
    """
    dtype = tensor.dtype.base_dtype
    wanted = np.dtype(dtype.as_numpy_dtype)
    array = np.ndarray
    fitting: tuple[int, ...] | None = None

    def converted(value: Any) -> Any:
        nonlocal fitting
        is_ready = type(value) is array and value.dtype is wanted and value.flags.c_contiguous
        if is_ready and value.shape == fitting:
            return value
        result = convert(tensor, value)
        # Most steps feed the shape that the previous step fed. If two threads feed different
        # shapes, each value is only checked again.
        fitting = result.shape
        return result

    # An array of strings is always converted, because each string is checked.
    return functools.partial(convert, tensor) if wanted.hasobject else converted


def convert(tensor: graphs.Tensor, value: Any) -> Array:
    """Return `value` as an array of the tensor's dtype.

    Raises:
        TypeError: the value is a tensor, or has elements that the dtype cannot hold.
        ValueError: the value cannot be converted, or the shape is not compatible with the tensor's
            static shape.
    """
    if isinstance(value, graphs.Tensor):
        raise TypeError(
            "The value of a feed cannot be a tf.Tensor object. Acceptable feed values include "
            "Python scalars, strings, lists, numpy ndarrays, or TensorHandles."
        )
    if isinstance(value, tensor_handle.TensorHandle):
        value = value.fed(tensor.dtype)
    array = _as_array(tensor, value)
    if not tensor.get_shape().is_compatible_with(array.shape):
        raise ValueError(
            f"Cannot feed value of shape {array.shape!r} for Tensor {tensor.name!r}, "
            f"which has shape '{tensor.get_shape()}'"
        )
    return array


def _as_array(tensor: graphs.Tensor, value: Any) -> Array:
    dtype = tensor.dtype.base_dtype
    if dtype == dtypes.string:
        return _strings(value)
    wanted = np.dtype(dtype.as_numpy_dtype)
    if type(value) is np.ndarray and value.dtype == wanted:
        return value if value.flags.c_contiguous else np.ascontiguousarray(value)
    try:
        is_whole = isinstance(value, int) and not isinstance(value, bool)
        if is_whole and int(wanted.type(value)) != value:
            raise _incompatible(value, dtype)
    except OverflowError:
        raise _incompatible(value, dtype) from None
    try:
        array: Array = np.array(value, dtype=wanted, order="C")
    except OverflowError:
        raise _incompatible(value, dtype) from None
    except (TypeError, ValueError) as error:
        # The class of the error itself may take other arguments, as UnicodeDecodeError does.
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"Cannot feed Tensor {tensor.name!r} of {dtype.name}: {error}") from None
    return array


def _incompatible(value: Any, dtype: dtypes.DType) -> TypeError:
    return TypeError(
        f"Type of feed value {value} with type {type(value)} is not compatible with Tensor "
        f"type {dtype.name}. Try explicitly setting the type of the feed tensor to a larger type "
        "(e.g. int64)."
    )


def _strings(value: Any) -> Array:
    raw = np.array(value, dtype=object, order="C")
    texts = raw.ravel().tolist()
    if set(map(type, texts)) <= {bytes}:
        return raw
    out = np.empty(raw.size, dtype=object)
    for index, text in enumerate(texts):
        if not isinstance(text, str | bytes | bytearray):
            raise _incompatible(text, dtypes.string)
        out[index] = text.encode() if isinstance(text, str) else bytes(text)
    return out.reshape(raw.shape)
