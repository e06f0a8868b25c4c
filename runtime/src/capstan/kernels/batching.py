"""The kernel that joins the calls of several steps (core/kernels/batch_kernels.cc)."""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from capstan import errors
from capstan.core.arrays import Array
from capstan.kernels import datasets, resources
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid
from capstan.resources import batcher, dataset_run
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
    limits, count = _limits(node), len(node.attrs["Tin"])
    kept, clock = datasets.captured(node, "f"), node.resources.alarms

    def call(arguments: Sequence[Array], captured: Sequence[Any]) -> Sequence[Array]:
        run = dataset_run.Run()
        try:
            function = Captured(kept.callee, tuple(captured)).bound(run)
            return [np.asarray(each) for each in function(*arguments)]
        except StopIteration as end:
            raise errors.OutOfRangeError(None, None, str(end.__cause__)) from end
        finally:
            run.stop()

    found = resources.named(
        node,
        "batcher",
        lambda name: batcher.Batcher(name, limits, call, clock),
        may_be_private=False,
    )

    def start(*inputs: Any, done: Any, cancellation: Any) -> None:
        tensors = [datasets.owned(np.asarray(each)) for each in inputs[:count]]
        for tensor in tensors:
            if not tensor.ndim:
                raise invalid("Batching input tensors must have at least one dimension")
            if len(tensor) != len(tensors[0]):
                raise invalid(
                    "Batching input tensors supplied in a given op invocation must have equal "
                    "0th-dimension size"
                )
        captured = tuple(map(datasets.owned, inputs[count:]))
        found.add(batcher.Task(tensors, captured, done), cancellation)

    return start


register(Kernel("BatchFunction", start=_batch_function))
