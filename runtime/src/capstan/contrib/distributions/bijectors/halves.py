"""Bijectors of half-lines: squares, and absolute values, which two numbers share."""

import math
from typing import Any

from capstan.api import check_ops, control_flow_ops
from capstan.contrib.distributions.bijectors.bijector import Bijector
from capstan.framework import convert
from capstan.framework.raw import raw


class Square(Bijector):
    """The function y = x^2 of numbers that are not negative."""

    def __init__(self, validate_args: bool = False, name: str = "square") -> None:
        super().__init__(forward_min_event_ndims=0, validate_args=validate_args, name=name)

    def _checked(self, value: Any) -> Any:
        if not self.validate_args:
            return value
        check = check_ops.assert_non_negative(value, message="All elements must be non-negative.")
        return control_flow_ops.with_dependencies([check], value)

    def _forward(self, x: Any) -> Any:
        return raw.Square(self._checked(x))

    def _inverse(self, y: Any) -> Any:
        return raw.Sqrt(self._checked(y))

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return math.log(2.0) + raw.Log(self._checked(x))


class AbsoluteValue(Bijector):
    """The function y = |x|. Its inverse returns the pair (-y, y).

    The logarithm of the Jacobian of the inverse is a pair, too.
    """

    _is_injective = False

    def __init__(self, validate_args: bool = False, name: str = "absolute_value") -> None:
        super().__init__(
            forward_min_event_ndims=0,
            is_constant_jacobian=True,
            validate_args=validate_args,
            name=name,
        )

    def _checked(self, y: Any, result: Any) -> Any:
        if not self.validate_args:
            return result
        check = check_ops.assert_non_negative(y, message="Argument y was negative")
        return control_flow_ops.with_dependencies([check], result)

    def _forward(self, x: Any) -> Any:
        return raw.Abs(x)

    def _inverse(self, y: Any) -> Any:
        y = self._checked(y, y)
        return -y, y

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        zero = self._checked(y, convert.constant(0.0, y.dtype.base_dtype))
        return zero, zero
