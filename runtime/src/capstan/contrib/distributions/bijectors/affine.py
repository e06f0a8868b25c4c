"""The bijector of vectors y = scale x + shift (contrib's ops/bijectors/affine.py)."""

from typing import Any

from capstan.api import check_ops, control_flow_ops, creation_ops, linear_operators, reduce_ops
from capstan.api.scoped import scoped
from capstan.contrib.distributions.bijectors.bijector import Bijector
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework.raw import raw


class Affine(Bijector):
    """The function y = scale x + shift of vectors.

    The scale is a lower triangular matrix, and may have a perturbation of low rank.
    """

    def __init__(
        self,
        shift: Any = None,
        scale_identity_multiplier: Any = None,
        scale_diag: Any = None,
        scale_tril: Any = None,
        scale_perturb_factor: Any = None,
        scale_perturb_diag: Any = None,
        validate_args: bool = False,
        name: str = "affine",
    ) -> None:
        """Create a function whose scale is the sum of the matrices that are given.

        `scale_identity_multiplier` is a factor of the identity matrix, `scale_diag` a diagonal, and
        `scale_tril` a lower triangular matrix. Without them, the scale is the identity. To these,
        `scale_perturb_factor @ diag(scale_perturb_diag) @ scale_perturb_factor.T` is added. The
        factor is [..., k, r] for the rank r, and the diagonal [..., r] is 1 by default. With
        `validate_args`, steps check that no number on the diagonal is 0.

        Raises:
            TypeError: the arguments have different dtypes.
            ValueError: `scale_perturb_diag` is given without a factor.
        """
        if scale_perturb_diag is not None and scale_perturb_factor is None:
            raise ValueError("For scale_perturb_diag, scale_perturb_factor must be specified.")
        given = {
            "shift": shift,
            "identity_multiplier": scale_identity_multiplier,
            "diag": scale_diag,
            "tril": scale_tril,
            "perturb_factor": scale_perturb_factor,
            "perturb_diag": scale_perturb_diag,
        }
        with scoped(None, name, given.values()):
            tensors = {
                key: convert.convert_to_tensor(value, name=key)
                for key, value in given.items()
                if value is not None
            }
            kinds = {tensor.dtype.base_dtype for tensor in tensors.values()} or {dtypes.float32}
            if len(kinds) > 1:
                found = {key: tensor.dtype.name for key, tensor in tensors.items()}
                raise TypeError(f"The arguments of Affine need one dtype. They have {found}")
            self._shift = tensors.get("shift")
            self._tril = tensors.get("tril")
            self._diagonal = _diagonal(tensors, kinds.copy().pop(), validate_args)
            if self._tril is not None:
                self._tril = raw.MatrixSetDiag(
                    raw.MatrixBandPart(self._tril, -1, 0), self._diagonal
                )
            self._operator: Any = None
            self._operator = self._perturbed(tensors)
        super().__init__(
            graph_parents=list(tensors.values()),
            forward_min_event_ndims=1,
            is_constant_jacobian=True,
            dtype=kinds.pop(),
            validate_args=validate_args,
            name=name,
        )

    @property
    def shift(self) -> Any:
        """The vector that is added, or None."""
        return self._shift

    @property
    def scale(self) -> Any:
        """The scale, as a `tf.linalg.LinearOperator`."""
        if self._operator is not None:
            return self._operator
        if self._tril is None:
            return linear_operators.LinearOperatorDiag(self._diagonal, is_non_singular=True)
        return linear_operators.LinearOperatorLowerTriangular(self._tril, is_non_singular=True)

    def _perturbed(self, tensors: dict[str, Any]) -> Any:
        """Return the scale with its perturbation, or None without one."""
        factor = tensors.get("perturb_factor")
        if factor is None:
            return None
        if self._tril is None:
            # The diagonal may have a single number for all elements of a vector.
            size = raw.Shape(factor)[-2:-1]
            self._diagonal = self._diagonal * creation_ops.ones(size, factor.dtype)
        inner = tensors.get("perturb_diag")
        return linear_operators.LinearOperatorLowRankUpdate(
            self.scale, factor, inner, is_diag_update_positive=inner is None, is_non_singular=True,
            is_self_adjoint=self._tril is None, is_square=True,
        )  # fmt: skip

    def _forward(self, x: Any) -> Any:
        if self._operator is not None:
            y = self._operator.matvec(x)
        elif self._tril is None:
            y = x * self._diagonal
        else:
            y = reduce_ops.reduce_sum(self._tril * raw.ExpandDims(x, -2), -1)
        return y if self._shift is None else y + self._shift

    def _inverse(self, y: Any) -> Any:
        x = y if self._shift is None else y - self._shift
        if self._operator is not None:
            return self._operator.solvevec(x)
        if self._tril is None:
            return x / self._diagonal
        column = raw.ExpandDims(x, -1)
        matrices = self._tril * creation_ops.ones_like(column)
        column = column + creation_ops.zeros_like(matrices[..., :1])
        return raw.Squeeze(raw.MatrixTriangularSolve(matrices, column), squeeze_dims=[-1])

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        if self._operator is not None:
            return self._operator.log_abs_determinant()
        # The diagonal may have a single number for all elements of a vector.
        logarithms = raw.Log(raw.Abs(self._diagonal)) * creation_ops.ones(
            raw.Shape(x)[-1:], x.dtype
        )
        return reduce_ops.reduce_sum(logarithms, -1)


def _diagonal(tensors: dict[str, Any], kind: dtypes.DType, validate_args: bool) -> Any:
    """Return the diagonal of the scale, with a last axis for the elements of a vector, or 1."""
    parts = []
    if "tril" in tensors:
        parts.append(raw.MatrixDiagPart(tensors["tril"]))
    if "diag" in tensors:
        parts.append(tensors["diag"])
    if "identity_multiplier" in tensors:
        parts.append(raw.ExpandDims(tensors["identity_multiplier"], -1))
    total = parts[0] if parts else creation_ops.ones([1], kind)
    for part in parts[1:]:
        total = total + part
    if not validate_args:
        return total
    check = check_ops.assert_none_equal(total, 0, message="diagonal part must be non-zero")
    return control_flow_ops.with_dependencies([check], total)
