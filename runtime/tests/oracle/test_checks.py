"""Checks of types, ranks and orders give the results and errors of TensorFlow."""

from typing import Any

import genuine
import numpy as np
import pytest
from oracle_tables import Case, compare, outcome

import capstan

pytestmark = genuine.MARKS


def fed(v1: Any, value: Any) -> Any:
    """Return a tensor of unknown shape."""
    return v1.placeholder_with_default(np.float32(value), None)


def after(check: Any, v1: Any) -> Any:
    """Return a number that is computed after an operation."""
    with v1.control_dependencies([check]):
        return v1.identity(7.0)


VALUES: list[Case] = [
    lambda v1: v1.is_non_decreasing([1, 1, 2]),
    lambda v1: v1.is_non_decreasing([[1, 3], [2, 4]]),
    lambda v1: v1.is_strictly_increasing([1, 1, 2]),
    lambda v1: v1.is_strictly_increasing([1.0, 2.5]),
    lambda v1: v1.is_strictly_increasing(fed(v1, 3)),
    lambda v1: [v1.constant(v1.is_numeric_tensor(x)) for x in (v1.constant(1), 1, "a")],
    lambda v1: v1.constant(v1.is_numeric_tensor(v1.constant(True))),
    lambda v1: v1.assert_scalar(3),
    lambda v1: v1.zeros([], v1.assert_same_float_dtype()),
    lambda v1: v1.zeros([], v1.assert_same_float_dtype([v1.constant(1.0), None])),
    lambda v1: after(v1.assert_type(1, v1.int32), v1),
    lambda v1: after(v1.assert_rank_at_least(fed(v1, [1]), 1), v1),
    lambda v1: after(v1.assert_rank_in(fed(v1, [1]), (0, 1)), v1),
    lambda v1: after(v1.assert_near(fed(v1, [1.0, 2]), [1.0, 2.0000002]), v1),
    lambda v1: after(v1.assert_near(1.0, 1.2, atol=0.3), v1),
    lambda v1: after(v1.assert_integer(3), v1),
    lambda v1: after(v1.assert_rank(fed(v1, [1]), v1.constant(1)), v1),
]
REFUSED: list[Case] = [
    lambda v1: v1.assert_scalar([1]),
    lambda v1: v1.assert_rank_at_least(1, 1),
    lambda v1: v1.assert_rank_in([1], (0, 2)),
    lambda v1: v1.assert_proper_iterable("abc"),
    lambda v1: v1.assert_proper_iterable(4),
    lambda v1: v1.assert_same_float_dtype([v1.constant(1.0, name="a"), v1.constant(1, name="b")]),
    lambda v1: v1.assert_same_float_dtype([v1.constant(1)]),
    lambda v1: v1.assert_equal([1], [2]),
    lambda v1: v1.assert_less(v1.constant([1]), [1], message="m", data=["d", v1.constant(3)]),
    lambda v1: v1.assert_positive([0]),
    lambda v1: v1.assert_non_negative([-1.0], message="m"),
    lambda v1: v1.assert_rank([1], [1]),
    lambda v1: v1.confusion_matrix([-1, 2], [1, 2]),
    lambda v1: v1.confusion_matrix([1, 2], [1, 2], num_classes=2),
    lambda v1: v1.confusion_matrix([[1, 2]], [1, 2, 3]),
    lambda v1: v1.confusion_matrix([1, 2], [1, 2], weights=[1, 2, 3]),
    lambda v1: v1.assert_rank([1], 1.5),
    lambda v1: v1.assert_rank_in([1], (0, [1])),
]
FAILING: list[Case] = [
    lambda v1: after(v1.assert_near([np.inf], [np.inf], rtol=0.1), v1),
    lambda v1: after(v1.assert_rank_at_least(fed(v1, [1]), 2), v1),
    lambda v1: after(v1.assert_rank_in(fed(v1, [1]), (0, 2)), v1),
    lambda v1: after(v1.assert_rank_in(fed(v1, [1]), ()), v1),
    lambda v1: after(v1.assert_negative(fed(v1, [1])), v1),
    lambda v1: v1.confusion_matrix(fed(v1, [-1, 2]), [1, 2]),
    lambda v1: v1.confusion_matrix([0, 1], fed(v1, [1, 2]), num_classes=2),
    lambda v1: after(v1.assert_near(fed(v1, 1.0), 1.2), v1),
    lambda v1: after(v1.assert_near(fed(v1, np.nan), np.nan), v1),
]


def test_results_are_tensorflows(v1: Any) -> None:
    compare(v1, VALUES)


@pytest.mark.parametrize("case", [*REFUSED, *FAILING])
def test_what_does_not_hold_raises_the_error_of_tensorflow(v1: Any, case: Case) -> None:
    found, expected = outcome(capstan, case), outcome(v1, case)
    assert isinstance(found, tuple)
    assert found[0] == expected[0], (found, expected)


def test_a_type_that_differs_is_refused() -> None:
    with pytest.raises(TypeError, match="must be of type"):
        capstan.assert_type([1.0], capstan.int32)
    capstan.assert_integer([1])
    with pytest.raises(TypeError, match='Expected "x" to be integer type'):
        capstan.assert_integer(1.5)
