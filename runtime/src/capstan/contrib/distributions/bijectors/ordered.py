"""The bijector that takes vectors whose elements increase (ops/bijectors/ordered.py)."""

from typing import Any

from capstan.api import check_ops, control_flow_ops, reduce_ops
from capstan.contrib.distributions.bijectors.bijector import Bijector
from capstan.framework.raw import raw


class Ordered(Bijector):
    """The function y[0] = x[0], y[k] = log(x[k] - x[k - 1]) of vectors that increase."""

    def __init__(self, validate_args: bool = False, name: str = "ordered") -> None:
        super().__init__(forward_min_event_ndims=1, validate_args=validate_args, name=name)

    def _logarithms(self, x: Any) -> Any:
        steps = x[..., 1:] - x[..., :-1]
        if self.validate_args:
            message = "Forward transformation input must be strictly increasing."
            check = check_ops.assert_positive(steps, message=message)
            steps = control_flow_ops.with_dependencies([check], steps)
        return raw.Log(steps)

    def _forward(self, x: Any) -> Any:
        return raw.ConcatV2([x[..., :1], self._logarithms(x)], -1)

    def _inverse(self, y: Any) -> Any:
        return reduce_ops.cumsum(raw.ConcatV2([y[..., :1], raw.Exp(y[..., 1:])], -1), -1)

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        return reduce_ops.reduce_sum(y[..., 1:], -1)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return -reduce_ops.reduce_sum(self._logarithms(x), -1)
