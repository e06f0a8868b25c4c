"""TensorFlow 1's checks of values and shapes (python/ops/check_ops.py, numerics.py, array_ops.py).

Each `assert_` function returns an operation. If the assertion does not hold, the step that runs the
operation raises InvalidArgumentError.
"""

from collections.abc import Sequence
from typing import Any

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
    "assert_positive", "assert_rank", "check_numerics", "ensure_shape", "is_tensor",
    "verify_tensor_all_finite",
]  # fmt: skip

Data = Sequence[Any] | None


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
    with scoped(name, function, (x, y)):
        x = convert.convert_to_tensor(x, name="x")
        y = convert.convert_to_tensor(y, x.dtype.base_dtype, "y")
        holds = reduce_ops.reduce_all(getattr(raw, op)(x, y))
        printed = data
        if printed is None:
            printed = [
                *([] if message is None else [message]),
                f"Condition x {sign} y did not hold element-wise:",
                f"x ({x.name}) = ", x, f"y ({y.name}) = ", y,
            ]  # fmt: skip
        return control_flow_ops.Assert(holds, printed, summarize)


def assert_equal(
    x: Any, y: Any, data: Data = None, summarize: int | None = None,
    message: str | None = None, name: str | None = None,
) -> graphs.Operation:  # fmt: skip
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
    return _assert("assert_positive", "Greater", ">", x, 0, data, summarize, message, name)


def assert_negative(
    x: Any, data: Data = None, summarize: int | None = None,
    message: str | None = None, name: str | None = None,
) -> graphs.Operation:  # fmt: skip
    return _assert("assert_negative", "Less", "<", x, 0, data, summarize, message, name)


def assert_non_negative(
    x: Any, data: Data = None, summarize: int | None = None,
    message: str | None = None, name: str | None = None,
) -> graphs.Operation:  # fmt: skip
    return _assert(
        "assert_non_negative", "GreaterEqual", ">=", x, 0, data, summarize, message, name
    )


def assert_non_positive(
    x: Any, data: Data = None, summarize: int | None = None,
    message: str | None = None, name: str | None = None,
) -> graphs.Operation:  # fmt: skip
    return _assert("assert_non_positive", "LessEqual", "<=", x, 0, data, summarize, message, name)


def assert_rank(
    x: Any, rank: Any, data: Data = None, summarize: int | None = None,
    message: str | None = None, name: str | None = None,
) -> graphs.Operation:  # fmt: skip
    """Assert that `x` has `rank` axes.

    Raises:
        ValueError: the static rank of `x` is known and differs from `rank`.
    """
    with scoped(name, "assert_rank", (x, rank)):
        x = convert.convert_to_tensor(x, name="x")
        rank_tensor = convert.convert_to_tensor(rank, name="rank")
        static_rank = convert.constant_value(rank_tensor)
        if static_rank is not None and x.shape.ndims not in (None, int(static_rank)):
            raise ValueError(
                f"{message or ''}.  Tensor {x.name} must have rank {int(static_rank)}.  Received "
                f"rank {x.shape.ndims}, shape {x.shape}"
            )
        return assert_equal(raw.Rank(x), rank_tensor, data, summarize, message)


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
