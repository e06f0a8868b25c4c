"""Kernels that move the elements of tensors also move handles.

A handle is an object of Python (`resources.handles`). A tensor of one handle is this object, and a
tensor of several handles is an array of the objects. The kernels here make an array of each single
handle before they run the kernel of the op. They return the object in each array without axes that
the kernel returns for a handle.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import numpy as np

from capstan.core import dtypes
from capstan.core.arrays import Array
from capstan.framework import opdef
from capstan.kernels import registry
from capstan.kernels.registry import Function, Kernel, NodeContext
from capstan.resources import elements

_MOVES: Final = {
    "T": "Concat ConcatV2 ExpandDims Pack Rank Reshape Select Shape ShapeN Size Slice Split SplitV "
    "Squeeze StridedSlice TensorArrayScatterV3 TensorArrayWriteV3 Tile Unpack",
    "Tparams": "Gather GatherV2",
    "dtype": "TensorArrayGatherV3 TensorArrayReadV3",
    "element_dtype": "TensorListFromTensor TensorListGetItem TensorListPopBack TensorListPushBack "
    "TensorListSetItem TensorListStack",
}
"""The ops, by the attribute that holds the dtype of the elements."""


def serve() -> None:
    """Let the kernels of CPUs move handles. All other kernels must be registered before."""
    for attribute, ops in _MOVES.items():
        for op in ops.split():
            registry.specialise(op, {attribute: frozenset({dtypes.resource})}, _of_objects)


def _of_objects(kernel: Kernel) -> Kernel:
    assert kernel.make is not None
    return replace(kernel, make=_boxing(kernel.make), out=False, alias=False, emit=None)


def _boxing(make: Callable[[NodeContext], Function]) -> Callable[[NodeContext], Function]:
    def made(node: NodeContext) -> Function:
        function, moved = make(node), _moved(node)
        are_handles = [dtype is dtypes.resource for dtype in node.output_dtypes]

        def move(*inputs: Any) -> Any:
            boxed = [
                _boxed(value) if is_moved else value
                for value, is_moved in zip(inputs, moved, strict=True)
            ]
            found = function(*boxed)
            if not isinstance(found, tuple):
                return _single(found) if are_handles[0] else found
            pairs = zip(found, are_handles, strict=True)
            return tuple(_single(value) if is_handle else value for value, is_handle in pairs)

        return move

    return made


def _moved(node: NodeContext) -> list[bool]:
    """Return for each input whether the op moves it. It only uses a handle that its row names."""
    return [
        argument.type != dtypes.resource.name
        for argument in opdef.lookup(node.op).input_arguments
        for _ in opdef.expand([argument], node.attrs)
    ]


def _boxed(value: Any) -> Array:
    return np.asarray(value) if hasattr(value, "nbytes") else elements.scalar(value)


def _single(value: Any) -> Any:
    is_single = isinstance(value, np.ndarray) and value.dtype == object and not value.ndim
    return value.item() if is_single else value
