"""Join arrays, and the kernel that joins tensors of one row each (core/kernels/inplace_ops.cc)."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.kernels.memory import is_on_host
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid

_MOST_PARTS: Final = 8
"""CuPy sends a table of more arrays to the GPU, which a CUDA graph cannot contain."""


def concatenated(parts: Sequence[Array], axis: int = 0, out: Array | None = None) -> Array:
    """Return `np.concatenate(parts, axis, out)`. A device can repeat this call.

    Raises:
        ValueError: the shapes do not fit.
        AxisError: the arrays do not have this axis.
    """
    if len(parts) <= _MOST_PARTS or is_on_host(parts[0]):
        joined: Array = np.concatenate(parts, axis, out)
        return joined
    groups = [
        np.concatenate(parts[start : start + _MOST_PARTS], axis)
        for start in range(0, len(parts), _MOST_PARTS)
    ]
    return concatenated(groups, axis, out)


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
        return concatenated(parts)

    return join


register(Kernel("ParallelConcat", _join))
