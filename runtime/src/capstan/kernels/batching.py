"""Kernels that join the calls of several steps (core/kernels/batch_kernels.cc)."""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from capstan import errors
from capstan.core.arrays import Array
from capstan.kernels import datasets, rejection, resources
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid
from capstan.resources import batcher, dataset_run, unbatcher
from capstan.resources.dataset import Captured


def _limits(node: NodeContext) -> batcher.Limits:
    attrs = node.attrs
    size, allowed = int(attrs["max_batch_size"]), tuple(map(int, attrs["allowed_batch_sizes"]))
    if any(one >= other for one, other in itertools.pairwise(allowed)):
        raise invalid("allowed_batch_sizes entries must be monotonically increasing")
    if allowed and allowed[-1] != size:
        raise invalid("final entry in allowed_batch_sizes must equal max_batch_size")
    timeout_s, batches = attrs["batch_timeout_micros"] / 1e6, int(attrs["max_enqueued_batches"])
    return batcher.Limits(int(attrs["num_batch_threads"]), size, timeout_s, batches, allowed)


def _batch_function(node: NodeContext) -> Function:
    count, kept = len(node.attrs["Tin"]), datasets.captured(node, "f")

    def call(arguments: Sequence[Array], captured: Sequence[Any]) -> Sequence[Array]:
        run = dataset_run.Run()
        try:
            function = Captured(kept.callee, tuple(captured)).bound(run)
            return [np.asarray(each) for each in function(*arguments)]
        except StopIteration as end:
            raise errors.OutOfRangeError(None, None, str(end.__cause__)) from end
        finally:
            run.stop()

    def finish(batch: Sequence[batcher.Task], joined: Sequence[Array]) -> None:
        batcher.hand_out(batch, call(joined, batch[-1].captured), len(joined[0]))

    found = _batcher(node, finish)

    def start(*inputs: Any, done: Any, cancellation: Any) -> None:
        captured = tuple(map(datasets.owned, inputs[count:]))
        found.add(batcher.Task(_tensors(inputs[:count]), captured, done), cancellation)

    return start


def _batch(node: NodeContext) -> Function:
    found = _batcher(node, batcher.collect)

    def start(*inputs: Any, done: Any, cancellation: Any) -> None:
        found.add(batcher.Task(_tensors(inputs), (), done), cancellation)

    return start


def _batcher(node: NodeContext, finish: batcher.Finish) -> batcher.Batcher:
    """Return the batcher that a node names."""
    limits, clock = _limits(node), node.resources.alarms
    return resources.named(
        node,
        "batcher",
        lambda name: batcher.Batcher(name, limits, finish, clock),
        may_be_private=False,
    )


def _tensors(inputs: Sequence[Any]) -> list[Array]:
    """Return copies of the arguments of a call, which must have the same number of rows."""
    tensors = [datasets.owned(np.asarray(each)) for each in inputs]
    for tensor in tensors:
        if not tensor.ndim:
            raise invalid("Batching input tensors must have at least one dimension")
        if len(tensor) != len(tensors[0]):
            raise invalid(
                "Batching input tensors supplied in a given op invocation must have equal "
                "0th-dimension size"
            )
    return tensors


def _unbatch(node: NodeContext) -> Function:
    timeout_s, clock = node.attrs["timeout_micros"] / 1e6, node.resources.alarms
    found = resources.named(
        node,
        "unbatcher",
        lambda name: unbatcher.Unbatcher(name, timeout_s, clock),
        may_be_private=False,
    )

    def start(batched: Any, index: Any, key: Any, *, done: Any, cancellation: Any) -> None:
        values, rows = np.asarray(batched), _index(index)
        if len(rows) > (len(values) if values.ndim else 0):
            raise invalid(
                "Wrong shape for index tensor. Expected 0th dimension size to be no greater than "
                f"{len(values) if values.ndim else 0}; Got: {len(rows)}."
            )
        if rows and max(stop for _, _, stop in rows) > len(values):
            raise invalid("Sum of split sizes must not exceed dim0-size of input tensor")
        pieces = {number: values[begin:stop].copy() for number, begin, stop in rows}
        found.hand_out(pieces, _key(key), done, cancellation)

    return start


def _unbatch_grad(node: NodeContext) -> Function:
    found = resources.named(node, "rebatcher", unbatcher.Rebatcher, may_be_private=False)

    def start(
        original: Any, index: Any, grad: Any, key: Any, *, done: Any, cancellation: Any
    ) -> None:
        wanted = None
        if np.size(original):
            wanted = [number for number, _, _ in _index(index)]
            if not wanted:
                raise invalid("batch_index is empty while the tensor isn't.")
        found.collect(wanted, datasets.owned(np.asarray(grad)), _key(key), done, cancellation)

    return start


def _index(index: Any) -> list[tuple[int, int, int]]:
    """Return the rows of each call of a batch, as (number, start, stop)."""
    array = np.asarray(index)
    if array.ndim != 2 or array.shape[1] != 3:
        size = array.shape[1] if array.ndim > 1 else 0
        raise invalid(
            f"Wrong shape for index tensor. Expected 1st dimension size to be 3 ; Got: {size}."
        )
    return [(number, begin, stop) for number, begin, stop in array.tolist()]


def _key(key: Any) -> int:
    return rejection.number(np.asarray(key), "id")


register(Kernel("BatchFunction", start=_batch_function))
register(Kernel("Batch", start=_batch))
register(Kernel("Unbatch", start=_unbatch))
register(Kernel("UnbatchGrad", start=_unbatch_grad))
