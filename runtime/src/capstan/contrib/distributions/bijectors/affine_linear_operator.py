"""The bijector of vectors y = scale x + shift of a LinearOperator (ops/bijectors)."""

from typing import Any

from capstan.api.linear_operators import LinearOperator
from capstan.api.scoped import scoped
from capstan.contrib.distributions.bijectors.bijector import Bijector
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework.raw import raw


class AffineLinearOperator(Bijector):
    """The function y = scale x + shift of vectors, where the scale is a LinearOperator."""

    def __init__(
        self,
        shift: Any = None,
        scale: Any = None,
        validate_args: bool = False,
        name: str = "affine_linear_operator",
    ) -> None:
        """Create a function. By default, the scale is the identity, and the shift is 0.

        Raises:
            TypeError: the scale is no LinearOperator, or its dtype is not that of the shift.
            ValueError: with `validate_args`, the scale is not known to be invertible.
        """
        with scoped(None, name, (shift,)):
            self._shift = None if shift is None else convert.convert_to_tensor(shift, name="shift")
        self._scale = scale
        kind = dtypes.float32 if self._shift is None else self._shift.dtype.base_dtype
        if scale is not None:
            _check(scale, None if self._shift is None else kind, validate_args=validate_args)
            kind = scale.dtype.base_dtype
        given = [] if self._shift is None else [self._shift]
        super().__init__(
            graph_parents=given + ([] if scale is None else list(scale.graph_parents)),
            forward_min_event_ndims=1,
            is_constant_jacobian=True,
            dtype=kind,
            validate_args=validate_args,
            name=name,
        )

    @property
    def shift(self) -> Any:
        """The vector that is added, or None."""
        return self._shift

    @property
    def scale(self) -> Any:
        """The LinearOperator, or None."""
        return self._scale

    def _forward(self, x: Any) -> Any:
        y = raw.Identity(x) if self._scale is None else self._scale.matvec(x)
        return y if self._shift is None else y + self._shift

    def _inverse(self, y: Any) -> Any:
        x = raw.Identity(y) if self._shift is None else y - self._shift
        return x if self._scale is None else self._scale.solvevec(x)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        if self._scale is None:
            return convert.constant(0.0, x.dtype.base_dtype)
        return self._scale.log_abs_determinant()


def _check(scale: Any, kind: dtypes.DType | None, *, validate_args: bool) -> None:
    if not isinstance(scale, LinearOperator):
        raise TypeError("scale is not an instance of tf.LinearOperator")
    if kind is not None and kind != scale.dtype.base_dtype:
        raise TypeError(f"shift.dtype({kind}) is incompatible with scale.dtype({scale.dtype}).")
    if validate_args and not scale.is_non_singular:
        raise ValueError("Scale matrix must be non-singular.")
