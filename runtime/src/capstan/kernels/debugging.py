"""Kernels of the ops that look into a step, and that end a task
(core/kernels/{debug_ops.h,control_flow_ops.cc}).
"""

import os
import sys
from collections.abc import Callable
from typing import Final

import numpy as np

from capstan import errors
from capstan.core.arrays import Array
from capstan.kernels.arithmetic import constantly
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid


def _same(x: Array) -> Array:
    return x


def _nan_count(x: Array) -> Array:
    if np.dtype(x.dtype).kind not in "fcV":
        return np.asarray(0, np.int64)
    return np.asarray(int(np.isnan(x).sum()), np.int64)


def _summary(node: NodeContext) -> Function:
    """Return the counts, the moments, the type and the shape of a tensor."""
    low, high = (float(node.attrs[name]) for name in ("lower_bound", "upper_bound"))
    kind = node.input_dtypes[0].base_dtype.as_datatype_enum

    def summary(x: Array) -> Array:
        flat = x.ravel().astype(np.float64)
        finite = flat[np.isfinite(flat)]
        is_low = (finite <= low) if np.isfinite(low) else np.zeros(finite.shape, bool)
        is_high = (finite >= high) if np.isfinite(high) else np.zeros(finite.shape, bool)
        inner = finite[~(is_low | is_high)]
        counts = (
            1,
            flat.size,
            np.isnan(flat).sum(),
            np.isneginf(flat).sum() + is_low.sum(),
            (inner < 0).sum(),
            (inner == 0).sum(),
            (inner > 0).sum(),
            np.isposinf(flat).sum() + (is_high & ~is_low).sum(),
        )
        moments = (np.inf, -np.inf, np.nan, np.nan)
        if finite.size:
            moments = (finite.min(), finite.max(), finite.mean(), finite.var())
        return np.array([*counts, *moments, kind, x.ndim, *x.shape], np.float64)

    return summary


def is_healthy(summary: Array) -> bool:
    """Return whether a DebugNumericSummary counts no NaN and no number at or beyond a bound."""
    return not summary[[2, 3, 7]].any()


def inspection(node: NodeContext, op: str) -> Function:
    """Return the function of DebugNanCount or DebugNumericSummary, for the input of a node.

    The node has the bounds of DebugNumericSummary as attributes.
    """
    return _nan_count if op == "DebugNanCount" else _summary(node)


def inspection_without_value(node: NodeContext, op: str) -> Array:
    """Return the result for a variable without a value, whose shape is an attribute of the node."""
    if op == "DebugNanCount":
        return np.asarray(0, np.int64)
    declared = node.attrs["shape"].internal or ()
    sizes = [-1 if size is None else size for size in declared]
    kind = node.input_dtypes[0].base_dtype.as_datatype_enum
    moments = (np.inf, -np.inf, np.nan, np.nan)
    return np.array([*[0] * 8, *moments, kind, len(sizes), *sizes], np.float64)


def _health(node: NodeContext) -> Function:
    """Return the kernel of a summary whose mode says what it holds (TensorDebugMode)."""
    mode, number = int(node.attrs["tensor_debug_mode"]), int(node.attrs["tensor_id"])
    dtype, kind = node.output_dtypes[0].as_numpy_dtype, node.input_dtypes[0].as_datatype_enum
    if mode not in _SUMMARIES:
        raise errors.UnimplementedError(
            None, None, f"Unimplemented tensor debug mode: {mode}. Use one of {list(_SUMMARIES)}"
        )
    largest = 2 ** (np.finfo(dtype).nmant + 1)
    if number > largest:
        raise invalid(
            f"DebugNumericSummaryV2Op requires tensor_id to be less than or equal to {largest}. "
            f"Given tensor_id:{number}"
        )
    summarize = _SUMMARIES[mode]

    def health(x: Array) -> Array:
        numbers = x.astype(np.float32) if x.dtype.kind == "V" else x
        return np.array(summarize(numbers, number, kind), dtype)

    return health


def _infinities(x: Array) -> list[int]:
    """Return the counts of -inf, inf and NaN."""
    if x.dtype.kind in "biu":
        return [0, 0, 0]
    return [int(test(x).sum()) for test in (np.isneginf, np.isposinf, np.isnan)]


def _signs(x: Array) -> list[int]:
    """Return the counts of finite numbers below 0, of zeros, and of finite numbers above 0."""
    finite = x if x.dtype.kind in "biu" else x[np.isfinite(x)]
    return [int((finite < 0).sum()), int((finite == 0).sum()), int((finite > 0).sum())]


def _first_of_each(x: Array) -> list[float]:
    found = zip(_infinities(x), (-np.inf, np.inf, np.nan), strict=True)
    return [value if count else 0.0 for count, value in found]


def _sizes(x: Array) -> list[int]:
    """Return the last six sizes, and zeros behind them if there are fewer."""
    return [*x.shape[-6:], *[0] * (6 - x.ndim)]


_SUMMARIES: Final[dict[int, Callable[[Array, int, int], list[float]]]] = {
    2: lambda x, number, kind: [number, any(_infinities(x))],
    3: lambda x, number, kind: [number, x.size, *_infinities(x)],
    4: lambda x, number, kind: [number, -1, kind, x.ndim, x.size, *_infinities(x), *_signs(x)],
    5: lambda x, number, kind: [number, kind, x.ndim, x.size, *_sizes(x)],
    8: lambda x, number, kind: _first_of_each(x),
}


def _abort(node: NodeContext) -> Function:
    message = node.attrs["error_msg"].decode(errors="replace")
    is_quiet = bool(node.attrs["exit_without_error"])

    def abort() -> None:
        if is_quiet:
            os._exit(0)
        sys.stderr.write(f"Abort_op intentional failure; {message}\n")
        sys.stderr.flush()
        os.abort()

    return abort


for _op in ("Copy", "CopyHost", "DebugIdentity", "DebugIdentityV2", "DebugIdentityV3"):
    register(Kernel(_op, constantly(_same), alias=True, emit=lambda inputs: inputs[0]))
register(Kernel("DebugGradientIdentity", constantly(_same), alias=True))
register(Kernel("DebugGradientRefIdentity", constantly(_same), alias=True))
register(Kernel("DebugNumericSummary", _summary))
register(Kernel("DebugNumericSummaryV2", _health))
register(Kernel("DebugNanCount", constantly(_nan_count)))
register(Kernel("Abort", _abort))
