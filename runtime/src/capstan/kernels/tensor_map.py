"""Kernels of maps from tensors to tensors (core/kernels/map_kernels.h)."""

from typing import Any

import numpy as np

from capstan.core.arrays import Array
from capstan.kernels.arithmetic import constantly
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid
from capstan.resources import elements, tensor_map, variant
from capstan.resources.tensor_map import TensorMap


def _map_in(tensor: Array) -> TensorMap:
    if tensor.ndim:
        raise invalid("Input map must be a scalar variant")
    found = tensor.item()
    if not isinstance(found, TensorMap):
        raise invalid(f"Input handle is not a map. Saw: '{found}'")
    return found


def _insert(node: NodeContext) -> Function:
    dtype = node.input_dtypes[2]

    def insert(handle: Array, key: Any, value: Any) -> Array:
        entry = tensor_map.Entry(elements.owned(key), elements.owned(value), dtype)
        return variant.scalar(TensorMap(_map_in(handle).entries | {tensor_map.key_of(key): entry}))

    return insert


def _lookup(node: NodeContext) -> Function:
    wanted = node.output_dtypes[0]

    def lookup(handle: Array, key: Any) -> Any:
        found = _map_in(handle).entries.get(tensor_map.key_of(key))
        if found is None:
            raise invalid(f"Trying to lookup non-existent key. Could not find key {key}")
        if found.dtype is not wanted:
            raise invalid(f"The value of the key {key} is {found.dtype.name}, not {wanted.name}")
        return found.value.copy()

    return lookup


def _erase(handle: Array, key: Any) -> Array:
    entries = dict(_map_in(handle).entries)
    if entries.pop(tensor_map.key_of(key), None) is None:
        raise invalid(f"Trying to erase non-existent item. Could not find key {key}")
    return variant.scalar(TensorMap(entries))


def _has_key(handle: Array, key: Any) -> Any:
    return np.bool_(tensor_map.key_of(key) in _map_in(handle).entries)


def _size(handle: Array) -> Any:
    return np.int32(len(_map_in(handle).entries))


def _stack_keys(node: NodeContext) -> Function:
    kind = node.output_dtypes[0].as_numpy_dtype

    def stack_keys(handle: Array) -> Array:
        keys = [entry.key for entry in _map_in(handle).entries.values()]
        if not keys:
            raise invalid("TensorMapStackKeys cannot be called on empty map.")
        if any(key.dtype != kind for key in keys):
            raise invalid("Key does not match requested dtype.")
        if any(key.shape != keys[0].shape for key in keys):
            raise invalid("Keys must all have the same shape.")
        return np.stack(keys)

    return stack_keys


register(Kernel("EmptyTensorMap", constantly(lambda: variant.scalar(TensorMap()))))
register(Kernel("TensorMapInsert", _insert))
register(Kernel("TensorMapLookup", _lookup))
register(Kernel("TensorMapErase", constantly(_erase)))
register(Kernel("TensorMapHasKey", constantly(_has_key)))
register(Kernel("TensorMapSize", constantly(_size)))
register(Kernel("TensorMapStackKeys", _stack_keys))
