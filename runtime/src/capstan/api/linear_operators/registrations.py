"""The rules for adjoints, inverses, factors, products and solutions that are operators.

Sources: adjoint_registrations.py, cholesky_registrations.py, inverse_registrations.py,
matmul_registrations.py, solve_registrations.py and registrations_util.py of python/ops/linalg.
"""

from typing import Any

from capstan.api import complex_ops, linear_algebra_ops, math_ops
from capstan.api.linear_operators import algebra, operator
from capstan.api.linear_operators.adjoint import LinearOperatorAdjoint
from capstan.api.linear_operators.block_diag import LinearOperatorBlockDiag
from capstan.api.linear_operators.circulant import LinearOperatorCirculant
from capstan.api.linear_operators.composition import LinearOperatorComposition
from capstan.api.linear_operators.diag import LinearOperatorDiag
from capstan.api.linear_operators.householder import LinearOperatorHouseholder
from capstan.api.linear_operators.identity import (
    LinearOperatorIdentity,
    LinearOperatorScaledIdentity,
)
from capstan.api.linear_operators.inversion import LinearOperatorInversion
from capstan.api.linear_operators.kronecker import LinearOperatorKronecker
from capstan.api.linear_operators.lower_triangular import LinearOperatorLowerTriangular
from capstan.api.linear_operators.zeros import LinearOperatorZeros
from capstan.framework.raw import raw

Hints = dict[str, Any]


def _hints(own: Any, **others: Any) -> Hints:
    """Return the hints of an operator, with some replaced."""
    names = ("is_non_singular", "is_self_adjoint", "is_positive_definite", "is_square")
    return {name: getattr(own, name) for name in names} | others


_OF_FACTOR: Hints = {"is_non_singular": True, "is_self_adjoint": False, "is_square": True}
_OF_DIAGONAL_FACTOR: Hints = {
    "is_non_singular": True, "is_self_adjoint": True, "is_positive_definite": True,
    "is_square": True,
}  # fmt: skip


@algebra.adjoint.register
def _(own: operator.LinearOperator) -> Any:
    return LinearOperatorAdjoint(own, **_hints(own))


@algebra.adjoint.register
def _(own: LinearOperatorAdjoint) -> Any:
    return own.operator


@algebra.adjoint.register(LinearOperatorIdentity)
@algebra.adjoint.register(LinearOperatorHouseholder)
@algebra.inverse.register(LinearOperatorIdentity)
@algebra.inverse.register(LinearOperatorHouseholder)
def _(own: Any) -> Any:
    return own


@algebra.adjoint.register
def _(own: LinearOperatorScaledIdentity) -> Any:
    hints = _hints(own, is_square=True)
    return LinearOperatorScaledIdentity(own._num_rows, complex_ops.conj(own.multiplier), **hints)


@algebra.adjoint.register
def _(own: LinearOperatorDiag) -> Any:
    return LinearOperatorDiag(complex_ops.conj(own.diag), **_hints(own, is_square=True))


@algebra.adjoint.register(LinearOperatorBlockDiag)
@algebra.adjoint.register(LinearOperatorKronecker)
def _(own: Any) -> Any:
    parts = [each.adjoint() for each in own.operators]
    return _same_kind(own)(parts, **_hints(own, is_square=True))


def _same_kind(own: Any) -> Any:
    is_blocks = isinstance(own, LinearOperatorBlockDiag)
    return LinearOperatorBlockDiag if is_blocks else LinearOperatorKronecker


@algebra.adjoint.register
def _(own: LinearOperatorCirculant) -> Any:
    spectrum = complex_ops.conj(own.spectrum)
    return LinearOperatorCirculant(spectrum, own.dtype, **_hints(own, is_square=True))


@algebra.inverse.register
def _(own: operator.LinearOperator) -> Any:
    return LinearOperatorInversion(own, **_hints(own))


@algebra.inverse.register
def _(own: LinearOperatorInversion) -> Any:
    return own.operator


@algebra.inverse.register
def _(own: LinearOperatorDiag) -> Any:
    return LinearOperatorDiag(1.0 / own.diag, **_hints(own, is_square=True))


@algebra.inverse.register
def _(own: LinearOperatorScaledIdentity) -> Any:
    hints = _hints(own, is_square=True)
    return LinearOperatorScaledIdentity(own._num_rows, 1.0 / own.multiplier, **hints)


@algebra.inverse.register(LinearOperatorBlockDiag)
@algebra.inverse.register(LinearOperatorKronecker)
def _(own: Any) -> Any:
    parts = [each.inverse() for each in own.operators]
    return _same_kind(own)(parts, **_hints(own, is_square=True))


@algebra.inverse.register
def _(own: LinearOperatorCirculant) -> Any:
    return LinearOperatorCirculant(1.0 / own.spectrum, own.dtype, **_hints(own, is_square=True))


@algebra.cholesky.register
def _(own: operator.LinearOperator) -> Any:
    return LinearOperatorLowerTriangular(linear_algebra_ops.cholesky(own.to_dense()), **_OF_FACTOR)


@algebra.cholesky.register
def _(own: LinearOperatorDiag) -> Any:
    return LinearOperatorDiag(math_ops.sqrt(own.diag), **_OF_DIAGONAL_FACTOR)


@algebra.cholesky.register
def _(own: LinearOperatorIdentity) -> Any:
    return own


@algebra.cholesky.register
def _(own: LinearOperatorScaledIdentity) -> Any:
    factor = math_ops.sqrt(own.multiplier)
    return LinearOperatorScaledIdentity(own._num_rows, factor, **_OF_DIAGONAL_FACTOR)


@algebra.cholesky.register(LinearOperatorBlockDiag)
@algebra.cholesky.register(LinearOperatorKronecker)
def _(own: Any) -> Any:
    # The factors of diagonal blocks are self-adjoint, so False would contradict them.
    parts = [each.cholesky() for each in own.operators]
    is_diagonal = all(each.is_self_adjoint for each in parts)
    return _same_kind(own)(parts, **_OF_FACTOR | {"is_self_adjoint": is_diagonal})


def _are_non_singular(left: Any, right: Any) -> operator.Hint:
    if left.is_non_singular is False or right.is_non_singular is False:
        return False
    both: operator.Hint = left.is_non_singular and right.is_non_singular
    return both


def _commuting_hints(left: Any, right: Any) -> Hints:
    """Return the hints of the product of operators that commute."""
    symmetric = (left.is_self_adjoint, right.is_self_adjoint)
    is_positive = all(each.is_positive_definite and each.is_self_adjoint for each in (left, right))
    is_self_adjoint = True if all(symmetric) else False if set(symmetric) == {True, False} else None
    return {
        "is_non_singular": _are_non_singular(left, right), "is_self_adjoint": is_self_adjoint,
        "is_positive_definite": True if is_positive else None, "is_square": True,
    }  # fmt: skip


def _pair_hints(left: Any, right: Any) -> Hints:
    """Return the hints of the product of any two operators."""
    is_square: operator.Hint = None
    if left.is_square and right.is_square:
        is_square = True
    elif left.is_square is False and right.is_square is False:
        rows, columns = left.range_dimension.value, right.domain_dimension.value
        is_square = None if rows is None or columns is None else rows == columns
    elif None not in (left.is_square, right.is_square) and left.is_square != right.is_square:
        is_square = False
    if is_square is False:
        return dict.fromkeys(_hints(left), False)
    is_non_singular = _are_non_singular(left, right) if is_square else None
    return {"is_non_singular": is_non_singular, "is_square": is_square}


def _with_zeros(left: Any, right: Any, zeros: Any) -> Any:
    if not left.is_square or not right.is_square:
        raise ValueError(
            "Matmul with non-square `LinearOperator`s or non-square `LinearOperatorZeros` not "
            "supported at this time."
        )
    return zeros


@algebra.matmul.register
def _product(left: operator.LinearOperator, right: Any) -> Any:
    if isinstance(right, LinearOperatorIdentity):
        return left
    if isinstance(right, LinearOperatorZeros):
        return _with_zeros(left, right, right)
    return LinearOperatorComposition([left, right], **_pair_hints(left, right))


@algebra.matmul.register
def _(left: LinearOperatorIdentity, right: Any) -> Any:
    return right


@algebra.matmul.register
def _(left: LinearOperatorZeros, right: Any) -> Any:
    return _with_zeros(left, right, left)


def _diagonal(own: Any) -> Any:
    """Return the diagonal of an operator that is diagonal or triangular, else None."""
    if isinstance(own, LinearOperatorDiag):
        return own.diag
    if isinstance(own, LinearOperatorScaledIdentity):
        return raw.ExpandDims(own.multiplier, -1)
    return None


@algebra.matmul.register(LinearOperatorDiag)
@algebra.matmul.register(LinearOperatorScaledIdentity)
def _(left: Any, right: Any) -> Any:
    has_diag = isinstance(left, LinearOperatorDiag)
    if isinstance(right, LinearOperatorLowerTriangular) and has_diag:
        tril = raw.ExpandDims(left.diag, -1) * right.to_dense()
        return LinearOperatorLowerTriangular(tril, **_triangular_hints(left, right))
    diagonal = _diagonal(right)
    if diagonal is None or not (has_diag or isinstance(right, LinearOperatorDiag)):
        return _product(left, right)
    return LinearOperatorDiag(_diagonal(left) * diagonal, **_commuting_hints(left, right))


def _triangular_hints(left: Any, right: Any) -> Hints:
    return _commuting_hints(left, right) | {"is_positive_definite": None}


@algebra.matmul.register
def _(left: LinearOperatorLowerTriangular, right: Any) -> Any:
    if not isinstance(right, LinearOperatorDiag):
        return _product(left, right)
    tril = left.to_dense() * raw.ExpandDims(right.diag, -2)
    return LinearOperatorLowerTriangular(tril, **_triangular_hints(left, right))


@algebra.matmul.register
def _(left: LinearOperatorCirculant, right: Any) -> Any:
    if not isinstance(right, LinearOperatorCirculant):
        return _product(left, right)
    spectrum = left.spectrum * right.spectrum
    return LinearOperatorCirculant(spectrum, left.dtype, **_commuting_hints(left, right))


@algebra.solve.register
def _solution(left: operator.LinearOperator, right: Any) -> Any:
    parts = [LinearOperatorInversion(left), right]
    return LinearOperatorComposition(parts, **_pair_hints(left, right))


@algebra.solve.register
def _(left: LinearOperatorInversion, right: Any) -> Any:
    return left.operator.matmul(right)


@algebra.solve.register
def _(left: LinearOperatorIdentity, right: Any) -> Any:
    return right


@algebra.solve.register(LinearOperatorDiag)
@algebra.solve.register(LinearOperatorScaledIdentity)
def _(left: Any, right: Any) -> Any:
    has_diag = isinstance(left, LinearOperatorDiag)
    if isinstance(right, LinearOperatorLowerTriangular) and has_diag:
        tril = right.to_dense() / raw.ExpandDims(left.diag, -1)
        return LinearOperatorLowerTriangular(tril, **_triangular_hints(left, right))
    diagonal = _diagonal(right)
    if diagonal is None or not (has_diag or isinstance(right, LinearOperatorDiag)):
        return _solution(left, right)
    return LinearOperatorDiag(diagonal / _diagonal(left), **_commuting_hints(left, right))


@algebra.solve.register
def _(left: LinearOperatorCirculant, right: Any) -> Any:
    if not isinstance(right, LinearOperatorCirculant):
        return _solution(left, right)
    spectrum = right.spectrum / left.spectrum
    return LinearOperatorCirculant(spectrum, left.dtype, **_commuting_hints(left, right))
