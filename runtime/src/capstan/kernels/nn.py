"""Kernels of neural network ops, and MatMul."""

from collections.abc import Callable
from typing import Any

import numpy as np

from capstan.core import row_programs
from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.hardware import blas, products
from capstan.kernels import integer_products, long_loops, sums
from capstan.kernels.arithmetic import constantly
from capstan.kernels.memory import beside, into, is_on_host, numbers
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid, number


def matmul(node: NodeContext) -> Function:
    """Return the function of a product of two matrices."""
    transpose_a, transpose_b = bool(node.attrs["transpose_a"]), bool(node.attrs["transpose_b"])
    multiply = integer_products.multiply_of(node)

    def product_of(a: Array, b: Array, out: Array | None = None) -> Array:
        if a.ndim != 2 or b.ndim != 2:
            number, wrong = (0, a) if a.ndim != 2 else (1, b)
            raise invalid(f"In[{number}] is not a matrix. Instead it has shape {show(wrong.shape)}")
        try:
            product: Array = multiply(a.T if transpose_a else a, b.T if transpose_b else b, out)
        except ValueError:
            raise invalid(
                f"Matrix size-incompatible: In[0]: {show(a.shape)}, In[1]: {show(b.shape)}"
            ) from None
        return product

    # With two known matrix shapes, np.matmul needs no checks before the call.
    is_checked = all(_is_known(shape) and len(shape or ()) == 2 for shape in node.input_shapes)
    if not is_checked or transpose_a or transpose_b:
        return product_of
    return products.matmul_of(*node.input_shapes) if multiply is products.matmul else multiply


def _is_known(shape: tuple[int | None, ...] | None) -> bool:
    return shape is not None and None not in shape


def _bias_axis(node: NodeContext) -> int:
    return 1 if node.attrs["data_format"] in (b"NCHW", "NCHW") else -1


def _bias_add(node: NodeContext) -> Function:
    axis = _bias_axis(node)
    value_shape, bias_shape = node.input_shapes
    is_checked = _is_known(value_shape) and len(value_shape or ()) > 1
    if axis == -1 and is_checked and bias_shape == (value_shape or ())[-1:]:
        return np.add

    def bias_add(value: Array, bias: Array, out: Array | None = None) -> Any:
        if value.ndim < 2:
            raise invalid(f"Input tensor must be at least 2D: {show(value.shape)}")
        if bias.shape != (value.shape[axis],):
            raise invalid(
                "Must provide as many biases as the last dimension of the input tensor: "
                f"{show(bias.shape)} vs. {show(value.shape)}"
            )
        if axis == 1:
            bias = bias.reshape(-1, *(1,) * (value.ndim - 2))
        return np.add(value, bias, out)

    return bias_add


def _bias_add_grad(node: NodeContext) -> Function:
    axis, dtype = _bias_axis(node), node.output_dtypes[0].as_numpy_dtype
    shape = node.input_shapes[0]
    if axis == -1 and dtype in (np.float32, np.float64) and shape is not None and len(shape) == 2:
        rows = shape[0]
        if rows is not None and node.hardware.is_host:
            # A product with a vector of ones is the sum over rows, and BLAS computes it faster.
            ones = node.hardware.arrays.ones(rows, dtype)
            return lambda grad, out=None: blas.dot(ones, grad, out)

    def bias_add_grad(grad: Array, out: Array | None = None) -> Any:
        kept = axis % grad.ndim
        axes = tuple(other for other in range(grad.ndim) if other != kept)
        return sums.total(grad, axes, dtype, out)

    return bias_add_grad


def _relu(node: NodeContext) -> Function:
    # A scalar of the right dtype saves a conversion in every call.
    zero = node.output_dtypes[0].as_numpy_dtype(0)
    loop = long_loops.LongLoop(node, long_loops.rectify)

    def relu(x: Array, out: Array | None = None) -> Any:
        if x.size >= loop.least and loop.serves(x, out):
            return loop(x, out=out)
        return np.maximum(x, zero, out=out)

    return relu


def _relu_grad(node: NodeContext) -> Function:
    zero = node.output_dtypes[0].as_numpy_dtype(0)
    loop = long_loops.LongLoop(node, long_loops.rectified_slopes)

    def relu_grad(grad: Array, features: Array, out: Array | None = None) -> Array:
        if grad.shape != features.shape:
            raise invalid(
                "Inputs to ReluGrad must have the same size and shape, but are "
                f"{show(grad.shape)} and {show(features.shape)}"
            )
        if grad.size >= loop.least and loop.serves(grad, features, out):
            return loop(grad, features, out=out)
        out = np.empty_like(grad) if out is None else out
        np.greater(features, zero, out)
        return np.multiply(out, grad, out)

    return relu_grad


NARROW = 32
"""If there are at most this many classes, column-major order is several times faster. The number
was measured on one machine."""


def shifted(logits: Array, out: Array | None) -> Array:
    """Return a copy of the logits minus the maximum of each row, so that exp does not overflow.

    NumPy reduces short rows one by one. In column-major order it reduces all rows at once, which
    saves more time than two transpositions take. If there are few classes, the copy is therefore
    column-major. Otherwise it is in `out`, if `out` is given.
    """
    classes = logits.shape[-1]
    if classes <= NARROW and logits.size >= classes * classes:
        result = logits.copy("F")
    elif out is None:
        result = logits.copy()
    else:
        result = out
        np.copyto(out, logits)
    if result.size:
        np.subtract(result, result.max(-1, keepdims=True), result)
    return result


def _along_rows(
    on_host: Function, formula: Callable[[row_programs.Recorder, Any], Any]
) -> Callable[[NodeContext], Function]:
    """Return a `make` for an op whose result has the shape of its input.

    The CPU runs `on_host`. Another device computes the formula of the recorder and of each row.
    """

    def make(node: NodeContext) -> Function:
        if node.hardware.is_host:
            return on_host
        recorder = row_programs.Recorder(node.output_dtypes[0].as_numpy_dtype)
        result = formula(recorder, recorder.input())
        run = node.hardware.compile_rows(recorder.program([result]))

        def along_rows(x: Array, out: Array | None = None) -> Array:
            if not x.size:
                return into(x.copy(), out)
            rows = x.reshape(-1, x.shape[-1])
            if out is None:
                return run((rows,))[0].reshape(x.shape)
            run((rows,), (out.reshape(rows.shape),))
            return out

        return along_rows

    return make


def _row_softmax(recorder: row_programs.Recorder, row: Any) -> Any:
    power: Any = np.exp(row - recorder.maximum(row))
    return power / recorder.sum(power)


def _row_log_softmax(recorder: row_programs.Recorder, row: Any) -> Any:
    difference = row - recorder.maximum(row)
    total: Any = recorder.sum(np.exp(difference))
    return difference - np.log(total)


def _softmax(logits: Array, out: Array | None = None) -> Array:
    result = shifted(logits, out)
    np.exp(result, result)
    np.divide(result, sums.total(result, -1, None, None, True), result)
    return into(result, out)


def _log_softmax(logits: Array, out: Array | None = None) -> Array:
    result = shifted(logits, out)
    total = sums.total(np.exp(result), -1, None, None, True)
    np.subtract(result, np.log(total, total), result)
    return into(result, out)


def _l2_loss(x: Array) -> Any:
    flat = x.reshape(-1)
    total = blas.dot(flat, flat) if is_on_host(x) else np.sum(np.square(flat))
    return total * x.dtype.type(0.5)


def _in_top_k(read: Callable[[NodeContext], int | None]) -> Callable[[NodeContext], Function]:
    """Return a `make` for InTopK. `read` returns k, or None if k is an input of the node.

    A row is in the top k if fewer than k classes have a larger prediction than its target.
    """

    def make(node: NodeContext) -> Function:
        fixed = read(node)

        def in_top_k(predictions: Array, targets: Array, k: Array | None = None) -> Array:
            limit = fixed if k is None else number(k, "k")
            rows, classes = predictions.shape
            if targets.shape != (rows,):
                raise invalid(
                    f"First dimension of predictions {rows} must match length of targets "
                    f"{targets.size}"
                )
            targets = beside(targets, predictions)
            is_class: Array = (targets >= 0) & (targets < classes)
            if not classes:
                return is_class
            every = numbers(rows, predictions)
            chosen = predictions[every, np.where(is_class, targets, 0)]
            above = sums.total(predictions > chosen[:, None], 1, np.int64)
            is_sure = np.isfinite(predictions).all(1)
            result: Array = is_class & is_sure & (above < limit)
            return result

        return in_top_k

    return make


for _op, _make in (
    ("MatMul", matmul),
    ("BiasAdd", _bias_add),
    ("BiasAddGrad", _bias_add_grad),
    ("Relu", _relu),
    ("ReluGrad", _relu_grad),
    ("Softmax", _along_rows(_softmax, _row_softmax)),
    ("LogSoftmax", _along_rows(_log_softmax, _row_log_softmax)),
):
    register(Kernel(_op, _make, out=True))
register(Kernel("L2Loss", constantly(_l2_loss)))
register(Kernel("InTopK", _in_top_k(lambda node: int(node.attrs["k"]))))
register(Kernel("InTopKV2", _in_top_k(lambda node: None)))
