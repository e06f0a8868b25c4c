"""Functions of one or two linear operators whose result is an operator.

Source: python/ops/linalg/linear_operator_algebra.py. `registrations` gives each function its rules
for the classes of operators. The class of the first argument chooses the rule.
"""

import functools
from typing import Any


@functools.singledispatch
def adjoint(operator: Any) -> Any:
    """Return the adjoint operator.

    Raises:
        ValueError: there is no rule for the class of the operator.
    """
    raise ValueError(f"No adjoint registered for {type(operator)}")


@functools.singledispatch
def inverse(operator: Any) -> Any:
    """Return the operator that undoes `operator`.

    Raises:
        ValueError: there is no rule for the class of the operator.
    """
    raise ValueError(f"No inverse registered for {type(operator)}")


@functools.singledispatch
def cholesky(operator: Any) -> Any:
    """Return the lower triangular operator L with L L^H = `operator`.

    Raises:
        ValueError: there is no rule for the class of the operator.
    """
    raise ValueError(f"No cholesky decomposition registered for {type(operator)}")


@functools.singledispatch
def matmul(left: Any, right: Any) -> Any:
    """Return the product of two operators.

    Raises:
        ValueError: there is no rule for the classes of the operators.
    """
    raise ValueError(f"No matmul registered for {type(left)}.matmul({type(right)})")


@functools.singledispatch
def solve(left: Any, right: Any) -> Any:
    """Return the product of the inverse of `left` with `right`.

    Raises:
        ValueError: there is no rule for the classes of the operators.
    """
    raise ValueError(f"No solve registered for {type(left)}.solve({type(right)})")
