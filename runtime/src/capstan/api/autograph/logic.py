"""`and`, `or`, `not`, `==` and `!=` of converted functions
(python/autograph/operators/logical.py)."""

from collections.abc import Callable, Sequence
from typing import Any

from capstan.api import cond_ops
from capstan.api.autograph import state
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework.raw import raw


def not_(value: Any) -> Any:
    """Return `not value`."""
    return raw.LogicalNot(value) if state.is_tensor(value) else not value


def and_(left: Callable[[], Any], right: Callable[[], Any]) -> Any:
    """Return `left() and right()`. A tensor decides in each step."""
    value = left()
    if not state.is_tensor(value):
        return value and right()
    return _chosen(value, right, lambda: value)


def or_(left: Callable[[], Any], right: Callable[[], Any]) -> Any:
    """Return `left() or right()`."""
    value = left()
    if not state.is_tensor(value):
        return value or right()
    return _chosen(value, lambda: value, right)


def _chosen(value: Any, on_true: Callable[[], Any], on_false: Callable[[], Any]) -> Any:
    pred = convert.convert_to_tensor(value)

    def tensor(function: Callable[[], Any]) -> Any:
        return convert.convert_to_tensor(function())

    return cond_ops.cond(pred, lambda: tensor(on_true), lambda: tensor(on_false), strict=True)


def eq(left: Any, right: Any) -> Any:
    """Return `left == right`. The elements of a tensor are compared."""
    if _is_comparable(left, right):
        return raw.Equal(left, right)
    return left == right


def not_eq(left: Any, right: Any) -> Any:
    """Return `left != right`. The elements of a tensor are compared."""
    if _is_comparable(left, right):
        return raw.NotEqual(left, right)
    return left != right


def _is_comparable(left: Any, right: Any) -> bool:
    if not state.is_tensor(left) and not state.is_tensor(right):
        return False
    for value, other in ((left, right), (right, left)):
        if not state.is_tensor(value):
            kind = dtypes.as_dtype(other.dtype).base_dtype
            try:
                convert.convert_to_tensor(value, kind)
            except (TypeError, ValueError):
                return False
    return True


def chain(tests: Sequence[Callable[[Any, Any], Any]], values: Sequence[Callable[[], Any]]) -> Any:
    """Return the conjunction of comparisons of neighbours, as in `a < b < c`."""

    def rest(place: int, left: Any) -> Any:
        right = values[place + 1]()
        if place == len(tests) - 1:
            return tests[place](left, right)
        return and_(lambda: tests[place](left, right), lambda: rest(place + 1, right))

    return rest(0, values[0]())
