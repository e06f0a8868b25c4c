"""Kernels of elementwise functions of one operand, and Cast."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from capstan import errors
from capstan.core import dtypes
from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.framework.ops import unary
from capstan.kernels import stacking
from capstan.kernels.arithmetic import constantly
from capstan.kernels.registry import (
    Columns,
    Function,
    Join,
    Joined,
    Kernel,
    NodeContext,
    register,
)
from capstan.kernels.rejection import invalid

_COMPLEX = {"T": frozenset({dtypes.complex64, dtypes.complex128})}
_INTEGER = {"T": frozenset({dtypes.int32, dtypes.int64})}


def _rsqrt(x: Array, out: Array | None = None) -> Any:
    return np.reciprocal(np.sqrt(x, out), out)


def _sigmoid(x: Array, out: Array | None = None) -> Array:
    # For very negative x, exp(-x) is infinite, and the result is 0, as it should be.
    out = np.empty_like(x) if out is None else out
    np.negative(x, out)
    np.exp(out, out)
    np.add(out, 1, out)
    return np.reciprocal(out, out)


def _tanh_grad(y: Array, dy: Array, out: Array | None = None) -> Array:
    dy = _as_shaped(y, dy)
    out = np.empty_like(y) if out is None else out
    np.multiply(y, y, out)
    np.subtract(1, out, out)
    return np.multiply(out, dy, out)


def _sqrt_grad(y: Array, dy: Array, out: Array | None = None) -> Array:
    out = np.empty_like(y) if out is None else out
    np.multiply(_as_shaped(y, dy), 0.5, out)
    return np.divide(out, y, out)


def _rsqrt_grad(y: Array, dy: Array, out: Array | None = None) -> Array:
    dy = _as_shaped(y, dy)
    out = np.empty_like(y) if out is None else out
    np.multiply(y, y, out)
    np.multiply(out, y, out)
    np.multiply(out, dy, out)
    return np.multiply(out, -0.5, out)


def _reciprocal_grad(y: Array, dy: Array, out: Array | None = None) -> Array:
    dy = _as_shaped(y, dy)
    out = np.empty_like(y) if out is None else out
    np.multiply(y, y, out)
    np.multiply(out, dy, out)
    return np.negative(out, out)


def _conjugate_first(function: Function) -> Function:
    """Return a kernel that takes the conjugates of the outputs y, as TensorFlow's does."""

    def compute(y: Array, dy: Array, out: Array | None = None) -> Any:
        return function(np.conjugate(y), dy, out)

    return compute


def _sigmoid_grad(y: Array, dy: Array, out: Array | None = None) -> Array:
    dy = _as_shaped(y, dy)
    out = np.empty_like(y) if out is None else out
    np.subtract(1, y, out)
    np.multiply(out, y, out)
    return np.multiply(out, dy, out)


def _as_shaped(y: Array, dy: Array) -> Array:
    """Return `dy` with the shape of `y`. As in TensorFlow, only their sizes must be equal."""
    if y.shape == dy.shape:
        return dy
    if y.size != dy.size:
        raise invalid(
            "Inputs must have the same size and shape, but are "
            f"{show(y.shape)} and {show(dy.shape)}"
        )
    return dy.reshape(y.shape)


def _cast(node: NodeContext) -> Function:
    kinds = (node.input_dtypes[0], node.output_dtypes[0])
    levels = [dtypes.levels(each) for each in kinds]
    if not unary.CASTABLE.issuperset(levels):
        source, wanted = (each.name for each in kinds)
        message = f"Cast {source} to {wanted} is not supported"
        raise errors.UnimplementedError(None, None, message)
    if not unary.CASTABLE.issuperset(kinds):
        return _cast_levels(*(each.as_numpy_dtype for each in (*levels, kinds[1])))
    target = node.output_dtypes[0].as_numpy_dtype
    takes_real_part = kinds[0].is_complex and not kinds[1].is_complex

    def cast(x: Array, out: Array | None = None) -> Any:
        if takes_real_part:
            x = x.real  # NumPy warns when it discards imaginary parts.
        if out is None:
            return x.astype(target)
        np.copyto(out, x, casting="unsafe")
        return out

    return cast


def _cast_levels(source: Any, target: Any, result: Any) -> Function:
    """Return a cast from or to a quantized type, given the NumPy types of the levels."""

    def cast(x: Array, out: Array | None = None) -> Any:
        levels = np.ascontiguousarray(x).view(source)
        if levels.dtype.kind == "c":
            levels = levels.real  # NumPy warns when it discards imaginary parts.
        found = levels.astype(target).view(result).reshape(x.shape)
        if out is None:
            return found
        np.copyto(out, found)
        return out

    return cast


def _casts_of_several(nodes: Sequence[NodeContext]) -> Joined | None:
    """Return the function that joins casts of tensors of unknown size.

    Casts of tensors of known size write to planned buffers, so they run alone.
    """
    if any(
        shape is not None and None not in shape for node in nodes for shape in node.input_shapes
    ):
        return None
    cast = _cast(nodes[0])

    def casts(arrays: Sequence[Array]) -> Columns:
        if type(arrays) is stacking.Column:
            return (stacking.Column(arrays.blocks, cast(arrays.stacked)),)
        return ([cast(x) for x in arrays],)

    return casts


for _op, _slope in (
    ("SqrtGrad", _sqrt_grad),
    ("RsqrtGrad", _rsqrt_grad),
    ("ReciprocalGrad", _reciprocal_grad),
    ("InvGrad", _reciprocal_grad),
):
    _complex = constantly(_conjugate_first(_slope))
    register(Kernel(_op, _complex, types=_COMPLEX, out=True))
for _op, _function in (
    ("Neg", np.negative),
    ("Abs", np.absolute),
    ("Sign", np.sign),
    ("Square", np.square),
    ("Sqrt", np.sqrt),
    ("Rsqrt", _rsqrt),
    ("Exp", np.exp),
    ("Log", np.log),
    ("Log1p", np.log1p),
    ("Tanh", np.tanh),
    ("Cos", np.cos),
    ("Sin", np.sin),
    ("Sigmoid", _sigmoid),
    ("Reciprocal", np.reciprocal),
    ("Inv", np.reciprocal),
    ("Floor", np.floor),
    ("Ceil", np.ceil),
    ("TanhGrad", _tanh_grad),
    ("SigmoidGrad", _sigmoid_grad),
    ("SqrtGrad", _sqrt_grad),
    ("RsqrtGrad", _rsqrt_grad),
    ("ReciprocalGrad", _reciprocal_grad),
    ("InvGrad", _reciprocal_grad),
    ("IsFinite", np.isfinite),
    ("IsInf", np.isinf),
    ("IsNan", np.isnan),
):
    register(Kernel(_op, constantly(_function), out=True))
# np.rint would convert integers to floats.
register(Kernel("Round", constantly(np.positive), types=_INTEGER, out=True))
register(Kernel("Round", constantly(np.rint), out=True))
register(Kernel("Cast", _cast, out=True, join=Join(_casts_of_several, tables=(0,))))
