"""Kernels of the ops that look into a step, and that end a task
(core/kernels/{debug_ops.h,control_flow_ops.cc}).
"""

import os
import sys

import numpy as np

from capstan.core.arrays import Array
from capstan.kernels.arithmetic import constantly
from capstan.kernels.registry import Function, Kernel, NodeContext, register


def _same(x: Array) -> Array:
    return x


def _nan_count(x: Array) -> Array:
    if np.dtype(x.dtype).kind not in "fcV":
        return np.asarray(0, np.int64)
    return np.asarray(int(np.isnan(x).sum()), np.int64)


def _summary(node: NodeContext) -> Function:
    """Return the counts, the moments, the type and the shape of a tensor."""
    low, high = (float(node.attrs[name]) for name in ("lower_bound", "upper_bound"))
    kind = node.input_dtypes[0].as_datatype_enum

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
register(Kernel("DebugNanCount", constantly(_nan_count)))
register(Kernel("Abort", _abort))
