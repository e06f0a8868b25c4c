"""Kernels of the stacks of loops (core/kernels/stack_ops.cc)."""

from collections.abc import Callable
from typing import Any

import numpy as np

from capstan.kernels.arithmetic import constantly
from capstan.kernels.memory import is_on_device
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.resources.stack import Stack


def _make(node: NodeContext) -> Function:
    name = (node.attrs["stack_name"] or node.name.encode()).decode(errors="replace")
    dtype = node.attrs["elem_type"]

    def make(max_size: Any) -> Stack:
        return Stack(name, dtype, int(max_size))

    return make


def retained(value: Any) -> Any:
    """Return a value that does not change when the step reuses the memory of `value`."""
    return value.copy() if isinstance(value, np.ndarray) else value


def keeper(node: NodeContext) -> Callable[[Any], Any]:
    """Return a function like `retained`, also for values in the memory of the node's device."""
    hardware = node.hardware
    if hardware.is_host:
        return retained

    def keep(value: Any) -> Any:
        return hardware.duplicate(value) if is_on_device(value) else retained(value)

    return keep


def make_push(node: NodeContext) -> Function:
    """Return the function that puts a value on a stack and returns the value."""
    keep = keeper(node)

    def push(handle: Stack, value: Any) -> Any:
        handle.push(keep(value))
        return value

    return push


def _pop(handle: Stack) -> Any:
    return handle.pop()


register(Kernel("StackV2", _make))
register(Kernel("StackPushV2", make_push))
register(Kernel("StackPopV2", constantly(_pop)))
register(Kernel("StackCloseV2", constantly(Stack.close)))
