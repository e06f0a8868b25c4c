"""The sum of several gradients of one tensor (`_AggregatedGrads` in python/ops/gradients_util.py).

By default, the gradients of each device are added there first, so that each device sends one sum.
"""

from collections.abc import Sequence
from typing import Any

from capstan.core import dtypes
from capstan.framework import convert, indexed_slices
from capstan.framework import graph as graphs
from capstan.framework.raw import raw


class AggregationMethod:
    """Methods to add several gradients of one tensor.

    With `ADD_N`, one operation adds all gradients of a device. With `EXPERIMENTAL_TREE`, operations
    add one gradient after another, so that a step can release each soon.
    `EXPERIMENTAL_ACCUMULATE_N` adds more than two gradients of known shape in one buffer, and other
    gradients as `EXPERIMENTAL_TREE`.
    """

    ADD_N = 0
    DEFAULT = ADD_N
    EXPERIMENTAL_TREE = 1
    EXPERIMENTAL_ACCUMULATE_N = 2


def total(graph: graphs.Graph, op: graphs.Operation, parts: Sequence[Any], method: int) -> Any:
    """Return the sum of two or more gradients, Tensors or IndexedSlices, of an output of `op`.

    A sum runs where the first of its gradients is computed. At the variable, every gradient would
    have to travel to the parameter server.
    """
    if all(isinstance(part, indexed_slices.IndexedSlices) for part in parts):
        with graph.colocate_with(parts[0].op, ignore_existing=True):
            return _slices(parts)
    if method == AggregationMethod.ADD_N:
        devices: dict[str, list[Any]] = {}
        for part in parts:
            devices.setdefault(part.device or "", []).append(part)
        sums = [_added(graph, devices[device]) for device in sorted(devices)]
        return _added(graph, sums)
    shape = next((part.shape for part in parts if part.shape.is_fully_defined()), None)
    if method == AggregationMethod.EXPERIMENTAL_ACCUMULATE_N and len(parts) > 2 and shape:
        with graph.colocate_with(parts[0].op, ignore_existing=True):
            return raw.AccumulateNV2(
                [convert.convert_to_tensor(part) for part in parts], shape=shape
            )
    with graph.name_scope(f"{op.name}_gradient_sum"):
        running = parts[0]
        for part in parts[1:]:
            running = _added(graph, [running, part])
        return running


def aggregate_indexed_slices_gradients(grads: Sequence[Any]) -> Any:
    """Return the sum of gradients of one tensor, or None for none.

    The result holds the rows of all IndexedSlices. If one gradient is a Tensor, it is a Tensor. A
    gradient that is None counts as zero, unless it is the only one.

    Source: python/eager/backprop.py.
    """
    if len(grads) < 2:
        return grads[0] if grads else None
    parts = [grad for grad in grads if grad is not None]
    if all(isinstance(part, indexed_slices.IndexedSlices) for part in parts):
        return _slices(parts)
    return raw.AddN([convert.convert_to_tensor(part) for part in parts])


def _added(graph: graphs.Graph, parts: Sequence[Any]) -> Any:
    if len(parts) == 1:
        return parts[0]
    with graph.colocate_with(parts[0].op, ignore_existing=True):
        return raw.AddN([convert.convert_to_tensor(part) for part in parts])


def _slices(parts: Sequence[Any]) -> indexed_slices.IndexedSlices:
    indices = [part.indices for part in parts]
    if len({tensor.dtype.base_dtype for tensor in indices}) > 1:
        indices = [raw.Cast(tensor, DstT=dtypes.int64) for tensor in indices]
    return indexed_slices.IndexedSlices(
        raw.ConcatV2([part.values for part in parts], 0),
        raw.ConcatV2(indices, 0),
        parts[0].dense_shape,
    )
