"""The functions of `tf` that also take linear operators (python/ops/linalg/linear_operator.py).

For example, `tf.matmul(operator, x)` is `operator.matmul(x)`.
"""

import functools
import inspect
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from capstan.api import linear_algebra_ops, math_ops, matrix_ops

Function = Callable[..., Any]


class LinearOperand:
    """The base of the linear operators. This module does not import them, because few programs use
    them.
    """


def _with(function: Function, called: Function, *names: str) -> Function:
    """Return a function that calls `called` if one of the named arguments is a linear operator.

    Both functions have the same arguments.
    """
    signature = inspect.signature(function)

    @functools.wraps(function)
    def dispatched(*args: Any, **kwargs: Any) -> Any:
        if any(isinstance(given, LinearOperand) for given in (*args, *kwargs.values())):
            bound = signature.bind(*args, **kwargs)
            if any(isinstance(bound.arguments.get(name), LinearOperand) for name in names):
                return called(*args, **kwargs)
        return function(*args, **kwargs)

    return dispatched


def _named(name: str | None) -> dict[str, str]:
    return {} if name is None else {"name": name}


def _inverse(input: Any, adjoint: bool = False, name: str | None = None) -> Any:
    inverse = input.inverse(**_named(name))
    return inverse.adjoint() if adjoint else inverse


def _logdet(matrix: Any, name: str | None = None) -> Any:
    if matrix.is_positive_definite and matrix.is_self_adjoint:
        return matrix.log_abs_determinant(**_named(name))
    raise ValueError("Expected matrix to be self-adjoint positive definite.")


def _matmul(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> Any:
    if transpose_a or transpose_b:
        raise ValueError("Transposing not supported at this time.")
    if a_is_sparse or b_is_sparse:
        raise ValueError("Sparse methods not supported at this time.")
    if isinstance(a, LinearOperand):
        operator: Any = a
        return operator.matmul(b, adjoint=adjoint_a, adjoint_arg=adjoint_b, **_named(name))
    # A B is the adjoint of B^H A^H.
    return matrix_ops.adjoint(
        b.matmul(a, adjoint=not adjoint_b, adjoint_arg=not adjoint_a, **_named(name))
    )


def _solve(matrix: Any, rhs: Any, adjoint: bool = False, name: str | None = None) -> Any:
    if not isinstance(matrix, LinearOperand):
        raise ValueError(  # noqa: TRY004 - TensorFlow's error
            "Passing in `matrix` as a Tensor and `rhs` as a LinearOperator is not supported."
        )
    operator: Any = matrix
    return operator.solve(rhs, adjoint=adjoint, **_named(name))


def _method(function: Function, method: str) -> Function:
    """Return `function`, which has a matrix and a name, with the method for linear operators."""
    matrix, *_ = inspect.signature(function).parameters

    def called(*args: Any, **kwargs: Any) -> Any:
        bound = inspect.signature(function).bind(*args, **kwargs).arguments
        return getattr(bound[matrix], method)(**_named(bound.get("name")))

    return _with(function, called, matrix)


adjoint = _method(matrix_ops.adjoint, "adjoint")
logdet = _with(linear_algebra_ops.logdet, _logdet, "matrix")

_FUNCTIONS: Final[Mapping[Function, Function]] = MappingProxyType(
    {
        linear_algebra_ops.cholesky: _method(linear_algebra_ops.cholesky, "cholesky"),
        linear_algebra_ops.matrix_solve: _with(
            linear_algebra_ops.matrix_solve, _solve, "matrix", "rhs"
        ),
        math_ops.matmul: _with(math_ops.matmul, _matmul, "a", "b"),
        matrix_ops.matrix_determinant: _method(matrix_ops.matrix_determinant, "determinant"),
        matrix_ops.matrix_diag_part: _method(matrix_ops.matrix_diag_part, "diag_part"),
        matrix_ops.matrix_inverse: _with(matrix_ops.matrix_inverse, _inverse, "input"),
        matrix_ops.trace: _method(matrix_ops.trace, "trace"),
    }
)
"""The functions for tensors, with those that also take linear operators."""


def overrides(namespace: Mapping[str, Any]) -> dict[str, Function]:
    """Return the names whose functions also take linear operators, with these functions."""
    functions = {name: each for name, each in namespace.items() if inspect.isfunction(each)}
    return {name: _FUNCTIONS[each] for name, each in functions.items() if each in _FUNCTIONS}
