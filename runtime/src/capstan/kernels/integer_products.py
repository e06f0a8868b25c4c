"""Products of matrices of int32, which NumPy multiplies without BLAS."""

from typing import Any, Final

import numpy as np

from capstan.core import dtypes
from capstan.core.arrays import Array
from capstan.hardware import products
from capstan.kernels.memory import into
from capstan.kernels.registry import NodeContext

_MANY: Final = 4096
"""With fewer multiplications, the conversions take longer than a product of integers."""
_EXACT: Final = 1 << 53
"""float64 has all integers up to this size."""


def multiply_of(node: NodeContext) -> Any:
    """Return the function of a node that multiplies matrices, as `np.matmul` does."""
    if not node.hardware.is_host:
        return node.hardware.matmul
    return product if node.output_dtypes[0] is dtypes.int32 else products.matmul


def product(x: Array, y: Array, out: Array | None = None) -> Any:
    """Return the product of matrices of int32 in host memory, as `np.matmul` does.

    If no sum can leave the integers that float64 has, then the product in float64 is exact, and
    BLAS computes it ten times as fast.
    """
    if not _is_exact(x, y):
        return np.matmul(x, y, out)
    wide = np.matmul(x.astype(np.float64), y.astype(np.float64))
    # A sum that int32 does not have wraps around when it comes from int64, but not from float64.
    result = wide.astype(np.int64).astype(np.int32)
    return into(result, out)


def _is_exact(x: Array, y: Array) -> bool:
    """Return whether a product in float64 is exact, and there is enough to multiply."""
    count = x.size * y.shape[-1]
    return bool(count >= _MANY and _largest(x) * _largest(y) * x.shape[-1] <= _EXACT)


def _largest(x: Array) -> int:
    return max(int(x.max()), -int(x.min()))
