"""Kernels of batched matrix products."""

import numpy as np

from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.kernels import integer_products
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid


def _batch_matmul(node: NodeContext) -> Function:
    transpose_x, transpose_y = bool(node.attrs["adj_x"]), bool(node.attrs["adj_y"])
    is_complex = node.output_dtypes[0].is_complex
    is_broadcasting = node.op != "BatchMatMul"
    target = node.output_dtypes[0].as_numpy_dtype

    multiply = integer_products.multiply_of(node)

    def batch_matmul(x: Array, y: Array, out: Array | None = None) -> Array:
        for number, value in enumerate((x, y)):
            if value.ndim < 2:
                raise invalid(f"In[{number}] ndims must be >= 2: {value.ndim}")
        if not is_broadcasting and x.shape[:-2] != y.shape[:-2]:
            raise invalid(
                "In[0] and In[1] must have compatible batch dimensions: "
                f"{show(x.shape)} vs. {show(y.shape)}"
            )
        left, right = (
            (_adjoint(x, is_complex) if transpose_x else x),
            (_adjoint(y, is_complex) if transpose_y else y),
        )
        if left.shape[-1] != right.shape[-2]:
            raise invalid(
                f"Matrix size-incompatible: In[0]: {show(x.shape)}, In[1]: {show(y.shape)}"
            )
        left, right = (each.astype(target, copy=False) for each in (left, right))
        try:
            product: Array = multiply(left, right, out)
        except ValueError:
            raise invalid(
                "In[0] and In[1] must have compatible batch dimensions: "
                f"{show(x.shape)} vs. {show(y.shape)}"
            ) from None
        return product

    return batch_matmul


def _adjoint(x: Array, is_complex: bool) -> Array:
    turned = x.swapaxes(-1, -2)
    return np.conjugate(turned) if is_complex else turned


for _op in ("BatchMatMul", "BatchMatMulV2", "BatchMatMulV3"):
    register(Kernel(_op, _batch_matmul, out=True))
