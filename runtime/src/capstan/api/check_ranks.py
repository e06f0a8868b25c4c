"""TensorFlow 1's checks of ranks (python/ops/check_ops.py).

Each function decides before the step if it can, and returns an operation without effect. Otherwise
it returns an operation that raises InvalidArgumentError in a step whose tensor has another rank.
"""

import operator
from collections.abc import Callable, Sequence
from typing import Any

from capstan.api import check_types, context, control_flow_ops
from capstan.api.scoped import scoped
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework import graph as graphs
from capstan.framework.raw import raw

__all__ = ["assert_rank", "assert_rank_at_least", "assert_rank_in"]

Data = Sequence[Any] | None


def assert_rank(
    x: Any, rank: Any, data: Data = None, summarize: int | None = None,
    message: str | None = None, name: str | None = None,
) -> graphs.Operation:  # fmt: skip
    """Require `rank` axes. `rank` is a scalar of int32, which may be a tensor.

    Raises:
        TypeError: `rank` is not an integer.
        ValueError: `rank` is not a scalar, or the static rank of `x` differs.
    """
    with scoped(name, "assert_rank", (x, rank)):
        tests = operator.eq, raw.Equal
        return _check(x, (rank,), "have rank", tests, data, summarize, message)


def assert_rank_at_least(
    x: Any, rank: Any, data: Data = None, summarize: int | None = None,
    message: str | None = None, name: str | None = None,
) -> graphs.Operation:  # fmt: skip
    """Require at least `rank` axes. `rank` is a scalar of int32, which may be a tensor.

    Raises:
        TypeError: `rank` is not an integer.
        ValueError: `rank` is not a scalar, or the static rank of `x` is smaller.
    """
    with scoped(name, "assert_rank_at_least", (x, rank)):
        tests = operator.ge, raw.GreaterEqual
        return _check(x, (rank,), "have rank at least", tests, data, summarize, message)


def assert_rank_in(
    x: Any, ranks: Sequence[Any], data: Data = None, summarize: int | None = None,
    message: str | None = None, name: str | None = None,
) -> graphs.Operation:  # fmt: skip
    """Require a number of axes that is among `ranks`, which are scalars of int32 or tensors.

    Raises:
        TypeError: a rank is not an integer.
        ValueError: a rank is not a scalar, or the static rank of `x` is not among them.
    """
    with scoped(name, "assert_rank_in", (x, *ranks)):
        tests = operator.eq, raw.Equal
        return _check(x, ranks, "have rank in", tests, data, summarize, message)


def _check(
    x: Any,
    ranks: Sequence[Any],
    rule: str,
    tests: tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]],
    data: Data,
    summarize: int | None,
    message: str | None,
) -> graphs.Operation:
    """Require that one of `ranks` passes the test of the rank of `x`.

    `tests` has the test of two numbers and the operation that tests two tensors.
    """
    x = convert.convert_to_tensor(x, name="x")
    wanted = [convert.convert_to_tensor(rank, name="rank") for rank in ranks]
    for rank in wanted:
        check_types.assert_type(rank, dtypes.int32)
    known = [convert.constant_value(rank) for rank in wanted]
    if any(value is not None and value.ndim for value in known):
        raise ValueError("Rank must be a scalar.")
    numbers = tuple(int(value) for value in known if value is not None)
    static = x.shape.ndims
    if static is not None and len(numbers) == len(wanted):
        if any(tests[0](static, number) for number in numbers):
            operation: graphs.Operation = raw.NoOp(name="static_checks_determined_all_ok")
            return operation
        shown: Any = numbers if rule.endswith("in") else numbers[0]
        raise ValueError(
            f"{message or ''}.  Tensor {x.name} must {rule} {shown}.  Received rank {static}, "
            f"shape {x.shape}"
        )
    checks = [
        assert_rank(rank, 0, ["Rank must be a scalar. Received rank: ", rank])
        for rank, value in zip(wanted, known, strict=True)
        if value is None
    ]
    printed = data or [
        message or "",
        f"Tensor {x.name} must {rule}",
        *wanted,
        "Received shape: ",
        raw.Shape(x),
    ]
    with context.control_dependencies(checks):
        holds = convert.convert_to_tensor(False)
        for rank in wanted:
            holds = raw.LogicalOr(holds, tests[1](raw.Rank(x), rank))
    return control_flow_ops.Assert(holds, printed, summarize)
