"""Bijectors that map each number by itself (contrib/distributions/python/ops/bijectors)."""

from typing import Any

from capstan.api import check_ops, control_flow_ops, creation_ops, math_ops
from capstan.contrib.distributions.bijectors.bijector import Bijector
from capstan.framework import convert
from capstan.framework.raw import raw


class Identity(Bijector):
    """The function y = x."""

    def __init__(self, validate_args: bool = False, name: str = "identity") -> None:
        super().__init__(
            forward_min_event_ndims=0,
            is_constant_jacobian=True,
            validate_args=validate_args,
            name=name,
        )

    def _forward(self, x: Any) -> Any:
        return raw.Identity(x)

    def _inverse(self, y: Any) -> Any:
        return raw.Identity(y)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return convert.constant(0.0, x.dtype.base_dtype)


class Exp(Bijector):
    """The function y = exp(x)."""

    def __init__(self, validate_args: bool = False, name: str = "exp") -> None:
        super().__init__(forward_min_event_ndims=0, validate_args=validate_args, name=name)

    def _forward(self, x: Any) -> Any:
        return raw.Exp(x)

    def _inverse(self, y: Any) -> Any:
        return raw.Log(y)

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        return -raw.Log(y)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return x


class Sigmoid(Bijector):
    """The function y = 1 / (1 + exp(-x))."""

    def __init__(self, validate_args: bool = False, name: str = "sigmoid") -> None:
        super().__init__(forward_min_event_ndims=0, validate_args=validate_args, name=name)

    def _forward(self, x: Any) -> Any:
        return raw.Sigmoid(x)

    def _inverse(self, y: Any) -> Any:
        return raw.Log(y) - raw.Log1p(-y)

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        return -raw.Log1p(-y) - raw.Log(y)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return -raw.Softplus(-x) - raw.Softplus(x)


class Softplus(Bijector):
    """The function y = h log(1 + exp(x / h)) of a softness h, which is 1 by default.

    With `validate_args`, steps check that h is not 0.
    """

    def __init__(
        self, hinge_softness: Any = None, validate_args: bool = False, name: str = "softplus"
    ) -> None:
        given = 1.0 if hinge_softness is None else hinge_softness
        self._softness = convert.convert_to_tensor(given, name="hinge_softness")
        if validate_args:
            message = "hinge_softness must be non-zero"
            check = check_ops.assert_none_equal(self._softness, 0, message=message)
            self._softness = control_flow_ops.with_dependencies([check], self._softness)
        super().__init__(forward_min_event_ndims=0, validate_args=validate_args, name=name)

    def _forward(self, x: Any) -> Any:
        softness = self._of_type(x)
        return softness * raw.Softplus(x / softness)

    def _of_type(self, value: Any) -> Any:
        return math_ops.cast(self._softness, value.dtype.base_dtype)

    def _inverse(self, y: Any) -> Any:
        softness = self._of_type(y)
        scaled = y / softness
        return softness * (scaled + raw.Log(-raw.Expm1(-scaled)))

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        return -raw.Log(-raw.Expm1(-(y / self._of_type(y))))

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return -raw.Softplus(-(x / self._of_type(x)))


class AffineScalar(Bijector):
    """The function y = scale * x + shift of numbers."""

    def __init__(
        self,
        shift: Any = None,
        scale: Any = None,
        validate_args: bool = False,
        name: str = "affine_scalar",
    ) -> None:
        """Create a function. By default, `shift` is 0 and `scale` is 1.

        With `validate_args`, steps check that the scale is not 0.
        """
        self._shift = None if shift is None else convert.convert_to_tensor(shift, name="shift")
        self._scale = None if scale is None else convert.convert_to_tensor(scale, name="scale")
        parents = [each for each in (self._shift, self._scale) if each is not None]
        if validate_args and self._scale is not None:
            check = check_ops.assert_none_equal(self._scale, 0)
            with self._scale.graph.control_dependencies([check]):
                self._scale = raw.Identity(self._scale)
        super().__init__(
            graph_parents=parents,
            forward_min_event_ndims=0,
            is_constant_jacobian=True,
            validate_args=validate_args,
            name=name,
        )

    @property
    def shift(self) -> Any:
        """The tensor that is added, or None."""
        return self._shift

    @property
    def scale(self) -> Any:
        """The factor, or None."""
        return self._scale

    def _forward(self, x: Any) -> Any:
        y = raw.Identity(x) if self._scale is None else x * self._scale
        return y if self._shift is None else y + self._shift

    def _inverse(self, y: Any) -> Any:
        x = raw.Identity(y) if self._shift is None else y - self._shift
        return x if self._scale is None else x / self._scale

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        if self._scale is None:
            return creation_ops.zeros([], x.dtype)
        return raw.Log(raw.Abs(self._scale))
