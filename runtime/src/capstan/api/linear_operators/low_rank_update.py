"""`tf.linalg.LinearOperatorLowRankUpdate` (linear_operator_low_rank_update.py)."""

from typing import Any

from capstan.api import linear_algebra_ops, logging, math_ops, matrix_ops, reduce_ops
from capstan.api.linear_operators import arguments, diag, identity, operator
from capstan.api.scoped import scoped
from capstan.core import dimension, shapes
from capstan.framework.raw import raw


class LinearOperatorLowRankUpdate(operator.LinearOperator):
    """The sum L + U D V^H of an operator and a product of low rank.

    `base_operator` is L, of shape [..., M, N]. `u` is [..., M, K] and `v` is [..., N, K]. Without
    `v`, V is U. `diag_update` has the K elements of the diagonal of D, and without it D is the
    identity. Systems are solved by the Woodbury identity, in time O(M K + K^3) beyond those of L.
    """

    def __init__(
        self, base_operator: operator.LinearOperator, u: Any, diag_update: Any = None,
        v: Any = None, is_diag_update_positive: operator.Hint = None,
        is_non_singular: operator.Hint = None, is_self_adjoint: operator.Hint = None,
        is_positive_definite: operator.Hint = None, is_square: operator.Hint = None,
        name: str = "LinearOperatorLowRankUpdate",
    ) -> None:  # fmt: skip
        """Keep the parts.

        Raises:
            ValueError: the hints contradict the parts, or the shapes do not fit.
        """
        dtype = base_operator.dtype
        if diag_update is None:
            if is_diag_update_positive is False:
                raise ValueError(
                    "Default diagonal is the identity, which is positive.  However, user set "
                    "'is_diag_update_positive' to False."
                )
            is_diag_update_positive = True
        elif is_diag_update_positive and dtype.is_complex:
            logging.warn(
                "Note: setting is_diag_update_positive with a complex dtype means that diagonal "
                "is real and positive."
            )
        self._base_operator = base_operator
        self._is_diag_update_positive = is_diag_update_positive
        is_symmetric = base_operator.is_self_adjoint and v is None
        self._use_cholesky = bool(
            is_symmetric and base_operator.is_positive_definite and is_diag_update_positive
        )
        if is_symmetric and not dtype.is_complex:
            if is_self_adjoint is False:
                raise ValueError(
                    "A = L + UDU^H, with L self-adjoint and D real diagonal.  "
                    "Since UDU^H is self-adjoint, this must be a self-adjoint operator."
                )
            is_self_adjoint = True
        if self._use_cholesky:
            if False in (is_positive_definite, is_self_adjoint, is_non_singular):
                raise ValueError("Arguments imply this is self-adjoint positive-definite operator.")
            is_positive_definite = is_self_adjoint = True
        parents = base_operator.graph_parents
        given = [each for each in (u, diag_update, v) if each is not None]
        with scoped(name, "", [*parents, *given]):
            self._u = arguments.parameter(u, "u")
            self._v = self._u if v is None else arguments.parameter(v, "v")
            self._diag_update = None
            if diag_update is not None:
                self._diag_update = arguments.parameter(diag_update, "diag_update")
            own = [self._u, self._diag_update, self._v]
            super().__init__(
                dtype, [*parents, *(each for each in own if each is not None)], is_non_singular,
                is_self_adjoint, is_positive_definite, is_square, name,
            )  # fmt: skip
            self._diag_operator = self._middle()
            self._check_shapes()

    def _middle(self) -> operator.LinearOperator:
        if self._diag_update is not None:
            is_positive = self._is_diag_update_positive
            return diag.LinearOperatorDiag(self._diag_update, is_positive_definite=is_positive)
        known = self._u.shape.internal
        rank = None if known is None else known[-1]
        rank = raw.Shape(self._u)[-1] if rank is None else rank
        return identity.LinearOperatorIdentity(rank, dtype=self.dtype)

    def _check_shapes(self) -> None:
        both = shapes.broadcast(self._u.shape.internal, self._v.shape.internal)
        if both is None:
            return
        batch = shapes.broadcast(self._base_operator.batch_shape.internal, both[:-2])
        rows = dimension.Dimension(both[-2])
        self._base_operator.domain_dimension.assert_is_compatible_with(rows)
        if self._diag_update is not None and self._diag_update.shape.ndims is not None:
            diagonal = self._diag_update.shape.internal
            dimension.Dimension(both[-1]).assert_is_compatible_with(diagonal[-1])
            shapes.broadcast(batch, diagonal[:-1])

    @property
    def u(self) -> Any:
        return self._u

    @property
    def v(self) -> Any:
        return self._v

    @property
    def is_diag_update_positive(self) -> operator.Hint:
        """Whether the diagonal of D is real and positive."""
        return self._is_diag_update_positive

    @property
    def diag_update(self) -> Any:
        return self._diag_update

    @property
    def diag_operator(self) -> operator.LinearOperator:
        """The operator D."""
        return self._diag_operator

    @property
    def base_operator(self) -> operator.LinearOperator:
        """The operator L."""
        return self._base_operator

    def _shape(self) -> shapes.Shape:
        base, own = self._base_operator.shape.internal, self._u.shape.internal
        if base is None or own is None:
            return None
        return shapes.concatenate(shapes.broadcast(base[:-2], own[:-2]), base[-2:])

    def _shape_tensor(self) -> Any:
        base = self._base_operator.shape_tensor()
        batch = raw.BroadcastArgs(base[:-2], raw.Shape(self._u)[:-2])
        return raw.ConcatV2([batch, base[-2:]], 0)

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        left, right = (self._v, self._u) if adjoint else (self._u, self._v)
        base = self._base_operator.matmul(x, adjoint=adjoint, adjoint_arg=adjoint_arg)
        inner = arguments.matmul(right, x, adjoint_a=True, adjoint_b=adjoint_arg)
        inner = self._diag_operator.matmul(inner, adjoint=adjoint)
        return base + arguments.matmul(left, inner)

    def _capacitance(self) -> Any:
        """Return D^-1 + V^H L^-1 U."""
        inner = arguments.matmul(self._v, self._base_operator.solve(self._u), adjoint_a=True)
        return self._diag_operator.inverse().add_to_tensor(inner)

    def _determinant(self) -> Any:
        if self.is_positive_definite:
            return math_ops.exp(self.log_abs_determinant())
        inner = matrix_ops.matrix_determinant(self._capacitance())
        return inner * self._diag_operator.determinant() * self._base_operator.determinant()

    def _log_abs_determinant(self) -> Any:
        outer = self._diag_operator.log_abs_determinant()
        outer = outer + self._base_operator.log_abs_determinant()
        if self._use_cholesky:
            factor = linear_algebra_ops.cholesky(self._capacitance())
            logarithms = math_ops.log(matrix_ops.matrix_diag_part(factor))
            return outer + 2 * reduce_ops.reduce_sum(logarithms, axis=[-1])
        inner = arguments.log_absolute(matrix_ops.matrix_determinant(self._capacitance()))
        return math_ops.cast(inner, self.dtype) + outer

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        base = self._base_operator
        if base.is_non_singular is False:
            raise ValueError(
                "Solve not implemented unless this is a perturbation of a non-singular "
                "LinearOperator."
            )
        left, right = (self._v, self._u) if adjoint else (self._u, self._v)
        solution = base.solve(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)
        inner = arguments.matmul(right, solution, adjoint_a=True)
        if self._use_cholesky:
            factor = linear_algebra_ops.cholesky(self._capacitance())
            inner = arguments.cholesky_solve(factor, inner)
        else:
            inner = arguments.matrix_solve(self._capacitance(), inner, adjoint=adjoint)
        return solution - base.solve(arguments.matmul(left, inner), adjoint=adjoint)
