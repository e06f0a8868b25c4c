"""The kernel of the product of two matrices with many zeros (core/kernels/sparse_matmul_op.cc).

It computes the dense product: the zeros change the speed only.
"""

from typing import Any

import numpy as np

from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid


def _multiply(node: NodeContext) -> Function:
    turned = [node.attrs[name] for name in ("transpose_a", "transpose_b")]

    def multiply(a: Array, b: Array) -> Any:
        for name, matrix in (("a", a), ("b", b)):
            if matrix.ndim != 2:
                raise invalid(f"{name} is not a matrix")
        first, second = (
            (matrix.T if turn else matrix).astype(np.float32, copy=False)
            for matrix, turn in zip((a, b), turned, strict=True)
        )
        if first.shape[1] != second.shape[0]:
            raise invalid(f"Matrix size incompatible: a: {show(a.shape)}, b: {show(b.shape)}")
        return first @ second

    return multiply


register(Kernel("SparseMatMul", _multiply))
