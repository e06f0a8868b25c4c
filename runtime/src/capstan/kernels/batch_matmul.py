"""Kernels of products of many matrices at once."""

import numpy as np

from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid


def _batch_matmul(node: NodeContext) -> Function:
    turn_x, turn_y = bool(node.attrs["adj_x"]), bool(node.attrs["adj_y"])
    is_broadcasting = node.op == "BatchMatMulV2"

    def batch_matmul(x: Array, y: Array, out: Array | None = None) -> Array:
        for number, value in enumerate((x, y)):
            if value.ndim < 2:
                raise invalid(f"In[{number}] ndims must be >= 2: {value.ndim}")
        if not is_broadcasting and x.shape[:-2] != y.shape[:-2]:
            raise invalid(
                "In[0] and In[1] must have compatible batch dimensions: "
                f"{show(x.shape)} vs. {show(y.shape)}"
            )
        one, other = (x.swapaxes(-1, -2) if turn_x else x), (y.swapaxes(-1, -2) if turn_y else y)
        if one.shape[-1] != other.shape[-2]:
            raise invalid(
                f"Matrix size-incompatible: In[0]: {show(x.shape)}, In[1]: {show(y.shape)}"
            )
        try:
            found: Array = np.matmul(one, other, out)
        except ValueError:
            raise invalid(
                "In[0] and In[1] must have compatible batch dimensions: "
                f"{show(x.shape)} vs. {show(y.shape)}"
            ) from None
        return found

    return batch_matmul


for _op in ("BatchMatMul", "BatchMatMulV2"):
    register(Kernel(_op, _batch_matmul, out=True))
