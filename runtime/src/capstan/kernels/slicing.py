"""Kernels of Slice and StridedSlice, and of assignments to slices of variables.

The slices are views, made by NumPy's basic indexing.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from capstan import errors
from capstan.core import dtypes
from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.framework.ops import strides
from capstan.kernels import stacking
from capstan.kernels.creation import sizes_in
from capstan.kernels.memory import is_on_host
from capstan.kernels.registry import (
    Columns,
    Function,
    Join,
    Joined,
    Kernel,
    NodeContext,
    register,
)
from capstan.kernels.rejection import invalid
from capstan.resources import variable


def _slice(node: NodeContext) -> Function:
    def checked(x: Array, begin: Array, size: Array) -> Array:
        view: Array = x[_slice_index(x.shape, begin, size)]
        return view

    begin, size, shape = node.constants.get(1), node.constants.get(2), node.input_shapes[0]
    if begin is None or size is None or shape is None:
        return checked
    known = tuple(extent for extent in shape if extent is not None)
    if len(known) < len(shape):
        return checked
    try:
        index = _slice_index(known, begin, size)
    except errors.InvalidArgumentError:
        return checked  # `checked` raises the error if the step runs the node.
    return lambda x, begin, size: x[index]


def _slice_index(shape: tuple[int, ...], begin: Array, size: Array) -> tuple[Any, ...]:
    starts, lengths = begin.tolist(), size.tolist()
    if not len(starts) == len(lengths) == len(shape):
        raise invalid(
            f"Expected begin and size arguments to be 1-D tensors of size {len(shape)}, but got "
            f"{len(starts)} and {len(lengths)}"
        )
    index: list[Any] = []
    for start, length, extent in zip(starts, lengths, shape, strict=True):
        stop = extent if length == -1 else start + length
        if not 0 <= start <= stop <= extent:
            raise _wrong_slice(len(index), start, length, extent)
        index.append(slice(start, stop))
    return (*index, ...)


def _wrong_slice(axis: int, start: int, length: int, extent: int) -> errors.InvalidArgumentError:
    if not 0 <= start <= extent:
        return invalid(f"Expected begin[{axis}] in [0, {extent}], but got {start}")
    return invalid(f"Expected size[{axis}] in [0, {extent - start}], but got {length}")


def _strided_slice(node: NodeContext) -> Function:
    index_of = _index_reader(node)

    def strided_slice(x: Array, begin: Array, end: Array, steps: Array) -> Array:
        try:
            view: Array = x[index_of(begin, end, steps)]
        except IndexError as fault:
            raise _outside(fault) from None
        return view

    return strided_slice


def _slices_of_several(nodes: Sequence[NodeContext]) -> Joined:
    readers = [_index_reader(node) for node in nodes]
    shared = _shared_index(nodes, readers)

    def slices_of(arrays: Sequence[Array], *bounds: Sequence[Array]) -> Columns:
        if shared is not None and type(arrays) is stacking.Column:
            sliced = np.ascontiguousarray(arrays.stacked[shared])
            return (stacking.Column(arrays.blocks, sliced),)
        calls = zip(readers, arrays, *bounds, strict=True)
        return ([x[index_of(*own)] for index_of, x, *own in calls],)

    return slices_of


def _shared_index(nodes: Sequence[NodeContext], readers: Sequence[Any]) -> Any:
    """Return the constant index of all nodes that keeps all rows, or None."""
    if any({1, 2, 3} - node.constants.keys() for node in nodes):
        return None
    found = [
        read(*(node.constants[number] for number in (1, 2, 3)))
        for node, read in zip(nodes, readers, strict=True)
    ]
    keeps_rows = found[0][:1] == (slice(None, None, 1),)
    return found[0] if keeps_rows and all(index == found[0] for index in found) else None


def _strided_slice_grad(node: NodeContext) -> Function:
    index_of = _index_reader(node)
    # 32-bit integers are in host memory on every device.
    is_int32 = node.output_dtypes[0] is dtypes.int32
    allocate: Function = np.empty if is_int32 else node.hardware.allocate

    def strided_slice_grad(
        sizes: Array, begin: Array, end: Array, steps: Array, dy: Array, out: Array | None = None
    ) -> Array:
        if sizes.ndim != 1:
            raise invalid(f"shape must be 1-D, got shape.shape = {show(sizes.shape)} instead.")
        out = allocate(sizes_in(sizes), dy.dtype) if out is None else out
        out.fill(0)
        try:
            part = out[index_of(begin, end, steps)]
            if part.shape != dy.shape:
                raise invalid(f"shape of dy was {show(dy.shape)} instead of {show(part.shape)}")
            part[...] = dy
        except IndexError as fault:
            raise _outside(fault) from None
        return out

    return strided_slice_grad


def _assign(node: NodeContext) -> Function:
    """Return the function of an assignment to a slice of a variable.

    As in TensorFlow 2 (core/kernels/strided_slice_op.cc), the value is broadcast to the slice, and
    an assignment to an empty slice does nothing.
    """
    index_of = _index_reader(node)

    def assign(
        cell: variable.Variable, begin: Array, end: Array, steps: Array, value: Array
    ) -> variable.Variable:
        index = index_of(begin, end, steps)
        with cell.lock:
            try:
                part = cell.writable()[index]
            except IndexError as fault:
                raise _outside(fault) from None
            if part.size:
                part[...] = _fitting(value, part.shape)
        return cell

    return assign


def _fitting(value: Array, shape: tuple[int, ...]) -> Array:
    """Return `value` without the axes of size 1 that a slice of this shape does not have.

    Raises:
        InvalidArgumentError: the value cannot be broadcast to the slice.
    """
    sizes = value.shape
    while len(sizes) > len(shape) and sizes[0] == 1:
        sizes = sizes[1:]
    behind = shape[len(shape) - len(sizes) :] if len(sizes) <= len(shape) else ()
    if len(sizes) != len(behind) or any(
        size not in (1, extent) for size, extent in zip(sizes, behind, strict=True)
    ):
        raise invalid(
            f"Cannot assign a value of shape {show(value.shape)} to a slice of shape {show(shape)}"
        )
    return value.reshape(sizes)


def _assign_resource(node: NodeContext) -> Function:
    assign = _assign(node)

    def assign_resource(
        cell: variable.Variable, begin: Array, end: Array, steps: Array, value: Array
    ) -> None:
        assign(cell, begin, end, steps, value)

    return assign_resource


def _index_reader(node: NodeContext) -> Any:
    """Return a function that reads the NumPy index. A constant index is read once, here."""
    attrs, known = node.attrs, [node.constants.get(index) for index in (1, 2, 3)]

    def read(begin: Array, end: Array, steps: Array) -> tuple[Any, ...]:
        if not begin.ndim == 1 or not begin.shape == end.shape == steps.shape:
            raise invalid(
                "Expected begin, end, and strides to be 1D equal size tensors, but got shapes "
                f"{show(begin.shape)}, {show(end.shape)}, and {show(steps.shape)} instead."
            )
        try:
            spec = strides.Spec.parse(begin.tolist(), end.tolist(), steps.tolist(), attrs)
        except ValueError as fault:
            raise invalid(str(fault)) from None
        # With an ellipsis NumPy returns an array, also for a single element.
        return spec.items if ... in spec.items else (*spec.items, ...)

    begin, end, steps = known
    if begin is None or end is None or steps is None:
        return read
    index = read(begin, end, steps)
    return lambda begin, end, steps: index


def _outside(fault: IndexError) -> Exception:
    words = str(fault).split()
    if words[:1] == ["index"] and "axis" in words:
        axis = words[words.index("axis") + 1]
        return invalid(f"slice index {words[1]} of dimension {axis} out of bounds.")
    return invalid(f"Index out of range: {fault}")


def _update(node: NodeContext) -> Function:
    index_of = _index_reader(node)

    def update(x: Array, begin: Array, end: Array, steps: Array, value: Array) -> Array:
        made = np.array(x, order="C") if is_on_host(x) else x.copy()
        try:
            part = made[index_of(begin, end, steps)]
        except IndexError as fault:
            raise _outside(fault) from None
        if part.size:
            part[...] = _fitting(value, part.shape)
        return made

    return update


register(Kernel("TensorStridedSliceUpdate", _update))
register(Kernel("Slice", _slice, alias=True))
register(
    Kernel("StridedSlice", _strided_slice, alias=True, join=Join(_slices_of_several, tables=(0,)))
)
register(Kernel("StridedSliceGrad", _strided_slice_grad, out=True))
register(Kernel("StridedSliceAssign", _assign))
register(Kernel("ResourceStridedSliceAssign", _assign_resource))
