"""Kernels of the TensorArrays of old graphs (core/kernels/tensor_array_ops.cc)."""

import dataclasses
from collections.abc import Callable

import numpy as np

from capstan.core.arrays import Array
from capstan.kernels import registry, tensor_array
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid
from capstan.resources.tensor_array import TensorArray


def _without_flow(present: Callable[[NodeContext], Function]) -> Callable[[NodeContext], Function]:
    """Return the kernel of an old op, which returns a handle alone."""

    def old(node: NodeContext) -> Function:
        both = present(node)
        return lambda *inputs: both(*inputs)[0]

    return old


def _pack(node: NodeContext) -> Function:
    gather = tensor_array.gather(node)
    return lambda handle, flow: gather(handle, np.arange(len(handle)), flow)


def _unpack(node: NodeContext) -> Function:
    """Write all elements. A dynamic array grows to their number."""
    scatter = tensor_array.scatter(node)

    def unpack(handle: TensorArray, values: Array, flow: Array) -> Array:
        count = len(values) if values.ndim else 0
        if handle.is_dynamic and len(handle) < count:
            handle.resize(count)
        if values.ndim and count != len(handle):
            raise invalid(
                f"Input value must have first dimension equal to the array size ({count} vs. "
                f"{len(handle)})"
            )
        scatter(handle, np.arange(count), values, flow)
        return flow

    return unpack


for _part in ("Read", "Write", "Gather", "Scatter", "Concat", "Split", "Size", "Close"):
    for _kernel in registry.rows(f"TensorArray{_part}V3", "CPU"):
        for _version in ("", "V2"):
            register(dataclasses.replace(_kernel, op=f"TensorArray{_part}{_version}"))
for _version in ("", "V2"):
    register(Kernel(f"TensorArray{_version}", _without_flow(tensor_array.make)))
register(Kernel("TensorArrayGradV2", _without_flow(tensor_array.gradient)))
register(Kernel("TensorArrayPack", _pack))
register(Kernel("TensorArrayUnpack", _unpack))
