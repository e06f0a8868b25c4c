"""The kernel that calls a function for each slice (core/kernels/data/map_defun_op.cc)."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from capstan import errors
from capstan.core import shapes
from capstan.core.arrays import Array
from capstan.kernels import datasets, iterators
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid
from capstan.resources import dataset, dataset_batch, dataset_run, dataset_sources, elements
from capstan.resources.dataset import Captured, Spec


def _map_defun(node: NodeContext) -> Function:
    count, kept = len(node.attrs["Targuments"]), datasets.captured(node, "f")
    spec = datasets.spec_of(node)

    def start(*inputs: Any, done: Any, cancellation: Any) -> None:
        run = dataset_run.Run()
        slices = _slices([elements.owned(each) for each in inputs[:count]])
        call = Captured(kept.callee, tuple(map(datasets.owned, inputs[count:]))).bound(run)

        def compute() -> Sequence[Any]:
            rows = []
            for each in slices:
                run.check()
                try:
                    rows.append(call(*each))
                except StopIteration as end:
                    raise errors.OutOfRangeError(None, None, str(end.__cause__)) from end
                _check(rows[-1], spec)
            return dataset_batch.stacked(rows, spec.types) if rows else _empty(spec)

        iterators.in_thread(run, compute, done, cancellation)

    return start


def _slices(arguments: Sequence[Array]) -> list[dataset.Element]:
    """Return the slices of each argument along axis 0.

    Raises:
        InvalidArgumentError: an argument is a scalar, or has another number of slices.
    """
    for place, value in enumerate(arguments):
        if not value.ndim:
            raise invalid(f"All inputs must have rank at least 1. Input {place} has a rank of 0.")
        if len(value) != len(arguments[0]):
            raise invalid(
                f"All inputs must have the same dimension 0. Input {place} has leading dimension "
                f"{len(value)}, while all previous inputs have leading dimension "
                f"{len(arguments[0])}"
            )
    return list(zip(*map(dataset_sources.slices, arguments), strict=True))


def _check(results: dataset.Element, spec: Spec) -> None:
    for value, declared in zip(results, spec.shapes, strict=True):
        if not shapes.is_compatible(declared, np.shape(value)):
            raise invalid(
                f"Mismatch in function retval shape, {shapes.show(np.shape(value))}, and expected "
                f"output shape, {shapes.show(declared)}."
            )


def _empty(spec: Spec) -> Sequence[Any]:
    """Return no results. The sizes that are not declared are 0."""
    return [
        np.empty((0, *(size or 0 for size in shape or ())), dtype.as_numpy_dtype)
        for shape, dtype in zip(spec.shapes, spec.types, strict=True)
    ]


register(Kernel("MapDefun", start=_map_defun))
