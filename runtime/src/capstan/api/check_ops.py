"""TensorFlow 1's checks of values and shapes (python/ops/check_ops.py, numerics.py, array_ops.py).

Each `assert_` function returns an operation. If the assertion does not hold, the step that runs the
operation raises InvalidArgumentError. If the values are known before the step, the function raises
the error itself.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from capstan import errors
from capstan.api import control_flow_ops, reduce_ops
from capstan.api.scoped import scoped
from capstan.core import dtypes, tensor_shape
from capstan.framework import convert, indexed_slices, sparse_tensor
from capstan.framework import graph as graphs
from capstan.framework.raw import raw

__all__ = [
    "add_check_numerics_ops",
    "assert_equal", "assert_greater", "assert_greater_equal", "assert_less", "assert_less_equal",
    "assert_negative", "assert_non_negative", "assert_non_positive", "assert_none_equal",
    "assert_positive", "check_numerics", "ensure_shape", "is_tensor",
    "verify_tensor_all_finite",
]  # fmt: skip

Data = Sequence[Any] | None

_COMPARISONS = {
    "Equal": np.equal,
    "NotEqual": np.not_equal,
    "Less": np.less,
    "LessEqual": np.less_equal,
    "Greater": np.greater,
    "GreaterEqual": np.greater_equal,
}


def _assert(
    function: str,
    op: str,
    sign: str,
    x: Any,
    y: Any,
    data: Data,
    summarize: int | None,
    message: str | None,
    name: str | None,
) -> graphs.Operation:
    """Assert that `op` holds for all elements of `x` and `y`.

    Raises:
        InvalidArgumentError: both values are known before the step, and the condition is false.
    """
    with scoped(name, function, (x, y)):
        x = convert.convert_to_tensor(x, name="x")
        y = convert.convert_to_tensor(y, x.dtype.base_dtype, "y")
        printed = data
        if printed is None:
            printed = [
                f"Condition x {sign} y did not hold element-wise:",
                f"x ({x.name}) = ", x, f"y ({y.name}) = ", y,
            ]  # fmt: skip
        if message is not None:
            printed = [message, *printed]
        holds = reduce_ops.reduce_all(getattr(raw, op)(x, y))
        first, second = convert.constant_value(x), convert.constant_value(y)
        if first is not None and second is not None:
            _check_values(_COMPARISONS[op](first, second), printed)
        return control_flow_ops.Assert(holds, printed, summarize)


def _check_values(holds: Any, printed: Sequence[Any]) -> None:
    """Raise InvalidArgumentError with what an assertion prints, unless all elements hold."""
    if np.all(holds):
        return
    lines = []
    for part in printed:
        value = convert.constant_value(part) if isinstance(part, graphs.Tensor) else None
        lines.append(str(part if value is None else value))
    raise errors.InvalidArgumentError(None, None, "\n".join(lines))


def _assert_sign(
    function: str,
    sign: str,
    compare: Callable[[Any, Any, Data, int | None], graphs.Operation],
    x: Any,
    data: Data,
    summarize: int | None,
    message: str | None,
    name: str | None,
) -> graphs.Operation:
    """Assert that the elements of `x` have a sign. `compare` gets `x` and a zero of its dtype."""
    with scoped(name, function, (x,)):
        x = convert.convert_to_tensor(x, name="x")
        printed = data
        if printed is None:
            condition = f"Condition x {sign} 0 did not hold element-wise:"
            printed = [message or "", condition, f"x ({x.name}) = ", x]
        zero = convert.convert_to_tensor(0, x.dtype.base_dtype)
        return compare(x, zero, printed, summarize)


def assert_equal(
    x: Any, y: Any, data: Data = None, summarize: int | None = None,
    message: str | None = None, name: str | None = None,
) -> graphs.Operation:  # fmt: skip
    if x is y:
        with scoped(name, "assert_equal", (x,)):
            return control_flow_ops.no_op()
    return _assert("assert_equal", "Equal", "==", x, y, data, summarize, message, name)


def assert_none_equal(
    x: Any, y: Any, data: Data = None, summarize: int | None = None,
    message: str | None = None, name: str | None = None,
) -> graphs.Operation:  # fmt: skip
    return _assert("assert_none_equal", "NotEqual", "!=", x, y, data, summarize, message, name)


def assert_less(
    x: Any, y: Any, data: Data = None, summarize: int | None = None,
    message: str | None = None, name: str | None = None,
) -> graphs.Operation:  # fmt: skip
    return _assert("assert_less", "Less", "<", x, y, data, summarize, message, name)


def assert_less_equal(
    x: Any, y: Any, data: Data = None, summarize: int | None = None,
    message: str | None = None, name: str | None = None,
) -> graphs.Operation:  # fmt: skip
    return _assert("assert_less_equal", "LessEqual", "<=", x, y, data, summarize, message, name)


def assert_greater(
    x: Any, y: Any, data: Data = None, summarize: int | None = None,
    message: str | None = None, name: str | None = None,
) -> graphs.Operation:  # fmt: skip
    return _assert("assert_greater", "Greater", ">", x, y, data, summarize, message, name)


def assert_greater_equal(
    x: Any, y: Any, data: Data = None, summarize: int | None = None,
    message: str | None = None, name: str | None = None,
) -> graphs.Operation:  # fmt: skip
    return _assert(
        "assert_greater_equal", "GreaterEqual", ">=", x, y, data, summarize, message, name
    )


def assert_positive(
    x: Any, data: Data = None, summarize: int | None = None,
    message: str | None = None, name: str | None = None,
) -> graphs.Operation:  # fmt: skip
    return _assert_sign(
        "assert_positive",
        ">",
        lambda x, zero, *rest: assert_less(zero, x, *rest),
        x,
        data,
        summarize,
        message,
        name,
    )


def assert_negative(
    x: Any, data: Data = None, summarize: int | None = None,
    message: str | None = None, name: str | None = None,
) -> graphs.Operation:  # fmt: skip
    return _assert_sign("assert_negative", "<", assert_less, x, data, summarize, message, name)


def assert_non_negative(
    x: Any, data: Data = None, summarize: int | None = None,
    message: str | None = None, name: str | None = None,
) -> graphs.Operation:  # fmt: skip
    return _assert_sign(
        "assert_non_negative",
        ">=",
        lambda x, zero, *rest: assert_less_equal(zero, x, *rest),
        x,
        data,
        summarize,
        message,
        name,
    )


def assert_non_positive(
    x: Any, data: Data = None, summarize: int | None = None,
    message: str | None = None, name: str | None = None,
) -> graphs.Operation:  # fmt: skip
    return _assert_sign(
        "assert_non_positive", "<=", assert_less_equal, x, data, summarize, message, name
    )


def check_numerics(tensor: Any, message: str, name: str | None = None) -> Any:
    """Return `tensor`. A NaN or an infinity makes the step raise InvalidArgumentError."""
    return raw.CheckNumerics(tensor, message=message, name=name)


def add_check_numerics_ops() -> graphs.Operation:
    """Check every tensor of float16, float32 and float64 that the default graph has now.

    Return an operation that runs all checks. A check follows those of the operations that were
    added earlier. If a tensor has a NaN or an infinity, the step raises InvalidArgumentError.

    Raises:
        ValueError: such a tensor is in a conditional or a loop.
    """
    checks: list[Any] = []
    graph = graphs.get_default_graph()
    for op in graph.get_operations():
        for output in op.outputs:
            if output.dtype not in (dtypes.float16, dtypes.float32, dtypes.float64):
                continue
            if op.control_flow_context is not None:
                raise ValueError(
                    "`tf.add_check_numerics_ops() is not compatible with TensorFlow control flow "
                    "operations such as `tf.cond()` or `tf.while_loop()`."
                )
            with graph.control_dependencies(checks):
                checks = [check_numerics(output, f"{op.name}:{output.value_index}")]
    return control_flow_ops.group(*checks)


def verify_tensor_all_finite(
    t: Any = None,
    msg: str | None = None,
    name: str | None = None,
    x: Any = None,
    message: str | None = None,
) -> Any:
    """Return the tensor `t`. A NaN or an infinity makes the step raise InvalidArgumentError.

    `x` and `message` are newer names of `t` and `msg`.
    """
    tensor, text = (t if x is None else x), (msg if message is None else message)
    with scoped(name, "VerifyFinite", (tensor,)):
        tensor = convert.convert_to_tensor(tensor, name="x")
        return raw.CheckNumerics(tensor, message=text or "")


def ensure_shape(x: Any, shape: Any, name: str | None = None) -> Any:
    """Return `x` with the static shape `shape`. Another shape in a step makes the step fail."""
    return raw.EnsureShape(x, shape=tensor_shape.TensorShape(shape), name=name)


def is_tensor(x: Any) -> bool:
    """Return whether `x` is a tensor, a variable or a sparse tensor of a graph."""
    kinds = graphs.Tensor, sparse_tensor.SparseTensor, indexed_slices.IndexedSlices
    return isinstance(x, kinds) or hasattr(x, "is_initialized") or hasattr(x, "initialized_value")
