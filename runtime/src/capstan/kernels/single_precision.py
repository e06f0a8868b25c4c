"""Kernels of arithmetic serve bfloat16 by computing in single precision.

NumPy has no BLAS for bfloat16 and rounds each step of a sum. CuPy lacks many of its functions for
bfloat16. An op whose row lists the types that it accepts does arithmetic. For a node with tensors
of bfloat16, the kernel of such an op is therefore made for float32, and its results are rounded
once. The kernels of all other ops only move elements, and serve bfloat16 as they are.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from capstan.core import dtypes, recording
from capstan.core.arrays import Array
from capstan.framework import opdef, ops  # noqa: F401 - fills the table of ops
from capstan.framework.ops import elementwise_groups as rows
from capstan.kernels import elementwise_groups, registry
from capstan.kernels.registry import Function, Kernel, NodeContext

_AS_THEY_ARE = frozenset(
    {
        "AsString", "Bitcast", "Cast", "Cross", "DebugNumericSummaryV2", "DecodePaddedRaw",
        "DecodeRaw", "HistogramSummary", "OnesLike", "RandomStandardNormal", "RandomUniform",
        "ScalarSummary", "TruncatedNormal",
        "StatelessRandomNormal", "StatelessRandomNormalV2", "StatelessRandomUniform",
        "StatelessRandomUniformV2", "StatelessTruncatedNormal", "StatelessTruncatedNormalV2",
        "UnsortedSegmentMax", "UnsortedSegmentMin",
    }
)  # fmt: skip
"""Ops whose rows list types, and whose kernels convert to or from bfloat16 themselves.

The kernel of Bitcast reads its bits, and that of Cross rounds each step as TensorFlow does. Empty
segments have the least or the largest number of their type. A debug summary names the type.
"""

_PRODUCTS = frozenset({"BatchMatMul", "BatchMatMulV2", "BatchMatMulV3", "MatMul"})
"""Ops whose kernels compute bfloat16 on devices, which have fast products of it."""

_MOVES = frozenset({"OneHot", "ScatterNd", "Select", "SelectV2"})
"""Ops that move elements by functions that CuPy lacks for bfloat16."""


def serve_bfloat16() -> None:
    """Let the kernels of arithmetic compute bfloat16 in single precision.

    All other kernels must be registered before this call.
    """
    for row in opdef.all_rows():
        if row.name in _MOVES or (_is_arithmetic(row) and row.name not in _AS_THEY_ARE):
            registry.amend(row.name, _in_single_precision)


def _is_arithmetic(row: opdef.OpDef) -> bool:
    """Return whether an op lists bfloat16 among its types, and neither has nor changes a state."""
    takes_state = any(each.is_ref or each.type == "resource" for each in row.input_arguments)
    lists = any(dtypes.bfloat16 in allowed for allowed in row.types.values())
    return lists and not takes_state


def _in_single_precision(kernel: Kernel) -> Kernel:
    make = kernel.make
    return kernel if make is None else replace(kernel, make=_wide(make))


def _wide(make: Callable[[NodeContext], Function]) -> Callable[[NodeContext], Function]:
    def make_wide(node: NodeContext) -> Function:
        kinds = (*node.input_dtypes, *node.output_dtypes)
        if dtypes.bfloat16 not in kinds or (node.op in _PRODUCTS and not node.hardware.is_host):
            return make(node)
        function = _rounding(node, make(_widened(node)))
        is_compiled = node.op in rows.MEMBERS and not node.hardware.is_host
        return _compiled(node, function) if is_compiled else function

    return make_wide


def _compiled(node: NodeContext, function: Function) -> Function:
    """Return `function` as one kernel of the device, if its code can be recorded."""
    recorder = recording.Recorder(np.float32)
    inputs = [
        recorder.input(shape, dtype.as_numpy_dtype)
        for shape, dtype in zip(node.input_shapes, node.input_dtypes, strict=True)
    ]
    try:
        program = recorder.program([function(*inputs)])
    except recording.Unrecordable:
        return function
    kernel = elementwise_groups.running(node, program)

    def compute(*arrays: Array) -> Any:
        # A group records the code again.
        is_traced = isinstance(arrays[0], recording.Traced)
        return function(*arrays) if is_traced else kernel(*arrays)

    return compute


def _widened(node: NodeContext) -> NodeContext:
    """Return the node with float32 in the place of bfloat16."""
    return replace(
        node,
        attrs={name: _wide_type(value) for name, value in node.attrs.items()},
        input_dtypes=[_wide_type(dtype) for dtype in node.input_dtypes],
        output_dtypes=[_wide_type(dtype) for dtype in node.output_dtypes],
        constants={
            index: _wide_array(value, node.input_dtypes[index])
            for index, value in node.constants.items()
        },
    )


def _rounding(node: NodeContext, function: Function) -> Function:
    """Return `function` of float32 as a function of bfloat16. It also takes arrays of results."""
    given, made = node.input_dtypes, node.output_dtypes

    def compute(*arrays: Array) -> Any:
        results = function(*map(_wide_array, arrays[: len(given)], given))
        out = arrays[len(given) :]
        if len(made) == 1:
            return _result(results, made[0], out[0] if out else None)
        places: Sequence[Array | None] = out or (None,) * len(made)
        return tuple(map(_result, results, made, places))

    return compute


def _wide_type(value: Any) -> Any:
    return dtypes.float32 if value is dtypes.bfloat16 else value


def _wide_array(array: Array, dtype: dtypes.DType) -> Array:
    return array.astype(np.float32) if dtype is dtypes.bfloat16 else array


def _result(value: Any, dtype: dtypes.DType, out: Array | None) -> Any:
    """Return a result with elements of `dtype`, in `out` if it is given."""
    if out is not None:
        np.copyto(out, value, casting="unsafe")
        return out
    return value.astype(dtype.as_numpy_dtype) if dtype is dtypes.bfloat16 else value
