"""Kernels of state that old graphs keep
(core/kernels/{state_ops,stack_ops,immutable_constant_op}.cc).
"""

from typing import Any

import numpy as np

from capstan import errors
from capstan.core import attr_value
from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.kernels import stack, state
from capstan.kernels.arithmetic import constantly
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid
from capstan.resources import files, variable
from capstan.resources.stack import Stack


def _temporary(node: NodeContext) -> Function:
    dtype, sizes = node.attrs["dtype"], node.attrs["shape"].internal
    name = attr_value.text(node.attrs["var_name"]) or node.name

    def temporary() -> variable.Variable:
        # Each step has a buffer of its own, which no other step finds by its name.
        cell = variable.Variable(name, "", node.hardware)
        if sizes is not None and None not in sizes:
            cell.assign(node.hardware.arrays.zeros(sizes, dtype.as_numpy_dtype))
        return cell

    return temporary


def _destroyed(cell: variable.Variable) -> Array:
    with cell.lock:
        value = cell.read()
        cell.array = None
    return value


def _stack(node: NodeContext) -> Function:
    name = attr_value.text(node.attrs["stack_name"]) or node.name
    dtype = node.attrs["elem_type"]
    return lambda: Stack(name, dtype, -1)


def _immutable(node: NodeContext) -> Function:
    path, dtype = attr_value.text(node.attrs["memory_region_name"]), node.attrs["dtype"]
    sizes = node.attrs["shape"].internal

    def immutable() -> Array:
        if sizes is None or None in sizes:
            raise invalid(f"shape must be known, but is {show(sizes)}")
        content = files.read_all(path)
        kind = np.dtype(dtype.as_numpy_dtype)
        wanted = int(np.prod(sizes)) * kind.itemsize
        if len(content) < wanted:
            raise errors.OutOfRangeError(
                None, None, f"The file {path} has {len(content)} bytes, but needs {wanted}"
            )
        return np.frombuffer(content[:wanted], kind).reshape(sizes).copy()

    return immutable


def _same(handle: Any) -> Any:
    return handle


register(Kernel("Variable", state.make_variable))
register(Kernel("TemporaryVariable", _temporary))
register(Kernel("DestroyTemporaryVariable", constantly(_destroyed)))
register(Kernel("Stack", _stack))
register(Kernel("StackPush", stack.make_push))
register(Kernel("StackPop", constantly(Stack.pop)))
register(Kernel("StackClose", constantly(Stack.close)))
register(Kernel("FakeQueue", constantly(_same), alias=True))
register(Kernel("ImmutableConst", _immutable))
