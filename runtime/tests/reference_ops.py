"""The ops of the reference interpreter, in NumPy: plain ones, and those with state."""

import collections
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from capstan.core import node as ir


@dataclass
class State:
    """The state that outlives a step: variables and queues by name."""

    variables: dict[str, Any] = field(default_factory=dict)
    queues: dict[str, collections.deque[Any]] = field(default_factory=dict)

    def step(self) -> "StepState":
        return StepState(self)


@dataclass
class StepState:
    """The state that lives as long as a step: TensorArrays and stacks by handle."""

    session: State
    arrays: dict[str, dict[int, Any]] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    stacks: dict[str, list[Any]] = field(default_factory=dict)


PLAIN: dict[str, Callable[..., Any]] = {
    "Add": np.add,
    "AddV2": np.add,
    "AddN": lambda *values: sum(values[1:], values[0]),
    "Sub": np.subtract,
    "Mul": np.multiply,
    "Neg": np.negative,
    "Maximum": np.maximum,
    "Minimum": np.minimum,
    "Less": np.less,
    "LessEqual": np.less_equal,
    "Greater": np.greater,
    "GreaterEqual": np.greater_equal,
    "Equal": np.equal,
    "LogicalAnd": np.logical_and,
    "LogicalNot": np.logical_not,
    "Identity": lambda x: x,
    "StopGradient": lambda x: x,
    "Shape": lambda x: np.array(np.shape(x), np.int32),
    "ZerosLike": np.zeros_like,
    "OnesLike": np.ones_like,
    "Fill": lambda dims, value: np.full(dims, value, value.dtype),
    "Range": lambda start, limit, delta: np.arange(start, limit, delta, start.dtype),
    "Rank": lambda x: np.int32(np.ndim(x)),
    "Size": lambda x: np.int32(np.size(x)),
    "Select": lambda condition, x, y: np.where(condition, x, y),
    "SelectV2": lambda condition, x, y: np.where(condition, x, y),
    "Reshape": lambda x, shape: np.reshape(x, shape),
    "Tile": lambda x, multiples: np.tile(x, multiples),
    "ExpandDims": lambda x, axis: np.expand_dims(x, int(axis)),
    "FloorDiv": np.floor_divide,
}


def call(state: StepState, node: ir.Node, inputs: Sequence[Any], where: str) -> Any:
    """Return the outputs of a node as a sequence, or None if the node must wait for a queue.

    `where` names the frame and the iteration, which give a TensorArray or a stack its identity.
    """
    plain = PLAIN.get(node.op)
    if plain is not None:
        with np.errstate(all="ignore"):
            return (np.asarray(plain(*inputs)),)
    special = globals().get(f"_{node.op}")
    if special is None:
        raise LookupError(f"the reference interpreter lacks {node.op} ({node.name})")
    return special(state, node, inputs, where)


def _NoOp(state: StepState, node: ir.Node, inputs: Sequence[Any], where: str) -> Any:
    return ()


def _Const(state: StepState, node: ir.Node, inputs: Sequence[Any], where: str) -> Any:
    return (node.attrs["value"],)


def _Pack(state: StepState, node: ir.Node, inputs: Sequence[Any], where: str) -> Any:
    return (np.stack(inputs, node.attrs.get("axis", 0)),)


def _Unpack(state: StepState, node: ir.Node, inputs: Sequence[Any], where: str) -> Any:
    return list(np.moveaxis(inputs[0], node.attrs.get("axis", 0), 0))


def _Sum(state: StepState, node: ir.Node, inputs: Sequence[Any], where: str) -> Any:
    x, axis = inputs
    axes = tuple(np.atleast_1d(axis).tolist())
    return (np.sum(x, axes, x.dtype, keepdims=bool(node.attrs.get("keep_dims"))),)


def _Cast(state: StepState, node: ir.Node, inputs: Sequence[Any], where: str) -> Any:
    return (inputs[0].astype(node.attrs["DstT"].as_numpy_dtype),)


def _StridedSlice(state: StepState, node: ir.Node, inputs: Sequence[Any], where: str) -> Any:
    x, *bounds = inputs
    masks = ("begin_mask", "end_mask", "shrink_axis_mask")
    open_begin, open_end, shrink = (node.attrs.get(mask, 0) for mask in masks)
    index: list[Any] = []
    for axis, (begin, end, stride) in enumerate(zip(*bounds, strict=True)):
        bit = 1 << axis
        first, last = (None if open_begin & bit else begin), (None if open_end & bit else end)
        index.append(int(begin) if shrink & bit else slice(first, last, stride))
    return (np.asarray(x[tuple(index)]),)


# --- variables


def _VarHandleOp(state: StepState, node: ir.Node, inputs: Sequence[Any], where: str) -> Any:
    return (node.attrs["shared_name"] or node.name.encode(),)


def _AssignVariableOp(state: StepState, node: ir.Node, inputs: Sequence[Any], where: str) -> Any:
    state.session.variables[inputs[0]] = inputs[1]
    return ()


def _AssignAddVariableOp(state: StepState, node: ir.Node, inputs: Sequence[Any], where: str) -> Any:
    with np.errstate(all="ignore"):
        state.session.variables[inputs[0]] = state.session.variables[inputs[0]] + inputs[1]
    return ()


def _ReadVariableOp(state: StepState, node: ir.Node, inputs: Sequence[Any], where: str) -> Any:
    return (state.session.variables[inputs[0]],)


# --- queues


def _FIFOQueueV2(state: StepState, node: ir.Node, inputs: Sequence[Any], where: str) -> Any:
    name = node.attrs["shared_name"] or node.name.encode()
    capacity = node.attrs.get("capacity", -1)
    state.session.queues.setdefault(name, collections.deque(maxlen=None))
    state.sizes[name] = capacity if capacity >= 0 else 1 << 30
    return (name,)


def _QueueEnqueueV2(state: StepState, node: ir.Node, inputs: Sequence[Any], where: str) -> Any:
    queue = state.session.queues[inputs[0]]
    if len(queue) >= state.sizes[inputs[0]]:
        return None
    queue.append(tuple(inputs[1:]))
    return ()


def _QueueDequeueV2(state: StepState, node: ir.Node, inputs: Sequence[Any], where: str) -> Any:
    queue = state.session.queues[inputs[0]]
    return queue.popleft() if queue else None


def _QueueSizeV2(state: StepState, node: ir.Node, inputs: Sequence[Any], where: str) -> Any:
    return (np.int32(len(state.session.queues[inputs[0]])),)


# --- TensorArrays and stacks


def _TensorArrayV3(state: StepState, node: ir.Node, inputs: Sequence[Any], where: str) -> Any:
    handle = f"{node.name}@{where}"
    state.arrays[handle], state.sizes[handle] = {}, int(inputs[0])
    return handle, np.float32(0)


def _TensorArrayGradV3(state: StepState, node: ir.Node, inputs: Sequence[Any], where: str) -> Any:
    handle = f"{inputs[0]}/{node.attrs['source'].decode()}"
    state.arrays.setdefault(handle, {})
    state.sizes[handle] = state.sizes[inputs[0]]
    return handle, np.float32(0)


def _TensorArrayWriteV3(state: StepState, node: ir.Node, inputs: Sequence[Any], where: str) -> Any:
    handle, index, value, _ = inputs
    array, place = state.arrays[handle], int(index)
    if not 0 <= place < state.sizes[handle]:
        raise IndexError(f"{node.name} writes element {place} of {state.sizes[handle]}")
    # Only the array of a gradient is written twice: it adds the gradients of several reads.
    array[place] = array[place] + value if place in array else value
    return (np.float32(0),)


def _TensorArrayReadV3(state: StepState, node: ir.Node, inputs: Sequence[Any], where: str) -> Any:
    handle, index, _ = inputs
    array = state.arrays[handle]
    if int(index) not in array and "/" in handle.rpartition("@")[2]:
        like = state.arrays[handle.rpartition("/")[0]][int(index)]
        return (np.zeros_like(like),)
    return (array[int(index)],)


def _TensorArrayGatherV3(state: StepState, node: ir.Node, inputs: Sequence[Any], where: str) -> Any:
    handle, indices, flow = inputs
    values = [_TensorArrayReadV3(state, node, (handle, at, flow), where)[0] for at in indices]
    return (np.stack(values),)


def _TensorArrayScatterV3(
    state: StepState, node: ir.Node, inputs: Sequence[Any], where: str
) -> Any:
    handle, indices, values, flow = inputs
    for at, value in zip(indices, values, strict=True):
        _TensorArrayWriteV3(state, node, (handle, at, value, flow), where)
    return (np.float32(0),)


def _TensorArraySizeV3(state: StepState, node: ir.Node, inputs: Sequence[Any], where: str) -> Any:
    return (np.int32(state.sizes[inputs[0]]),)


def _StackV2(state: StepState, node: ir.Node, inputs: Sequence[Any], where: str) -> Any:
    handle = f"{node.name}@{where}"
    state.stacks[handle] = []
    return (handle,)


def _StackPushV2(state: StepState, node: ir.Node, inputs: Sequence[Any], where: str) -> Any:
    state.stacks[inputs[0]].append(inputs[1])
    return (inputs[1],)


def _StackPopV2(state: StepState, node: ir.Node, inputs: Sequence[Any], where: str) -> Any:
    return (state.stacks[inputs[0]].pop(),)
