"""The kernel of a sum of products of matrices."""

from collections.abc import Sequence

import numpy as np

from capstan.core.arrays import Array
from capstan.kernels import nn
from capstan.kernels.registry import Function, Kernel, NodeContext, register


def _product_sum(node: NodeContext) -> Function:
    """Return the function. The product of stacked matrices is the sum of their products.

    Each product would write a matrix of the result's size, and the sum would read it again.
    """
    multiply, count = nn.matmul(node), int(node.attrs["N"])

    def product_sum(*arrays: Array) -> Array:
        lefts, rights = arrays[:count], arrays[count : 2 * count]
        out = arrays[-1] if len(arrays) > 2 * count else None
        if _is_stacked(lefts, rights):
            stacked: Array = multiply(np.concatenate(lefts), np.concatenate(rights), out)
            return stacked
        total: Array = multiply(lefts[0], rights[0], out)
        for left, right in zip(lefts[1:], rights[1:], strict=True):
            np.add(total, multiply(left, right), total)
        return total

    return product_sum


def _is_stacked(lefts: Sequence[Array], rights: Sequence[Array]) -> bool:
    """Return whether the matrices fit, and the products have at least as many numbers as they."""
    if any(len(left) != len(right) for left, right in zip(lefts, rights, strict=True)):
        return False
    copied = sum(each.size for each in (*lefts, *rights))
    return bool(copied <= len(lefts) * lefts[0].shape[1] * rights[0].shape[1])


register(Kernel("_ProductSum", _product_sum, out=True))
