"""Kernels of conditional accumulators."""

from collections.abc import Callable
from typing import Any

import numpy as np

from capstan.core import attr_value, dtypes, shapes
from capstan.core.arrays import Array
from capstan.kernels import resources
from capstan.kernels.arithmetic import constantly
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid
from capstan.resources import accumulator, accumulators

_TYPES = {"dtype": frozenset({dtypes.bfloat16, dtypes.float16, dtypes.float32, dtypes.float64})}


def _accumulator(kind: type[accumulator.Accumulator]) -> Callable[[NodeContext], Function]:
    def make(node: NodeContext) -> Function:
        dtype, shape = node.attrs["dtype"], node.attrs["shape"].internal
        reduction = attr_value.text(node.attrs["reduction_type"])
        if reduction not in ("MEAN", "SUM"):
            raise invalid(f"reduction_type must be MEAN or SUM, not {reduction!r}")
        found = resources.named(
            node, "accumulator", lambda name: kind(name, dtype, shape, reduction)
        )
        return lambda: found

    return make


def _step(value: Array, name: str) -> int:
    if value.ndim:
        raise invalid(
            f"Argument {name} must be scalar, but had bad shape {shapes.show(value.shape)}"
        )
    return int(value)


def _apply_dense(node: NodeContext) -> Function:
    def apply(handle: Any, local_step: Array, gradient: Array) -> None:
        target = resources.behind(handle)
        resources.check_signature(node, (dtypes.int64, target.dtype_of_gradients), ())
        target.apply(_step(local_step, "local_step"), gradient)

    return apply


def _apply_sparse(node: NodeContext) -> Function:
    has_known_shape = bool(node.attrs["has_known_shape"])

    def apply(handle: Any, local_step: Array, indices: Array, values: Array, shape: Array) -> None:
        target = resources.behind(handle)
        dtype = target.dtype_of_gradients
        resources.check_signature(node, (dtypes.int64, dtypes.int64, dtype, dtypes.int64), ())
        known = shape if has_known_shape else None
        target.apply(_step(local_step, "local_step"), indices, values, known)

    return apply


def _take(node: NodeContext) -> Function:
    def take(handle: Any, required: Array, *, done: Any, cancellation: Any) -> None:
        target = _to_take_from(node, handle)
        target.take(_step(required, "num_required"), done, cancellation)

    return take


def _take_up_to(node: NodeContext) -> Function:
    limit, clock = int(node.attrs["timeout_ms"]) / 1000, node.resources.alarms

    def take(handle: Any, required: Array, *, done: Any, cancellation: Any) -> None:
        target, count = _to_take_from(node, handle), _step(required, "num_required")
        target.take_up_to(count, limit, clock, done, cancellation)

    return take


def _to_take_from(node: NodeContext, handle: Any) -> accumulator.Accumulator:
    target: accumulator.Accumulator = resources.behind(handle)
    dtype = target.dtype_of_gradients
    is_sparse = isinstance(target, accumulators.SparseAccumulator)
    outputs = (dtypes.int64, dtype, dtypes.int64) if is_sparse else (dtype,)
    resources.check_signature(node, (dtypes.int32,), outputs)
    return target


def _count(handle: Any) -> Any:
    return np.int32(resources.behind(handle).count)


def _set_step(handle: Any, step: Array) -> None:
    resources.behind(handle).set_global_step(_step(step, "new_global_step"))


for _prefix in ("", "Resource"):
    register(
        Kernel(
            f"{_prefix}ConditionalAccumulator",
            _accumulator(accumulators.DenseAccumulator),
            types=_TYPES,
        )
    )
    register(Kernel(f"{_prefix}AccumulatorApplyGradient", _apply_dense, types=_TYPES))
    register(Kernel(f"{_prefix}AccumulatorTakeGradient", start=_take, types=_TYPES))
    register(Kernel(f"{_prefix}AccumulatorNumAccumulated", constantly(_count)))
    register(Kernel(f"{_prefix}AccumulatorSetGlobalStep", constantly(_set_step)))
register(
    Kernel(
        "SparseConditionalAccumulator", _accumulator(accumulators.SparseAccumulator), types=_TYPES
    )
)
register(Kernel("SparseAccumulatorApplyGradient", _apply_sparse, types=_TYPES))
register(Kernel("SparseAccumulatorTakeGradient", start=_take, types=_TYPES))
for _prefix in ("Resource", "Sparse"):
    _name = f"{_prefix}AccumulatorTakeGradientUpTo"
    register(Kernel(_name, start=_take_up_to, types=_TYPES))
