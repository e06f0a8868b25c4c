"""The kernel that joins tensors of one row each (core/kernels/inplace_ops.cc)."""

import numpy as np

from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid


def _join(node: NodeContext) -> Function:
    count, *rest = node.attrs["shape"].internal

    def join(*parts: Array) -> Array:
        wrong = next((part for part in parts if part.shape != (1, *rest)), None)
        if wrong is not None or len(parts) != count:
            shape = show((count, *rest)) if wrong is None else show(wrong.shape)
            raise invalid(
                f"ParallelConcat joins {count} tensors of the shape {show((1, *rest))}, but got "
                f"{len(parts)} tensors, one of shape {shape}"
            )
        return np.concatenate(parts)

    return join


register(Kernel("ParallelConcat", _join))
